//! Reading: one step with what its command came to.
//!
//! Owns whether a step failed, and the sentences about its edit, its errors and its outcome. It must not
//! know other steps, nor which of the sentences become facts.

use sillok_core::citation::Excerpt;

use super::diff::stated;
use super::evidence::range;
use super::exit;
use super::facts::Rank;
use super::outcome::{Found, Outcome};
use super::sentence::clip;
use super::steps::Step;
use super::verb::Verb;

/// Characters of a command that a fact quotes.
const COMMAND_CHARS_MAX: usize = 120;
/// Characters of an output that a fact quotes whole.
const OUTPUT_CHARS_MAX: usize = 60;
/// Stretches that show how a command failed.
const ERRORS_SHOWN_MAX: usize = 4;

/// One step, read.
pub(super) struct Read<'a> {
    pub(super) step: Step<'a>,
    pub(super) verb: Option<Verb>,
    /// The file that it is about.
    pub(super) file: Option<String>,
    /// What names that file.
    pub(super) names_file: Option<Excerpt>,
    /// Everything that its command gave.
    pub(super) output: String,
    outcome: Outcome,
    /// The code that it ended with, as metadata or a line of its output tells.
    code: Option<i64>,
    pub(super) failed: bool,
}

/// A sentence, and what it was drawn from.
pub(super) struct Told {
    pub(super) said: String,
    pub(super) from: Vec<Excerpt>,
}

impl<'a> Read<'a> {
    pub(super) fn of(step: Step<'a>) -> Self {
        let verb = step.verb();
        // Behind what is moved or edited a file may be shown.
        let views = matches!(verb, Some(Verb::View | Verb::Submit)) || step.only_shows();
        let (asks, shouts) = (step.asks(), step.shouts().next().is_some());
        let recorded = step.exit().map(|(code, _)| code);
        let output = step.output();
        let mut outcome = if views {
            Outcome::default()
        } else {
            Outcome::of(&output)
        };
        // A line may be of a file that is shown: it counts only where it can hardly be, and nothing else tells a code.
        let by_line = !(views || asks) || recorded.is_none();
        if views {
            outcome.exit = exit::ahead(&output).filter(|_| by_line);
        } else if asks {
            // Whatever counts, the harness's line is nothing that the command printed.
            outcome.exit = exit::around(&output);
        }
        let told = outcome.exit.as_ref().filter(|_| by_line);
        let told = told.map(|exit| exit.code);
        let mut codes = [recorded, told].into_iter().flatten();
        let bad = codes.find(|code| *code != 0);
        let code = bad.or(recorded).or(told);
        let answers = code == Some(1) && asks;
        let ended_badly = code.is_some_and(|code| code != 0) && !answers;
        // What a viewer shows is not what went wrong, unless the log says so.
        if views && (shouts || ended_badly) {
            let exit = outcome.exit.take();
            outcome = Outcome::of(&output);
            outcome.exit = exit;
        }
        let failed = shouts || ended_badly || outcome.failed();
        let (file, names_file) = step
            .file()
            .map_or((None, None), |(file, named)| (Some(file), named));
        Self {
            verb,
            file,
            names_file,
            output,
            outcome,
            code,
            failed,
            step,
        }
    }

    /// Whether its command went right; none where nothing says how it ended: silence may be that of one that was
    /// cut off, and a code that is an answer is neither.
    pub(super) fn went_right(&self) -> Option<bool> {
        match self.code {
            _ if self.failed => Some(false),
            Some(0) => Some(true),
            Some(_) => None,
            None => (!self.output.trim().is_empty()).then_some(true),
        }
    }

    /// Its command by the first line; that more lines were run is shown.
    pub(super) fn named(&self) -> String {
        let named = clip(&self.step.command(), COMMAND_CHARS_MAX);
        if self.step.goes_on() && !named.ends_with('\u{2026}') {
            return format!("{named} \u{2026}");
        }
        named
    }

    /// Whether its command runs something: an edit may have a run behind it.
    pub(super) fn runs(&self) -> bool {
        self.verb == Some(Verb::Run) || self.step.runs()
    }

    /// Whether the step changed a file.
    pub(super) fn edited(&self) -> bool {
        self.verb == Some(Verb::Edit) && !self.failed
    }

    /// What shows that a file was edited, and which.
    pub(super) fn names_edit(&self) -> impl Iterator<Item = Excerpt> {
        let command = self.step.command_excerpt().into_iter();
        command.chain(self.names_file.clone())
    }

