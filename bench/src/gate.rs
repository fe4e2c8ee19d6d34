//! The cognitive gate: what it takes to hold the entries of one answer against a large work tree.
//!
//! The work tree is a git repository of so many files of 120 lines. Twenty entries cite two files each, far from one another. In
//! each check but those of the gate that stays the gate is a new one that remembers nothing, as in a hook. They are asked while
//! all is in its place; with lines above what one entry cites; with its file renamed; and with it deleted, where the gate says
//! that it did not look everywhere. Then the entries cite a symbol each, once with a new gate each time, which parses each file,
//! and once with one that stays. A search of everything, as in the background, stands beside. A check that is judged otherwise
//! than what was done to the files fails the item.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use hdrhistogram::Histogram;
use sillok_core::citation::Citation;
use sillok_core::gate::Verdict;
use sillok_gate::{Answer, Budget, Gate, WorkTree, fingerprint};

use crate::engines::folder;
use crate::error::Error;
use crate::gauge::{elapsed_us, histogram};
use crate::report::{Floor, Report, Row};
use crate::runs::{RUNS, together, worst_ms};
use crate::scale::{GateScale, Scale};

/// Entries of one answer.
const ENTRIES: usize = 20;
/// Files of one folder.
const FOLDER_FILES: usize = 50;
/// Lines of one file, and those that are cited.
const FILE_LINES: usize = 120;
const CITED: (u32, u32) = (20, 40);
/// Checks of each run before any counts.
const WARM: usize = 15;
/// How long files must not have changed for a gate to keep what they say, with some room.
const SETTLED: Duration = Duration::from_secs(4);
/// The floor.
const P99_MS_MAX: f64 = 5.0;

/// Measures checks of a work tree in each state.
///
/// # Errors
/// What the disk answered; a check that is judged otherwise than what was done to the files.
pub(crate) fn measure(scale: &Scale, report: &mut Report) -> Result<(), Error> {
    let folder = folder()?;
    let bed = Bed::write(folder.path(), scale.gate)?;
    let lines = bed.entries(Bed::lines)?;
    let checked = bed.files().join(name(0));
    bed.told(report, "all in place", &lines, Verdict::Valid)?;
    let text = fs::read_to_string(&checked)?;
    fs::write(&checked, format!("// One line more.\n{text}"))?;
    bed.told(report, "one moved in its file", &lines, Verdict::Moved)?;
    let renamed = checked.with_extension("other.rs");
    fs::rename(&checked, &renamed)?;
    bed.told(report, "one in a renamed file", &lines, Verdict::Moved)?;
    fs::remove_file(&renamed)?;
    bed.told(report, "one deleted", &lines, Verdict::Unverifiable)?;
    let began = Instant::now();
    bed.expect(&bed.ask(&lines, Budget::WHOLE)?, Verdict::Stale)?;
    let took_ms = began.elapsed().as_secs_f64() * 1e3;
    let what = format!("{}: one deleted, all looked through", bed.among());
    report.add(Row::new(what, took_ms, "ms"));
    fs::write(&checked, text)?;
    bed.symbols(report)
}

/// A work tree, and how it is asked.
struct Bed {
    root: PathBuf,
    scale: GateScale,
}

type Cited = Vec<Vec<Citation>>;

impl Bed {
    fn write(folder: &Path, scale: GateScale) -> Result<Self, Error> {
        let root = folder.join("tree");
        fs::create_dir_all(root.join(".git"))?;
        for number in 0..scale.files {
            let path = root.join(name(number));
            if number.is_multiple_of(FOLDER_FILES)
                && let Some(folder) = path.parent()
            {
                fs::create_dir_all(folder)?;
            }
            fs::write(path, text(number))?;
        }
        let files = scale.files;
        if files < 4 * ENTRIES {
            return Err(Error::Wrong(format!("{files} files are too few")));
        }
        Ok(Self { root, scale })
    }

    fn files(&self) -> &Path {
        &self.root
    }

    fn among(&self) -> String {
        format!("gate: {ENTRIES} entries, {} files", self.scale.files)
    }

    /// The entries by what one of them cites of two files.
    fn entries(
        &self,
        cite: impl Fn(&Self, usize) -> Result<Citation, Error>,
    ) -> Result<Cited, Error> {
        let step = self.scale.files / ENTRIES;
        let entry = |entry: usize| -> Result<Vec<Citation>, Error> {
            let numbers = [entry * step, entry * step + step / 2];
            numbers
                .into_iter()
                .map(|number| cite(self, number))
                .collect()
        };
        (0..ENTRIES).map(entry).collect()
    }

    fn lines(&self, number: usize) -> Result<Citation, Error> {
        let (path, lines) = (name(number), Some(CITED));
        let print = fingerprint(&self.tree()?, &path, lines);
        let print = print.map_err(|reason| Error::Wrong(format!("{path} {}", reason.as_str())))?;
        Ok(Citation::File {
            path,
            lines,
            fingerprint: Some(print.to_string()),
        })
    }

