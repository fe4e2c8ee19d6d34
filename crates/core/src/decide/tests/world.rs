//! One scope with everything that was ever written to it at hand, and short ways to give commands.

use std::collections::{BTreeMap, BTreeSet};

use super::super::decide;
use crate::chain::{Origin, StoredEvent, seal};
use crate::citation::Excerpt;
use crate::command::{AnswerBody, Command, Submission, VerificationRef};
use crate::commit::{CommitName, Presence};
use crate::config::RulesConfig;
use crate::decision::{DecisionHead, DecisionVersion, DeclaredRelation, RelationName};
use crate::entry::{ClaimHash, Head, Version};
use crate::erasure::{KnownEvent, Texts};
use crate::error::Error;
use crate::event::Body;
use crate::evidence::{Evidence, MEDIA_TYPE_USUAL};
use crate::facts::{Facts, Need, RecordFact, needs};
use crate::id::{
    Attempt, CommandId, DecisionId, EntryId, Epoch, EvidenceId, RecordId, Seq, VerificationId,
};
use crate::invariants;
use crate::limits::FACT_ROUNDS_MAX;
use crate::membership::WireVersion;
use crate::ports::{ClaimRequest, NeighbourRequest, Ranked, SpaceThresholds};
use crate::principal::{Actor, PrincipalKind};
use crate::promotion::{Disposition, NewEntry, PublishReport, Standing, Stands};
use crate::retention::Retirement;
use crate::scope::Scope;
use crate::staging::Content;
use crate::state::{Change, Stamped, State};
use crate::time::Timestamp;
use crate::verification::Verification;

mod said;

pub(in crate::decide) use said::*;

pub(in crate::decide) const START: Timestamp = Timestamp::from_ms(1_790_000_000_000);
pub(in crate::decide) const TASK: &str = "org/a/project/b/worktree/c/task/d";
pub(in crate::decide) const PROJECT: &str = "org/a/project/b";

/// One scope, with everything that was ever written to it at hand.
pub(in crate::decide) struct World {
    pub(in crate::decide) state: State,
    pub(in crate::decide) versions: BTreeMap<EntryId, Version>,
    pub(in crate::decide) records: BTreeMap<RecordId, RecordFact>,
    /// Stretches of texts that stand where they are said to.
    pub(in crate::decide) excerpts: BTreeSet<Excerpt>,
    /// What the project's repository says of commits; of others it says nothing.
    pub(in crate::decide) commits: BTreeMap<CommitName, Presence>,
    pub(in crate::decide) verifications: BTreeMap<VerificationRef, Verification>,
    pub(in crate::decide) marks: BTreeMap<(Scope, VerificationId), PublishReport>,
    /// Tasks that were opened elsewhere.
    pub(in crate::decide) tasks: BTreeSet<Scope>,
    pub(in crate::decide) spoken: WireVersion,
    /// Entries of other scopes.
    pub(in crate::decide) elsewhere: BTreeMap<(Scope, EntryId), Head>,
    /// Into which entries answers merged others.
    pub(in crate::decide) merges: BTreeMap<EntryId, EntryId>,
    /// Versions of decisions.
    pub(in crate::decide) decision_versions: BTreeMap<(DecisionId, u64), DecisionVersion>,
    /// Decisions of other scopes.
    pub(in crate::decide) decisions_elsewhere: BTreeMap<(Scope, DecisionId), DecisionHead>,
    /// Evidence that other scopes have.
    pub(in crate::decide) evidence_elsewhere: BTreeSet<(Scope, EvidenceId)>,
    /// Kinds of relations that other scopes have declared.
    pub(in crate::decide) declared_elsewhere: BTreeMap<(Scope, RelationName), DeclaredRelation>,
    /// Evidence of the scope.
    pub(in crate::decide) evidence: BTreeMap<EvidenceId, Evidence>,
    /// Rows of decisions that changed, in order.
    pub(in crate::decide) decision_changes: Vec<Change>,
    /// All rows that changed, in order.
    pub(in crate::decide) changes: Vec<Change>,
    /// Whether the index has not heard of what was written.
    pub(in crate::decide) index_lags: bool,
    pub(in crate::decide) now: Timestamp,
    /// How promotions stand in the store.
    pub(in crate::decide) standings: BTreeMap<VerificationId, Standing>,
    /// Whether what is decided is not stored yet: the commands are those of one batch.
    pub(in crate::decide) in_batch: bool,
    /// What the index finds near any entry with a vector, the closest first.
    pub(in crate::decide) near: Vec<Ranked>,
    /// The thresholds of the space that vectors lie in.
    pub(in crate::decide) thresholds: Option<SpaceThresholds>,
    /// All events, as they are stored.
    pub(in crate::decide) events: Vec<StoredEvent>,
    commands: u64,
}

