//! `erase`

use sillok_server::api::{ContentErased, EraseContent};

use crate::args::Erase;
use crate::diagram;
use crate::failure::Failure;
use crate::output::{Style, time};
use crate::session::Session;

/// Carries out `erase`.
///
/// # Errors
/// [`Failure`]
pub async fn erase(session: &Session, erase: Erase) -> Result<(), Failure> {
    let body = EraseContent {
        scope: erase.scope.to_string(),
        records: erase.record,
        entries: ids(&erase.entry),
        offers: ids(&erase.offer),
        decisions: ids(&erase.decision),
        evidence: ids(&erase.evidence),
        anchors: ids(&erase.anchor),
        kinds: ids(&erase.kind),
        verifications: ids(&erase.verification),
        reason: erase.reason,
    };
    let done = session.client.erase(&body).await?;
    session.output.show(&done, |style| describe(style, &done))
}

fn ids(named: &[impl ToString]) -> Vec<String> {
    named.iter().map(ToString::to_string).collect()
}

fn describe(style: Style, done: &ContentErased) -> String {
    let mut lines = vec![format!(
        "erased in {}: {} events lost their content",
        style.name(done.scope.as_str()),
        done.events
    )];
    if done.known > 0 {
        lines.push(format!("{} had been erased before", done.known));
    }
    let gone = done.entries.iter();
    lines.extend(gone.map(|id| format!("{id}: no answer says any more what it said")));
    let resting = done.resting.iter();
    lines.extend(resting.map(|id| format!("{id}: rests on what was erased, and may say it")));
    let decisions = done.resting_decisions.iter();
    lines.extend(decisions.map(|node| {
        let node = diagram::plain(node);
        format!("{node}: rests on evidence that was erased, and may say it")
    }));
    let same = done.same_error.iter();
    lines.extend(
        same.map(|id| format!("verification {id}: failed with the same error, and tells it")),
    );
    let offers = done.offers.iter();
    lines.extend(
        offers.map(|id| format!("review {id}: offers it to the organisation, and holds it")),
    );
    if !done.entries.is_empty() {
        let indexes = "indexes forget what was erased in a moment; that of a node that is away, when it starts next";
        lines.push(indexes.to_owned());
    }
    // The second that it was erased in counts as before: a backup of its beginning has it.
    let second = time(done.backups_before.plus_ms(999));
    lines.push(format!(
        "backups that were taken before {second} UTC hold it still"
    ));
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use sillok_core::id::{CommandId, EntryId, Seq, VerificationId};
    use sillok_core::scope::Scope;
    use sillok_core::time::Timestamp;

    use super::*;

    fn receipt(entries: Vec<EntryId>) -> ContentErased {
        let time = Timestamp::from_ms(1_700_000_000_001);
        ContentErased {
            scope: Scope::parse("org/a/project/b").unwrap(),
            events: 1,
            entries,
            known: 0,
            resting: Vec::new(),
            resting_decisions: Vec::new(),
            same_error: Vec::new(),
            offers: Vec::new(),
            backups_before: time,
            seq: Seq::new(7),
            time,
            command_id: CommandId::from_parts(time, [0; 10]),
        }
    }

    #[test]
    fn the_receipt_says_which_backups_hold_it_and_which_indexes_forget_later() {
        let id = EntryId::from_bytes([2; 16]);
        let said = describe(Style::default(), &receipt(vec![id]));
        assert!(
            said.contains(&format!("{id}: no answer says any more")),
            "{said}"
        );
        assert!(said.contains("a node that is away"), "{said}");
        // Not a second too early: 2023-11-14 22:13:20 and a millisecond is when it was erased.
        assert!(
            said.ends_with("backups that were taken before 2023-11-14 22:13:21 UTC hold it still"),
            "{said}"
        );
        let node = "decision:org/a/project/b#01900000-0000-7000-8000-000000000000";
        let resting = ContentErased {
            resting_decisions: vec![node.parse().unwrap()],
            ..receipt(Vec::new())
        };
        let said = describe(Style::default(), &resting);
        assert!(said.contains(&format!("{node}: rests on")), "{said}");
        let other = VerificationId::from_bytes([3; 16]);
        let same = ContentErased {
            same_error: vec![other],
            ..receipt(Vec::new())
        };
        let said = describe(Style::default(), &same);
        assert!(
            said.contains(&format!("verification {other}: failed with the same")),
            "{said}"
        );
        let records = describe(Style::default(), &receipt(Vec::new()));
        assert!(
            !records.contains("index"),
            "no index holds records: {records}"
        );
    }
}
