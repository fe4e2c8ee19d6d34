//! Invariant 1 for decisions: each is one chain of versions, of which at most the newest is active, and a kind of relation
//! is declared once.

use super::{Invariant, Violation, broken, ensure};
use crate::decision::{Act, DecisionHead, DecisionVersion, NewDecision, RelationName};
use crate::event::DecisionSaved;
use crate::id::Seq;
use crate::scope::Level;
use crate::state::State;
use crate::time::Timestamp;

/// Whether the version follows from what is there.
pub(super) fn event_applies(state: &State, saved: &DecisionSaved) -> Result<(), Violation> {
    let chained = |holds: bool, what: &str| {
        ensure(holds, Invariant::Chained, || {
            format!("version {} of decision {} {what}", saved.number, saved.root)
        })
    };
    let head = state.decision(saved.root);
    let last = head.map_or(0, |head| head.version);
    chained(saved.number == last + 1, &format!("follows version {last}"))?;
    chained(
        saved.before == head.map(|head| head.rank),
        "names another rank than the decision had",
    )?;
    // What was erased says nothing any more, in no version.
    let is_erased = head.is_some_and(DecisionHead::is_erased);
    chained(
        head.is_none() || is_erased == saved.is_rest(),
        "does not say as much as the versions before it",
    )?;
    let was_active = head.map(|head| head.active);
    let fits = match saved.act {
        Act::Begun => was_active.is_none(),
        Act::Changed | Act::Withdrawn => was_active == Some(true),
        Act::Restored { from } => was_active == Some(false) && (1..saved.number).contains(&from),
    };
    chained(fits, "does not follow from what the decision was")?;
    chained(
        saved.text.is_none() == (saved.act == Act::Withdrawn),
        "says something if and only if it withdraws",
    )
}

/// Whether a kind of relation is declared where it may be, and for the first time there. What scopes around have declared is
/// not known here.
pub(super) fn declared_applies(state: &State, name: RelationName) -> Result<(), Violation> {
    let scope = state.scope();
    let may_be = scope.level() >= Level::Project;
    ensure(may_be, Invariant::Chained, || {
        format!("{scope} declares a relation {name}")
    })?;
    let is_new = state.declared(name).is_none();
    ensure(is_new, Invariant::Chained, || {
        format!("{scope} has declared the relation {name} before")
    })
}

/// Invariant 1, all versions of a decision in order: as a [`DecisionChain`].
///
/// # Errors
/// What does not hold.
pub fn decision_chain<'a>(
    versions: impl IntoIterator<Item = &'a DecisionVersion>,
    head: &DecisionHead,
) -> Result<(), Violation> {
    let mut chain = DecisionChain::new(head);
    for version in versions {
        chain.version(version)?;
    }
    chain.finish()
}

/// Invariant 1, the versions of a decision one after another: 1, 2, 3 and so on; the first begins the chain and no other
/// does; none is withdrawn twice; one that is restored says what the version before said that it names; and the head tells
/// how it stands and what the newest text says.
///
/// Of each version it keeps the hash of what it says, and nothing else.
#[derive(Debug)]
pub struct DecisionChain<'a> {
    head: &'a DecisionHead,
    /// Hashes of the texts, those of versions without one as well; the first version is at 0.
    texts: Vec<TextHash>,
    begun: Option<(Seq, Timestamp)>,
    last: Option<(Act, Timestamp)>,
    /// Whether the head says what the newest text does.
    is_said: bool,
}

/// Enough of a BLAKE3 hash to tell two texts apart.
type TextHash = [u8; 16];

impl<'a> DecisionChain<'a> {
    /// The chain that `head` tells of, before its first version.
    #[must_use]
    pub const fn new(head: &'a DecisionHead) -> Self {
        Self {
            head,
            texts: Vec::new(),
            begun: None,
            last: None,
            is_said: false,
        }
    }

    /// Takes the next version.
    ///
    /// # Errors
    /// What does not hold of it.
    pub fn version(&mut self, version: &DecisionVersion) -> Result<(), Violation> {
        let (root, number) = (self.head.root, version.number);
        let chained = |holds: bool, what: &dyn Fn() -> String| {
            ensure(holds, Invariant::Chained, || {
                format!("version {number} of decision {root} {}", what())
            })
        };
        let before = self.texts.len() as u64;
        let act = self.last.map(|(act, _)| act);
        chained(version.root == root, &|| {
            format!("is of decision {}", version.root)
        })?;
        chained(number == before + 1, &|| {
            format!("follows version {before}")
        })?;
        let fits = match version.act {
            Act::Begun => act.is_none(),
            Act::Changed | Act::Withdrawn => act.is_some() && act != Some(Act::Withdrawn),
            Act::Restored { .. } => act == Some(Act::Withdrawn),
        };
        chained(fits, &|| {
            "does not follow from the one before it".to_owned()
        })?;
        chained(
            version.text.is_none() == (version.act == Act::Withdrawn),
            &|| "says something if and only if it withdraws".to_owned(),
        )?;
        let text = text_hash(version.text.as_ref());
        if let Act::Restored { from } = version.act {
            let index = from
                .checked_sub(1)
                .and_then(|index| usize::try_from(index).ok());
            let named = index.and_then(|index| self.texts.get(index));
            chained(named == Some(&text), &|| {
                format!("does not say what version {from} did")
            })?;
        }
        self.texts.push(text);
        self.begun.get_or_insert((version.seq, version.at));
        self.last = Some((version.act, version.at));
        if let Some(text) = &version.text {
            self.is_said = says(self.head, text);
        }
        Ok(())
    }

    /// Whether the head tells how the decision stands and what it says. No version follows.
    ///
    /// # Errors
    /// What does not hold.
    pub fn finish(self) -> Result<(), Violation> {
        let head = self.head;
        let Some((act, at)) = self.last else {
            let what = format!("decision {} has no version", head.root);
            return broken(Invariant::Chained, what);
        };
        let told = |holds: bool, what: &str| {
            ensure(holds, Invariant::Chained, || {
                format!("the head of decision {} {what}", head.root)
            })
        };
        let last = self.texts.len() as u64;
        told(
            head.version == last,
            &format!("is of version {}, but {last} is the last", head.version),
        )?;
        told(
            head.active == (act != Act::Withdrawn),
            "does not tell whether it applies",
        )?;
        told(
            self.begun == Some((head.begun_seq, head.begun_at)) && head.changed_at == at,
            "does not tell when it began and was changed",
        )?;
        told(self.is_said, "does not say what its newest text does")
    }
}

fn text_hash(text: Option<&NewDecision>) -> TextHash {
    let bytes = postcard::to_allocvec(&text).expect("plain data structures always encode");
    let hash = blake3::hash(&bytes);
    let (first, _) = hash
        .as_bytes()
        .split_first_chunk()
        .expect("a BLAKE3 hash has 32 bytes");
    *first
}

/// Whether a head says what a text does.
fn says(head: &DecisionHead, text: &NewDecision) -> bool {
    let (rank, domain, phase) = (head.rank, &head.domain, &head.phase);
    (rank, domain, phase) == (text.rank, &text.domain, &text.phase)
        && (&head.title, &head.claim) == (&text.title, &text.claim)
        && head.relations == text.relations
}
