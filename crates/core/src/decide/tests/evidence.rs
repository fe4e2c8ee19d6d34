//! Evidence: what is saved of an original, in which form, and what is refused.

use proptest::prelude::*;

use super::world::{PROJECT, TASK, World};
use crate::command::{AnswerBody, Command};
use crate::config::RulesConfig;
use crate::decide::{Decision, decide};
use crate::error::{Error, ErrorCode};
use crate::event::{Body, EvidenceSaved};
use crate::evidence::{Evidence, EvidenceHead, MEDIA_TYPE_USUAL, NewEvidence};
use crate::id::{CommandId, EvidenceId};
use crate::limits::{
    CHUNK_BYTES, EVIDENCE_BYTES_MAX, EVIDENCE_INLINE_BYTES_MAX, MEDIA_TYPE_BYTES_MAX,
    SHORT_TEXT_BYTES_MAX,
};
use crate::membership::WireVersion;
use crate::principal::PrincipalKind;
use crate::scope::Scope;
use crate::secret::mask;
use crate::staging::Content;

const HUMAN: PrincipalKind = PrincipalKind::Human;

/// The most that one value of the store takes.
const VALUE_BYTES_MAX: usize = 100_000;

fn new(content: &str) -> NewEvidence {
    NewEvidence {
        title: "The failing run".into(),
        source: "ci/run/17".into(),
        media_type: MEDIA_TYPE_USUAL.into(),
        content: content.into(),
    }
}

fn save(new: NewEvidence) -> Command {
    Command::SaveEvidence(Box::new(new))
}

/// In two parts, so that no file of the project holds a whole key.
fn secret() -> String {
    ["gh", "p_aB3dE6gH9jK2mN5pQ8sT1vW4yZ7aB3dE6gH9"].concat()
}

/// What a command comes to, before it is applied.
fn decided(world: &mut World, command: Command) -> Result<Decision, Error> {
    let submission = world.submission(HUMAN, command);
    let facts = world.facts(&submission);
    let (config, now) = (RulesConfig::default(), world.now);
    decide(&world.state, &submission, &facts, &config, now)
}

fn saved_of(decision: &Decision) -> &EvidenceSaved {
    match &decision.bodies[..] {
        [Body::EvidenceSaved(saved)] => saved,
        other => panic!("{other:?}"),
    }
}

/// The text of evidence whose chunks are those of its command.
fn joined(decision: &Decision) -> String {
    match &saved_of(decision).content {
        Content::Inline(text) => {
            assert!(decision.chunks.is_empty());
            text.clone()
        }
        Content::Chunked {
            first,
            count,
            bytes,
            hash,
            ..
        } => {
            let numbers: Vec<u32> = decision.chunks.iter().map(|chunk| chunk.number).collect();
            assert_eq!(numbers, (*first..first + count).collect::<Vec<_>>());
            let all = decision.chunks.iter().flat_map(|chunk| &chunk.bytes);
            let text = String::from_utf8(all.copied().collect()).unwrap();
            assert_eq!(*bytes, text.len() as u64);
            assert_eq!(hash, blake3::hash(text.as_bytes()).as_bytes());
            text
        }
    }
}

fn refused(world: &mut World, new: NewEvidence) -> Error {
    let before = world.state.row().tip;
    let refused = world.give(HUMAN, save(new)).unwrap_err();
    assert_eq!(world.state.row().tip, before);
    assert!(world.evidence.is_empty());
    refused
}

fn only(world: &World) -> &Evidence {
    let all: Vec<&Evidence> = world.evidence.values().collect();
    assert_eq!(all.len(), 1);
    all[0]
}

#[test]
fn an_original_is_kept_as_it_was_with_its_hash_and_who_saved_it() {
    let mut world = World::new(PROJECT);
    let text = "error[E0499]\n  한글\n\n";
    let answer = world.give(HUMAN, save(new(text))).unwrap();
    let saved = only(&world).clone();
    let hash = *blake3::hash(text.as_bytes()).as_bytes();
    let told = AnswerBody::EvidenceSaved {
        id: saved.id,
        hash,
        masked: 0,
    };
    assert_eq!(answer, told);
    assert_eq!(saved.content, Content::Inline(text.into()));
    assert_eq!((saved.hash, saved.masked), (hash, 0));
    assert_eq!(
        (&*saved.title, &*saved.source),
        ("The failing run", "ci/run/17")
    );
    let tip = world.state.row().tip;
    assert_eq!((saved.at, saved.seq), (tip.time, tip.seq));
    assert_eq!(saved.by.kind, HUMAN);
    assert!(world.state.has_evidence(saved.id));
    let head = EvidenceHead::of(&saved);
    assert_eq!((head.bytes, head.hash), (text.len() as u64, hash));
}

