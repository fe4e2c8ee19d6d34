//! Whatever was saved and erased before and after, what is left is what the events say, and says nothing of what is gone.

use proptest::prelude::*;

use super::kinds::declared;
use super::*;

#[derive(Clone, Debug)]
enum Step {
    Save,
    Change(usize),
    Withdraw(usize),
    Restore(usize, u64),
    Evidence(bool),
    Anchor(usize, usize),
    Drop(usize),
    Declare,
    /// Erases one of each sort that is picked.
    Erase([Option<usize>; 4]),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let pick = any::<usize>;
    let step = prop_oneof![
        3 => Just(Step::Save),
        3 => pick().prop_map(Step::Change),
        4 => pick().prop_map(Step::Withdraw),
        2 => (pick(), 1u64..4).prop_map(|(at, version)| Step::Restore(at, version)),
        2 => any::<bool>().prop_map(Step::Evidence),
        3 => (pick(), pick()).prop_map(|(at, to)| Step::Anchor(at, to)),
        3 => pick().prop_map(Step::Drop),
        2 => Just(Step::Declare),
        3 => proptest::array::uniform4(proptest::option::of(pick())).prop_map(Step::Erase),
    ];
    proptest::collection::vec(step, 1..40)
}

/// Something that was made, with the word that it says and nothing else does.
#[derive(Clone)]
struct Made<Id> {
    id: Id,
    word: String,
    /// Whether it was erased.
    gone: bool,
}

fn made<Id>(id: Id, word: String) -> Made<Id> {
    let gone = false;
    Made { id, word, gone }
}

fn pick<Id>(made: &[Made<Id>], at: usize) -> Option<&Made<Id>> {
    made.get(at % made.len().max(1))
}

fn picked<Id: Copy>(made: &[Made<Id>], at: Option<usize>) -> Vec<Made<Id>> {
    let one = at.and_then(|at| pick(made, at));
    let copy = |one: &Made<Id>| Made {
        id: one.id,
        word: one.word.clone(),
        gone: one.gone,
    };
    one.map(copy).into_iter().collect()
}

fn mark<Id>(made: &mut [Made<Id>], gone: &[Made<Id>]) {
    for one in made {
        one.gone |= gone.iter().any(|other| other.word == one.word);
    }
}

#[derive(Default)]
struct Model {
    decisions: Vec<Made<DecisionId>>,
    evidence: Vec<Made<EvidenceId>>,
    anchors: Vec<Made<AnchorId>>,
    kinds: Vec<Made<RelationName>>,
    words: u32,
}

impl Model {
    fn word(&mut self) -> String {
        self.words += 1;
        format!("word{}x", self.words)
    }

    /// Adds a version to a decision. One that was erased takes none.
    fn version(
        &self,
        world: &mut World,
        at: usize,
        command: impl FnOnce(DecisionId, u64, &str) -> Command,
    ) {
        let Some(made) = pick(&self.decisions, at) else {
            return;
        };
        let version = world.state.decision(made.id).unwrap().version;
        let given = world.give(Human, command(made.id, version, &made.word));
        assert!(!made.gone || given.is_err());
    }

    fn anchor(&mut self, world: &mut World, at: usize, to: usize) {
        let led = match (pick(&self.decisions, at), pick(&self.evidence, to)) {
            (Some(one), _) if at.is_multiple_of(2) => (to_decision(one.id), one.gone),
            (_, Some(one)) => (to_evidence(one.id), one.gone),
            _ => return,
        };
        let (node, is_gone) = led;
        let word = self.word();
        match world.give(Human, add(&word, vec![node])) {
            Ok(AnswerBody::AnchorsAdded { ids }) => {
                assert!(!is_gone, "it leads to what was erased");
                self.anchors.push(made(ids[0], word));
            }
            Ok(other) => panic!("{other:?}"),
            Err(refused) => assert!(!is_gone || refused.code == ErrorCode::NotFound),
        }
    }

    fn declare(&mut self, world: &mut World) {
        let word = self.word();
        let name = declared(world, &format!("KIND_{}", self.words), &word);
        self.kinds.push(made(name, word));
    }

