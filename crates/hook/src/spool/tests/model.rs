//! A run of any length against a server that may not answer, with a crash of the hook at any byte of any note: what was
//! written down is taken at most once, and once the server answers, once.

use std::collections::{BTreeMap, BTreeSet};

use super::*;

/// What a server does with a command, and what the hook hears of it.
#[derive(Clone, Debug)]
enum Fate {
    Taken,
    TakenUnheard,
    Unheard,
    Busy,
    Denied,
}

/// A server as far as a command is concerned: ids are unique to a principal.
#[derive(Default)]
struct Server {
    answered: BTreeSet<(String, CommandId)>,
    applied: BTreeMap<CommandId, u32>,
    order: Vec<CommandId>,
}

impl Server {
    fn give(&mut self, principal: &str, id: CommandId, fate: &Fate) -> Heard {
        match fate {
            Fate::Unheard => return Heard::Nothing,
            Fate::Busy => return Heard::Untaken("busy".to_owned()),
            Fate::Denied => return Heard::Untaken("forbidden".to_owned()),
            Fate::Taken | Fate::TakenUnheard => {}
        }
        if self.answered.insert((principal.to_owned(), id)) {
            *self.applied.entry(id).or_default() += 1;
            self.order.push(id);
        }
        match fate {
            Fate::Taken => Heard::Taken,
            _ => Heard::Nothing,
        }
    }
}

/// A file that a crash may cut in the middle of a write.
struct Disk {
    bytes: Vec<u8>,
    /// Bytes that are still written before the hook dies.
    left: Option<usize>,
}

impl Disk {
    /// Writes a note; whether the hook lives on.
    fn write(&mut self, note: &Note) -> bool {
        let bytes = frame(note).unwrap();
        let kept = self.left.map_or(bytes.len(), |left| left.min(bytes.len()));
        self.bytes.extend(&bytes[..kept]);
        if let Some(left) = &mut self.left {
            *left -= kept;
        }
        kept == bytes.len()
    }
}

/// One hook that hands over, until it stops or dies.
fn run(
    disk: &mut Disk,
    server: &mut Server,
    principal: &str,
    fates: &mut dyn Iterator<Item = Fate>,
) {
    let journal = Journal::of(scan(&disk.bytes));
    let mut replay = Replay::of(&journal, principal, NOW);
    loop {
        let note = match replay.step() {
            Step::Note(note) => Some(note),
            Step::Give(command) => {
                let fate = fates.next().unwrap_or(Fate::Taken);
                replay.heard(server.give(principal, command.id, &fate))
            }
            Step::Stop | Step::Done => return,
        };
        if note.is_some_and(|note| !disk.write(&note)) {
            return;
        }
    }
}

fn fate() -> impl Strategy<Value = Fate> {
    prop_oneof![
        4 => Just(Fate::Taken),
        2 => Just(Fate::TakenUnheard),
        2 => Just(Fate::Unheard),
        1 => Just(Fate::Busy),
        1 => Just(Fate::Denied),
    ]
}

/// One hook: who it is, how many bytes it writes before it dies, and what the server does.
fn hook() -> impl Strategy<Value = (bool, Option<usize>, Vec<Fate>)> {
    let dies = proptest::option::weighted(0.6, 0_usize..400);
    let other = proptest::bool::weighted(0.2);
    (other, dies, proptest::collection::vec(fate(), 0..6))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn whatever_dies_when_each_command_is_taken_once_or_told_as_lost(
        count in 1_u8..6,
        hooks in proptest::collection::vec(hook(), 0..8),
    ) {
        let written: Vec<Note> = (1..=count).map(command).collect();
        let mut disk = Disk { bytes: framed(&written), left: None };
        let mut server = Server::default();
        for (other, left, fates) in hooks {
            disk.left = left;
            let principal = if other { "other" } else { "one" };
            run(&mut disk, &mut server, principal, &mut fates.into_iter());
        }
        // In the end the server answers, and nobody dies.
        disk.left = None;
        run(&mut disk, &mut server, "one", &mut std::iter::empty());
        let journal = Journal::of(scan(&disk.bytes));
        prop_assert!(journal.is_settled());
        for number in 1..=count {
            let times = server.applied.get(&id(number)).copied().unwrap_or(0);
            prop_assert!(times <= 1, "command {} was taken {} times", number, times);
            let doubtful = journal.outcome(id(number)) == Some(&Outcome::Doubtful);
            prop_assert!(times == 1 || doubtful, "command {} is lost and not told", number);
        }
        prop_assert!(server.order.is_sorted(), "they go in the order in which they were written");
    }
}

proptest! {
    #[test]
    fn a_renewed_token_of_one_principal_leaves_no_doubt(
        count in 1_u8..6,
        hooks in proptest::collection::vec((any::<bool>(), proptest::option::of(0_usize..400), proptest::collection::vec(fate(), 0..6)), 0..8),
    ) {
        use crate::agent::Own;
        use crate::speaker::Speaker;
        let speaker = |token: &str| {
            Speaker::Own(Own { token: token.to_owned(), by: "agents of a project".to_owned(), unkept: None }).by()
        };
        let written: Vec<Note> = (1..=count).map(command).collect();
        let mut disk = Disk { bytes: framed(&written), left: None };
        let mut server = Server::default();
        for (renewed, left, fates) in hooks {
            disk.left = left;
            let by = speaker(if renewed { "slk_new" } else { "slk_old" });
            run(&mut disk, &mut server, &by, &mut fates.into_iter());
        }
        disk.left = None;
        run(&mut disk, &mut server, &speaker("slk_new"), &mut std::iter::empty());
        for number in 1..=count {
            prop_assert_eq!(server.applied.get(&id(number)).copied(), Some(1));
        }
    }
}

#[test]
fn a_hook_that_dies_at_any_byte_while_it_hands_over_gives_nothing_twice() {
    let written = [begun(), opening(), command(1), command(2)];
    let bytes = framed(&written);
    let mut untouched = Disk {
        bytes: bytes.clone(),
        left: None,
    };
    run(
        &mut untouched,
        &mut Server::default(),
        "one",
        &mut std::iter::empty(),
    );
    let all = untouched.bytes.len() - bytes.len();
    for left in 0..=all {
        let mut disk = Disk {
            bytes: bytes.clone(),
            left: Some(left),
        };
        let mut server = Server::default();
        run(&mut disk, &mut server, "one", &mut std::iter::empty());
        disk.left = None;
        run(&mut disk, &mut server, "one", &mut std::iter::empty());
        assert_eq!(
            server.order,
            [id(0), id(1), id(2)],
            "it died after {left} bytes"
        );
        assert!(Journal::of(scan(&disk.bytes)).is_settled());
    }
}
