//! Counters of what faults brought about: effects, not injections.
//!
//! A fault that never takes effect proves nothing, so a batch prints these and fails where one that
//! must not be 0 is.

use std::collections::BTreeMap;

/// How often each effect was seen.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize)]
#[serde(transparent)]
pub struct Effects(BTreeMap<&'static str, u64>);

impl Effects {
    /// Counts one.
    pub fn saw(&mut self, effect: &'static str) {
        *self.0.entry(effect).or_default() += 1;
    }

    /// Counts several.
    pub fn saw_times(&mut self, effect: &'static str, count: u64) {
        if count > 0 {
            *self.0.entry(effect).or_default() += count;
        }
    }

    /// How often an effect was seen.
    #[must_use]
    pub fn count(&self, effect: &str) -> u64 {
        self.0.get(effect).copied().unwrap_or(0)
    }

    /// Each effect with how often it was seen, in the order of their names.
    pub fn iter(&self) -> impl Iterator<Item = (&'static str, u64)> {
        self.0.iter().map(|(effect, count)| (*effect, *count))
    }

    /// Adds those of another world.
    pub fn add(&mut self, other: &Self) {
        for (effect, count) in &other.0 {
            *self.0.entry(effect).or_default() += count;
        }
    }

    /// Those of `expected` that were never seen.
    #[must_use]
    pub fn missing(&self, expected: &[&'static str]) -> Vec<&'static str> {
        let unseen = |effect: &&&'static str| self.count(effect) == 0;
        expected.iter().filter(unseen).copied().collect()
    }
}

/// What every batch of 1,000 seeds must have seen.
pub const EXPECTED: [&str; 191] = [
    "actor killed with a command in flight",
    "anchor dropped",
    "anchor followed to evidence",
    "anchor in a brief",
    "anchor to a withdrawn decision refused",
    "answer came after its caller had given up",
    "answer heard at a later try",
    "answer of a node that was taken for gone",
    "append to a stream that was created anew",
    "append where the stream does not end",
    "approach of another task warned of",
    "approach rejected",
    "approach that a pass cleared warned of",
    "attempt barred whose outcome was unknown",
    "batch decided again",
    "batch waited for its turn",
    "beat missed",
    "brief cut to its budget",
    "brief during a change",
    "brief refused for what does not hold",
    "brief without room for every reference",
    "change of a decision refused for its version",
    "change of the embedder cut off",
    "checkpoint kept",
    "citations refreshed",
    "cognifier failed",
    "command waited for a handover",
    "commit fenced",
    "commit lost and unheard of",
    "commit that did not reach the store",
    "commit whose answer was cut off",
    "commit with an unknown outcome",
    "commits gathered behind a slow sync",
    "commits that share one sync",
    "committed after the outcome was unknown",
    "committed and unheard of",
    "conflict",
    "conflict without a writer",
    "contradiction answered",
    "contradiction of a decision told",
    "contradiction raised",
    "crash with commands under way",
    "crashed before the sync",
    "decision and evidence erased",
    "decision hidden from a narrow token",
    "decision reached by a declared kind",
    "decision reached from evidence",
    "disk failed",
    "doubled message recognised by the stream",
    "embedder away",
    "embedder changed",
    "ended while evidence in chunks was saved",
    "entry brought back",
    "entry erased",
    "entry found gone left recall",
    "entry left out where it had ended",
    "entry recalled where it held still",
    "entry taken out by maintenance",
    "error in a stuck task blocked",
    "error of an erased verification counted",
    "error of another agent counted",
    "error that came back warned of",
    "error that came too often blocked",
    "error under a former epoch counted",
    "errors judged in one batch",
    "errors that take turns blocked",
    "event dated by the one before it after a clock jump",
    "event dated by the one before it after a clock that was ahead",
    "event dated by the one before it under a wrong clock",
    "evidence in chunks read",
    "evidence masked",
    "evidence stored in chunks",
    "failed approaches listed",
    "failures cleared by a pass",
    "fix of a stuck task blocked",
    "gap of the stream read from the store",
    "guarded decision changed",
    "guarded decision reached",
    "halted promotion tried anew",
    "impact cut by a limit",
    "impact over a cycle",
    "impact refused for what does not hold",
    "impact with room for some alone",
    "index begun anew after damage",
    "index failed",
    "kind of relation declared",
    "kind of relation declared before",
    "loss of the stream noticed",
    "mailbox full",
    "maintenance met another run",
    "maintenance planned",
    "maintenance run at its time",
    "meaning of a kind erased",
    "meaning of a save told",
    "message came again after the window",
    "message heard before",
    "message left out",
    "message of a lost suffix told again",
    "message recognised by the stream",
    "message told again to a stream that was created anew",
    "messages out of order",
    "more slots handed over than one round takes",
    "new domain told",
    "news of a commit lost",
    "no answer, since a living node was taken for gone",
    "no answer, since a partition cut off the reply",
    "no answer, since a partition cut off the request",
    "no answer, since a swizzle cut off the reply",
    "no answer, since a swizzle cut off the request",
    "no answer, since one way cut off the reply",
    "no answer, since one way cut off the request",
    "no answer, since the node's run was over",
    "no answer, since the reply was dropped",
    "no answer, since the request was dropped",
    "no answer, though nothing was lost",
    "node cut off from the bus gave its slots up",
    "node drained",
    "node fenced",
    "offer answered",
    "original found behind an anchor",
    "panic in a command",
    "panic outlived",
    "part behind the end of evidence refused",
    "part of evidence read",
    "passage of evidence in chunks found",
    "pattern found",
    "promotion dropped",
    "promotion failed and tried again",
    "promotion taken back",
    "promotion that was to be dropped published before",
    "proposal refused",
    "proposal weighed",
    "question raised by reports",
    "quota used up",
    "read answered from memory",
    "record erased",
    "record stored in chunks",
    "refused after the outcome was unknown",
    "refused because of a clock",
    "relation across scopes",
    "relation of a declared kind",
    "relation of an undeclared kind refused",
    "relation to a withdrawn decision refused",
    "repeat answered from its record",
    "reply overtaken by a later one",
    "report of a former version refused",
    "report of former places refused",
    "request carried out twice",
    "request overtaken by a later one",
    "request waited for a paused node",
    "run begun after the former one was over",
    "run begun before the former one was fenced",
    "run found itself fenced",
    "run that an operator ended found out",
    "run that an operator ended found silent",
    "silence beyond the fencing time outlived",
    "silence judged by a drifting clock",
    "slot handed over",
    "slot of a crashed node taken by another",
    "slot shown ahead of its index",
    "slot taken back by the next run of its owner",
    "slot taken from an owner whose run was over",
    "slow commit met another writer",
    "stale word behind a task's own left out",
    "stale word of one task counted",
    "state resolved",
    "store out of reach of a node",
    "store out of reach of everybody",
    "stream aged out unheard",
    "stream read anew",
    "stream without responders",
    "suggested merge answered",
    "synced and unheard of",
    "table of an index gone bad",
    "takeover finished by another than the watcher that died",
    "task warned in its brief",
    "text embedded anew",
    "trajectory erased",
    "trajectory stored",
    "transaction too old",
    "turned away after too many conflicts",
    "verification erased",
    "warning cut off behind decisions",
    "what an undone promotion replaced holds again",
    "withdrawn decision restored",
    "withdrawn decision told by an anchor",
    "word from the stream lost",
    "word to or from the stream cut off with its node",
    "word to or from the stream dropped",
    "word to the stream lost",
    "write refused under a quarantine",
];
