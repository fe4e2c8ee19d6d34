//! What a task holds of the work that is imported into it: the log says how far an import came, whoever it was that ran it.
//!
//! Owns the reading of it out of events, and what of a file it lets pass. It must not know cursors' files or commands.

use serde_json::Value;
use sillok_core::ErrorCode;
use sillok_core::event::EventKind;
use sillok_core::id::{CommandId, Seq};
use sillok_core::limits::PAGE_ROWS_MAX;
use sillok_core::scope::Scope;
use sillok_server::api::{Actor, EventView, EventsQuery};
use sillok_sessions::{Entry, Head};

use super::cursors::Kept;
use crate::client::Client;
use crate::failure::Failure;

/// Pages of events of one task.
const PAGES_MAX: usize = 1_000_000;

/// What a task holds of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct There {
    /// The session that its records name; none of a run, whose records have steps.
    session: Option<String>,
    /// Whose import it is; none where that is not known any more.
    by: Option<Actor>,
    /// Where in the file the last record stands, and how many there are of that place.
    last: Option<(u64, u64)>,
    /// Records behind it whose text was erased: where they stand in the file nobody can tell any more.
    erased: u64,
    /// Whether somebody wrote the session down there while it went on, as hooks do: such records are of no place in a file.
    is_followed: bool,
    /// How many records were let pass.
    passed: u64,
    /// Whether the place of the last record was seen in the file.
    is_seen: bool,
    /// The event and the command of the last record.
    end: Option<(Seq, CommandId)>,
}

/// The file says something else than what was imported of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Differs;

impl There {
    /// Nothing.
    pub(super) fn nothing(head: &Head, by: Option<Actor>) -> Self {
        Self {
            session: head.digest.is_none().then(|| head.name.clone()),
            by,
            last: None,
            erased: 0,
            is_followed: false,
            passed: 0,
            is_seen: false,
            end: None,
        }
    }

    /// Finds out what a task holds behind what a cursor knows of; none where the task does not hold what the cursor says.
    pub(super) async fn find(
        mut self,
        client: &Client,
        task: &Scope,
        kept: Option<&Kept>,
    ) -> Result<Option<Self>, Failure> {
        let from = kept.map(|kept| kept.seq.get().saturating_sub(1));
        let mut query = EventsQuery {
            scope: task.to_string(),
            after: from.map(|from| from.to_string()),
            limit: Some(PAGE_ROWS_MAX),
            kind: Some(EventKind::RecordAppended.as_str().to_owned()),
        };
        let mut known = kept.map(|kept| (kept.seq, kept.command));
        for _ in 0..PAGES_MAX {
            let page = client.events(&query).await?;
            for event in &page.items {
                let at = (event.seq, event.command);
                match known.take() {
                    Some(known) if known != at => return Ok(None),
                    Some(known) => self.end = Some(known),
                    None => self.see(event),
                }
            }
            if page.next.is_none() {
                break;
            }
            query.after = page.next;
        }
        if self.is_followed {
            return Err(sillok_core::Error::new(
                ErrorCode::Conflict,
                format!("{task} holds what hooks wrote down of the session"),
            )
            .into());
        }
        Ok(known.is_none().then_some(self))
    }

    /// Looks at a record.
    fn see(&mut self, event: &EventView) {
        if self.by.as_ref().is_some_and(|by| *by != event.actor) {
            return;
        }
        if event.body.is_null() {
            self.erased += 1;
            self.end = Some((event.seq, event.command));
            return;
        }
        let metadata = &event.body["metadata"];
        let number = |name: &str| metadata.get(name).and_then(Value::as_u64);
        let session = metadata.get("session").and_then(Value::as_str);
        let is_ours = session == self.session.as_deref();
        let place = if self.session.is_some() { "at" } else { "step" };
        let Some(at) = number(place).filter(|_| is_ours) else {
            self.is_followed |= is_ours && self.session.is_some();
            return;
        };
        let count = match self.last {
            Some((last, count)) if last == at => count + self.erased + 1,
            _ => 1,
        };
        self.last = Some((at, count));
        self.erased = 0;
        self.end = Some((event.seq, event.command));
    }

    /// How many of an entry's records are there, counted from its first. Entries come in order.
    pub(super) fn pass(&mut self, entry: &Entry) -> Result<usize, Differs> {
        let records = entry.records.len();
        let here = match self.last {
            Some((last, _)) if entry.at < last => records,
            Some((last, count)) if entry.at == last => {
                self.is_seen = true;
                usize::try_from(count)
                    .ok()
                    .filter(|count| *count <= records)
                    .ok_or(Differs)?
            }
            Some(_) if !self.is_seen => return Err(Differs),
            _ => 0,
        };
        let is_before = self.last.is_some_and(|(last, _)| entry.at < last);
        let room = if is_before { 0 } else { records - here };
        let erased = usize::try_from(self.erased).unwrap_or(usize::MAX).min(room);
        self.erased -= erased as u64;
        self.passed += (here + erased) as u64;
        Ok(here + erased)
    }

    /// The file has ended: whether it held all that is there.
    pub(super) fn ended(&self) -> Result<(), Differs> {
        if self.last.is_some() && !self.is_seen {
            Err(Differs)
        } else {
            Ok(())
        }
    }

    /// How many records were let pass.
    pub(super) const fn passed(&self) -> u64 {
        self.passed
    }

