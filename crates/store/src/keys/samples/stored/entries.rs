//! Events of entries.

use sillok_core::bound::TreeState;
use sillok_core::citation::{Citation, Excerpt, TestOutcome};
use sillok_core::commit::CommitName;
use sillok_core::entry::{
    Binding, Detail, Embedding, Episode, Link, LinkKind, Skill, SpaceId, Status, Table,
};
use sillok_core::event::{
    Body, CitationsRefreshed, EntryAmended, EntryCreated, EntryMerged, EntryRestored,
    ReuseReported, Text, TrustRevised,
};
use sillok_core::principal::PrincipalId;
use sillok_core::promotion::CausalEdge;
use sillok_core::retention::Retirement;
use sillok_core::reuse::{ReuseOutcome, Usage};
use sillok_core::time::Timestamp;
use sillok_core::trust::{DecayPolicy, Trust};
use sillok_core::verification::VerificationSource;

use super::tasks::sources;
use super::{
    Sample, binding, bound, citations, claim, entry, hash, metadata, only, record, scope_at,
    verification, with_each,
};

pub(super) fn bodies() -> Vec<Sample<Body>> {
    let mut all = vec![amended(), merged(), superseded()];
    all.push(only(Body::StateResolved {
        entry: entry(91),
        reason: "how it was resolved".to_owned(),
    }));
    all.extend(created());
    all.extend(judged());
    let kinds = each!(LinkKind {
        Similar,
        Causal,
        Contradicts
    });
    all.extend(with_each("kind", kinds, |kind| Body::Linked {
        entry: entry(92),
        link: Link {
            kind,
            to: entry(93),
            weight: 0.75,
        },
    }));
    let reasons = each!(Retirement {
        Aged,
        Pruned,
        Undone { source: scope_at("org/gold/project/undone"), verification: verification(94) },
        Duplicate { of: entry(95) },
        Contradicted { by: entry(96) },
        Wrong,
        Stale { at: CommitName::new("abcdef1", "gold") },
    });
    all.extend(with_each("why", reasons, |why| Body::EntriesRetired {
        entries: vec![entry(97), entry(98)],
        why,
    }));
    all.extend(with_each("status", statuses(), |status| {
        Body::SupersessionUndone {
            new: entry(99),
            old: entry(100),
            line: entry(101),
            status,
        }
    }));
    all
}

pub(super) fn tables() -> Vec<(&'static str, Table)> {
    each!(Table {
        Observations,
        TerminalSnapshots,
        Iterations,
        QaReports,
        Episodes,
        Skills,
        Patterns,
        CodeGraph,
        Gotchas,
        Sessions,
        Tasks,
        Stories,
    })
}

pub(super) fn statuses() -> Vec<(&'static str, Status)> {
    each!(Status {
        Hypothesis,
        Verified,
        Published,
        Deprecated,
        Archived
    })
}

/// Each detail, a skill last.
pub(super) fn details() -> Vec<(&'static str, Detail)> {
    each!(Detail {
        Plain,
        Episode(Box::new(Episode {
            task_id: scope_at("org/gold/project/p/worktree/w/task/told"),
            task: "what was to be done".to_owned(),
            critique: "what was learnt".to_owned(),
            reward: 0.25,
            success: true,
            input: "from what".to_owned(),
            output: "what came out".to_owned(),
            key_decisions: vec!["a choice".to_owned(), "another".to_owned()],
            causal_edges: vec![CausalEdge {
                cause: "a cause".to_owned(),
                effect: "an effect".to_owned(),
                confidence: 0.375,
            }],
        })),
        Skill(Box::new(Skill {
            name: "a name".to_owned(),
            description: "what it is for".to_owned(),
            code: "how it is done".to_owned(),
            usage_count: 1_110,
            success_rate: 0.8125,
        })),
    })
}

pub(super) fn usage() -> Usage {
    Usage {
        helped: 112,
        wrong: 1_130,
        stale: 114,
        wrong_asked: 115,
    }
}

fn trust(source: VerificationSource, decay_policy: DecayPolicy) -> Trust {
    Trust {
        confidence: 0.625,
        validation_source: Some(source),
        last_validated: Some(Timestamp::from_ms(1_700_000_000_116)),
        validation_count: 1_170,
        decay_policy,
        counted: vec![[118; 16], [119; 16]],
    }
}

fn usual_trust() -> Trust {
    trust(VerificationSource::HumanApproved, DecayPolicy::ManualOnly)
}

fn text(detail: Detail) -> Text {
    Text {
        content: "what it says".to_owned(),
        detail,
        metadata: metadata("entry"),
        claim: Some(claim()),
        content_hash: hash(121),
        embedding: Some(Embedding {
            space: SpaceId("provider/model/3".to_owned()),
            values: vec![0.5, -0.25, 0.125],
        }),
    }
}

