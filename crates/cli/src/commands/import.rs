//! `import`

use std::path::{Path, PathBuf};

use serde::Serialize;
use serde_json::to_string;
use sillok_core::ErrorCode;
use sillok_core::scope::{Level, Scope};
use sillok_core::secret::mask;
use sillok_sessions::{Error, Format, PassedOver, Source, walk};

use crate::args::{Formats, Import};
use crate::failure::Failure;
use crate::import::cursors::Cursors;
use crate::import::names::task_name;
use crate::import::{self, Imported};
use crate::output::{Output, Style, note, one_line, table};
use crate::progress;
use crate::session::Session;

/// The worktree of work that is imported into a project.
const WORKTREE: &str = "imported";

/// A file to import.
struct File {
    path: PathBuf,
    format: Format,
    bytes: u64,
}

/// What is to be imported.
struct Plan {
    worktree: Scope,
    files: Vec<File>,
    /// Files of folders that are in no format, or cannot be read.
    left_out: Vec<LeftOut>,
}

/// What was imported.
#[derive(Debug, Default, Serialize)]
struct Done {
    tasks: Vec<Imported>,
    /// How many records the tasks hold of the files.
    records: u64,
    imported: u64,
    already_there: u64,
    masked: u64,
    passed_over: PassedOver,
    /// Files that were left out, and why.
    left_out: Vec<LeftOut>,
}

/// A file of which nothing was imported, or not all.
#[derive(Debug, Serialize)]
struct LeftOut {
    /// Its path. What of it is no UTF-8 is shown by a sign.
    path: String,
    why: String,
    /// Whether that is a failure.
    failed: bool,
}

impl LeftOut {
    fn new(path: &Path, why: impl Into<String>, failed: bool) -> Self {
        Self {
            path: path.to_string_lossy().into_owned(),
            why: why.into(),
            failed,
        }
    }
}

impl Done {
    /// What is done before anything is imported.
    fn of(left_out: Vec<LeftOut>) -> Self {
        Self {
            left_out,
            ..Self::default()
        }
    }

    fn add(&mut self, path: &Path, imported: Imported) {
        self.passed_over.add(&imported.passed_over);
        if imported.records == 0 {
            let why = "nothing in it says what was done";
            return self.left_out.push(LeftOut::new(path, why, false));
        }
        self.records += imported.records;
        self.imported += imported.imported;
        self.already_there += imported.already_there;
        self.masked += imported.masked;
        self.tasks.push(imported);
    }

    fn fail(&mut self, path: &Path, failure: &Failure) {
        self.left_out.push(LeftOut::new(path, told(failure), true));
    }

    /// Prints it. That a file could not be imported makes the command fail in the end.
    fn show(&self, output: Output, verb: &str) -> Result<(), Failure> {
        output.show(self, |style| self.page(style, verb))?;
        let failed = self.left_out.iter().filter(|left| left.failed).count();
        if failed == 0 {
            return Ok(());
        }
        let all = self.tasks.len() + self.left_out.len();
        Err(Failure::Verdict(format!(
            "{failed} of {all} files were not imported to their end"
        )))
    }

    fn page(&self, style: Style, verb: &str) -> String {
        let row = |task: &Imported| {
            vec![
                task.imported.to_string(),
                task.already_there.to_string(),
                task.masked.to_string(),
                task.passed_over.total().to_string(),
                task.task.to_string(),
                one_line(&task.title, 60),
            ]
        };
        let rows: Vec<Vec<String>> = self.tasks.iter().map(row).collect();
        let header = ["IMPORTED", "THERE", "MASKED", "PASSED", "TASK", "TITLE"];
        let mut lines = vec![table(style, &header, &rows), String::new()];
        lines.push(format!(
            "{verb} {} records, {} were there already, {} secrets masked.",
            self.imported, self.already_there, self.masked
        ));
        let reasons: Vec<String> = self
            .passed_over
            .iter()
            .map(|(reason, count)| format!("{count} {reason}"))
            .collect();
        if !reasons.is_empty() {
            lines.push(format!("Passed over: {}.", reasons.join(", ")));
        }
        if self.tasks.iter().any(|task| task.unfinished) {
            lines.push("A session is still being written: import it again later.".to_owned());
        }
        for left in &self.left_out {
            let path = one_line(&left.path, 200);
            let line = format!("left out {path}: {}", one_line(&left.why, 400));
            lines.push(if left.failed {
                style.bad(&line)
            } else {
                style.dim(&line)
            });
        }
        lines.join("\n")
    }
}