impl World {
    pub(in crate::decide) fn new(path: &str) -> Self {
        let scope = Scope::parse(path).unwrap();
        Self {
            state: State::new(&scope, None, None),
            versions: BTreeMap::new(),
            records: BTreeMap::new(),
            excerpts: BTreeSet::new(),
            commits: BTreeMap::new(),
            verifications: BTreeMap::new(),
            marks: BTreeMap::new(),
            tasks: BTreeSet::new(),
            spoken: WireVersion::NEWEST,
            elsewhere: BTreeMap::new(),
            merges: BTreeMap::new(),
            decision_versions: BTreeMap::new(),
            decisions_elsewhere: BTreeMap::new(),
            evidence_elsewhere: BTreeSet::new(),
            declared_elsewhere: BTreeMap::new(),
            evidence: BTreeMap::new(),
            decision_changes: Vec::new(),
            changes: Vec::new(),
            index_lags: false,
            now: START,
            standings: BTreeMap::new(),
            in_batch: false,
            near: Vec::new(),
            thresholds: None,
            events: Vec::new(),
            commands: 0,
        }
    }

    pub(in crate::decide) fn task() -> Self {
        let mut world = Self::new(TASK);
        world.give(PrincipalKind::Agent, open("t")).unwrap();
        world
    }

    pub(in crate::decide) fn submission(
        &mut self,
        kind: PrincipalKind,
        command: Command,
    ) -> Submission {
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

    pub(in crate::decide) fn give(
        &mut self,
        kind: PrincipalKind,
        command: Command,
    ) -> Result<AnswerBody, Error> {
        let submission = self.submission(kind, command);
        self.carry_out(&submission)
    }

    pub(in crate::decide) fn carry_out(
        &mut self,
        submission: &Submission,
    ) -> Result<AnswerBody, Error> {
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
            invariants::event_applies(&self.state, body).unwrap();
            self.apply(submission, body);
        }
        let actor = &submission.principal.actor;
        invariants::command_permitted(self.state.scope(), actor, &decision.bodies).unwrap();
        invariants::erasure_is_whole(&self.state, &decision.bodies).unwrap();
        invariants::failure_is_told(&decision.bodies).unwrap();
        assert_eq!(
            self.state.row().tip.seq.get(),
            before.seq.get() + decision.bodies.len() as u64
        );
        if !self.index_lags {
            self.state.index_was_told();
        }
        Ok(decision.result)
    }

    pub(in crate::decide) fn apply(&mut self, submission: &Submission, body: &Body) {
        let actor = submission.principal.actor.clone();
        let mut tip = self.state.row().tip;
        let origin = Origin {
            actor: actor.clone(),
            command: submission.id,
            epoch: Epoch(1),
        };
        self.events
            .push(seal(&mut tip, body, &origin, self.now, [0; 16]));
        if let Body::ContentErased(erased) = body {
            for event in &erased.events {
                let place = usize::try_from(event.at.seq.get() - 1).unwrap();
                self.events[place].sealed = None;
            }
        }
        let stamped = Stamped {
            seq: tip.seq,
            time: tip.time,
            actor,
        };
        for change in self.state.apply(body, &stamped) {
            self.changes.push(change.clone());
            match change {
                Change::Version(version) => drop(self.versions.insert(version.entry, *version)),
                Change::Mark {
                    source,
                    verification,
                    report,
                } => drop(self.marks.insert((source, verification), *report)),
                Change::DecisionVersion(version) => {
                    self.decision_versions
                        .insert((version.root, version.number), *version);
                }
                Change::Evidence(saved) => drop(self.evidence.insert(saved.id, *saved)),
                Change::Verification(recorded) => {
                    let named = VerificationRef {
                        task: self.state.scope().clone(),
                        id: recorded.id,
                    };
                    self.verifications.insert(named, *recorded);
                }
                change @ (Change::Decision(_)
                | Change::DecisionListed { .. }
                | Change::DecisionClaim { .. }
                | Change::RelatedTo { .. }
                | Change::RelationRenamed { .. }) => self.decision_changes.push(change),
                _ => {}
            }
        }
        self.state.advance(tip);
        if !self.in_batch {
            self.store(body);
        }
    }

