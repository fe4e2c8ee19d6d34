//! From which command each version of a decision follows.
//!
//! Owns that no chain and no version is there but by a command that somebody sent: one that was acknowledged, or of which
//! nobody was told what became of it. A chain bears the name that its command gives it, so that what was refused began none.
//! The same of evidence and anchors is told by `kept`.

pub(super) mod kept;

use std::collections::{BTreeMap, BTreeSet};

use sillok_core::ErrorCode;
use sillok_core::decision::{Act, DecisionVersion};
use sillok_core::id::{CommandId, DecisionId};
use sillok_core::scope::Scope;
use sillok_store::keys::ScopeKey;

use super::view::Written;
use crate::history::{Call, Ending};

/// A version that follows from no command which could have led to it, or a command that led to none or to two, if there is
/// one.
pub(super) fn unsent<'a>(
    versions: impl Iterator<Item = (&'a Scope, &'a DecisionVersion)>,
    written: &Written,
    calls: &[Call],
) -> Option<String> {
    let meant = calls.iter().filter(|call| !call.is_forged);
    let sent: BTreeMap<CommandId, &Call> = meant.map(|call| (call.command, call)).collect();
    let mut carried_out: BTreeSet<CommandId> = BTreeSet::new();
    for (scope, version) in versions {
        let DecisionVersion { root, number, .. } = version;
        let that = |is: &str| format!("version {number} of decision {root} in {scope} {is}");
        let Some((saved, command)) = written.get(&(ScopeKey::of(scope), version.seq)) else {
            return Some(that("follows from no event"));
        };
        if (saved.said.root, saved.said.number) != (*root, *number) {
            return Some(that("is another one than its event says"));
        }
        let Some(call) = sent.get(command).filter(|call| call.scope == *scope) else {
            return Some(that("was saved by nobody"));
        };
        if let Some(is) = unfit(call, version) {
            return Some(that(is));
        }
        if !carried_out.insert(*command) {
            return Some(that("is the second one of its command"));
        }
    }
    let mut events = written.values();
    let unwritten = events.find(|(_, command)| !carried_out.contains(command));
    unwritten.map(|(saved, _)| {
        let (scope, seq) = (&saved.scope, saved.seq);
        format!("the version is not there that {scope}#{seq} says was saved")
    })
}

/// Why a version does not follow from the command under whose id it was saved, if it does not.
fn unfit(call: &Call, version: &DecisionVersion) -> Option<&'static str> {
    let name = match version.act {
        Act::Begun | Act::Changed => "save_decision",
        Act::Withdrawn => "deactivate_decision",
        Act::Restored { .. } => "restore_decision",
    };
    match call.ended {
        // What comes so late that nobody knows its answer any more may have been carried out long before.
        Some((_, Ending::Refused(code))) if code != ErrorCode::Expired => {
            return Some("was refused");
        }
        Some((_, Ending::Acknowledged(seq))) if seq != version.seq => {
            return Some("was acknowledged as another event");
        }
        _ => {}
    }
    if call.name != name {
        return Some("is not what its command does");
    }
    if call.actor != version.by {
        return Some("is said to be of somebody else");
    }
    let begun = DecisionId::derived(&call.scope, &call.actor.to_string(), call.command);
    // That the first version begins its chain, and no other does, is checked with the chain.
    (version.act == Act::Begun && version.root != begun).then_some("bears no name of its command")
}

#[cfg(test)]
mod tests {
    use sillok_core::command::Digest;
    use sillok_core::decision::Rank;
    use sillok_core::event::DecisionSaved;
    use sillok_core::id::Seq;
    use sillok_core::principal::{Actor, PrincipalId, PrincipalKind};
    use sillok_core::time::Timestamp;

    use super::super::view::Saved;
    use super::super::view::tests::{root, text};
    use super::*;

    fn scope() -> Scope {
        Scope::parse("org/a").unwrap()
    }

    fn actor(id: &str) -> Actor {
        Actor {
            kind: PrincipalKind::Human,
            id: PrincipalId::parse(id).unwrap(),
        }
    }

    fn command(number: u8) -> CommandId {
        CommandId::from_parts(Timestamp::EPOCH, [number; 10])
    }

    /// What was sent, and what became of it.
    struct World {
        versions: Vec<DecisionVersion>,
        written: Written,
        calls: Vec<Call>,
    }

