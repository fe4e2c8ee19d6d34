//! The report's sums, and how its page reads.

use serde_json::json;
use sillok_core::brief::Layer;
use sillok_core::decision::{Node, RelationKind};
use sillok_core::error::{Current as CoreCurrent, Error};
use sillok_core::id::{AnchorId, CommandId, EvidenceId, Seq};
use sillok_core::principal::PrincipalKind;
use sillok_core::promotion::{self, Disposition as CoreDisposition};
use sillok_core::time::Timestamp;
use sillok_server::api::{
    Actor, Anchor, Binding, BriefDecision, BriefItem, Citation, Claim, Contradiction, Edge,
    EvidenceHead, FollowedEvidence, Meaning, PromotionState, Reached, Score,
};

use super::*;
use crate::output::Style;

fn id(number: u8) -> EntryId {
    EntryId::from_bytes([number; 16])
}

fn scope(path: &str) -> Scope {
    Scope::parse(&format!("org/demo/project/tally{path}")).unwrap()
}

fn attempt(
    outcome: Outcome,
    products: Vec<(u8, CoreDisposition)>,
    linked: Vec<u8>,
) -> AttemptReport {
    let episode = products[0].0;
    let products = products
        .into_iter()
        .map(|(entry, disposition)| promotion::Product {
            table: if entry == episode {
                Table::Episodes
            } else {
                Table::Observations
            },
            entry: Some(id(entry)),
            disposition,
        });
    let report = promotion::PublishReport {
        episode: id(episode),
        products: products.collect(),
        linked_episodes: linked.into_iter().map(id).collect(),
    };
    let source = match outcome {
        Outcome::Passed => VerificationSource::TestsPassed,
        Outcome::Failed => VerificationSource::TestsFailed,
    };
    AttemptReport {
        approach: "Use a loop condition that also holds at the end.".to_owned(),
        outcome,
        source,
        exit_status: Some(i32::from(outcome == Outcome::Failed)),
        commit: None,
        verification: VerificationId::from_bytes([episode; 16]),
        promotion: Promotion {
            spent: None,
            state: PromotionState::Done,
            attempts: 0,
            last_error: None,
            report: Some(report.into()),
            undone: false,
        },
    }
}

fn agent(number: u32, title: &str, attempts: Vec<AttemptReport>) -> AgentReport {
    AgentReport {
        agent: format!("agent-{number}"),
        task: scope(&format!("/worktree/agent-{number}/task/fix")),
        title: title.to_owned(),
        work_tree: None,
        run: None,
        recalled: number == 3,
        records_acked: 9,
        attempts,
    }
}

fn agents() -> Vec<AgentReport> {
    use CoreDisposition::{Created, Merged};
    vec![
        agent(
            1,
            "sum.sh loses the last line",
            vec![attempt(
                Outcome::Passed,
                vec![(1, Created), (2, Created)],
                vec![],
            )],
        ),
        agent(
            2,
            "sum.sh loses the last line",
            vec![
                attempt(Outcome::Failed, vec![(3, Created)], vec![]),
                attempt(
                    Outcome::Passed,
                    vec![(4, Created), (2, Merged { cosine: 0.97 })],
                    vec![1],
                ),
            ],
        ),
        agent(
            3,
            "count.sh misses a name",
            vec![attempt(Outcome::Passed, vec![(5, Created)], vec![1, 4])],
        ),
    ]
}

fn finding(number: u8, table: Table, content: &str) -> Finding {
    let found = finders(&agents()).remove(&id(number)).unwrap();
    Finding {
        entry: id(number),
        table,
        content: content.to_owned(),
        failure: number == 3,
        by: found.by.unwrap(),
        also_by: found.also_by,
        merges: found.merges,
        cosine: found.cosine,
        quote: (number == 2).then(|| Quote {
            record: format!("{}#5", scope("/worktree/agent-1/task/fix"))
                .parse()
                .unwrap(),
            from: 4,
            to: 31,
            text: "the loop skips a last line.".to_owned(),
        }),
    }
}

fn refusals() -> Vec<Refusal> {
    let forbidden = Error::forbidden(
        "entries/project",
        "entries/project does not allow it to a principal of kind agent",
    );
    let stale = Error::conflict(
        "entry is at version 2, not 1",
        CoreCurrent {
            version: Some(2),
            entry: Some(id(9)),
            seq: None,
        },
    );
    let problem = |error: &Error| Problem::new(error, 400, None);
    vec![
        Refusal::new(
            "agent-1",
            "publish an entry in the project by itself",
            &problem(&forbidden),
        ),
        Refusal::new(
            "the operator",
            "amend an entry of which it had seen version 1",
            &problem(&stale),
        ),
    ]
}