#[test]
fn the_same_text_saved_twice_is_evidence_twice() {
    let mut world = World::new(PROJECT);
    for _ in 0..2 {
        world.give(HUMAN, save(new("x"))).unwrap();
    }
    assert_eq!(world.evidence.len(), 2);
}

#[test]
fn a_large_text_lies_in_chunks_that_come_before_its_event() {
    let mut world = World::new(PROJECT);
    for (bytes, chunks) in [
        (EVIDENCE_INLINE_BYTES_MAX, 0),
        (EVIDENCE_INLINE_BYTES_MAX + 1, 1),
        (CHUNK_BYTES + 1, 2),
        (3 * CHUNK_BYTES, 3),
        (EVIDENCE_BYTES_MAX, EVIDENCE_BYTES_MAX / CHUNK_BYTES),
    ] {
        let text = "x".repeat(bytes);
        let submission = world.submission(HUMAN, save(new(&text)));
        let facts = world.facts(&submission);
        let (config, now) = (RulesConfig::default(), world.now);
        let decision = decide(&world.state, &submission, &facts, &config, now).unwrap();
        assert_eq!(decision.chunks.len(), chunks, "{bytes}");
        assert!(joined(&decision) == text, "{bytes}");
        if let Content::Chunked { command, .. } = saved_of(&decision).content {
            let actor = submission.principal.actor.to_string();
            assert_eq!(command, CommandId::of_chunks(&actor, submission.id));
        }
        assert!(submission.command.size_bytes() >= bytes);
    }
}

proptest! {
    #[test]
    fn what_is_stored_is_the_masked_text_and_the_hash_is_that_of_it(
        parts in proptest::collection::vec(("[a-z한 \n]{0,40}", any::<bool>()), 1..6),
        lines in prop_oneof![Just(1_usize), Just(4_000)],
    ) {
        let secret = secret();
        let line: String = parts
            .iter()
            .map(|(text, leaks)| format!("{text} {}\n", if *leaks { &secret } else { "x" }))
            .collect();
        let text = line.repeat(lines);
        let mut world = World::new(PROJECT);
        let decision = decided(&mut world, save(new(&text))).unwrap();
        let stored = joined(&decision);
        let saved = saved_of(&decision);
        let masked = mask(&text);
        prop_assert!(stored == masked.text);
        prop_assert_eq!(saved.masked, masked.count);
        prop_assert!(!stored.contains(&secret));
        prop_assert_eq!(saved.hash, *blake3::hash(stored.as_bytes()).as_bytes());
        prop_assert_eq!(matches!(saved.content, Content::Chunked { .. }), stored.len() > EVIDENCE_INLINE_BYTES_MAX);
        let told = AnswerBody::EvidenceSaved { id: saved.id, hash: saved.hash, masked: saved.masked };
        prop_assert_eq!(&decision.result, &told);
    }
}

#[test]
fn secrets_are_masked_in_every_text_and_counted() {
    let secret = secret();
    let mut world = World::new(PROJECT);
    let said = NewEvidence {
        title: format!("With {secret}"),
        source: format!("https://{secret}/x"),
        content: format!("{secret} and {secret}"),
        ..new("x")
    };
    let answer = world.give(HUMAN, save(said)).unwrap();
    let saved = only(&world);
    let stored = format!("{saved:?}");
    assert!(!stored.contains(&secret), "{stored}");
    assert_eq!(stored.matches("[masked:").count(), 4, "{stored}");
    assert_eq!(saved.masked, 4);
    assert!(matches!(
        answer,
        AnswerBody::EvidenceSaved { masked: 4, .. }
    ));
}

#[test]
fn what_has_no_form_is_refused_and_nothing_is_stored() {
    let mut world = World::new(PROJECT);
    let typed = |media_type: &str| NewEvidence {
        media_type: media_type.into(),
        ..new("x")
    };
    let titled = |title: &str| NewEvidence {
        title: title.into(),
        ..new("x")
    };
    for bad in [
        new(""),
        new(" \n\t"),
        titled(""),
        titled("  "),
        typed(""),
        typed("text"),
        typed("text/"),
        typed("/plain"),
        typed("text/plain; charset=utf-8"),
        typed("text/plain/x"),
        typed("text/한글"),
        typed(" text/plain"),
        typed("text/pl_ain"),
    ] {
        let what = format!("{bad:?}");
        let refused = refused(&mut world, bad);
        assert_eq!(refused.code, ErrorCode::InvalidArgument, "{what}");
    }
    let sourceless = NewEvidence {
        source: String::new(),
        ..new("x")
    };
    world.give(HUMAN, save(sourceless)).unwrap();
    for good in ["application/vnd.x+json", "a/b", "text/x-rust.2"] {
        world.give(HUMAN, save(typed(good))).unwrap();
    }
}

