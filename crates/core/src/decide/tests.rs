//! Tests of the rules as a whole: commands against a scope whose facts are all at hand.

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::{decide, denial};
use crate::chain::{Origin, seal};
use crate::citation::{Citation, TestOutcome};
use crate::command::{
    AmendEntry, AnswerBody, Command, Replacement, Submission, Supersede, VerificationRef,
};
use crate::config::RulesConfig;
use crate::entry::{Binding, Claim, Detail, Metadata, Status, Table, Version};
use crate::error::{Error, ErrorCode};
use crate::event::Body;
use crate::facts::{Facts, Need, RecordFact, needs};
use crate::id::{Attempt, CommandId, EntryId, Epoch, RecordId, Seq};
use crate::limits::{CLOCK_AHEAD_MS_MAX, COMMAND_RETRY_MS_MAX, FACT_ROUNDS_MAX};
use crate::principal::{Actor, Principal, PrincipalId, PrincipalKind};
use crate::promotion::{Disposition, NewEntry};
use crate::scope::Scope;
use crate::staging::{LogLevel, NewRecord, RecordKind};
use crate::state::{Change, Stamped, State};
use crate::time::Timestamp;
use crate::verification::{NewVerification, Outcome, Verification, VerificationSource};

const START: Timestamp = Timestamp::from_ms(1_790_000_000_000);
const TASK: &str = "org/a/project/b/worktree/c/task/d";
const PROJECT: &str = "org/a/project/b";

/// One scope, with everything that was ever written to it at hand.
struct World {
    state: State,
    versions: BTreeMap<EntryId, Version>,
    records: BTreeMap<RecordId, RecordFact>,
    verifications: BTreeMap<VerificationRef, Verification>,
    now: Timestamp,
    commands: u64,
}

impl World {
    fn new(path: &str) -> Self {
        let scope = Scope::parse(path).unwrap();
        Self {
            state: State::new(&scope, None, None),
            versions: BTreeMap::new(),
            records: BTreeMap::new(),
            verifications: BTreeMap::new(),
            now: START,
            commands: 0,
        }
    }

    fn task() -> Self {
        let mut world = Self::new(TASK);
        world.give(PrincipalKind::Agent, open("t")).unwrap();
        world
    }

    fn submission(&mut self, kind: PrincipalKind, command: Command) -> Submission {
        self.commands += 1;
        let mut random = [0; 10];
        random[2..].copy_from_slice(&self.commands.to_be_bytes());
        Submission {
            scope: self.state.scope().clone(),
            principal: principal(kind),
            id: CommandId::from_parts(self.now, random),
            attempt: Attempt::FIRST,
            command,
        }
    }

    fn give(&mut self, kind: PrincipalKind, command: Command) -> Result<AnswerBody, Error> {
        let submission = self.submission(kind, command);
        self.carry_out(&submission)
    }

    fn carry_out(&mut self, submission: &Submission) -> Result<AnswerBody, Error> {
        let facts = self.facts(submission);
        let before = self.state.row().tip;
        let decision = decide(
            &self.state,
            submission,
            &facts,
            &RulesConfig::default(),
            self.now,
        )?;
        for body in &decision.bodies {
            self.apply(submission, body);
        }
        assert_eq!(
            self.state.row().tip.seq.get(),
            before.seq.get() + decision.bodies.len() as u64
        );
        self.state.index_was_told();
        Ok(decision.result)
    }

    fn apply(&mut self, submission: &Submission, body: &Body) {
        let actor = submission.principal.actor.clone();
        let mut tip = self.state.row().tip;
        let origin = Origin {
            actor: actor.clone(),
            command: submission.id,
            epoch: Epoch(1),
        };
        drop(seal(&mut tip, body, &origin, self.now, [0; 16]));
        for change in self.state.apply(
            body,
            &Stamped {
                seq: tip.seq,
                time: tip.time,
                actor,
            },
        ) {
            if let Change::Version(version) = change {
                self.versions.insert(version.entry, *version);
            }
        }
        self.state.advance(tip);
    }