    impl World {
        /// A decision that was begun and withdrawn, and a first save that was refused.
        fn new() -> Self {
            let begun = DecisionId::derived(&scope(), &actor("p").to_string(), command(1));
            let mut world = Self {
                versions: Vec::new(),
                written: Written::new(),
                calls: Vec::new(),
            };
            world.call(1, "save_decision", Ending::Acknowledged(Seq::new(1)));
            world.call(2, "deactivate_decision", Ending::Acknowledged(Seq::new(2)));
            world.call(3, "save_decision", Ending::Refused(ErrorCode::Conflict));
            world.write(begun, (1, Act::Begun), 1);
            world.write(begun, (2, Act::Withdrawn), 2);
            world
        }

        fn call(&mut self, number: u8, name: &'static str, ending: Ending) {
            self.calls.push(Call {
                actor: actor("p"),
                scope: scope(),
                command: command(number),
                digest: Digest::ERASED,
                name,
                invoked_us: 1,
                ended: Some((2, ending)),
                is_forged: false,
            });
        }

        /// Writes a version under a command.
        fn write(&mut self, root: DecisionId, (number, act): (u64, Act), by: u8) {
            let seq = Seq::new(self.versions.len() as u64 + 1);
            let said = (act != Act::Withdrawn).then(|| text(Rank::Normal, "ui", "a"));
            let version = DecisionVersion {
                root,
                number,
                act,
                text: said.clone(),
                reason: String::new(),
                by: actor("p"),
                at: Timestamp::EPOCH,
                seq,
            };
            let said = DecisionSaved {
                root,
                number,
                act,
                before: None,
                text: said,
                reason: String::new(),
            };
            let saved = Saved {
                scope: scope(),
                seq,
                said,
            };
            self.versions.push(version);
            let place = (ScopeKey::of(&scope()), seq);
            self.written.insert(place, (saved, command(by)));
        }

        /// The chain that the command which was refused would have begun.
        fn refused_root() -> DecisionId {
            DecisionId::derived(&scope(), &actor("p").to_string(), command(3))
        }
    }

    fn is_wrong(spoil: impl Fn(&mut World)) -> bool {
        let mut world = World::new();
        spoil(&mut world);
        let scope = scope();
        let versions = world.versions.iter().map(|version| (&scope, version));
        unsent(versions, &world.written, &world.calls).is_some()
    }

    #[test]
    fn a_chain_that_a_refused_save_began_is_found_though_nobody_was_told_of_it() {
        assert!(!is_wrong(|_| ()));
        let begun = |world: &mut World| world.write(World::refused_root(), (1, Act::Begun), 3);
        assert!(is_wrong(begun));
        let end = |ended: Option<(u64, Ending)>| {
            move |world: &mut World| {
                world.calls[2].ended = ended;
                begun(world);
            }
        };
        // What somebody sent and nobody knows the end of may be there, and what was acknowledged is.
        assert!(!is_wrong(end(None)));
        let expired = Ending::Refused(ErrorCode::Expired);
        assert!(!is_wrong(end(Some((2, expired)))));
        assert!(!is_wrong(end(Some((2, Ending::Acknowledged(Seq::new(3)))))));
        assert!(is_wrong(end(Some((2, Ending::Acknowledged(Seq::new(4)))))));
        // What was never to be carried out explains nothing.
        assert!(is_wrong(|world| {
            end(None)(world);
            world.calls[2].is_forged = true;
        }));
    }

    #[test]
    fn a_version_that_no_command_explains_is_found() {
        // A row without an event, and an event without a row.
        assert!(is_wrong(|world| drop(world.written.pop_last())));
        assert!(is_wrong(|world| drop(world.versions.pop())));
        // Of nobody, of somebody else, elsewhere, under another name, and one that says something else than its event.
        assert!(is_wrong(|world| drop(world.calls.remove(1))));
        assert!(is_wrong(|world| world.calls[1].actor = actor("q")));
        assert!(is_wrong(
            |world| world.calls[1].scope = Scope::parse("org/b").unwrap()
        ));
        assert!(is_wrong(|world| world.calls[1].name = "save_decision"));
        assert!(is_wrong(|world| world.versions[1].number = 3));
        assert!(is_wrong(|world| world.versions[1].root = root(9)));
        // A chain under a name that its command does not give it, and two versions of one command.
        assert!(is_wrong(|world| {
            world.calls[2].ended = None;
            world.write(root(9), (1, Act::Begun), 3);
        }));
        assert!(is_wrong(|world| {
            world.calls[1].ended = None;
            let begun = world.versions[0].root;
            world.write(begun, (3, Act::Withdrawn), 2);
        }));
    }
}
