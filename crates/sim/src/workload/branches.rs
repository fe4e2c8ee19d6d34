//! Branches: agents write what holds from a commit on, replace it at others, and ask what holds at one, in a history
//! that branches and merges as the seed says.
//!
//! Owns that history, and the check that nobody is told of an entry that does not hold where it was asked for. Which
//! commits lie before another is found here by closing the relation over itself, and not as the nodes find it.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use sillok_builtin::CommitGraph;
use sillok_core::citation::Citation;
use sillok_core::command::{AnswerBody, Command, Replacement, Supersede};
use sillok_core::entry::{Binding, Head};
use sillok_core::id::EntryId;
use sillok_core::principal::PrincipalKind;
use sillok_core::promotion::NewEntry;
use sillok_core::scope::Scope;
use sillok_core::validity::Validity;
use sillok_store::keys::{self, Family};

use crate::agent::Agent;
use crate::rng::Stream;
use crate::violation::Violation;
use crate::workload::material::{observation, project_path, scope, text_of};
use crate::workload::{Check, Draw, End, Workload};

/// Commits of a world's history.
pub const COMMITS: u8 = 7;
/// What agents call the repository.
pub const REPOSITORY: &str = "sim";
/// Projects that are written to.
const PROJECTS: u8 = 3;
/// Under which a note says what was recalled.
const NOTE: &str = "recalled at a commit";

/// The name of a commit.
#[must_use]
pub fn hash(commit: u8) -> String {
    format!("{:040x}", u16::from(commit) + 1)
}

/// The parents of each commit of a seed's history, all of them older.
fn parents(seed: u64) -> Vec<BTreeSet<u8>> {
    let mut stream = Stream::new(seed, "history", 0);
    (0..COMMITS)
        .map(|commit| {
            let drawn = (0..2.min(commit)).map(|_| stream.index(usize::from(commit)));
            drawn
                .map(|parent| u8::try_from(parent).expect("few commits"))
                .collect()
        })
        .collect()
}

/// The history of a seed, as nodes ask it.
#[must_use]
pub fn history(seed: u64) -> CommitGraph {
    let commits = (0..COMMITS).zip(parents(seed));
    let named = commits.map(|(commit, own)| (hash(commit), own.into_iter().map(hash).collect()));
    CommitGraph::new(named.collect::<BTreeMap<_, _>>())
}

/// What lies before each commit of a seed's history, and itself.
fn before(seed: u64) -> BTreeMap<String, BTreeSet<String>> {
    let parents = parents(seed);
    let mut before: Vec<BTreeSet<u8>> = (0..COMMITS).map(|commit| [commit].into()).collect();
    for _ in 0..COMMITS {
        for (commit, own) in parents.iter().enumerate() {
            for parent in own {
                let more = before[usize::from(*parent)].clone();
                before[commit].extend(more);
            }
        }
    }
    let named = |all: BTreeSet<u8>| all.into_iter().map(hash).collect();
    (0..COMMITS)
        .map(hash)
        .zip(before.into_iter().map(named))
        .collect()
}

/// A result of a recall at a commit, with what the node knew of its ends.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Seen {
    /// The entry.
    pub entry: EntryId,
    /// The commit from which it holds.
    pub from: Option<String>,
    /// The commit that ended it.
    pub to: Option<String>,
    /// What the node said.
    pub validity: Option<Validity>,
}

/// What was recalled at a commit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Told {
    commit: String,
    results: Vec<Seen>,
}

/// The workload, and what must hold of it.
#[derive(Clone, Copy, Debug)]
pub struct Branches;

/// An action of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Action {
    /// Writes down what holds from a commit on.
    Write {
        /// Which project.
        project: u8,
        /// Which text.
        text: u8,
        /// Which commit.
        commit: u8,
    },
    /// Replaces what was written last, at a commit.
    Replace {
        /// Which project.
        project: u8,
        /// Which text.
        text: u8,
        /// Which commit.
        commit: u8,
    },
    /// Asks what holds at a commit.
    Recall {
        /// Which project.
        project: u8,
        /// Which commit.
        commit: u8,
    },
}

/// What was written last in each project, as agents tell one another.
#[derive(Debug, Default)]
struct Last(BTreeMap<u8, EntryId>);

impl Workload for Branches {
    type Action = Action;

    fn name(&self) -> &'static str {
        "branches"
    }

    fn share(&self) -> u32 {
        40
    }

    fn draw(&self, draw: &mut Draw<'_>) -> Action {
        let project = draw.byte(usize::from(PROJECTS));
        let commit = draw.byte(usize::from(COMMITS));
        let text = draw.byte(4);
        match draw.byte(4) {
            0 => Action::Write {
                project,
                text,
                commit,
            },
            1 => Action::Replace {
                project,
                text,
                commit,
            },
            _ => Action::Recall { project, commit },
        }
    }

    fn check_action(&self, action: &Action, _nodes: u16) -> Result<(), String> {
        let (Action::Write {
            project, commit, ..
        }
        | Action::Replace {
            project, commit, ..
        }
        | Action::Recall { project, commit }) = action;
        if *project >= PROJECTS {
            return Err(format!("project: {project} is not below {PROJECTS}"));
        }
        if *commit >= COMMITS {
            return Err(format!("commit: {commit} is not below {COMMITS}"));
        }
        Ok(())
    }

    async fn act(&self, agent: &mut Agent, action: Action) {
        match action {
            Action::Write {
                project,
                text,
                commit,
            } => write(agent, project, text, commit).await,
            Action::Replace {
                project,
                text,
                commit,
            } => replace(agent, project, text, commit).await,
            Action::Recall { project, commit } => recall(agent, project, commit).await,
        }
    }
}

