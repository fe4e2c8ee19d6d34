//! `audit` and `rebuild`

use indicatif::ProgressBar;
use sillok_server::api::{AuditAnswer, AuditDifference};
use sillok_server::audit::checkpoint::against as against_ends;
use sillok_server::audit::{self, Difference, Progress};
use sillok_server::{Config, index_over, open_data_dir, open_to_read, rebuild as rebuilding};

use super::checkpoint;
use crate::args::{Against, Global};
use crate::data_directory::DataDirectory;
use crate::failure::Failure;
use crate::output::{Output, Style, one_line};
use crate::progress;
use crate::session::Session;
use crate::settings::{self, path_text};

/// What is opened only to be read as it is needs no index and no model, and so no model's key.
pub(super) const WITHOUT_ENGINES: [(&str, &str); 3] = [
    ("index.engine", "exact"),
    ("cognifier.provider", "builtin"),
    ("embedder.provider", "builtin"),
];

/// Carries out `audit verify`, by the server.
///
/// # Errors
/// [`Failure::Verdict`] when it found a difference, and when the checkpoint is none, or not signed as it has to be.
pub async fn online(session: &Session, against: &Against) -> Result<(), Failure> {
    let checkpoint = checkpoint::read(against)?;
    let shown = progress::waiting("the server checks all events");
    let mut answer = progress::during(shown, session.client.audit()).await?;
    if let Some(checkpoint) = checkpoint.filter(|_| answer.ok) {
        answer = with(answer, checkpoint::compare(session, &checkpoint).await?);
    }
    show(session.output, &answer)
}

/// Carries out `audit verify --offline`, on the data directory itself.
///
/// # Errors
/// [`Failure::Verdict`] when it found a difference.
pub async fn offline(global: &Global, output: Output, against: &Against) -> Result<(), Failure> {
    let checkpoint = checkpoint::read(against)?;
    // The index is no part of what is audited: it is rebuilt from what is.
    let config = configuration(
        global,
        &WITHOUT_ENGINES.map(|(key, value)| (key, value.to_owned())),
    )?;
    let data = Box::pin(open_to_read(&config)).await?;
    let spinner = progress::spinner("events checked");
    let shown = spinner.clone();
    let report = audit::verify(&data.store, &move |progress| advance(&shown, progress)).await?;
    let differs = match checkpoint.filter(|_| report.is_ok()) {
        Some(checkpoint) => against_ends(&data.store, &checkpoint.ends).await?,
        None => None,
    };
    spinner.finish_and_clear();
    let answer = AuditAnswer {
        ok: report.is_ok(),
        scopes: report.scopes,
        events: report.events,
        rows: report.rows,
        commands: report.commands,
        difference: report.first.map(shown_difference),
    };
    show(output, &with(answer, differs.map(shown_difference)))
}

/// The verdict of an audit that passed, with what a checkpoint says.
fn with(answer: AuditAnswer, differs: Option<AuditDifference>) -> AuditAnswer {
    AuditAnswer {
        ok: answer.ok && differs.is_none(),
        difference: answer.difference.or(differs),
        ..answer
    }
}

fn shown_difference(found: Difference) -> AuditDifference {
    AuditDifference {
        scope: found.scope,
        seq: found.seq,
        family: found.family,
        key: found.key,
        what: found.what,
        invariant: found.invariant.as_str().to_owned(),
    }
}

/// Carries out `rebuild`.
///
/// # Errors
/// [`Failure::Core`] when the events do not hold; nothing was changed then.
pub async fn rebuild(global: &Global, output: Output) -> Result<(), Failure> {
    // Nothing is drawn from records again: a model's key need not be at hand.
    let config = configuration(global, &[("cognifier.provider", "builtin".to_owned())])?;
    let data = Box::pin(open_data_dir(&config)).await?;
    if data.store.is_shared() {
        let why =
            "the store is a FoundationDB cluster, to which other nodes may write at this moment";
        return Err(Failure::Usage(why.to_owned()));
    }
    let spinner = progress::spinner("events read");
    let shown = spinner.clone();
    let index = index_over(data.store.clone(), &data.ports);
    let report = rebuilding::rebuild(&data.store, index.as_ref(), &move |progress| {
        advance(&shown, progress)
    })
    .await?;
    spinner.finish_and_clear();
    output.show(&report, |_| {
        format!(
            "{} scopes, {} events: {} rows of the view ({} written, {} removed), {} entries in the index",
            report.scopes, report.events, report.rows, report.rows_written, report.rows_removed, report.entries
        )
    })
}

