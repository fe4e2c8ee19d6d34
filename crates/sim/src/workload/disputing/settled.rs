//! That what people answer has its effect.
//!
//! Owns what was answered, as whoever answered was told, and what must be left of it: what lost is out, unless somebody
//! brought it back since, and what the organisation took over is there once.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use sillok_core::entry::{Head, Table};
use sillok_core::fingerprint::ContentHash;
use sillok_core::id::{EntryId, Seq};
use sillok_core::scope::Scope;

/// The note of an agent that has answered whether two entries contradict one another, or are one.
pub(super) const ANSWERED: &str = "question answered";
/// The note of an agent that has answered for the organisation what was offered to it.
pub(super) const TAKEN_OVER: &str = "offer answered";

/// What an answer about two entries came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Answered {
    pub(super) approved: bool,
    /// The entry that was to be kept, if one was named.
    pub(super) wanted: Option<EntryId>,
    /// The one that holds by the answer.
    pub(super) kept: Option<EntryId>,
    /// The one that it took out.
    pub(super) retired: Option<EntryId>,
    /// Where the scope ended then.
    pub(super) seq: Seq,
}

/// What an answer to an offer came to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct TakenOver {
    pub(super) approved: bool,
    /// The entry of the organisation.
    pub(super) kept: Option<EntryId>,
    /// What was offered.
    pub(super) content: String,
}

/// What is known of entries at the end.
pub(super) struct Left<'a> {
    pub(super) heads: &'a BTreeMap<EntryId, Head>,
    /// Those that came back, and the last event that says so.
    pub(super) back: &'a BTreeMap<EntryId, Seq>,
}

impl Left<'_> {
    fn is_live(&self, entry: EntryId) -> bool {
        let head = self.heads.get(&entry);
        head.is_some_and(|head| head.status.is_live())
    }

    /// What is wrong about an answer, if anything.
    pub(super) fn wrong(&self, answer: &Answered) -> Option<String> {
        let Answered { kept, retired, .. } = *answer;
        if !answer.approved {
            let does = kept.is_some() || retired.is_some();
            return does.then(|| format!("a rejection does something: {answer:?}"));
        }
        let (Some(kept), Some(retired)) = (kept, retired) else {
            return Some(format!("an approval takes nothing out: {answer:?}"));
        };
        if kept == retired || answer.wanted.is_some_and(|wanted| wanted != kept) {
            return Some(format!("an answer keeps another entry: {answer:?}"));
        }
        let came_back = self.back.get(&retired).is_some_and(|seq| *seq > answer.seq);
        let is_wrong = self.is_live(retired) && !came_back;
        is_wrong.then(|| format!("entry {retired} lost to {kept}, and is live"))
    }

    /// What is wrong about what an organisation took over, or not, if anything.
    pub(super) fn wrong_offer(&self, organisation: &Scope, offer: &TakenOver) -> Option<String> {
        let Some(kept) = offer.kept else {
            let what = || format!("nothing was taken over: {offer:?}");
            return offer.approved.then(what);
        };
        if !offer.approved {
            return Some(format!("entry {kept} was taken over by a rejection"));
        }
        let hash = ContentHash::of(&offer.content);
        let is_same = |head: &&Head| {
            head.scope == *organisation && head.table == Table::Skills && head.content_hash == hash
        };
        let is_known = self.heads.get(&kept).as_ref().is_some_and(is_same);
        if !is_known {
            return Some(format!(
                "entry {kept} is not what was taken over: {offer:?}"
            ));
        }
        let same = self.heads.values().filter(is_same);
        let live = same.filter(|head| head.status.is_live()).count();
        (live > 1).then(|| format!("{live} entries of {organisation} are {offer:?}"))
    }
}

#[cfg(test)]
mod tests {
    use sillok_core::config::TrustConfig;
    use sillok_core::entry::{Binding, Lifecycle, Status};
    use sillok_core::principal::{Actor, PrincipalId, PrincipalKind};
    use sillok_core::reuse::Usage;
    use sillok_core::time::Timestamp;
    use sillok_core::trust::Trust;