/// Carries out `import`. The format of every file is known, and every file that was named was opened, before anything is
/// written.
///
/// # Errors
/// [`Failure`]; [`Failure::Session`] for a file that was named and is no recorded work.
pub async fn import(session: &Session, args: &Import) -> Result<(), Failure> {
    let plan = plan(args)?;
    let cursors = session.cursors();
    let bar = progress::bytes(plan.bytes(), "importing");
    let mut done = Done::of(plan.left_out);
    let mut before = 0;
    for file in &plan.files {
        let said = |bytes: u64| bar.set_position(before + bytes.min(file.bytes));
        match bring_in(session, &plan.worktree, file, &cursors, said).await {
            Ok(imported) => done.add(&file.path, imported),
            Err(failure) if is_of_file(&failure) => done.fail(&file.path, &failure),
            Err(failure) => {
                bar.finish_and_clear();
                let path = one_line(&file.path.to_string_lossy(), 200);
                note(&format!(
                    "the import ended at {path}; run again, it goes on there"
                ));
                return Err(failure);
            }
        }
        before += file.bytes;
        bar.set_position(before);
    }
    bar.finish_and_clear();
    done.show(session.output, "Imported")
}

/// Imports one file. `said` is told how many bytes of it were read.
async fn bring_in(
    session: &Session,
    worktree: &Scope,
    file: &File,
    cursors: &Cursors,
    said: impl Fn(u64),
) -> Result<Imported, Failure> {
    let open = || Source::open(&file.path, file.format).map_err(Failure::from);
    let task = worktree.child(&task_name(open()?.head()))?;
    let said = |progress: import::Progress| said(progress.bytes);
    import::import(&session.client, task, open, Some(cursors), said).await
}

/// Carries out `import --dry-run`: reads the files and asks nobody. What would be there already it does not know.
///
/// # Errors
/// [`Failure::Session`] for a file that was named and is no recorded work.
pub fn dry_run(output: Output, args: &Import) -> Result<(), Failure> {
    let plan = plan(args)?;
    let bar = progress::bytes(plan.bytes(), "reading");
    let mut done = Done::of(plan.left_out);
    let mut before = 0;
    for file in &plan.files {
        let said = |bytes: u64| bar.set_position(before + bytes.min(file.bytes));
        match look_through(&plan.worktree, file, said) {
            Ok(imported) => done.add(&file.path, imported),
            Err(failure) => done.fail(&file.path, &failure),
        }
        before += file.bytes;
        bar.set_position(before);
    }
    bar.finish_and_clear();
    done.show(output, "Would import")
}

/// What importing a file would come to in a task that holds nothing of it. `said` is told how many bytes of it were read.
fn look_through(worktree: &Scope, file: &File, said: impl Fn(u64)) -> Result<Imported, Failure> {
    let mut source = Source::open(&file.path, file.format)?;
    let (mut entries, mut records, mut masked) = (0_u64, 0, 0);
    while let Some(entry) = source.entry()? {
        entries += 1;
        records += entry.records.len() as u64;
        for record in &entry.records {
            let place = to_string(&record.place).expect("plain data is JSON");
            let of_text = mask(&record.content).count.saturating_add(record.masked);
            masked += u64::from(of_text) + u64::from(mask(&place).count);
        }
        if entries.is_multiple_of(import::ENTRIES_BETWEEN_WORD) {
            said(source.offset());
        }
    }
    Ok(Imported {
        task: worktree.child(&task_name(source.head()))?,
        title: source.head().title.clone(),
        format: file.format,
        steps: source.steps(),
        records,
        imported: records,
        already_there: 0,
        masked,
        passed_over: source.passed().clone(),
        mended: source.mended(),
        unfinished: source.unfinished(),
    })
}