fn recall() -> RecallReport {
    let task = scope("/worktree/agent-1/task/fix");
    RecallReport {
        agent: "agent-3".to_owned(),
        query: "a last line is not counted".to_owned(),
        results: vec![RecallResult {
            entry: id(2),
            scope: scope(""),
            table: Table::Observations,
            kind: Table::Observations.kind(),
            status: sillok_core::entry::Status::Verified,
            content: "The loop skips a last line.\u{1b}[2J\nIt is so.".to_owned(),
            data_marked_text: String::new(),
            tokens: 1,
            version: 1,
            citations: vec![Citation::Log {
                id: format!("{task}#5"),
                time: Default::default(),
            }],
            score: Score {
                total: 0.5,
                similarity: 1.0,
                confidence: 0.5,
                relevance: 1.0,
                recency: 1.0,
                vector_rank: Some(1),
                text_rank: Some(1),
            },
            binding: Binding::NoRepository,
            gate: sillok_core::gate::Verdict::Unverifiable,
            checks: Vec::new(),
            validity: None,
            valid_from_commit: None,
            valid_to_commit: None,
        }],
    }
}

const LOCKED: &str = "The last line counts";

fn decision(path: &str, number: u8) -> Node {
    Node::Decision {
        scope: scope(path),
        root: DecisionId::from_bytes([number; 16]),
    }
}

/// The lock as an impact reaches it, by one relation.
fn reached(by: Edge) -> Affected {
    Affected {
        node: decision("", 4),
        depth: 1,
        title: Some(LOCKED.to_owned()),
        rank: Some(Rank::Lock),
        from: Reached::Start(0),
        by: by.clone(),
        path: vec![by],
    }
}

/// That the lock applies to a file.
fn applies(path: &str) -> Edge {
    Edge {
        from: decision("", 4),
        kind: RelationKind::AppliesTo.into(),
        to: Node::file(path).unwrap(),
    }
}

fn saved() -> DecisionReport {
    let time = Timestamp::from_ms(1_700_000_000_000);
    DecisionReport {
        by: "the orchestrator".to_owned(),
        scope: scope(""),
        rank: Rank::Lock,
        title: LOCKED.to_owned(),
        content: "A last line is a line.".to_owned(),
        saved: DecisionSaved {
            root: DecisionId::from_bytes([4; 16]),
            version: 1,
            active: true,
            means: Meaning::Told(Proposed {
                impact: Impact {
                    start: vec![decision("", 4)],
                    affected: Vec::new(),
                    cut: None,
                },
                guards: Vec::new(),
                contradictions: Vec::new(),
                contradictions_cut: false,
                new_domain: None,
            }),
            seq: Seq::new(9),
            time,
            command_id: CommandId::from_parts(time, [0; 10]),
        },
    }
}

fn loaded() -> BriefReport {
    let reached = reached(applies("src/count.sh"));
    let structural = BriefItem::Structural {
        layer: Layer::Structural,
        node: reached.node,
        title: reached.title,
        rank: reached.rank,
        loaded: Some(true),
        depth: reached.depth,
        path: reached.path,
        data_marked_text: String::new(),
    };
    let lock = BriefItem::Decision(Box::new(BriefDecision {
        layer: Layer::Lock,
        scope: scope(""),
        root: DecisionId::from_bytes([4; 16]),
        version: 1,
        rank: Rank::Lock,
        domain: "input".parse().unwrap(),
        phase: None,
        title: LOCKED.to_owned(),
        data_marked_text: String::new(),
        claim: None,
        relations: Vec::new(),
        by: Actor {
            kind: PrincipalKind::Orchestrator,
            id: "orchestrator".to_owned(),
        },
        at: Timestamp::from_ms(1_700_000_000_000),
    }));
    BriefReport {
        agent: "agent-3".to_owned(),
        brief: Brief {
            scope: scope("/worktree/agent-3/task/fix"),
            domain: "input".parse().unwrap(),
            items: vec![structural, lock],
            bytes: 300,
            cut: Vec::new(),
            impact_cut: None,
            empty_domain: false,
            warnings: Vec::new(),
            warnings_cut: false,
        },
        way: WayReport {
            taken: "Use the loop condition.".to_owned(),
            passed_over: vec!["Use a here-document.".to_owned()],
        },
        in_line: vec![DecisionId::from_bytes([4; 16])],
    }
}