    /// Notes what an event says of a promotion, as the store would.
    fn store(&mut self, body: &Body) {
        let (id, stands) = match body {
            Body::VerificationRecorded(verification) => {
                let standing = Standing {
                    verification: verification.id,
                    outcome: verification.said.outcome,
                    through: verification.through,
                    stands: Stands::Pending,
                };
                self.standings.insert(verification.id, standing);
                return;
            }
            Body::Promoted { verification, .. } => (verification, Stands::Published),
            Body::PromotionDropped { verification, .. } => (verification, Stands::Dropped),
            _ => return,
        };
        if let Some(standing) = self.standings.get_mut(id) {
            standing.stands = stands;
        }
    }

    pub(in crate::decide) fn facts(&mut self, submission: &Submission) -> Facts {
        let mut facts = Facts {
            thresholds: self.thresholds,
            spoken: self.spoken,
            returning: self.returning(&submission.command).map(Box::new),
            ..Facts::default()
        };
        for _ in 0..=FACT_ROUNDS_MAX {
            for need in needs(&self.state, submission, &facts) {
                self.look_up(need, &mut facts);
            }
        }
        assert!(
            needs(&self.state, submission, &facts).is_empty(),
            "facts come to an end"
        );
        facts
    }

    fn look_up(&mut self, need: Need, facts: &mut Facts) {
        match need {
            Need::Head(id) => self.state.learn_head(id, None),
            Need::Events(positions) => {
                let named = positions.into_iter().map(|seq| (seq, self.event(seq)));
                facts.events.extend(named);
            }
            Need::Texts(entries) => facts.texts = Some(self.texts(&entries)),
            Need::HeadElsewhere(scope, id) => {
                let named = (scope, id);
                let found = self.elsewhere.get(&named).cloned();
                facts.elsewhere.insert(named, found);
            }
            Need::ByHash(key) => self.state.learn_hash(key, None),
            Need::Token(hash) => self.state.learn_token(hash, None),
            Need::Version(id, _) => {
                drop(facts.versions.insert(id, self.versions.get(&id).cloned()))
            }
            Need::Record(id) => {
                let found = self.records.get(&id).copied();
                let found = found.unwrap_or(RecordFact::Missing);
                facts.records.insert(id, found);
            }
            Need::Excerpt(excerpt) => {
                let stands = self.excerpts.contains(&excerpt);
                facts.excerpts.insert(excerpt, stands);
            }
            Need::Commits(commits) => {
                let said = commits.into_iter().map(|commit| self.presence(commit));
                facts.commits.extend(said);
            }
            Need::Retirement(entry, at) => {
                let why = self.retirement(entry, at);
                facts.retirements.insert(entry, why);
            }
            Need::Verification(named) => {
                let found = self.verifications.get(&named).cloned();
                facts.verifications.insert(named, found);
            }
            Need::Mark(source, id) => {
                let found = self.marks.get(&(source.clone(), id)).cloned();
                facts.marks.insert((source, id), found);
            }
            Need::Report(entry, task) => self.state.learn_report(entry, task, None),
            Need::Review(id) => self.state.learn_review(id, None),
            Need::Merges(_) => facts.merges = Some(self.merges.clone()),
            Need::Task(task) => {
                let was_opened = self.tasks.contains(&task);
                facts.tasks.insert(task, was_opened);
            }
            Need::Job(named) => {
                let is_under_way = self.is_under_way(named.id);
                facts.jobs.insert(named, is_under_way);
            }
            Need::Promotions => {
                let all = self.standings.values().copied().collect();
                facts.promotions = Some(all);
            }
            Need::Neighbours(number, request) => {
                facts.neighbours.insert(number, self.near(&request));
            }
            Need::Claimants(number, request) => {
                facts.claimants.insert(number, self.claimants(&request));
            }
            need => self.look_up_decision(need, facts),
        }
    }

