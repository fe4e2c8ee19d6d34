//! The queue of a node: which promotions wait here, and when each is due.
//!
//! Owns what is known of them in memory. It must not know how a promotion is carried out, nor where what
//! is known of its attempts is kept.

use std::collections::{BTreeMap, BTreeSet};

use parking_lot::Mutex;
use sillok_core::id::VerificationId;
use sillok_core::promotion::{Attempts, FailedAttempt, Job, NewEntry, Patience, Used};
use sillok_core::slot::Slot;
use tokio::sync::Notify;

use super::{Found, WaitingJob};

/// Jobs for which what was prepared is kept. What is prepared for one may have some megabytes.
const PREPARED_MAX: usize = 16;
/// How often the store is asked whether somebody wants halted promotions tried anew, in ms. An order
/// given on this node is heard at once.
const LOOK_HALTED_MS: u64 = 2_000;
/// Halted promotions of which that is asked at once.
const HALTED_AT_ONCE: usize = 256;

/// What is known of one promotion.
struct Waiting {
    slot: Slot,
    job: Job,
    attempts: Attempts,
    /// Whether the store knows of the attempts what is known here.
    is_kept: bool,
    due_ms: u64,
    running: bool,
}

/// A job that is taken up, with what is known of its attempts.
pub(super) struct Taken {
    pub(super) slot: Slot,
    pub(super) job: Job,
    pub(super) attempts: Attempts,
    /// Whether it has halted, and only that is to be kept.
    pub(super) is_halted: bool,
}

/// The promotions of a node that are not finished.
#[derive(Default)]
pub(crate) struct JobQueue {
    waiting: Mutex<BTreeMap<VerificationId, Waiting>>,
    /// What was drawn from the records of jobs, and embedded, but not published: the next attempt asks
    /// no model again.
    prepared: Mutex<BTreeMap<VerificationId, Vec<NewEntry>>>,
    /// Slots that may hold jobs which nobody has told this queue of.
    unread: Mutex<BTreeSet<Slot>>,
    looks: Mutex<Looks>,
    pub(super) added: Notify,
    pub(super) ended: Notify,
}

/// Up to which halted promotion, and when, the store was asked last.
#[derive(Default)]
struct Looks {
    last: Option<VerificationId>,
    next_ms: u64,
}

impl JobQueue {
    /// Takes in a job that was just written.
    pub(crate) fn add(&self, slot: Slot, job: Job) {
        let found = Found {
            slot,
            job,
            attempts: Attempts::default(),
            due_ms: 0,
        };
        self.add_found(found);
    }

    /// Takes a job in. Of one that is there, only a later round says something new: somebody wants it
    /// tried anew.
    pub(crate) fn add_found(&self, found: Found) {
        let mut waiting = self.waiting.lock();
        let known = waiting.get(&found.job.verification);
        let is_news =
            known.is_none_or(|known| !known.running && found.attempts.round > known.attempts.round);
        if is_news {
            let new = Waiting {
                slot: found.slot,
                attempts: found.attempts,
                is_kept: true,
                due_ms: found.due_ms,
                running: false,
                job: found.job,
            };
            waiting.insert(new.job.verification, new);
        }
        drop(waiting);
        self.added.notify_one();
    }

    /// Takes a halted job up again of whose halt the store does not know. Whether there was one.
    pub(super) fn retry_unkept(&self, id: VerificationId) -> bool {
        let mut waiting = self.waiting.lock();
        let unkept = waiting
            .get_mut(&id)
            .filter(|known| !known.is_kept && !known.running);
        let anew = unkept.and_then(|known| Some((known.attempts.anew()?, known)));
        let Some((anew, known)) = anew else {
            return false;
        };
        known.attempts = anew;
        known.due_ms = 0;
        drop(waiting);
        self.added.notify_one();
        true
    }

    /// Notes that a commit in a slot was found out about, which may have started a promotion.
    pub(crate) fn look_again(&self, slot: Slot) {
        self.unread.lock().insert(slot);
        self.added.notify_one();
    }

    /// The slots to look at again; from now on there are none.
    pub(super) fn take_unread(&self) -> BTreeSet<Slot> {
        std::mem::take(&mut *self.unread.lock())
    }

    /// Leaves slots for the next time.
    pub(super) fn leave_unread(&self, slots: &mut BTreeSet<Slot>) {
        self.unread.lock().append(slots);
    }

    /// Keeps the jobs of these slots; whoever holds the others resumes theirs.
    pub(crate) fn keep_only(&self, keeps: impl Fn(Slot) -> bool) {
        let mut waiting = self.waiting.lock();
        waiting.retain(|_, waiting| keeps(waiting.slot));
        let is_waiting = |id: &VerificationId, _: &mut Vec<NewEntry>| waiting.contains_key(id);
        self.prepared.lock().retain(is_waiting);
        drop(waiting);
        self.ended.notify_waiters();
    }

    /// What waits, oldest verification first.
    pub(crate) fn list(&self) -> Vec<WaitingJob> {
        let shown = |waiting: &Waiting| WaitingJob::of(waiting.job.clone(), &waiting.attempts);
        self.waiting.lock().values().map(shown).collect()
    }

    /// What is known here of the attempts at a promotion.
    pub(super) fn attempts(&self, id: VerificationId) -> Option<Attempts> {
        let waiting = self.waiting.lock();
        waiting.get(&id).map(|known| known.attempts.clone())
    }