    fn facts(&mut self, submission: &Submission) -> Facts {
        let mut facts = Facts::default();
        for _ in 0..=FACT_ROUNDS_MAX {
            for need in needs(&self.state, submission, &facts) {
                match need {
                    Need::Head(id) => self.state.learn_head(id, None),
                    Need::ByHash(key) => self.state.learn_hash(key, None),
                    Need::Token(hash) => self.state.learn_token(hash, None),
                    Need::Version(id, _) => {
                        drop(facts.versions.insert(id, self.versions.get(&id).cloned()))
                    }
                    Need::Record(id) => {
                        let found = self
                            .records
                            .get(&id)
                            .copied()
                            .unwrap_or(RecordFact::Missing);
                        facts.records.insert(id, found);
                    }
                    Need::Verification(named) => {
                        let found = self.verifications.get(&named).cloned();
                        facts.verifications.insert(named, found);
                    }
                    Need::Mark(source, id) => drop(facts.marks.insert((source, id), None)),
                    Need::Neighbours(number, _) => {
                        drop(facts.neighbours.insert(number, Vec::new()))
                    }
                }
            }
        }
        assert!(
            needs(&self.state, submission, &facts).is_empty(),
            "facts come to an end"
        );
        facts
    }

    fn put(
        &mut self,
        kind: PrincipalKind,
        entry: NewEntry,
    ) -> Result<(EntryId, Disposition), Error> {
        match self.give(
            kind,
            Command::PutEntry {
                entry: Box::new(entry),
                verification: None,
            },
        )? {
            AnswerBody::Entry {
                id, disposition, ..
            } => Ok((id, disposition)),
            other => panic!("{other:?}"),
        }
    }
}

fn principal(kind: PrincipalKind) -> Principal {
    Principal {
        actor: Actor {
            kind,
            id: PrincipalId::parse("p").unwrap(),
        },
        prefix: "org/a".parse().unwrap(),
    }
}

fn open(title: &str) -> Command {
    Command::OpenTask {
        title: title.into(),
        description: String::new(),
    }
}

fn append(text: &str, time: Option<Timestamp>) -> Command {
    let kind = RecordKind::Log {
        level: LogLevel::Info,
    };
    Command::Append {
        records: vec![NewRecord {
            kind,
            content: text.into(),
            metadata: Metadata::default(),
            time,
        }],
    }
}

fn entry(table: Table, content: &str) -> NewEntry {
    NewEntry {
        table,
        content: content.into(),
        detail: Detail::Plain,
        metadata: Metadata::default(),
        claim: None,
        citations: Vec::new(),
        failure: false,
        binding: Binding::NoRepository,
        embedding: None,
    }
}

fn verification(outcome: Outcome, source: VerificationSource, target: Option<&str>) -> Command {
    Command::RecordVerification(Box::new(NewVerification {
        outcome,
        source,
        run: "run".into(),
        citations: Vec::new(),
        binding: Binding::NoRepository,
        error: None,
        approach: None,
        target: target.map(|path| Scope::parse(path).unwrap()),
    }))
}

fn supersede(old: EntryId, expected_version: u64, new: Replacement) -> Command {
    Command::Supersede(Box::new(Supersede {
        old,
        expected_version,
        new,
        reason: "better".into(),
        commit: None,
        verification: None,
    }))
}

fn amend(id: EntryId, expected_version: u64, content: &str) -> Command {
    Command::AmendEntry(Box::new(AmendEntry {
        entry: id,
        expected_version,
        content: content.into(),
        detail: Detail::Plain,
        metadata: Metadata::default(),
        claim: None,
        citations: Vec::new(),
        embedding: None,
        verification: None,
    }))
}

#[test]
fn a_log_belongs_to_an_opened_task() {
    let error = World::new(TASK)
        .give(PrincipalKind::Agent, append("x", None))
        .unwrap_err();
    assert_eq!(error.code, ErrorCode::NotFound);
    let error = World::new(PROJECT)
        .give(PrincipalKind::Agent, append("x", None))
        .unwrap_err();
    assert_eq!(error.code, ErrorCode::InvalidScope);
    let error = World::task()
        .give(PrincipalKind::Agent, open("again"))
        .unwrap_err();
    assert_eq!(error.code, ErrorCode::Conflict);
}

#[test]
fn secrets_are_masked_before_they_are_staged() {
    let mut world = World::task();
    let text = format!("export GITHUB_TOKEN=ghp_{}", "a1B2".repeat(9));
    let submission = world.submission(PrincipalKind::Agent, append(&text, None));
    let decision = decide(
        &world.state,
        &submission,
        &Facts::default(),
        &RulesConfig::default(),
        world.now,
    )
    .unwrap();
    assert!(!format!("{decision:?}").contains("a1B2a1B2"));
    assert!(
        matches!(decision.result, AnswerBody::Appended { masked: 1, .. }),
        "{:?}",
        decision.result
    );
}