    /// What it changed in `file`, where its command says so; else that it did.
    pub(super) fn edit(&self, file: &str) -> (Rank, Told) {
        let tool = self.step.tool.as_ref();
        let change = tool.and_then(|tool| stated(&tool.text, file));
        let told = change.and_then(|change| {
            let said = change.sentence()?;
            let stated = change.at.into_iter();
            let from = stated.filter_map(|at| tool?.excerpt(at));
            let from = from.chain(self.names_file.clone()).collect();
            Some(Told { said, from })
        });
        match told {
            Some(told) => (Rank::Change, told),
            None => {
                let said = format!("The file {file} was edited.");
                let from = self.names_edit().collect();
                (Rank::Edited, Told { said, from })
            }
        }
    }

    /// What went wrong.
    pub(super) fn errors(&self) -> Vec<Told> {
        // What was cut off may have done its work before.
        let ended = if self.outcome.timed_out {
            "ended"
        } else {
            "failed"
        };
        let (subject, named): (_, Vec<Excerpt>) = match (self.verb, &self.file) {
            // What runs or shows something behind the edit may be what failed.
            (Some(Verb::Edit | Verb::Create), Some(file))
                if !(self.runs() || self.step.only_shows()) =>
            {
                (
                    format!("An edit of {file} failed with"),
                    self.names_edit().collect(),
                )
            }
            (Some(_), _) => (
                format!("`{}` {ended} with", self.named()),
                self.step.command_excerpt().into_iter().collect(),
            ),
            (None, _) => ("An error was seen:".to_owned(), Vec::new()),
        };
        let of_subject = |error: &str, at: Option<Excerpt>| Told {
            said: format!("{subject} {}.", error.trim_end_matches('.')),
            from: named.iter().cloned().chain(at).collect(),
        };
        let mut told: Vec<Told> = Vec::new();
        for test in &self.outcome.failed_tests {
            let with = if test.message.is_empty() {
                String::new()
            } else {
                format!(" with {}", test.message)
            };
            told.push(Told {
                said: format!("Test {} failed{with}.", test.name),
                from: self
                    .step
                    .output_excerpt(test.at.clone())
                    .into_iter()
                    .collect(),
            });
        }
        let errors = self.outcome.errors.iter();
        told.extend(errors.map(|error| {
            let at = self.step.output_excerpt(error.at.clone());
            of_subject(&error.text, at)
        }));
        if told.is_empty() && self.failed {
            let shout = self.shout();
            told.extend(shout.map(|(line, at)| of_subject(&clip(line, 200), at)));
        }
        if told.is_empty() && self.failed && !self.outcome.is_red() {
            let ended = self
                .ended_badly()
                .filter(|(_, at)| at.is_some() || !named.is_empty());
            told.extend(ended.map(|(code, at)| of_subject(&format!("exit status {code}"), at)));
        }
        told
    }

    /// The code that says that it failed, and where that stands: of metadata, the end of the record that it is of.
    fn ended_badly(&self) -> Option<(i64, Option<Excerpt>)> {
        if let Some((code, line)) = self.step.exit().filter(|(code, _)| *code != 0) {
            return Some((code, line.last()));
        }
        let told = self.outcome.exit.as_ref().filter(|told| told.code != 0)?;
        Some((told.code, self.step.output_excerpt(told.at.clone())))
    }

    /// The first line of what the log marks as an error.
    fn shout(&self) -> Option<(&str, Option<Excerpt>)> {
        self.step.shouts().find_map(|result| {
            let mut lines = result.text.lines().map(str::trim);
            let line = lines.find(|line| !line.is_empty())?;
            Some((line, result.excerpt(range(line, &result.text))))
        })
    }

    /// What running the command gave, as a predicate; none when it says too little.
    pub(super) fn said(&self) -> Option<Told> {
        // Where metadata alone tells how it ended, the fact names the command: it has to have one.
        if self.verb != Some(Verb::Run) || self.step.command().is_empty() {
            return None;
        }
        let told = |said: String, at| Told {
            said,
            from: self.step.output_excerpt(at).into_iter().collect(),
        };
        if let Some(Found { text, at }) = &self.outcome.summary {
            return Some(told(format!("gave {text}"), at.clone()));
        }
        if self.failed {
            if self.outcome.timed_out {
                // What it did until then may be all that was wanted of it: how it ended is said by the error alone.
                return None;
            }
            let errors = self.errors().into_iter().flat_map(|error| error.from);
            return Some(Told {
                said: "failed".to_owned(),
                from: errors.take(ERRORS_SHOWN_MAX).collect(),
            });
        }
        let shown = self.output.trim();
        let is_line = !shown.is_empty() && self.outcome.exit.is_none();
        if is_line && !shown.contains('\n') && shown.chars().count() <= OUTPUT_CHARS_MAX {
            let said = format!("printed `{}`", shown.replace('`', "'"));
            return Some(told(said, range(shown, &self.output)));
        }
        let is_known = self.step.checks() && self.went_right() == Some(true);
        is_known.then(|| told("succeeded".to_owned(), range(shown, &self.output)))
    }
}
