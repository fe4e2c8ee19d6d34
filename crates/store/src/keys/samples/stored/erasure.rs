//! Events that tell what is left of others.

use std::collections::BTreeSet;

use sillok_core::erasure::{ContentErased, Erased, rest_of};
use sillok_core::event::Body;
use sillok_core::fingerprint::ContentHash;
use sillok_core::id::Seq;
use sillok_core::principal::PrincipalKind;
use sillok_core::state::Stamped;
use sillok_core::time::Timestamp;

use super::{Sample, actor, entry};

/// The rest of what can be erased: of each kind of event the first, and each record, question and act of a decision.
pub(super) fn bodies(all: &[Sample<Body>]) -> Vec<Sample<Body>> {
    let mut seen = BTreeSet::new();
    let mut rests = Vec::new();
    for Sample { name, value } in all {
        let is_varied = ["APPENDED.kind", ".question.", ".act."]
            .iter()
            .any(|part| name.contains(part));
        if !seen.insert(value.kind()) && !is_varied {
            continue;
        }
        let erased = |_, entry, version| ContentHash::erased(entry, version);
        rests.extend(rest_of(value, erased).map(|rest| Sample {
            name: format!("CONTENT_ERASED.{name}"),
            value: telling(rest),
        }));
    }
    rests
}

fn telling(rest: Body) -> Body {
    let at = Stamped {
        seq: Seq::new(1_810),
        time: Timestamp::from_ms(1_700_000_000_182),
        actor: actor(PrincipalKind::Human, "jung"),
    };
    Body::ContentErased(Box::new(ContentErased {
        events: vec![Erased { at, rest }],
        entries: vec![entry(183), entry(184)],
        reason: "why it had to go".to_owned(),
    }))
}