    fn symbol(&self, number: usize) -> Result<Citation, Error> {
        Ok(Citation::Symbol {
            id: "none".to_owned(),
            name: called(number),
            file: name(number),
            signature: Some(signature(number)),
        })
    }

    fn tree(&self) -> Result<WorkTree, Error> {
        WorkTree::at(self.root.clone()).map_err(|error| Error::Wrong(error.to_string()))
    }

    /// A check by a gate that remembers nothing.
    fn ask(&self, entries: &[Vec<Citation>], budget: Budget) -> Result<Answer, Error> {
        Ok(check(&Gate::of(&self.tree()?), entries, budget))
    }

    /// Whether the first entry is what it is to be, and all others in their places.
    fn expect(&self, answer: &Answer, first: Verdict) -> Result<(), Error> {
        let expected = std::iter::once(first).chain(std::iter::repeat(Verdict::Valid));
        let found: Vec<Verdict> = answer.entries.iter().map(|one| one.verdict).collect();
        if found.len() == ENTRIES && found.iter().copied().eq(expected.take(ENTRIES)) {
            return Ok(());
        }
        let why = format!("{}: {found:?}, and the first is not {first}", self.among());
        Err(Error::Wrong(why))
    }

    /// Runs of checks by new gates.
    fn told(
        &self,
        report: &mut Report,
        what: &str,
        entries: &[Vec<Citation>],
        first: Verdict,
    ) -> Result<(), Error> {
        let runs = self.runs(first, || self.ask(entries, Budget::ANSWER))?;
        report.add(self.row(what, &runs).with_floor(Floor::AtMost(P99_MS_MAX)));
        Ok(())
    }

    fn symbols(&self, report: &mut Report) -> Result<(), Error> {
        let entries = self.entries(Self::symbol)?;
        // While an agent waits there is no room to parse all of them.
        let runs = self.runs(Verdict::Valid, || self.ask(&entries, Budget::PATIENT))?;
        report.add(self.row("symbols, by a new gate", &runs));
        std::thread::sleep(SETTLED);
        let gate = Gate::of(&self.tree()?);
        self.expect(&check(&gate, &entries, Budget::PATIENT), Verdict::Valid)?;
        let runs = self.runs(Verdict::Valid, || {
            Ok(check(&gate, &entries, Budget::ANSWER))
        })?;
        let row = self.row("symbols, by one that stays", &runs);
        report.add(row.with_floor(Floor::AtMost(P99_MS_MAX)));
        Ok(())
    }

    fn runs(
        &self,
        first: Verdict,
        ask: impl Fn() -> Result<Answer, Error>,
    ) -> Result<Vec<Histogram<u64>>, Error> {
        let mut runs = Vec::with_capacity(RUNS);
        for _ in 0..RUNS {
            let mut latency = histogram();
            for number in 0..WARM + self.scale.checks {
                let began = Instant::now();
                let answer = ask()?;
                if number >= WARM {
                    latency.saturating_record(elapsed_us(began));
                }
                self.expect(&answer, first)?;
            }
            runs.push(latency);
        }
        Ok(runs)
    }

    fn row(&self, what: &str, runs: &[Histogram<u64>]) -> Row {
        let what = format!("{}: {what}, p99 of the worst of {RUNS} runs", self.among());
        Row::new(what, worst_ms(runs, 0.99), "ms").with_latency(&together(runs))
    }
}

fn check(gate: &Gate, entries: &[Vec<Citation>], budget: Budget) -> Answer {
    let entries: Vec<&[Citation]> = entries.iter().map(Vec::as_slice).collect();
    gate.check(&entries, budget)
}

fn name(number: usize) -> String {
    let folder = number / FOLDER_FILES;
    format!(
        "crates/part_{}/src/folder_{folder}/file_{number}.rs",
        folder % 40
    )
}

fn called(number: usize) -> String {
    format!("work_{number}")
}

fn signature(number: usize) -> String {
    format!(
        "pub fn {}(rows: &[Row]) -> Result<u64, Error>",
        called(number)
    )
}

fn text(number: usize) -> String {
    let lines =
        (2..FILE_LINES).map(|line| format!("    let row_{line} = read({number}, {line})?;\n"));
    let body: String = lines.collect();
    format!("{} {{\n{body}}}\n", signature(number))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_small_work_tree_is_asked_in_each_state() {
        let scale = Scale {
            gate: GateScale {
                files: 4_000,
                checks: 2,
            },
            ..Scale::QUICK
        };
        let mut report = Report::new(false);
        measure(&scale, &mut report).unwrap();
        let document = report.document().to_string();
        assert_eq!(
            document.matches("gate: 20 entries").count(),
            7,
            "{document}"
        );
    }
}