    use super::*;
    use crate::workload::material::scope;

    fn entry(number: u8) -> EntryId {
        EntryId::from_bytes([number; 16])
    }

    fn head(number: u8, content: &str, status: Status) -> Head {
        let (id, table) = (entry(number), Table::Skills);
        Head {
            id,
            scope: scope("org/sim"),
            table,
            version: 1,
            version_seq: Seq::new(1),
            content_hash: ContentHash::of(content),
            status,
            failure: false,
            trust: Trust::draft(table.kind(), &TrustConfig::default()),
            line: id,
            line_head: id,
            lifecycle: Lifecycle::default(),
            citations: Vec::new(),
            binding: Binding::NoRepository,
            links: Vec::new(),
            reuse_count: 0,
            last_used: None,
            promotion: None,
            author: Actor {
                kind: PrincipalKind::Human,
                id: PrincipalId::parse("p").unwrap(),
            },
            created_at: Timestamp::EPOCH,
            updated_at: Timestamp::EPOCH,
            usage: Usage::default(),
        }
    }

    fn by_id(heads: Vec<Head>) -> BTreeMap<EntryId, Head> {
        heads.into_iter().map(|head| (head.id, head)).collect()
    }

    #[test]
    fn what_lost_is_out_unless_it_came_back_later() {
        let wrong = |status: Status, back: Option<u64>, answer: Answered| {
            let heads = by_id(vec![head(1, "a", Status::Verified), head(2, "b", status)]);
            let back = back.map(|seq| (entry(2), Seq::new(seq)));
            let back = back.into_iter().collect();
            let left = Left {
                heads: &heads,
                back: &back,
            };
            left.wrong(&answer).is_some()
        };
        let answer = Answered {
            approved: true,
            wanted: None,
            kept: Some(entry(1)),
            retired: Some(entry(2)),
            seq: Seq::new(7),
        };
        assert!(!wrong(Status::Deprecated, None, answer));
        assert!(!wrong(Status::Archived, None, answer));
        assert!(wrong(Status::Verified, None, answer));
        assert!(wrong(Status::Verified, Some(6), answer));
        assert!(!wrong(Status::Verified, Some(8), answer));
        let of_other = Answered {
            wanted: Some(entry(2)),
            ..answer
        };
        let of_none = Answered {
            retired: None,
            ..answer
        };
        let rejected = Answered {
            approved: false,
            ..answer
        };
        for answer in [of_other, of_none, rejected] {
            assert!(wrong(Status::Archived, None, answer), "{answer:?}");
        }
        let nothing = Answered {
            kept: None,
            retired: None,
            ..rejected
        };
        assert!(!wrong(Status::Verified, None, nothing));
    }

    #[test]
    fn what_was_taken_over_is_there_once() {
        let organisation = scope("org/sim");
        let wrong = |heads: Vec<Head>, approved: bool, kept: Option<u8>| {
            let (heads, back) = (by_id(heads), BTreeMap::new());
            let left = Left {
                heads: &heads,
                back: &back,
            };
            let offer = TakenOver {
                approved,
                kept: kept.map(entry),
                content: "how it is drained".into(),
            };
            left.wrong_offer(&organisation, &offer).is_some()
        };
        let live = |number| head(number, "how it is drained", Status::Verified);
        let gone = |number| head(number, "how it is drained", Status::Archived);
        assert!(!wrong(vec![live(1)], true, Some(1)));
        assert!(!wrong(vec![gone(1), live(2)], true, Some(1)));
        assert!(wrong(vec![live(1), live(2)], true, Some(1)));
        assert!(wrong(vec![live(1)], true, None));
        assert!(wrong(vec![], true, Some(1)));
        let other = head(1, "something else", Status::Verified);
        assert!(wrong(vec![other], true, Some(1)));
        assert!(wrong(vec![live(1)], false, Some(1)));
        assert!(!wrong(vec![], false, None));
    }
}