/// An anchor that leads to evidence.
fn followed() -> FollowReport {
    let by = || Actor {
        kind: PrincipalKind::Agent,
        id: "agent-1".to_owned(),
    };
    let (here, at) = (
        scope("/worktree/agent-3"),
        Timestamp::from_ms(1_700_000_000_000),
    );
    let id = EvidenceId::from_bytes([8; 16]);
    let head = EvidenceHead {
        scope: here.clone(),
        id,
        erased: false,
        title: "count.sh as it was".to_owned(),
        source: "src/count.sh".to_owned(),
        media_type: "text/plain".to_owned(),
        bytes: 120,
        hash: "00".repeat(32),
        masked: 0,
        by: by(),
        at,
        seq: Seq::new(3),
    };
    let evidence = FollowedEvidence {
        head,
        whole: true,
        data_marked_text: String::new(),
    };
    FollowReport {
        agent: "agent-3".to_owned(),
        followed: Followed {
            anchor: Anchor {
                id: AnchorId::from_bytes([9; 16]),
                hint: "How it was before".to_owned(),
                domain: "input".parse().unwrap(),
                to: vec![Node::Evidence {
                    scope: here.clone(),
                    id,
                }],
                scope: here,
                by: by(),
                at,
                seq: Seq::new(4),
                dropped: false,
                erased: false,
            },
            items: vec![FollowedItem::Evidence(Box::new(evidence))],
        },
    }
}

fn stop() -> StopReport {
    let file = Node::file("src/sum.sh").unwrap();
    let proposed = decision("/worktree/agent-4", 0);
    let about = Edge {
        from: proposed.clone(),
        kind: RelationKind::AppliesTo.into(),
        to: file.clone(),
    };
    let named = Affected {
        node: file.clone(),
        depth: 1,
        title: None,
        rank: None,
        from: Reached::Start(0),
        by: about.clone(),
        path: vec![about],
    };
    StopReport {
        agent: "agent-4".to_owned(),
        title: "Refuse a last line".to_owned(),
        impact: Impact {
            start: vec![file],
            affected: vec![reached(applies("src/sum.sh"))],
            cut: None,
        },
        proposed: Proposed {
            impact: Impact {
                start: vec![proposed],
                affected: vec![named],
                cut: None,
            },
            guards: Vec::new(),
            contradictions: vec![Contradiction {
                scope: scope(""),
                root: DecisionId::from_bytes([4; 16]),
                rank: Rank::Lock,
                title: LOCKED.to_owned(),
                claim: Claim {
                    key: "tally.last_line".to_owned(),
                    value: "counts".to_owned(),
                },
            }],
            contradictions_cut: false,
            new_domain: None,
        },
    }
}

fn report() -> Report {
    let agents = agents();
    let sums = Sums::of(&agents);
    Report {
        agents: 2,
        records_acked: 27,
        records_durable: 27,
        published: sums.created,
        merged: sums.merged,
        superseded: 1,
        refused: 2,
        decided: 1,
        pruned: 1,
        decisions: 1,
        decisions_durable: 1,
        in_line: 1,
        followed: 1,
        followed_durable: 1,
        stopped: 1,
        audit_ok: true,
        episodes: sums.episodes,
        linked_episodes: sums.linked_episodes,
        address: "http://127.0.0.1:7411".to_owned(),
        data: PathBuf::from("data/demo"),
        scope: scope(""),
        repository: Some(PathBuf::from("data/demo/demo-1/tally")),
        note: None,
        agent_details: agents,
        findings: vec![
            finding(1, Table::Episodes, "Issue: lines are lost."),
            finding(2, Table::Observations, "The loop skips a last line."),
            finding(3, Table::Gotchas, "Failed: the dash at the end stays."),
        ],
        recall: Some(recall()),
        refusals: refusals(),
        supersessions: vec![Supersession {
            old: id(7),
            new: id(8),
            old_text: "Read lines.".to_owned(),
            new_text: "Read every line.".to_owned(),
            reason: "It was too short.".to_owned(),
        }],
        judged: vec![Judged {
            review: ReviewId::from_bytes([6; 16]),
            why: "claims another value for tally.port".to_owned(),
            kept: "The service listens on port 9090.".to_owned(),
            lost: "The service listens on port 8080.".to_owned(),
            reason: "The port was moved.".to_owned(),
        }],
        forgotten: vec![Pruned {
            entry: id(5),
            text: "Guess and run again.".to_owned(),
            why: "it is old, and helped in 20 of 100 uses".to_owned(),
        }],
        decision_details: vec![saved()],
        loaded: Some(loaded()),
        anchor: Some(followed()),
        stops: vec![stop()],
        audit: AuditAnswer {
            ok: true,
            scopes: 4,
            events: 60,
            rows: 90,
            commands: 30,
            difference: None,
        },
        flags: " --data data/demo".to_owned(),
    }
}

