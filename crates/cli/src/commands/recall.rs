//! `recall`

use std::path::Path;

use sillok_core::citation::is_commit_hash;
use sillok_core::limits::COMMITS_JUDGED_MAX;
use sillok_core::validity::{Ancestry, Validity};
use sillok_server::api::{AsOf, AtCommit, RecallAnswer, RecallRequest, RecallResult};
use sillok_server::git::Repository;

use super::{citation, gate};
use crate::args::Recall;
use crate::failure::Failure;
use crate::git;
use crate::output::{Style, harmless, note, one_line};
use crate::session::Session;

/// Lines of one result's text.
const TEXT_LINES_MAX: usize = 8;
/// Characters of one line of it.
const LINE_CHARS_MAX: usize = 160;
/// Citations that are listed for one result.
const CITATIONS_SHOWN_MAX: usize = 4;
/// How often a question is asked again with what the work tree's repository says of commits.
const ROUNDS_MAX: usize = 4;
/// Digits of a commit that are shown.
const COMMIT_SHOWN: usize = 10;
/// What is said of an answer that the index had not all for.
const LACKING: &str = "the index is being built again after damage: something may be missing";
/// What `--as-of` says where no commit is meant.
const NO_COMMIT: &str = "none";

/// Carries out `recall`.
///
/// # Errors
/// [`Failure`]
pub async fn run(session: &Session, recall: Recall) -> Result<(), Failure> {
    let scope = session.scope(&recall.within)?;
    let as_of = as_of(recall.as_of.as_deref())?;
    let is_said = recall.as_of.is_some();
    let names_tree = recall.work_tree.is_some();
    let tree = gate::tree(recall.work_tree)?;
    let request = RecallRequest {
        scope: scope.to_string(),
        query: recall.query.join(" "),
        limit: Some(recall.limit),
        kinds: recall.kinds,
        tables: recall.tables,
        files: recall.files,
        symbols: recall.symbols,
        failures_only: recall.failures_only,
        confidence_min: recall.confidence_min,
        tokens_max: recall.tokens_max,
        as_of: as_of.map(|commit| AsOf {
            commit,
            ..AsOf::default()
        }),
        // The server holds it against its own only where there is none here, and nobody said which one is meant.
        check: (names_tree || tree.is_some()).then_some(false),
    };
    let answer = ask(session, request, is_said).await?;
    let (answer, displaced) = gate::checked(answer, tree, session.folder()).await;
    session.output.show(&answer, |style| {
        let elsewhere = answer.at.as_ref().and_then(elsewhere);
        let lacking = (!answer.whole).then(|| LACKING.to_owned());
        let stale = gate::left_out(&answer);
        if answer.results.is_empty() && answer.left_out == 0 {
            let nothing = format!("nothing in {scope} or above it");
            return [Some(nothing), stale, lacking, elsewhere]
                .into_iter()
                .flatten()
                .collect::<Vec<_>>()
                .join("; ");
        }
        let results = answer.results.iter().zip(1..);
        let mut shown: Vec<String> = results
            .map(|(result, place)| describe(style, place, result))
            .collect();
        if answer.left_out > 0 {
            shown.push(style.dim(&format!(
                "{} tokens; {} more did not fit",
                answer.tokens, answer.left_out
            )));
        }
        let notes = stale.into_iter().chain(lacking).chain(elsewhere);
        shown.extend(notes.map(|text| style.dim(&text)));
        shown.join("\n\n")
    })?;
    gate::report(session, &scope, displaced).await;
    Ok(())
}

/// The commit that is asked about: the one that was said, or that the work tree stands at, if there is one.
fn as_of(said: Option<&str>) -> Result<Option<String>, Failure> {
    let here = Path::new(".");
    match said {
        None => Ok(git::head(here).map(|commit| commit.hash)),
        Some(NO_COMMIT) => Ok(None),
        Some(revision) => match git::commit_of(here, revision) {
            Ok(commit) => Ok(Some(commit)),
            // The server may have a repository that knows it.
            Err(_) if is_commit_hash(revision) => Ok(Some(revision.to_owned())),
            Err(error) => Err(Failure::Usage(format!("--as-of {revision}: {error}"))),
        },
    }
}