/// Where nobody else writes.
fn place(project: u8) -> Scope {
    scope(&format!("{}/worktree/branches", project_path(project)))
}

/// An entry that holds from a commit on. Its text is like no other's, so that it is not merged.
fn fact(agent: &Agent, text: u8, commit: u8) -> NewEntry {
    let text = format!(
        "{} ({}-{})",
        text_of(text),
        agent.number(),
        agent.sent_count()
    );
    let (hash, repository) = (hash(commit), REPOSITORY.to_owned());
    NewEntry {
        citations: vec![Citation::Commit {
            hash: hash.clone(),
            repository: repository.clone(),
        }],
        binding: Binding::Commit { hash, repository },
        ..observation(&text)
    }
}

async fn write(agent: &mut Agent, project: u8, text: u8, commit: u8) {
    let put = Command::PutEntry {
        entry: Box::new(fact(agent, text, commit)),
        verification: None,
    };
    let answer = agent.give(PrincipalKind::Agent, &place(project), put).await;
    if let Some(AnswerBody::Entry { id, .. }) = answer.map(|answer| answer.result) {
        agent.shared(|last: &mut Last| last.0.insert(project, id));
    }
}

async fn replace(agent: &mut Agent, project: u8, text: u8, commit: u8) {
    let Some(old) = agent.shared(|last: &mut Last| last.0.get(&project).copied()) else {
        return write(agent, project, text, commit).await;
    };
    let Some((expected_version, _)) = agent.client().head(old).await else {
        return;
    };
    let supersede = Command::Supersede(Box::new(Supersede {
        old,
        expected_version,
        new: Replacement::New(Box::new(fact(agent, text, commit))),
        reason: "it is otherwise by now".into(),
        commit: None,
        verification: None,
    }));
    let answer = agent
        .give(PrincipalKind::Agent, &place(project), supersede)
        .await;
    if let Some(AnswerBody::Superseded { new, .. }) = answer.map(|answer| answer.result) {
        agent.shared(|last: &mut Last| last.0.insert(project, new));
    }
}

async fn recall(agent: &mut Agent, project: u8, commit: u8) {
    let commit = hash(commit);
    let asked = agent.client().recall_at(&place(project), &commit).await;
    let Some((results, ended)) = asked else {
        return;
    };
    if ended > 0 {
        agent.client().saw("entry left out where it had ended");
    }
    if results.iter().any(|seen| seen.to.is_some()) {
        agent.client().saw("entry recalled where it held still");
    }
    let told = Told { commit, results };
    agent.note(
        NOTE,
        serde_json::to_value(told).expect("plain data is JSON"),
    );
}

impl Check for Branches {
    /// Nobody was told of an entry that does not hold at the commit, by the ends that it has or had.
    fn check(&self, end: &End<'_>) -> Result<(), Violation> {
        let before = before(end.plan.seed);
        let heads: BTreeMap<EntryId, Head> = end
            .rows(Family::Head)
            .into_iter()
            .filter_map(|(key, value)| keys::head::decode(&key, &value).ok())
            .map(|head| (head.id, head))
            .collect();
        for note in end.history.notes.iter().filter(|note| note.kind == NOTE) {
            let told: Told =
                serde_json::from_value(note.value.clone()).expect("it was noted by this file");
            let known = &before[&told.commit];
            for seen in &told.results {
                if let Some(what) = wrong(seen, known, heads.get(&seen.entry)) {
                    let what = format!("entry {} at commit {}: {what}", seen.entry, told.commit);
                    return Err(Violation::new("recall at a commit", what));
                }
            }
        }
        Ok(())
    }
}

/// What is wrong with a result at a commit before which these lie, if anything is.
fn wrong(seen: &Seen, known: &BTreeSet<String>, head: Option<&Head>) -> Option<String> {
    let Some(head) = head else {
        return Some("it was recalled and is nowhere".to_owned());
    };
    let lifecycle = &head.lifecycle;
    let is_of_entry = seen.from == lifecycle.valid_from_commit
        && (seen.to.is_none() || seen.to == lifecycle.valid_to_commit);
    let lies_before = |commit: &String| known.contains(commit);
    let begun = seen.from.as_ref().is_none_or(lies_before);
    let ended = seen.to.as_ref().is_some_and(lies_before);
    let is_bound = seen.from.is_some() || seen.to.is_some();
    let said = match seen.validity {
        Some(Validity::Always) => !is_bound,
        Some(Validity::Holds) => is_bound,
        _ => false,
    };
    if !is_of_entry {
        Some(format!("{seen:?} has other ends than {lifecycle:?}"))
    } else if !begun || ended {
        Some(format!("{seen:?} does not hold there"))
    } else if !said {
        Some(format!("{seen:?} says otherwise than that it holds"))
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn histories_branch_and_merge_and_nodes_find_the_same_in_them() {
        let (mut branched, mut merged) = (0, 0);
        for seed in 0..40 {
            let graph = history(seed);
            let all: Vec<String> = (0..COMMITS).map(hash).collect();
            for (at, known) in before(seed) {
                let judged = graph.judge(&at, &all);
                for (commit, judged) in all.iter().zip(judged) {
                    let lies_before = judged == sillok_core::validity::Ancestry::Yes;
                    assert_eq!(lies_before, known.contains(commit), "{commit} at {at}");
                    branched += usize::from(!lies_before);
                }
            }
            merged += parents(seed).iter().filter(|own| own.len() > 1).count();
        }
        assert!(branched > 500 && merged > 50, "{branched} {merged}");
    }
}
