//! A year of nightly maintenance, on a node with the embedded store and Lance tables whose calendar goes on by a day each
//! night.
//!
//! Each day a task is opened and logs, a person publishes what was found out, and states of some days ago are resolved;
//! each night a whole run goes. What is written in a day stays the same, and all of it is over after 90 days at the
//! latest, so after these the tables and indices have to stay as large as they are, and the answers to commands are
//! forgotten as fast as they come. Events are for good: each day adds those of its commands, each night adds one for each
//! reason to take something out, and neither adds anything else.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Instant;

use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use sillok_actors::maintenance::Maintain;
use sillok_core::command::{AnswerBody, Command};
use sillok_core::entry::{Status, Table};
use sillok_core::event::EventKind;
use sillok_core::id::{Attempt, CommandId, EntryId, Seq};
use sillok_core::limits::COMMAND_RETRY_MS_MAX;
use sillok_core::ports::Clock as _;
use sillok_core::principal::{Principal, PrincipalKind};
use sillok_core::retention::pace::{RETIRED_AT_ONCE, RETIRED_BESIDE};
use sillok_core::scope::Scope;
use sillok_core::time::DAY_MS;
use sillok_store::keys::{self, ScopeKey};
use sillok_store::{KeyRange, RangeOptions, Read, Store as _, Txn, key_range};

use crate::bed::{Bed, Running, SetClock, bytes_under};
use crate::corpus;
use crate::engines::{folder, runtime};
use crate::error::Error;
use crate::report::{Floor, Report, Row};
use crate::scale::Scale;
use crate::workload::{Texts, open_task, principal, record, scope};

/// What is written in a day.
const FACTS: u64 = 30;
const STATES: u64 = 10;
const RECORDS: usize = 20;
/// Days after which a state is resolved.
const HOLDS_DAYS: usize = 3;
/// From here on as much goes each night as came in a day.
const STEADY: u64 = 125;
/// Nights whose largest size is compared.
const SPAN: u64 = 60;
/// Tables and indices at the end of the year, over what they were as soon as they were steady.
const GROWTH_MAX: f64 = 1.25;
/// Commands of a day: those for the task, the facts and states, and the resolutions.
const COMMANDS: u64 = 2 + FACTS + 2 * STATES;
/// Rows that are read at once.
const PAGE: usize = 4_096;

/// Measures it.
///
/// # Errors
/// What the node answered; events that nobody wrote; tables with what is no more.
pub(crate) fn measure(scale: &Scale, report: &mut Report) -> Result<(), Error> {
    let (folder, runtime) = (folder()?, runtime()?);
    runtime.block_on(async {
        let bed = Bed::make(folder.path(), &[], |_| {}).await?;
        let clock = Arc::new(SetClock::default());
        let running = bed.start(&clock, 0).await?;
        let mut year = Year {
            bed: &bed,
            running: &running,
            clock: &clock,
            rng: ChaCha8Rng::seed_from_u64(7),
            texts: Texts::new(),
            scopes: vec![project()],
            open: VecDeque::new(),
            commands: 0,
            written: 0,
            largest: [0, 0],
            night_events: 0,
        };
        let began = Instant::now();
        let ended = year.nights(scale.nights).await;
        let took = began.elapsed().as_secs_f64();
        let reported = match ended {
            Ok(()) => year.report(scale.nights, took, report).await,
            Err(error) => Err(error),
        };
        running.node.shutdown().await;
        reported
    })
}

fn project() -> Scope {
    scope("org/bench/project/year")
}

/// Where the events of a scope end.
async fn tip(txn: &mut impl Txn, scope: &Scope) -> Result<Seq, Error> {
    let key = keys::scope::key(&ScopeKey::of(scope));
    let value = txn.get(&key, Read::Snapshot).await?;
    let row = value.map(|value| keys::scope::decode(&key, &value));
    Ok(row.transpose()?.map_or(Seq::ZERO, |row| row.tip.seq))
}

struct Year<'a> {
    bed: &'a Bed,
    running: &'a Running,
    clock: &'a SetClock,
    rng: ChaCha8Rng,
    texts: Texts,
    /// All that were written to.
    scopes: Vec<Scope>,
    /// States that hold, those of each day.
    open: VecDeque<Vec<(EntryId, u64)>>,
    commands: u64,
    written: u64,
    /// The largest size of tables and indices once they are steady, and at the end of the year.
    largest: [u64; 2],
    night_events: u64,
}