/// Asks, and again with what the repository here says of commits that nobody else could judge. One that knows none
/// of them is not the project's: unless the commit was said, the question is asked without it.
async fn ask(
    session: &Session,
    mut request: RecallRequest,
    is_said: bool,
) -> Result<RecallAnswer, Failure> {
    let mut answer = session.client.recall(&request).await?;
    for _ in 0..ROUNDS_MAX {
        let Some(as_of) = request.as_of.as_mut() else {
            break;
        };
        let Some(at) = answer.at.as_ref().filter(|at| !at.unjudged.is_empty()) else {
            break;
        };
        let room = COMMITS_JUDGED_MAX.saturating_sub(as_of.judged.len());
        let commits: Vec<String> = at.unjudged.iter().take(room).cloned().collect();
        if commits.is_empty() {
            break;
        }
        let judged = judge(as_of.commit.clone(), commits.clone()).await;
        as_of.judged.extend(commits.into_iter().zip(judged));
        let knows_none = as_of.judged.values().all(|one| *one == Ancestry::Unknown);
        if knows_none && !is_said && is_all_unknown(&answer) {
            note("the work tree here knows none of the entries' commits: asked without one");
            request.as_of = None;
        }
        answer = session.client.recall(&request).await?;
    }
    Ok(answer)
}

/// Whether nothing that an answer holds, or left out, was decided by a commit.
fn is_all_unknown(answer: &RecallAnswer) -> bool {
    let left_out = answer.at.as_ref().map_or(0, |at| at.not_yet + at.ended);
    let mut results = answer.results.iter();
    left_out == 0 && !results.any(|result| result.validity == Some(Validity::Holds))
}

/// What the repository here says of commits; nothing where there is none that can be read.
async fn judge(at: String, commits: Vec<String>) -> Vec<Ancestry> {
    let unknown = vec![Ancestry::Unknown; commits.len()];
    let judged = tokio::task::spawn_blocking(move || {
        let root = git::root(Path::new("."))?;
        let judged = Repository::open(root).and_then(|one| one.judge(&at, &commits));
        judged.inspect_err(|error| note(&error.to_string())).ok()
    });
    judged.await.ok().flatten().unwrap_or(unknown)
}

/// What was found and does not hold at the commit that was asked about, for a person; none if all does.
fn elsewhere(at: &AtCommit) -> Option<String> {
    let count = at.not_yet + at.ended;
    let (commit, not_yet, ended) = (short(&at.commit), at.not_yet, at.ended);
    (count > 0).then(|| {
        format!("{count} more do not hold at {commit}: {not_yet} begin elsewhere or later, {ended} have ended")
    })
}

/// The first digits of a commit. They come from the server: anything else is shown harmless.
fn short(commit: &str) -> String {
    commit
        .chars()
        .filter(char::is_ascii_alphanumeric)
        .take(COMMIT_SHOWN)
        .collect()
}

/// Where an entry holds, for a person; none where no commit was asked about, or it is bound to none.
fn validity(result: &RecallResult) -> Option<String> {
    let span = [
        result
            .valid_from_commit
            .as_deref()
            .map(|from| format!("from {}", short(from))),
        result
            .valid_to_commit
            .as_deref()
            .map(|to| format!("until {}", short(to))),
    ];
    let span: Vec<String> = span.into_iter().flatten().collect();
    match result.validity? {
        Validity::Holds => Some(format!("   holds {}", span.join(" "))),
        Validity::Unknown => Some(format!(
            "   holds {}; whether it does here is unknown: those commits are not in the history at hand",
            span.join(" ")
        )),
        Validity::Always | Validity::NotYet | Validity::Ended => None,
    }
}

/// One result, for a person.
#[must_use]
pub fn describe(style: Style, place: usize, result: &RecallResult) -> String {
    let score = &result.score;
    let mut lines = vec![
        format!(
            "{} {}  {} {} {}",
            style.bold(&format!("{place}.")),
            style.name(&result.entry.to_string()),
            result.table,
            result.status,
            style.dim(&format!("in {}", result.scope)),
        ),
        style.dim(&format!(
            "   score {:.3} = similarity {:.2} × confidence {:.2} × relevance {:.2} × recency {:.2}",
            score.total, score.similarity, score.confidence, score.relevance, score.recency
        )),
    ];
    lines.extend(validity(result).map(|text| style.dim(&text)));
    let text = harmless(&result.content);
    let shown = text.lines().filter(|line| !line.trim().is_empty());
    lines.extend(
        shown
            .take(TEXT_LINES_MAX)
            .map(|line| format!("   {}", one_line(line, LINE_CHARS_MAX))),
    );
    let cited = result.citations.iter().take(CITATIONS_SHOWN_MAX);
    lines.extend(cited.map(|cited| style.dim(&format!("   rests on {}", citation::line(cited)))));
    lines.extend(gate::lines(result).map(|line| style.dim(&format!("   {line}"))));
    let more = result.citations.len().saturating_sub(CITATIONS_SHOWN_MAX);
    if more > 0 {
        lines.push(style.dim(&format!("   and {more} more")));
    }
    lines.join("\n")
}