    /// Takes the next job that is due, or says in how many milliseconds one will be. One that has halted
    /// is due only until the store knows that.
    pub(super) fn take(&self, now_ms: u64) -> Result<Taken, Option<u64>> {
        let mut waiting = self.waiting.lock();
        let rests = |known: &Waiting| known.attempts.halted && known.is_kept;
        let idle = |known: &&mut Waiting| !known.running && !rests(known);
        let next = waiting
            .values_mut()
            .filter(idle)
            .min_by_key(|known| (known.due_ms, known.job.created_at));
        let Some(next) = next else { return Err(None) };
        if next.due_ms > now_ms {
            return Err(Some(next.due_ms - now_ms));
        }
        next.running = true;
        Ok(Taken {
            slot: next.slot,
            job: next.job.clone(),
            attempts: next.attempts.clone(),
            is_halted: next.attempts.halted,
        })
    }

    /// Halted promotions of which it is time to ask whether somebody wants them tried anew: some of
    /// them, in turn. In how many milliseconds to ask for more; none while none has halted.
    pub(super) fn take_halted(&self, now_ms: u64) -> (Vec<(Slot, Job)>, Option<u64>) {
        let waiting = self.waiting.lock();
        let is_halted = |known: &&Waiting| known.attempts.halted && known.is_kept;
        if !waiting.values().any(|known| is_halted(&known)) {
            return (Vec::new(), None);
        }
        let mut looks = self.looks.lock();
        if looks.next_ms > now_ms {
            return (Vec::new(), Some(looks.next_ms - now_ms));
        }
        let behind = |known: &&Waiting| looks.last.is_none_or(|last| known.job.verification > last);
        let halted = waiting.values().filter(is_halted).filter(behind);
        let asked = halted.map(|known| (known.slot, known.job.clone()));
        let asked: Vec<(Slot, Job)> = asked.take(HALTED_AT_ONCE).collect();
        looks.last = asked.last().map(|(_, job)| job.verification);
        looks.next_ms = now_ms + LOOK_HALTED_MS;
        (asked, Some(LOOK_HALTED_MS))
    }

    /// Takes what was prepared for a job, if it was kept.
    pub(super) fn prepared(&self, id: VerificationId) -> Option<Vec<NewEntry>> {
        self.prepared.lock().remove(&id)
    }

    /// Keeps what was prepared for a job that waits, while there is room, in place of what was kept for it. Whether it is
    /// kept.
    pub(super) fn keep_prepared(&self, id: VerificationId, products: Vec<NewEntry>) -> bool {
        let waiting = self.waiting.lock();
        let mut prepared = self.prepared.lock();
        let has_room = prepared.len() < PREPARED_MAX || prepared.contains_key(&id);
        let is_kept = waiting.contains_key(&id) && has_room;
        if is_kept {
            prepared.insert(id, products);
        }
        is_kept
    }

    /// Forgets a job that has ended.
    pub(crate) fn finished(&self, id: VerificationId) {
        self.prepared.lock().remove(&id);
        self.waiting.lock().remove(&id);
        self.ended.notify_waiters();
    }

    /// Notes what a cognifier has used for a job. The store hears of it with the next attempt that fails.
    pub(super) fn used(&self, id: VerificationId, cognifier: &str, used: Used) {
        if let Some(known) = self.waiting.lock().get_mut(&id) {
            known.attempts = known.attempts.having_used(cognifier, used);
        }
    }

    /// Notes that an attempt has failed: what is known of the attempts now, if the job still waits here.
    pub(super) fn failed(
        &self,
        id: VerificationId,
        failed: &FailedAttempt,
        patience: Patience,
        now_ms: u64,
    ) -> Option<Attempts> {
        let mut waiting = self.waiting.lock();
        let known = waiting.get_mut(&id)?;
        known.attempts = known.attempts.after(failed, patience);
        known.is_kept = false;
        let wait_ms = patience.wait_ms(known.attempts.made, failed.is_costly);
        known.due_ms = now_ms.saturating_add(wait_ms);
        Some(known.attempts.clone())
    }

    /// Lets go of a job that was taken up. `stored` is what the store knows of its attempts by now; none
    /// when that was not found out.
    pub(super) fn put_back(
        &self,
        id: VerificationId,
        stored: Option<Attempts>,
        now_ms: u64,
        again_ms: u64,
    ) {
        if let Some(known) = self.waiting.lock().get_mut(&id) {
            known.running = false;
            match stored {
                Some(stored) => {
                    known.is_kept = true;
                    if stored.round > known.attempts.round {
                        known.due_ms = 0;
                    }
                    known.attempts = stored;
                }
                // Only what has halted waits for nothing but its own row.
                None if known.attempts.halted => known.due_ms = now_ms.saturating_add(again_ms),
                None => {}
            }
        }
        self.added.notify_one();
        self.ended.notify_waiters();
    }
}

#[cfg(test)]
impl JobQueue {
    /// Pretends that an attempt at a job has failed so often. When the next one is due.
    pub(super) fn set_made(&self, id: VerificationId, made: u32) {
        self.waiting
            .lock()
            .get_mut(&id)
            .expect("it waits")
            .attempts
            .made = made;
    }

    /// When a job is due, in ms.
    pub(super) fn due_ms(&self, id: VerificationId) -> u64 {
        self.waiting.lock()[&id].due_ms
    }
}