#[test]
fn sums_count_each_linked_episode_once() {
    let expected = Sums {
        created: 5,
        merged: 1,
        episodes: 4,
        linked_episodes: 3,
    };
    assert_eq!(Sums::of(&agents()), expected);
    assert_eq!(Sums::of(&[]), Sums::default());
}

#[test]
fn a_finding_names_who_found_it_first_and_who_again() {
    let mut agents = agents();
    let expected = |also_by: &[&str], merges, cosine| Finders {
        by: Some("agent-1".to_owned()),
        also_by: also_by.iter().map(|&name| name.to_owned()).collect(),
        merges,
        cosine,
    };
    let found = finders(&agents);
    assert_eq!(found[&id(1)], expected(&[], 0, None));
    assert_eq!(found[&id(2)], expected(&["agent-2"], 1, Some(0.97)));
    // Of several, the one that is least alike says how alike they are.
    let merged = |cosine| {
        let products = vec![
            (6, CoreDisposition::Created),
            (2, CoreDisposition::Merged { cosine }),
        ];
        attempt(Outcome::Passed, products, vec![])
    };
    agents.push(agent(4, "as before", vec![merged(0.955), merged(1.0)]));
    let found = finders(&agents);
    let several = expected(&["agent-2", "agent-4"], 3, Some(0.955));
    assert_eq!(found[&id(2)], several);
}

#[test]
fn what_was_merged_several_times_says_the_least_cosine() {
    let mut report = report();
    assert_eq!(report.findings[1].merges, 1);
    let read = |report: &Report| page::render(report, Style { colour: false });
    let once = "the same by agent-2: merged (cosine 0.97)";
    assert!(read(&report).contains(once), "{}", read(&report));
    // Of one who found it twice there are two cosines as well.
    report.findings[1].merges = 2;
    let twice = "the same by agent-2: merged (cosine 0.97 at least)";
    assert!(read(&report).contains(twice), "{}", read(&report));
    report.findings[1].also_by.insert("agent-4".to_owned());
    let both = "the same by agent-2, agent-4: merged (cosine 0.97 at least)";
    assert!(read(&report).contains(both), "{}", read(&report));
}

#[test]
fn the_page_reads_well() {
    insta::assert_snapshot!(page::render(&report(), Style { colour: false }));
}

#[test]
fn a_loss_and_a_difference_stand_out() {
    let mut lost = report();
    lost.records_durable = 26;
    lost.decisions_durable = 0;
    lost.followed_durable = 0;
    lost.audit_ok = false;
    lost.audit.difference = Some(sillok_server::api::AuditDifference {
        scope: Some(scope("")),
        seq: None,
        key: None,
        family: "e".to_owned(),
        what: "the chain does not hold".to_owned(),
        invariant: "no gap and no fork".to_owned(),
    });
    let page = page::render(&lost, Style { colour: true });
    assert!(page.contains("\u{1b}[31m27 records acknowledged, 26 there"));
    assert!(page.contains("\u{1b}[31m1 decision acknowledged, 0 hold"));
    assert!(page.contains("\u{1b}[31m1 original found by an anchor, 0 found again"));
    assert!(page.contains("\u{1b}[31mthe audit found a difference: the chain does not hold"));
}

#[test]
fn the_document_has_the_fields_that_scripts_read() {
    let document = serde_json::to_value(report()).unwrap();
    for field in [
        "agents",
        "records_acked",
        "records_durable",
        "published",
        "merged",
        "superseded",
        "refused",
        "audit_ok",
        "episodes",
        "linked_episodes",
        "decisions",
        "in_line",
        "followed",
        "stopped",
        "address",
        "data",
        "agent_details",
    ] {
        assert!(document.get(field).is_some(), "{field}");
    }
    assert_eq!(document["refusals"][0]["rule"], "entries/project");
    assert_eq!(document["refusals"][1]["current"]["version"], 2);
    let reached = &document["stops"][0]["impact"]["affected"][0];
    assert_eq!(reached["rank"], "lock");
    assert_eq!(reached["path"][0]["kind"], "APPLIES_TO");
    assert_eq!(document["stops"][0]["proposed"]["guards"], json!([]));
    let passed_over = &document["loaded"]["way"]["passed_over"];
    assert_eq!(passed_over, &json!(["Use a here-document."]));
}
