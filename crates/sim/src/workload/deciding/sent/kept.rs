//! From which command each piece of evidence, each anchor and each end of one follows.
//!
//! Owns that none of them is there but by a command that somebody sent: one that was acknowledged, or of which nobody was
//! told what became of it. Each bears the name that its command gives it, and a command adds all of its anchors in a row.

use std::collections::BTreeMap;

use sillok_core::ErrorCode;
use sillok_core::id::{AnchorId, CommandId, EvidenceId};

use super::super::view::{Kept, KeptSaid, WrittenKept};
use crate::history::{Call, Ending};

/// Something that follows from no command which could have led to it, or a command that led to something twice, if there is
/// any.
pub(in super::super) fn unsent(written: &WrittenKept, calls: &[Call]) -> Option<String> {
    let meant = calls.iter().filter(|call| !call.is_forged);
    let sent: BTreeMap<CommandId, &Call> = meant.map(|call| (call.command, call)).collect();
    let mut by_command: BTreeMap<CommandId, Vec<&Kept>> = BTreeMap::new();
    for (kept, command) in written.values() {
        by_command.entry(*command).or_default().push(kept);
    }
    by_command.into_iter().find_map(|(command, all)| {
        let first = all[0];
        let that = |is: &str| {
            let (scope, seq) = (&first.scope, first.seq);
            format!("what {scope}#{seq} says was kept {is}")
        };
        let Some(call) = sent.get(&command) else {
            return Some(that("was kept by nobody"));
        };
        unfit(call, &all).map(that)
    })
}

/// Why all of this does not follow from the command under whose id it was kept, if it does not.
fn unfit(call: &Call, all: &[&Kept]) -> Option<&'static str> {
    let last = all.last()?;
    match call.ended {
        // What comes so late that nobody knows its answer any more may have been carried out long before.
        Some((_, Ending::Refused(code))) if code != ErrorCode::Expired => {
            return Some("was refused");
        }
        Some((_, Ending::Acknowledged(seq))) if seq != last.seq => {
            return Some("was acknowledged as another event");
        }
        _ => {}
    }
    if all.iter().any(|kept| kept.scope != call.scope) {
        return Some("lies elsewhere than its command says");
    }
    if all.iter().any(|kept| kept.by != call.actor) {
        return Some("is said to be of somebody else");
    }
    if all.windows(2).any(|two| two[0].seq.next() != two[1].seq) {
        return Some("is not all of one run");
    }
    let principal = call.actor.to_string();
    let is_named = |(ordinal, kept): (u32, &&Kept)| match &kept.said {
        KeptSaid::Evidence(said) => {
            let named = EvidenceId::derived(&call.scope, &principal, call.command);
            call.name == "save_evidence" && ordinal == 0 && said.id == named
        }
        KeptSaid::Anchor(said) => {
            let named = AnchorId::derived(&call.scope, &principal, call.command, ordinal);
            call.name == "add_anchors" && said.id == named
        }
        KeptSaid::Dropped(_) => call.name == "drop_anchor" && ordinal == 0,
        KeptSaid::Declared { .. } => call.name == "declare_relation" && ordinal == 0,
    };
    let is_all_named = (0..).zip(all).all(is_named);
    (!is_all_named).then_some("is not what its command does, or bears another name")
}

#[cfg(test)]
mod tests {
    use sillok_core::command::Digest;
    use sillok_core::decision::Reach;
    use sillok_core::id::Seq;
    use sillok_core::principal::{Actor, PrincipalId, PrincipalKind};
    use sillok_core::scope::Scope;
    use sillok_core::time::Timestamp;
    use sillok_store::keys::ScopeKey;

    use super::super::super::view::tests::{anchor, anchor_id, declared, evidence, keeper, kept};
    use super::*;

    fn scope() -> Scope {
        Scope::parse("org/a").unwrap()
    }

    fn command(number: u8) -> CommandId {
        CommandId::from_parts(Timestamp::EPOCH, [number; 10])
    }

    /// What was sent, and what became of it.
    struct World {
        written: WrittenKept,
        calls: Vec<Call>,
    }

    impl World {
        /// Evidence, two anchors, the end of the first of them, evidence that was refused, and a kind of relation.
        fn new() -> Self {
            let mut world = Self {
                written: WrittenKept::new(),
                calls: Vec::new(),
            };
            world.call(1, "save_evidence", Ending::Acknowledged(Seq::new(1)));
            world.call(2, "add_anchors", Ending::Acknowledged(Seq::new(3)));
            world.call(3, "drop_anchor", Ending::Acknowledged(Seq::new(4)));
            world.call(4, "save_evidence", Ending::Refused(ErrorCode::Conflict));
            world.save(1, 1);
            world.add(2, 2, 0);
            world.add(3, 2, 1);
            world.write(4, KeptSaid::Dropped(anchor_id(1)), 3);
            world.call(5, "declare_relation", Ending::Acknowledged(Seq::new(5)));
            world.write(5, declared("CAUSES", Reach::Both), 5);
            world
        }