/// Whether a failure is of one file and its task, so that others can be imported all the same.
fn is_of_file(failure: &Failure) -> bool {
    use ErrorCode as C;
    match failure {
        Failure::Session(_) | Failure::Rewritten { .. } => true,
        failure => matches!(
            failure.code(),
            Some(
                C::Conflict | C::InvalidState | C::CommandReused | C::InvalidContent | C::TooLarge
            )
        ),
    }
}

/// A failure with what it stems from, on one line.
fn told(failure: &Failure) -> String {
    let source = std::error::Error::source(failure);
    match source {
        Some(source) => format!("{failure}: {source}"),
        None => failure.to_string(),
    }
}

/// Finds the files and their formats. A file that was named has to be one that can be imported; of a folder, others are left
/// out.
fn plan(args: &Import) -> Result<Plan, Failure> {
    let mut plan = Plan {
        worktree: worktree(&args.into)?,
        files: Vec::new(),
        left_out: Vec::new(),
    };
    for named in &args.paths {
        let is_folder = named.is_dir();
        let found = walk::files(named)?;
        if found.is_empty() {
            let folder = named.display();
            return Err(Failure::Usage(format!(
                "{folder} holds no .jsonl or .traj file"
            )));
        }
        for path in found {
            match look_at(&path, args.format) {
                Ok(file) => plan.files.push(file),
                Err(error) if !is_folder => return Err(error.into()),
                Err(Error::Unknown { .. }) => {
                    let why = "it is in no format that is read";
                    plan.left_out.push(LeftOut::new(&path, why, false));
                }
                Err(error) => {
                    let why = told(&Failure::from(error));
                    plan.left_out.push(LeftOut::new(&path, why, true));
                }
            }
        }
    }
    Ok(plan)
}

/// The format of a file, which is opened as one of that format.
fn look_at(path: &Path, formats: Formats) -> Result<File, Error> {
    let format = match formats {
        Formats::Only(format) => Some(format),
        Formats::Auto => Format::of(path)?,
    };
    let path = path.to_owned();
    let Some(format) = format else {
        return Err(Error::Unknown { path });
    };
    let bytes = Source::open(&path, format)?.bytes();
    Ok(File {
        path,
        format,
        bytes,
    })
}

impl Plan {
    /// Bytes of all files.
    fn bytes(&self) -> u64 {
        self.files.iter().map(|file| file.bytes).sum()
    }
}