#[test]
fn times_far_ahead_are_refused() {
    let mut world = World::task();
    let ahead = world.now.plus_ms(CLOCK_AHEAD_MS_MAX + 1);
    let error = world
        .give(PrincipalKind::Agent, append("x", Some(ahead)))
        .unwrap_err();
    assert_eq!(error.code, ErrorCode::InvalidArgument);
    let mut submission = world.submission(PrincipalKind::Agent, append("x", None));
    submission.id = CommandId::from_parts(ahead, [1; 10]);
    assert_eq!(
        world.carry_out(&submission).unwrap_err().code,
        ErrorCode::InvalidId
    );
}

#[test]
fn a_command_below_the_floor_is_never_executed() {
    let mut world = World::task();
    let old = world.submission(PrincipalKind::Agent, append("late", None));
    world.now = world.now.plus_ms(COMMAND_RETRY_MS_MAX + 1);
    world
        .give(PrincipalKind::Agent, append("moves the floor", None))
        .unwrap();
    assert_eq!(world.carry_out(&old).unwrap_err().code, ErrorCode::Expired);
}

#[test]
fn a_clock_far_behind_the_scope_is_refused() {
    let mut world = World::task();
    world.now = Timestamp::from_ms(START.ms() - 10 * CLOCK_AHEAD_MS_MAX);
    let error = world
        .give(PrincipalKind::Agent, append("x", None))
        .unwrap_err();
    assert_eq!(error.code, ErrorCode::Unavailable);
}

#[test]
fn promotion_goes_strictly_upward() {
    let passed = |target| {
        verification(
            Outcome::Passed,
            VerificationSource::TestsPassed,
            Some(target),
        )
    };
    for bad in [TASK, "org/a/project/other", "org/z"] {
        let error = World::task()
            .give(PrincipalKind::Orchestrator, passed(bad))
            .unwrap_err();
        assert_eq!(error.code, ErrorCode::InvalidPromotion, "{bad}");
    }
    assert!(
        World::task()
            .give(
                PrincipalKind::Orchestrator,
                passed("org/a/project/b/worktree/c")
            )
            .is_ok()
    );
    let error = World::task()
        .give(PrincipalKind::Orchestrator, passed("org/a"))
        .unwrap_err();
    assert_eq!(error.rule(), Some("entries/org"));
    assert!(
        World::task()
            .give(PrincipalKind::Human, passed("org/a"))
            .is_ok()
    );
}