pub(super) fn advance(spinner: &ProgressBar, progress: Progress) {
    spinner.set_position(progress.events);
}

/// The configuration for a data directory that is there.
pub(super) fn configuration(global: &Global, flags: &[(&str, String)]) -> Result<Config, Failure> {
    let data = DataDirectory::resolve(global)?;
    if !data.holds_data() {
        return Err(Failure::Config(format!(
            "{} holds no data",
            data.path().display()
        )));
    }
    let mut all = vec![("server.data", path_text(data.path())?)];
    all.extend_from_slice(flags);
    Ok(settings::load(global, &all)?.config)
}

fn show(output: Output, answer: &AuditAnswer) -> Result<(), Failure> {
    output.show(answer, |style| describe(style, answer))?;
    match &answer.difference {
        None if answer.ok => Ok(()),
        None => Err(Failure::Verdict("the audit did not pass".to_owned())),
        Some(difference) => Err(Failure::Verdict(format!(
            "the audit found a difference at {}",
            place(difference)
        ))),
    }
}

fn describe(style: Style, answer: &AuditAnswer) -> String {
    let counts = format!(
        "{} scopes, {} events, {} rows of the view, {} commands",
        answer.scopes, answer.events, answer.rows, answer.commands
    );
    match &answer.difference {
        None => format!("{}: {counts}", style.good("no difference")),
        Some(found) => format!(
            "{} at {}: {}\nsound before it: {counts}",
            style.bad("a difference"),
            place(found),
            one_line(&found.what, 400)
        ),
    }
}

/// Where a difference is: a scope and position, or a key.
fn place(difference: &AuditDifference) -> String {
    match (&difference.scope, difference.seq, &difference.key) {
        (Some(scope), Some(seq), _) => format!("{scope}#{seq}"),
        (Some(scope), None, _) => scope.to_string(),
        (None, _, Some(key)) => format!("key {key} of family {}", difference.family),
        (None, _, None) => format!("family {}", difference.family),
    }
}

#[cfg(test)]
mod tests {
    use sillok_core::id::Seq;
    use sillok_core::scope::Scope;

    use super::*;
    use crate::failure::EXIT_VERDICT;

    fn answer(difference: Option<AuditDifference>) -> AuditAnswer {
        AuditAnswer {
            ok: difference.is_none(),
            scopes: 2,
            events: 9,
            rows: 4,
            commands: 3,
            difference,
        }
    }

    #[test]
    fn a_difference_is_named_by_scope_and_position_or_by_key() {
        let mut found = AuditDifference {
            scope: Some(Scope::parse("org/a").unwrap()),
            seq: Some(Seq::new(7)),
            family: "e".to_owned(),
            key: None,
            what: "the hash does not fit".to_owned(),
            invariant: "no gap and no fork".to_owned(),
        };
        let text = describe(Style::default(), &answer(Some(found.clone())));
        assert!(text.starts_with("a difference at org/a#7: the hash does not fit"));
        (found.scope, found.seq, found.key) = (None, None, Some("74ff".to_owned()));
        assert_eq!(place(&found), "key 74ff of family e");
        let output = Output {
            json: true,
            style: Style::default(),
        };
        assert_eq!(
            show(output, &answer(Some(found)))
                .unwrap_err()
                .exit_status(),
            EXIT_VERDICT
        );
        assert!(show(output, &answer(None)).is_ok());
    }
}