/// The worktree of the tasks.
fn worktree(into: &Scope) -> Result<Scope, Failure> {
    match into.level() {
        Level::Worktree => Ok(into.clone()),
        Level::Project => Ok(into.child(WORKTREE)?),
        Level::Task | Level::Org => Err(Failure::Usage(format!(
            "{into} is neither a worktree nor a project"
        ))),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::ffi::OsStrExt;

    use super::*;

    fn args(paths: &[&Path], format: Formats) -> Import {
        Import {
            paths: paths.iter().map(|path| path.to_path_buf()).collect(),
            format,
            into: Scope::parse("org/a/project/b").unwrap(),
            dry_run: true,
        }
    }

    const SAID: &str =
        r#"{"type":"user","sessionId":"s","message":{"content":"password=hunter2hunter2 is it"}}"#;

    #[test]
    fn a_file_that_is_named_has_a_format_and_one_of_a_folder_may_have_none() {
        let folder = tempfile::tempdir().unwrap();
        let (session, other) = (folder.path().join("s.jsonl"), folder.path().join("o.jsonl"));
        std::fs::write(&session, SAID).unwrap();
        std::fs::write(&other, "{}").unwrap();
        let found = plan(&args(&[folder.path()], Formats::Auto)).unwrap();
        assert_eq!(found.files.len(), 1);
        assert_eq!(
            (found.files[0].format, &found.files[0].path),
            (Format::ClaudeCode, &session)
        );
        assert_eq!(found.files[0].bytes, SAID.len() as u64);
        let left_out = &found.left_out[0];
        assert_eq!(left_out.path, other.to_str().unwrap());
        assert!(!left_out.failed && found.left_out.len() == 1);
        assert!(matches!(
            plan(&args(&[&other], Formats::Auto)),
            Err(Failure::Session(Error::Unknown { .. }))
        ));
        let only = plan(&args(&[&other], Formats::Only(Format::Codex))).unwrap();
        assert_eq!(only.files[0].format, Format::Codex);
    }

    #[test]
    fn a_dry_run_counts_what_would_be_brought_in_and_masked() {
        let folder = tempfile::tempdir().unwrap();
        let session = folder.path().join("s.jsonl");
        std::fs::write(
            &session,
            format!("{SAID}\n{{\"type\":\"progress\"}}\n{{\"ty"),
        )
        .unwrap();
        let found = plan(&args(&[&session], Formats::Auto)).unwrap();
        let imported = look_through(&found.worktree, &found.files[0], |_| ()).unwrap();
        assert_eq!((imported.imported, imported.masked), (1, 1));
        assert_eq!(imported.passed_over.of("record progress"), 1);
        assert!(imported.unfinished);
        let task = "org/a/project/b/worktree/imported/task/claude-code-s";
        assert_eq!(imported.task.as_str(), task);
        let mut done = Done::of(found.left_out);
        done.add(&session, imported);
        let page = done.page(Style::default(), "Would import");
        assert!(page.contains("Would import 1 records"), "{page}");
        assert!(page.contains("Passed over: 1 record progress."), "{page}");
    }

    #[test]
    fn what_is_wrong_with_one_file_keeps_no_other_from_being_imported() {
        let refused = |code| is_of_file(&Failure::Core(sillok_core::Error::new(code, "no")));
        assert!(refused(ErrorCode::Conflict) && refused(ErrorCode::InvalidState));
        assert!(!refused(ErrorCode::Unavailable) && !refused(ErrorCode::Forbidden));
        assert!(!is_of_file(&Failure::Usage("u".to_owned())));
    }

    #[test]
    fn a_folder_without_files_is_wrong_usage() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("notes.txt"), SAID).unwrap();
        let found = plan(&args(&[folder.path()], Formats::Auto));
        assert!(matches!(found, Err(Failure::Usage(_))));
    }

    #[test]
    fn a_run_that_is_none_is_refused_before_anything_is_written_and_keeps_no_folder_from_it() {
        let folder = tempfile::tempdir().unwrap();
        let (path, session) = (folder.path().join("a.traj"), folder.path().join("s.jsonl"));
        std::fs::write(&path, "{}").unwrap();
        std::fs::write(&session, SAID).unwrap();
        assert!(matches!(
            plan(&args(&[&session, &path], Formats::Auto)),
            Err(Failure::Session(Error::Form { .. }))
        ));
        let found = plan(&args(&[folder.path()], Formats::Auto)).unwrap();
        assert_eq!(found.files.len(), 1);
        let done = Done::of(found.left_out);
        assert!(done.left_out[0].failed);
        let shown = done.show(Output::new(true), "Would import");
        assert!(matches!(shown, Err(Failure::Verdict(_))));
    }

    #[test]
    fn names_that_are_no_text_or_play_with_a_terminal_are_shown_without_harm() {
        let name = std::ffi::OsStr::from_bytes(b"a\xff\x1b[2J.jsonl");
        let left_out = LeftOut::new(Path::new(name), "\u{1b}[2J", true);
        let done = Done::of(vec![left_out]);
        assert!(to_string(&done).is_ok());
        let page = done.page(Style::default(), "Imported");
        assert!(!page.contains('\u{1b}'), "{page:?}");
    }
}