impl Year<'_> {
    async fn nights(&mut self, nights: u64) -> Result<(), Error> {
        for day in 0..nights {
            self.whole_day(day).await?;
            self.clock.pass(1);
            self.night().await?;
            let bytes = bytes_under(&self.bed.vectors())?;
            if (STEADY..STEADY + SPAN).contains(&day) {
                self.largest[0] = self.largest[0].max(bytes);
            }
            if day + SPAN >= nights {
                self.largest[1] = self.largest[1].max(bytes);
            }
        }
        Ok(())
    }

    /// A day, which adds the events of what is written in it.
    async fn whole_day(&mut self, day: u64) -> Result<(), Error> {
        let before = self.events().await?;
        let mut txn = self.bed.store.begin().await?;
        let behind = tip(&mut txn, &project()).await?;
        drop(txn);
        let given = self.day(day).await?;
        let alike = self.alike(behind).await?;
        let added = self.events().await? - before;
        if added == given + alike {
            return Ok(());
        }
        Err(Error::Wrong(format!(
            "day {day} added {added} events; its commands are {given}, and {alike} of what is alike"
        )))
    }

    /// Events behind this one that what was published adds where it is like a known entry: a link to that one, and a
    /// question about the two.
    async fn alike(&self, behind: Seq) -> Result<u64, Error> {
        let (mut linked, mut asked) = (0, 0);
        let events = keys::event::range_after(&ScopeKey::of(&project()), behind);
        let count = |key: &[u8], value: &[u8]| {
            let event = keys::event::decode(key, value).ok();
            let header = event.and_then(|event| event.decode_header().ok());
            match header.map(|header| header.kind) {
                Some(EventKind::Linked) => linked += 1,
                Some(EventKind::ReviewRaised) => asked += 1,
                _ => {}
            }
        };
        self.rows(events, count).await?;
        if linked > FACTS + STATES || asked != linked {
            let why = format!("{linked} entries are linked, and {asked} questions asked");
            return Err(Error::Wrong(why));
        }
        Ok(linked + asked)
    }

    /// Writes what a day has: how many events that is, without those of [`Self::alike`].
    async fn day(&mut self, day: u64) -> Result<u64, Error> {
        let agent = principal(PrincipalKind::Agent);
        let task = scope(&format!("{}/worktree/main/task/t{day}", project()));
        self.scopes.push(task.clone());
        self.give(&task, &agent, open_task()).await?;
        let first = usize::try_from(day).expect("days are few") * RECORDS;
        let lines = first..first + RECORDS;
        let records = lines.map(|line| record(self.texts.get(line))).collect();
        self.give(&task, &agent, Command::Append { records })
            .await?;
        let person = principal(PrincipalKind::Human);
        let mut states = Vec::new();
        for one in 0..FACTS + STATES {
            self.written += 1;
            let number = u32::try_from(self.written).expect("a year's entries are few");
            let is_state = one < STATES;
            let table = if is_state {
                Table::Gotchas
            } else {
                Table::Observations
            };
            let put = corpus::put(&corpus::text(&mut self.rng, number), table);
            let answer = self.give(&project(), &person, put).await?;
            let AnswerBody::Entry { id, version, .. } = answer else {
                return Err(Error::Wrong(format!("a fact was answered with {answer:?}")));
            };
            // What is said again is the state that it was.
            let mut known = self.open.iter().flatten().chain(&states);
            if is_state && !known.any(|(known, _)| *known == id) {
                states.push((id, version));
            }
        }
        self.open.push_back(states);
        let over = match self.open.len() > HOLDS_DAYS {
            true => self.open.pop_front().unwrap_or_default(),
            false => Vec::new(),
        };
        // The task, a record each, an entry each that is made or repeated, and a resolution each.
        let events = 1 + RECORDS as u64 + FACTS + STATES + over.len() as u64;
        for (entry, expected_version) in over {
            let resolve = Command::ResolveState {
                entry,
                expected_version,
                reason: "it was mended".to_owned(),
                verification: None,
            };
            self.give(&project(), &person, resolve).await?;
        }
        Ok(events)
    }

    /// Gives a command whose id is of the day that it is.
    async fn give(
        &mut self,
        scope: &Scope,
        principal: &Principal,
        command: Command,
    ) -> Result<AnswerBody, Error> {
        self.commands += 1;
        let mut bits = [0; 10];
        bits[2..].copy_from_slice(&self.commands.to_be_bytes());
        let submission = sillok_core::command::Submission {
            scope: scope.clone(),
            principal: principal.clone(),
            id: CommandId::from_parts(self.clock.now(), bits),
            attempt: Attempt::FIRST,
            command,
        };
        Ok(self.running.node.submit(submission).await?.result)
    }

    /// A run, which adds an event for each command that took something out: none of them names entries of two projects or
    /// two reasons, and those that come soon after somebody wrote name few.
    async fn night(&mut self) -> Result<(), Error> {
        let before = self.events().await?;
        let done = self.running.node.maintain(&Maintain::whole()).await?;
        let going = done
            .scopes
            .iter()
            .flat_map(|scope| [scope.plan.aged.len(), scope.plan.pruned.len()]);
        let commands = |each| going.clone().map(|all| all.div_ceil(each) as u64).sum();
        let (least, most): (u64, u64) = (commands(RETIRED_AT_ONCE), commands(RETIRED_BESIDE));
        let added = self.events().await? - before;
        let is_whole = done
            .scopes
            .iter()
            .all(|one| one.error.is_none() && !one.asks);
        if !(least..=most).contains(&added) || !is_whole || !done.optimised {
            return Err(Error::Wrong(format!(
                "a night added {added} events, not {least} to {most}: {:?}",
                done.outcome()
            )));
        }
        self.night_events += added;
        Ok(())
    }

    /// Events of all scopes.
    async fn events(&self) -> Result<u64, Error> {
        let mut txn = self.bed.store.begin().await?;
        let mut events = 0;
        for scope in &self.scopes {
            events += tip(&mut txn, scope).await?.get();
        }
        Ok(events)
    }

    async fn rows(
        &self,
        mut left: KeyRange,
        mut each: impl FnMut(&[u8], &[u8]),
    ) -> Result<(), Error> {
        loop {
            let mut txn = self.bed.store.begin().await?;
            let options = RangeOptions::first(PAGE, Read::Snapshot);
            let rows = txn.range(&left, options).await?;
            let Some((last, _)) = rows.last() else {
                return Ok(());
            };
            left.begin = key_range::successor(last);
            rows.iter().for_each(|(key, value)| each(key, value));
        }
    }

    async fn report(&self, nights: u64, took: f64, report: &mut Report) -> Result<(), Error> {
        let mut live = 0;
        let heads = keys::head::range_of_scope(&ScopeKey::of(&project()));
        let count = |key: &[u8], value: &[u8]| {
            let head = keys::head::decode(key, value);
            live += u64::from(head.is_ok_and(|head| head.status != Status::Archived));
        };
        self.rows(heads, count).await?;
        let mut answers = 0_u32;
        for scope in &self.scopes {
            let range = keys::command::range_of_scope(&ScopeKey::of(scope));
            self.rows(range, |_, _| answers += 1).await?;
        }
        let stored = self.running.settled().await?.stored;
        if stored < live {
            let why = format!("{live} entries are left, and {stored} in the tables");
            return Err(Error::Wrong(why));
        }
        let row = |what: String, figure: f64, unit| Row::new(format!("year: {what}"), figure, unit);
        report.add(row(format!("{nights} days and nights"), took, "s"));
        report.add(row(
            "entries written".to_owned(),
            self.written as f64,
            "entries",
        ));
        report.add(row(
            "entries that are live".to_owned(),
            live as f64,
            "entries",
        ));
        let gone = (stored - live) as f64;
        let gone = row(
            "entries that are not, in the tables".to_owned(),
            gone,
            "entries",
        );
        report.add(gone.with_floor(Floor::AtMost(0.0)));
        let [steady, end] = self.largest.map(|bytes| bytes as f64 / 1e6);
        report.add(row("tables and indices at the end".to_owned(), end, "MB"));
        if steady > 0.0 {
            let what = format!("the same, over nights {STEADY} to {}", STEADY + SPAN);
            let growth = row(what, end / steady, "times");
            report.add(growth.with_floor(Floor::AtMost(GROWTH_MAX)));
        }
        let store = bytes_under(&self.bed.stored())? as f64 / 1e6;
        report.add(row("the store at the end".to_owned(), store, "MB"));
        let events = self.events().await?;
        report.add(row("events in all".to_owned(), events as f64, "events"));
        let nightly = self.night_events as f64;
        report.add(row("of them, of the nights".to_owned(), nightly, "events"));
        // A floor of ids trails the last event by the longest retry, and what the system gave is kept.
        let kept_days = COMMAND_RETRY_MS_MAX / DAY_MS + 2;
        let bound = kept_days * COMMANDS + self.night_events;
        let answers = row(
            "answers to commands that are kept".to_owned(),
            f64::from(answers),
            "answers",
        );
        report.add(answers.with_floor(Floor::AtMost(bound as f64)));
        Ok(())
    }
}
