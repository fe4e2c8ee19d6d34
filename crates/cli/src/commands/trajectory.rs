//! `import trajectory`

use std::path::PathBuf;

use serde::Serialize;
use sillok_core::scope::{Level, Scope};

use crate::failure::Failure;
use crate::import::{self, Imported, task_name};
use crate::output::{one_line, table};
use crate::progress;
use crate::session::Session;
use crate::trajectory;

/// The worktree of runs that are imported into a project.
const WORKTREE: &str = "imported";

/// What was imported.
#[derive(Debug, Serialize)]
struct Done {
    tasks: Vec<Imported>,
    records: u64,
}

/// Carries out `import trajectory`. All files are read before anything is written.
///
/// # Errors
/// [`Failure::Trajectory`] for a file that is no recorded run.
pub async fn import(session: &Session, files: &[PathBuf], scope: &Scope) -> Result<(), Failure> {
    let worktree = match scope.level() {
        Level::Worktree => scope.clone(),
        Level::Project => scope.child(WORKTREE)?,
        Level::Task | Level::Org => {
            return Err(Failure::Usage(format!(
                "{scope} is neither a worktree nor a project"
            )));
        }
    };
    let runs = files
        .iter()
        .map(|path| trajectory::read(path))
        .collect::<Result<Vec<_>, _>>()?;
    let records = runs.iter().map(|run| run.records.len() as u64).sum();
    let bar = progress::bar(records, "records");
    let mut tasks = Vec::new();
    for run in &runs {
        let task = worktree.child(&task_name(run))?;
        tasks.push(import::import(&session.client, task, run, |count| bar.inc(count)).await?);
    }
    bar.finish_and_clear();
    let done = Done {
        records: tasks.iter().map(|task| task.records).sum(),
        tasks,
    };
    session.output.show(&done, |style| {
        let row = |task: &Imported| {
            vec![
                task.steps.to_string(),
                task.records.to_string(),
                task.masked.to_string(),
                task.task.to_string(),
                one_line(&task.title, 60),
            ]
        };
        let rows: Vec<Vec<String>> = done.tasks.iter().map(row).collect();
        table(
            style,
            &["STEPS", "RECORDS", "MASKED", "TASK", "TITLE"],
            &rows,
        )
    })
}