    /// The event and the command of the last record, if there is one.
    pub(super) const fn end(&self) -> Option<(Seq, CommandId)> {
        self.end
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use sillok_core::principal::PrincipalKind;
    use sillok_core::staging::LogLevel;
    use sillok_core::time::Timestamp;
    use sillok_sessions::{Format, Place, Record};

    use super::*;
    use crate::client::new_command_id;

    fn actor(id: &str) -> Actor {
        Actor {
            kind: PrincipalKind::Agent,
            id: id.to_owned(),
        }
    }

    fn nothing(session: Option<&str>) -> There {
        let head = Head {
            format: Format::ClaudeCode,
            name: session.unwrap_or("run").to_owned(),
            agent: None,
            digest: session.is_none().then_some([0; 32]),
            title: String::new(),
            description: String::new(),
        };
        There::nothing(&head, Some(actor("a")))
    }

    fn event(by: &str, body: Value) -> EventView {
        EventView {
            scope: Scope::parse("org/a").unwrap(),
            seq: Seq::new(2),
            time: Timestamp::EPOCH,
            kind: EventKind::RecordAppended,
            actor: actor(by),
            command: new_command_id(),
            body,
        }
    }

    fn at(at: u64) -> EventView {
        event("a", json!({ "metadata": { "at": at, "session": "s" } }))
    }

    fn entry(at: u64, records: usize) -> Entry {
        let record = Record {
            level: LogLevel::Info,
            content: "x".to_owned(),
            place: Place::default(),
            time: None,
            masked: 0,
        };
        Entry {
            at,
            records: vec![record; records],
        }
    }

    /// How many records of each entry are there, once the events were looked at.
    fn passes(events: &[EventView], entries: &[Entry]) -> Result<Vec<usize>, Differs> {
        let mut there = nothing(Some("s"));
        for event in events {
            there.see(event);
        }
        let passes = entries.iter().map(|entry| there.pass(entry)).collect();
        there.ended()?;
        passes
    }

    #[test]
    fn what_is_there_is_let_pass_and_nothing_behind_it() {
        let file = [entry(0, 2), entry(10, 3), entry(50, 1)];
        assert_eq!(passes(&[], &file), Ok(vec![0, 0, 0]));
        assert_eq!(passes(&[at(0)], &file), Ok(vec![1, 0, 0]));
        assert_eq!(
            passes(&[at(0), at(0), at(10), at(10)], &file),
            Ok(vec![2, 2, 0])
        );
        let foreign = event("a", json!({ "metadata": { "at": 50, "session": "t" } }));
        let of_another = event("b", json!({ "metadata": { "at": 50, "session": "s" } }));
        let noted = event("a", json!({ "metadata": {}, "content": "by hand" }));
        let found = passes(&[at(0), foreign, of_another, noted, at(0)], &file);
        assert_eq!(found, Ok(vec![2, 0, 0]));
    }

    #[test]
    fn what_was_erased_does_not_come_back() {
        let file = [entry(0, 2), entry(10, 3), entry(50, 1)];
        let erased = || event("a", Value::Null);
        assert_eq!(passes(&[at(0), at(0), erased()], &file), Ok(vec![2, 1, 0]));
        assert_eq!(
            passes(&[at(0), at(0), at(10), erased(), at(10)], &file),
            Ok(vec![2, 3, 0])
        );
        assert_eq!(
            passes(&[erased(), erased(), erased()], &file),
            Ok(vec![2, 1, 0])
        );
        let every = [at(0), at(0), at(10), at(10), at(10), erased()];
        assert_eq!(passes(&every, &file), Ok(vec![2, 3, 1]));
        let by_another = event("b", Value::Null);
        assert_eq!(passes(&[at(0), by_another], &file), Ok(vec![1, 0, 0]));
    }

    #[test]
    fn a_file_that_says_something_else_is_found_out() {
        let file = [entry(0, 2), entry(10, 3)];
        assert_eq!(passes(&[at(5)], &file), Err(Differs));
        assert_eq!(passes(&[at(0), at(0), at(0)], &file), Err(Differs));
        assert_eq!(passes(&[at(90)], &file), Err(Differs), "it was cut");
    }

    #[test]
    fn what_hooks_wrote_of_the_session_is_told_from_what_was_imported() {
        let hooked = |session: &str| {
            event(
                "a",
                json!({ "metadata": { "event": "Stop", "session": session } }),
            )
        };
        for (events, is_followed) in [
            (vec![at(0), hooked("s")], true),
            (vec![at(0), hooked("t")], false),
            (vec![at(0), event("b", hooked("s").body)], false),
            (
                vec![event("a", json!({ "metadata": {}, "content": "by hand" }))],
                false,
            ),
        ] {
            let mut there = nothing(Some("s"));
            events.iter().for_each(|event| there.see(event));
            assert_eq!(there.is_followed, is_followed, "{events:?}");
        }
    }

    #[test]
    fn a_run_is_told_by_its_steps() {
        let mut there = nothing(None);
        for step in [1, 1, 2] {
            there.see(&event(
                "a",
                json!({ "metadata": { "step": step, "tool": "sh" } }),
            ));
        }
        there.see(&event(
            "a",
            json!({ "metadata": { "step": 9, "session": "s" } }),
        ));
        let file = [entry(1, 2), entry(2, 3)];
        let passes: Result<Vec<_>, _> = file.iter().map(|entry| there.pass(entry)).collect();
        assert_eq!(passes, Ok(vec![2, 1]));
        assert_eq!((there.passed(), there.ended()), (3, Ok(())));
    }
}