#[test]
fn a_verification_speaks_for_what_came_after_the_last_passed_one() {
    let mut world = World::task();
    let pin = |world: &mut World, outcome, source| {
        world.give(PrincipalKind::Agent, append("x", None)).unwrap();
        match world
            .give(
                PrincipalKind::Orchestrator,
                verification(outcome, source, None),
            )
            .unwrap()
        {
            AnswerBody::Verification { from, through, .. } => (from.get(), through.get()),
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(
        pin(&mut world, Outcome::Failed, VerificationSource::TestsFailed),
        (0, 2)
    );
    assert_eq!(
        pin(&mut world, Outcome::Passed, VerificationSource::TestsPassed),
        (0, 4)
    );
    assert_eq!(
        pin(&mut world, Outcome::Passed, VerificationSource::TestsPassed),
        (4, 6)
    );
}

#[test]
fn an_agent_cannot_verify_itself() {
    let mut world = World::task();
    let claimed = Citation::Test {
        name: "t".into(),
        outcome: TestOutcome::Pass,
        run: "r".into(),
    };
    let draft = NewEntry {
        citations: vec![claimed],
        ..entry(Table::Observations, "it works")
    };
    let (id, _) = world.put(PrincipalKind::Agent, draft.clone()).unwrap();
    let (again, disposition) = world.put(PrincipalKind::Agent, draft).unwrap();
    assert_eq!(
        (again, disposition),
        (id, Disposition::Merged { cosine: 1.0 })
    );
    let head = world.state.head(id).unwrap();
    assert_eq!(
        (head.status, head.trust.validation_count),
        (Status::Hypothesis, 0)
    );
    assert_eq!(head.trust.confidence, 0.3);
}

#[test]
fn an_entry_that_rests_on_a_verification_is_verified() {
    let mut task = World::task();
    task.give(
        PrincipalKind::Orchestrator,
        verification(Outcome::Passed, VerificationSource::TestsPassed, None),
    )
    .unwrap();
    let submission = task.submission(
        PrincipalKind::Orchestrator,
        verification(Outcome::Passed, VerificationSource::PrMerged, None),
    );
    let facts = task.facts(&submission);
    let decision = decide(
        &task.state,
        &submission,
        &facts,
        &RulesConfig::default(),
        task.now,
    )
    .unwrap();
    let Body::VerificationRecorded(recorded) = &decision.bodies[0] else {
        panic!("{decision:?}")
    };
    let named = VerificationRef {
        task: task.state.scope().clone(),
        id: recorded.id,
    };
    let mut project = World::new(PROJECT);
    let write = |verification| Command::PutEntry {
        entry: Box::new(entry(Table::Observations, "the cache is cold at start")),
        verification,
    };
    let error = project
        .give(PrincipalKind::Orchestrator, write(None))
        .unwrap_err();
    assert_eq!(error.rule(), Some("entries/project"));
    let error = project
        .give(PrincipalKind::Orchestrator, write(Some(named.clone())))
        .unwrap_err();
    assert_eq!(
        error.code,
        ErrorCode::NotFound,
        "a verification that nobody recorded stands behind nothing"
    );
    project
        .verifications
        .insert(named.clone(), (**recorded).clone());
    match project
        .give(PrincipalKind::Orchestrator, write(Some(named)))
        .unwrap()
    {
        AnswerBody::Entry { status, .. } => assert_eq!(status, Status::Verified),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_citation_must_resolve() {
    let mut world = World::task();
    let id = RecordId {
        scope: world.state.scope().clone(),
        seq: Seq::new(1),
    };
    let cited = |id: &RecordId| NewEntry {
        citations: vec![Citation::Log {
            id: id.clone(),
            time: START,
        }],
        ..entry(Table::Observations, "seen")
    };
    let error = world.put(PrincipalKind::Agent, cited(&id)).unwrap_err();
    assert_eq!(error.code, ErrorCode::UnresolvableCitation);
    world.records.insert(id.clone(), RecordFact::Snapshot);
    assert!(
        world.put(PrincipalKind::Agent, cited(&id)).is_err(),
        "a snapshot is no log record"
    );
    world.records.insert(id.clone(), RecordFact::Log);
    assert!(world.put(PrincipalKind::Agent, cited(&id)).is_ok());
    let foreign = RecordId {
        scope: Scope::parse("org/z/project/b/worktree/c/task/d").unwrap(),
        seq: Seq::new(1),
    };
    world.records.insert(foreign.clone(), RecordFact::Log);
    assert!(
        world.put(PrincipalKind::Agent, cited(&foreign)).is_err(),
        "the token does not reach it"
    );
}

#[test]
fn contradictions_are_never_merged() {
    let mut world = World::task();
    let claim = |value: &str| NewEntry {
        claim: Some(Claim {
            key: "http.framework".into(),
            value: value.into(),
        }),
        ..entry(Table::Observations, "the project uses one http framework")
    };
    let (hono, _) = world.put(PrincipalKind::Agent, claim("hono")).unwrap();
    let (express, disposition) = world.put(PrincipalKind::Agent, claim("express")).unwrap();
    assert_ne!(hono, express);
    assert_eq!(disposition, Disposition::Contradicts { other: hono });
}

#[test]
fn an_existing_entry_joins_no_second_line() {
    let mut world = World::task();
    let ids: Vec<EntryId> = ["a", "b", "c"]
        .map(|text| {
            world
                .put(PrincipalKind::Agent, entry(Table::Patterns, text))
                .unwrap()
                .0
        })
        .into();
    let by = |old, new| supersede(old, 1, Replacement::Existing(new));
    let error = world
        .give(PrincipalKind::Agent, by(ids[0], ids[0]))
        .unwrap_err();
    assert_eq!(error.code, ErrorCode::InvalidSupersession);
    world
        .give(PrincipalKind::Agent, by(ids[0], ids[1]))
        .unwrap();
    let error = world
        .give(PrincipalKind::Agent, by(ids[2], ids[1]))
        .unwrap_err();
    assert_eq!(
        error.code,
        ErrorCode::InvalidSupersession,
        "it replaced another already"
    );
    let error = world
        .give(PrincipalKind::Agent, by(ids[1], ids[0]))
        .unwrap_err();
    assert_eq!(error.code, ErrorCode::InvalidSupersession, "no cycle");
    let error = world
        .give(PrincipalKind::Agent, by(ids[0], ids[2]))
        .unwrap_err();
    assert_eq!(
        error.current().unwrap().entry,
        Some(ids[1]),
        "the conflict names the head of the line"
    );
}

#[test]
fn denials_are_sampled_and_counted() {
    let mut world = World::task();
    let mut noted = Vec::new();
    for _ in 0..4 {
        let submission = world.submission(
            PrincipalKind::Agent,
            verification(Outcome::Passed, VerificationSource::PrMerged, None),
        );
        let error = world.carry_out(&submission).unwrap_err();
        let now = world.now;
        noted.extend(denial(&mut world.state, &submission, &error, now));
        world.now = world.now.plus_ms(400);
    }
    let counts: Vec<u64> = noted
        .iter()
        .map(|body| match body {
            Body::Denied { unsampled, .. } => *unsampled,
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(
        counts,
        [0, 2],
        "the first, and one a second later that counts the two between"
    );
}

/// What a random writer does to a line of entries.
#[derive(Clone, Debug)]
enum Step {
    Supersede { guess: usize, version: u64 },
    Amend { guess: usize, version: u64 },
}

fn step() -> impl Strategy<Value = Step> {
    let supersede =
        (0usize..8, 1u64..4).prop_map(|(guess, version)| Step::Supersede { guess, version });
    let amend = (0usize..8, 1u64..4).prop_map(|(guess, version)| Step::Amend { guess, version });
    prop_oneof![supersede, amend]
}

proptest! {
    #[test]
    fn a_line_has_one_head_and_every_loser_learns_what_is_current(
        steps in proptest::collection::vec(step(), 1..60)
    ) {
        let mut world = World::task();
        let mut line = vec![world.put(PrincipalKind::Agent, entry(Table::Patterns, "0")).unwrap().0];
        for (number, step) in steps.into_iter().enumerate() {
            let text = format!("text {number}");
            let (guess, expected_version, command) = match step {
                Step::Supersede { guess, version } => {
                    let old = line[guess % line.len()];
                    let new = Replacement::New(Box::new(entry(Table::Patterns, &text)));
                    (old, version, supersede(old, version, new))
                }
                Step::Amend { guess, version } => {
                    let id = line[guess % line.len()];
                    (id, version, amend(id, version, &text))
                }
            };
            let head = *line.last().unwrap();
            let head_version = world.state.head(head).unwrap().version;
            let result = world.give(PrincipalKind::Agent, command);
            if guess == head && expected_version == head_version {
                if let AnswerBody::Superseded { new, .. } = result.unwrap() {
                    line.push(new);
                }
            } else {
                let current = result.unwrap_err().current().unwrap();
                prop_assert_eq!((current.entry, current.version), (Some(head), Some(head_version)));
            }
            let live: Vec<EntryId> =
                line.iter().copied().filter(|id| world.state.head(*id).unwrap().status.is_live()).collect();
            prop_assert_eq!(live, vec![*line.last().unwrap()], "exactly one head");
            prop_assert_eq!(world.state.head(line[0]).unwrap().line_head, *line.last().unwrap());
        }
    }

    #[test]
    fn the_same_text_twice_is_one_entry(texts in proptest::collection::vec("[a-c ]{1,6}", 1..20)) {
        let mut world = World::task();
        let mut by_text: BTreeMap<String, EntryId> = BTreeMap::new();
        for text in texts.iter().filter(|text| !text.trim().is_empty()) {
            let (id, disposition) = world.put(PrincipalKind::Agent, entry(Table::Observations, text)).unwrap();
            let normal = text.split_whitespace().collect::<Vec<_>>().join(" ");
            match by_text.insert(normal, id) {
                Some(known) => prop_assert_eq!((id, disposition), (known, Disposition::Merged { cosine: 1.0 })),
                None => prop_assert_eq!(disposition, Disposition::Created),
            }
        }
    }
}