fn created() -> Vec<Sample<Body>> {
    let body = |detail, binding| {
        Body::EntryCreated(Box::new(EntryCreated {
            id: entry(122),
            table: Table::Patterns,
            text: text(detail),
            citations: citations(),
            binding,
            status: Status::Published,
            trust: usual_trust(),
            failure: true,
            promotion: Some(verification(123)),
        }))
    };
    let bindings = each!(Binding {
        NoRepository,
        Commit { hash: "facade".to_owned(), repository: "git@host:bound".to_owned() },
        Bound(Box::new(bound(TreeState::Changed))),
    });
    let mut all = with_each("detail", details(), |detail| body(detail, binding()));
    all.extend(with_each("binding", bindings, |binding| {
        body(Detail::Plain, binding)
    }));
    all
}

fn amended() -> Sample<Body> {
    only(Body::EntryAmended(Box::new(EntryAmended {
        id: entry(124),
        version: 1_250,
        text: text(Detail::Plain),
        citations: citations(),
        status: Status::Verified,
        trust: usual_trust(),
    })))
}

fn merged() -> Sample<Body> {
    only(Body::Merged(Box::new(EntryMerged {
        into: entry(126),
        content: "what was said again".to_owned(),
        cosine: 0.96875,
        citations: citations(),
        status: Status::Verified,
        trust: usual_trust(),
        promotion: Some(verification(127)),
        used_at: Timestamp::from_ms(1_700_000_000_128),
    })))
}

fn superseded() -> Sample<Body> {
    only(Body::Superseded {
        new: entry(131),
        old: entry(132),
        line: entry(133),
        reason: "why it was replaced".to_owned(),
        commit: Some("decade".to_owned()),
    })
}

/// What stands behind entries, and what tasks say of them.
fn judged() -> Vec<Sample<Body>> {
    let revised = |citation, source| {
        Body::TrustRevised(Box::new(TrustRevised {
            entry: entry(134),
            citations: vec![citation],
            status: Status::Deprecated,
            trust: trust(source, DecayPolicy::Stable),
        }))
    };
    let test = |outcome| Citation::Test {
        name: "what ran".to_owned(),
        outcome,
        run: "run 135".to_owned(),
    };
    let merged = VerificationSource::PrMerged;
    let mut all = with_each("citation", cited(), |citation| revised(citation, merged));
    let ends = each!(TestOutcome { Pass, Fail });
    all.extend(with_each("test", ends, |end| revised(test(end), merged)));
    all.extend(with_each("source", sources(), |source| {
        revised(test(TestOutcome::Fail), source)
    }));
    let policies = each!(DecayPolicy {
        RecencyBias,
        Stable,
        ManualOnly
    });
    all.extend(with_each("decay", policies, |policy| {
        Body::EntryRestored(Box::new(EntryRestored {
            entry: entry(136),
            status: Status::Verified,
            trust: trust(VerificationSource::RepeatedSuccess, policy),
            reason: "why it was brought back".to_owned(),
        }))
    }));
    all.extend(with_each("cited", cited(), |citation| {
        Body::CitationsRefreshed(Box::new(CitationsRefreshed {
            entry: entry(137),
            citations: vec![citation],
            at: CommitName::new("abcdef2", "gold"),
        }))
    }));
    let outcomes = each!(ReuseOutcome {
        Helped,
        Wrong,
        Stale
    });
    all.extend(with_each("outcome", outcomes, |outcome| {
        Body::ReuseReported(Box::new(ReuseReported {
            entry: entry(137),
            task: scope_at("org/gold/project/p/worktree/w/task/says"),
            outcome,
            usage: usage(),
            status: Status::Archived,
        }))
    }));
    all
}

fn cited() -> Vec<(&'static str, Citation)> {
    each!(Citation {
        Commit { hash: "ace".to_owned(), repository: "git@host:cited".to_owned() },
        File {
            path: "src/lib.rs".to_owned(),
            lines: Some((141, 142)),
            fingerprint: Some("f1f2".to_owned()),
        },
        Symbol {
            id: "id 143".to_owned(),
            name: "a::b".to_owned(),
            file: "src/a.rs".to_owned(),
            signature: Some("fn b()".to_owned()),
        },
        TerminalSnapshot { id: record(144) },
        Log { id: record(145), time: Timestamp::from_ms(1_700_000_000_146) },
        Human { user: PrincipalId::parse("choi").unwrap() },
        Test {
            name: "a test".to_owned(),
            outcome: TestOutcome::Fail,
            run: "run 147".to_owned(),
        },
        Excerpt(Excerpt { record: record(148), from: 149, to: 150 }),
    })
}