    fn look_up_decision(&mut self, need: Need, facts: &mut Facts) {
        match need {
            Need::Decision(root) => self.state.learn_decision(root, None),
            Need::DecisionElsewhere(scope, root) => {
                let named = (scope, root);
                let found = self.decisions_elsewhere.get(&named).cloned();
                facts.decisions_elsewhere.insert(named, found);
            }
            Need::DecisionVersion(root, number) => {
                let found = self.decision_versions.get(&(root, number)).cloned();
                facts.decision_versions.insert((root, number), found);
            }
            Need::DecisionSeqs(root, numbers) => {
                let seq = |number| {
                    self.decision_versions
                        .get(&(root, number))
                        .map(|one| one.seq)
                };
                let found = numbers
                    .into_iter()
                    .map(|number| ((root, number), seq(number)));
                facts.decision_seqs.extend(found);
            }
            Need::Evidence(id) => self.state.learn_evidence(id, None),
            Need::EvidenceElsewhere(scope, id) => {
                let named = (scope, id);
                let is_there = self.evidence_elsewhere.contains(&named);
                facts.evidence_elsewhere.insert(named, is_there);
            }
            Need::Anchor(id) => self.state.learn_anchor(id, None),
            Need::DeclaredRelation(scope, name) if scope == *self.state.scope() => {
                self.state.learn_declared(name, None);
            }
            Need::DeclaredRelation(scope, name) => {
                let named = (scope, name);
                let found = self.declared_elsewhere.get(&named).cloned();
                facts.declared.insert(named, found);
            }
            other => panic!("{other:?} is of no decision, evidence or anchor"),
        }
    }

    /// The entry that a command brings back.
    fn returning(&self, command: &Command) -> Option<NewEntry> {
        let Command::RestoreEntry { entry, .. } = command else {
            return None;
        };
        let head = self.state.head(*entry)?;
        let text =
            self.events
                .iter()
                .rev()
                .find_map(|stored| match stored.decode_body().unwrap() {
                    Some(Body::EntryCreated(made)) if made.id == *entry => Some(made.text),
                    Some(Body::EntryAmended(made)) if made.id == *entry => Some(made.text),
                    _ => None,
                })?;
        Some(NewEntry {
            content: text.content,
            detail: text.detail,
            claim: text.claim,
            failure: head.failure,
            embedding: text.embedding,
            ..self::entry(head.table, "")
        })
    }

    pub(in crate::decide) fn event(&self, seq: Seq) -> Option<KnownEvent> {
        let place = usize::try_from(seq.get()).unwrap().checked_sub(1)?;
        let stored = self.events.get(place).cloned()?;
        Some(KnownEvent::of(stored).unwrap())
    }

    fn presence(&self, commit: CommitName) -> (CommitName, Presence) {
        let said = self.commits.get(&commit).copied();
        (commit, said.unwrap_or(Presence::Unknown))
    }

    /// Why an entry left recall then, as the events tell.
    fn retirement(&self, entry: EntryId, at: Timestamp) -> Option<Retirement> {
        let told = self.events.iter().rev().find_map(|stored| {
            let header = stored.decode_header().unwrap();
            match stored.decode_body().unwrap() {
                Some(Body::EntriesRetired { entries, why }) if entries.contains(&entry) => {
                    Some((header.time, why))
                }
                _ => None,
            }
        });
        told.filter(|(time, _)| *time == at).map(|(_, why)| why)
    }

    fn is_under_way(&self, promotion: VerificationId) -> bool {
        let standing = self.standings.get(&promotion);
        standing.is_some_and(|standing| standing.stands == Stands::Pending)
    }

    fn near(&self, request: &NeighbourRequest) -> Vec<Ranked> {
        let near = self.near.iter();
        let found = near.filter(|near| near.score >= request.cosine_min);
        found.take(request.limit).cloned().collect()
    }

    /// What an index finds that was told of everything that was written.
    fn claimants(&self, request: &ClaimRequest) -> Vec<EntryId> {
        let is_sought = |version: &&Version| {
            let claim = version.claim.as_ref();
            let claim = claim.map(|claim| ClaimHash::of(claim, &request.scope));
            let head = self.state.head(version.entry);
            claim.is_some_and(|claim| claim.contradicts(request.claim))
                && head.is_some_and(|head| head.status.is_live() && head.failure == request.failure)
        };
        let sought = self.versions.values().filter(is_sought);
        let found = sought.map(|version| version.entry);
        found.take(request.limit).collect()
    }

    /// Has the scope have evidence that nobody saved.
    pub(in crate::decide) fn learn_evidence(&mut self, id: EvidenceId) {
        let evidence = Evidence {
            id,
            title: "t".into(),
            source: String::new(),
            media_type: MEDIA_TYPE_USUAL.into(),
            content: Content::Inline("c".into()),
            hash: [7; 32],
            masked: 0,
            by: Actor::system(),
            at: START,
            seq: Seq::ZERO,
        };
        self.state.learn_evidence(id, Some(&evidence));
    }

    pub(in crate::decide) fn texts(&self, entries: &[EntryId]) -> Texts {
        let mut texts = Texts::default();
        for stored in &self.events {
            texts.read(stored, entries).unwrap();
        }
        texts
    }

    pub(in crate::decide) fn put(
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