    /// Erases what is named: all of it, unless one of it holds.
    fn erase(&mut self, world: &mut World, [root, original, hint, kind]: [Option<usize>; 4]) {
        let roots = picked(&self.decisions, root);
        let originals = picked(&self.evidence, original);
        let hints = picked(&self.anchors, hint);
        let kinds = picked(&self.kinds, kind);
        let heads = roots
            .iter()
            .map(|one| world.state.decision(one.id).unwrap());
        let anchors = hints.iter().map(|one| world.state.anchor(one.id).unwrap());
        let holds = heads.clone().any(|head| head.active)
            || anchors.clone().any(|anchor| !anchor.is_dropped());
        let going = (roots
            .iter()
            .zip(heads)
            .map(|(one, head)| (one.gone, head.version)))
        .chain(originals.iter().map(|one| (one.gone, 1)))
        .chain(hints.iter().map(|one| (one.gone, 2)))
        .chain(kinds.iter().map(|one| (one.gone, 1)));
        let (known, new): (Vec<_>, Vec<_>) = going.partition(|(gone, _)| *gone);
        let command = order_with(
            &roots.iter().map(|one| one.id).collect::<Vec<_>>(),
            &originals.iter().map(|one| one.id).collect::<Vec<_>>(),
            &hints.iter().map(|one| one.id).collect::<Vec<_>>(),
            &kinds.iter().map(|one| one.id).collect::<Vec<_>>(),
        );
        let given = world.give(Human, command);
        if known.is_empty() && new.is_empty() {
            assert_eq!(given.unwrap_err().code, ErrorCode::InvalidArgument);
            return;
        }
        if holds {
            assert_eq!(given.unwrap_err().code, ErrorCode::Conflict);
            return;
        }
        let events: u64 = new.iter().map(|(_, events)| events).sum();
        let events = u32::try_from(events).unwrap();
        let known = u32::try_from(known.len()).unwrap();
        assert_eq!(given, Ok(erased(events, known)));
        mark(&mut self.decisions, &roots);
        mark(&mut self.evidence, &originals);
        mark(&mut self.anchors, &hints);
        mark(&mut self.kinds, &kinds);
    }

    /// Each word is there as long as what says it was not erased.
    fn check(&self, world: &World) {
        let decisions = self.decisions.iter().map(|one| (&one.word, one.gone));
        let evidence = self.evidence.iter().map(|one| (&one.word, one.gone));
        let anchors = self.anchors.iter().map(|one| (&one.word, one.gone));
        let kinds = self.kinds.iter().map(|one| (&one.word, one.gone));
        for (word, gone) in decisions.chain(evidence).chain(anchors).chain(kinds) {
            assert_eq!(holds(world, word.as_bytes()), !gone, "{word}");
        }
    }
}

proptest! {
    #[test]
    fn the_view_is_the_fold_of_what_is_left_and_no_word_of_what_went_is(steps in steps()) {
        let mut world = World::new(PROJECT);
        let mut model = Model::default();
        for step in steps {
            match step {
                Step::Save => {
                    let word = model.word();
                    let id = begun(&mut world, text(&word));
                    model.decisions.push(made(id, word));
                }
                Step::Change(at) => model.version(&mut world, at, |root, version, word| {
                    save(Some((root, version)), text(word), word)
                }),
                Step::Withdraw(at) => model.version(&mut world, at, withdraw),
                Step::Restore(at, from) => model.version(&mut world, at, |root, version, word| {
                    restore(root, version, from, word)
                }),
                Step::Evidence(is_large) => {
                    let word = model.word();
                    let bytes = if is_large { INLINE_BYTES_MAX } else { 1 };
                    let id = evidence(&mut world, &word, bytes);
                    model.evidence.push(made(id, word));
                }
                Step::Anchor(at, to) => model.anchor(&mut world, at, to),
                Step::Drop(at) => {
                    let Some(one) = pick(&model.anchors, at).cloned() else { continue };
                    drop(world.give(Human, drop_of(one.id, &one.word)));
                }
                Step::Declare => model.declare(&mut world),
                Step::Erase(named) => model.erase(&mut world, named),
            }
        }
        model.check(&world);
        check_folds(&world);
    }
}