        fn call(&mut self, number: u8, name: &'static str, ending: Ending) {
            self.calls.push(Call {
                actor: keeper(),
                scope: scope(),
                command: command(number),
                digest: Digest::ERASED,
                name,
                invoked_us: 1,
                ended: Some((2, ending)),
                is_forged: false,
            });
        }

        fn write(&mut self, seq: u64, said: KeptSaid, by: u8) {
            let place = (ScopeKey::of(&scope()), Seq::new(seq));
            let kept = kept("org/a", seq, said);
            self.written.insert(place, (kept, command(by)));
        }

        /// Writes evidence under the name that its command gives it.
        fn save(&mut self, seq: u64, by: u8) {
            let mut said = evidence(1, "it was so");
            if let KeptSaid::Evidence(said) = &mut said {
                let principal = keeper().to_string();
                said.id = EvidenceId::derived(&scope(), &principal, command(by));
            }
            self.write(seq, said, by);
        }

        /// Writes an anchor under the name that its command gives it.
        fn add(&mut self, seq: u64, by: u8, ordinal: u32) {
            let mut said = anchor(1, "ui", Vec::new());
            if let KeptSaid::Anchor(said) = &mut said {
                let principal = keeper().to_string();
                said.id = AnchorId::derived(&scope(), &principal, command(by), ordinal);
            }
            self.write(seq, said, by);
        }

        fn at(&mut self, seq: u64) -> &mut Kept {
            let place = (ScopeKey::of(&scope()), Seq::new(seq));
            &mut self.written.get_mut(&place).unwrap().0
        }
    }

    fn is_wrong(spoil: impl Fn(&mut World)) -> bool {
        let mut world = World::new();
        spoil(&mut world);
        unsent(&world.written, &world.calls).is_some()
    }

    #[test]
    fn what_a_refused_command_kept_is_found_though_nobody_was_told_of_it() {
        assert!(!is_wrong(|_| ()));
        assert!(is_wrong(|world| world.save(6, 4)));
        let end = |ended: Option<(u64, Ending)>| {
            move |world: &mut World| {
                world.calls[3].ended = ended;
                world.save(6, 4);
            }
        };
        assert!(!is_wrong(end(None)));
        let expired = Ending::Refused(ErrorCode::Expired);
        assert!(!is_wrong(end(Some((2, expired)))));
        assert!(!is_wrong(end(Some((2, Ending::Acknowledged(Seq::new(6)))))));
        assert!(is_wrong(end(Some((2, Ending::Acknowledged(Seq::new(7)))))));
        assert!(is_wrong(|world| {
            end(None)(world);
            world.calls[3].is_forged = true;
        }));
    }

    #[test]
    fn what_no_command_explains_and_what_one_did_twice_is_found() {
        // Of nobody, of somebody else, elsewhere, and under another name.
        assert!(is_wrong(|world| drop(world.calls.remove(0))));
        let other = || Actor {
            kind: PrincipalKind::Agent,
            id: PrincipalId::parse("other").unwrap(),
        };
        assert!(is_wrong(|world| world.calls[0].actor = other()));
        assert!(is_wrong(|world| world.at(1).by = other()));
        assert!(is_wrong(
            |world| world.calls[2].scope = Scope::parse("org/b").unwrap()
        ));
        assert!(is_wrong(|world| world.calls[2].name = "save_evidence"));
        assert!(is_wrong(|world| world.calls[1].name = "save_evidence"));
        assert!(is_wrong(|world| world.calls[4].name = "drop_anchor"));
        assert!(is_wrong(|world| drop(world.calls.pop())));
        assert!(is_wrong(|world| {
            if let KeptSaid::Evidence(said) = &mut world.at(1).said {
                said.id = EvidenceId::from_bytes([9; 16]);
            }
        }));
        // The same once more, with and without a gap, and with an answer of which nobody heard.
        assert!(is_wrong(|world| {
            world.calls[0].ended = None;
            world.save(6, 1);
        }));
        assert!(is_wrong(|world| {
            world.calls[2].ended = None;
            world.write(6, KeptSaid::Dropped(anchor_id(1)), 3);
        }));
        assert!(is_wrong(|world| {
            world.calls[1].ended = None;
            world.add(7, 2, 2);
        }));
        // Half of what a command does, which is told by its last event, and anchors in another order.
        assert!(is_wrong(|world| drop(
            world.written.remove(&(ScopeKey::of(&scope()), Seq::new(3)))
        )));
        assert!(is_wrong(|world| {
            world.add(2, 2, 1);
            world.add(3, 2, 0);
        }));
    }
}