#[test]
fn a_media_type_that_holds_a_secret_is_refused_without_being_told() {
    // In two parts, so that no file of the project holds a whole key.
    let secret = ["AK", "IAZ7Q2M5X8R3T6W9Y1"].concat();
    assert_eq!(mask(&secret).count, 1);
    let said = NewEvidence {
        media_type: format!("text/{secret}"),
        ..new("x")
    };
    let refused = refused(&mut World::new(PROJECT), said);
    assert_eq!(refused.code, ErrorCode::InvalidArgument);
    assert!(!format!("{refused:?}").contains(&secret), "{refused:?}");
}

#[test]
fn what_is_too_large_is_refused_by_the_limit_and_nothing_is_stored() {
    let mut world = World::new(PROJECT);
    let long = "x".repeat(SHORT_TEXT_BYTES_MAX + 1);
    // A short secret in place of which more bytes are stored.
    let line = "password=hunter2x\n";
    let masked = line.repeat(SHORT_TEXT_BYTES_MAX / line.len());
    assert!(mask(&masked).text.len() > SHORT_TEXT_BYTES_MAX);
    for (bad, what) in [
        (new(&"x".repeat(EVIDENCE_BYTES_MAX + 1)), "evidence bytes"),
        (
            new(&line.repeat(EVIDENCE_BYTES_MAX / line.len())),
            "evidence bytes",
        ),
        (
            NewEvidence {
                title: long.clone(),
                ..new("x")
            },
            "title bytes",
        ),
        (
            NewEvidence {
                title: masked.clone(),
                ..new("x")
            },
            "title bytes",
        ),
        (
            NewEvidence {
                source: long,
                ..new("x")
            },
            "source bytes",
        ),
        (
            NewEvidence {
                source: masked,
                ..new("x")
            },
            "source bytes",
        ),
        (
            NewEvidence {
                media_type: format!("text/{}", "x".repeat(MEDIA_TYPE_BYTES_MAX)),
                ..new("x")
            },
            "media type bytes",
        ),
    ] {
        let refused = refused(&mut world, bad);
        assert_eq!(refused.code, ErrorCode::TooLarge, "{what}");
        let limit = refused.details.unwrap().limit.unwrap();
        assert_eq!(limit.0, what);
    }
}

#[test]
fn whoever_may_save_a_normal_decision_may_save_evidence() {
    use PrincipalKind::{Agent, Human, Orchestrator};
    let table: [(&str, &[PrincipalKind]); 4] = [
        (TASK, &[Agent, Orchestrator, Human]),
        ("org/a/project/b/worktree/c", &[Agent, Orchestrator, Human]),
        (PROJECT, &[Orchestrator, Human]),
        ("org/a", &[Human]),
    ];
    for (path, allowed) in table {
        for kind in PrincipalKind::ALL {
            let given = World::new(path).give(kind, save(new("x")));
            let code = given.err().map(|refused| refused.code);
            let wanted = (!allowed.contains(&kind)).then_some(ErrorCode::Forbidden);
            assert_eq!(code, wanted, "{kind} in {path}");
        }
    }
}

#[test]
fn a_retry_saves_under_the_same_id() {
    let mut world = World::new(PROJECT);
    let submission = world.submission(HUMAN, save(new("x")));
    world.carry_out(&submission).unwrap();
    let scope = Scope::parse(PROJECT).unwrap();
    let principal = submission.principal.actor.to_string();
    let id = EvidenceId::derived(&scope, &principal, submission.id);
    assert_eq!(only(&world).id, id);
}

#[test]
fn no_evidence_is_saved_while_older_nodes_would_not_read_it() {
    let mut world = World::new(PROJECT);
    world.spoken = WireVersion::WITH_DECISIONS;
    assert_eq!(refused(&mut world, new("x")).code, ErrorCode::Unavailable);
    world.spoken = WireVersion::WITH_EVIDENCE;
    world.give(HUMAN, save(new("x"))).unwrap();
}

#[test]
fn the_largest_evidence_that_lies_in_its_event_fits_one_value() {
    let mut world = World::new(PROJECT);
    let said = NewEvidence {
        title: "t".repeat(SHORT_TEXT_BYTES_MAX),
        source: "s".repeat(SHORT_TEXT_BYTES_MAX),
        media_type: format!("text/{}", "x".repeat(MEDIA_TYPE_BYTES_MAX - "text/".len())),
        content: "c".repeat(EVIDENCE_INLINE_BYTES_MAX),
    };
    let command = save(said);
    let counted = command.size_bytes();
    world.give(HUMAN, command).unwrap();
    let saved = only(&world);
    assert!(matches!(saved.content, Content::Inline(_)));
    let event = postcard::to_allocvec(world.events.last().unwrap()).unwrap();
    let row = postcard::to_allocvec(saved).unwrap();
    for bytes in [event.len(), row.len()] {
        assert!(bytes < VALUE_BYTES_MAX, "{bytes}");
        assert!(counted + 1_000 >= bytes, "{counted} {bytes}");
    }
}
