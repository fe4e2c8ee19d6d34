//! What the cognitive gate reports, in a commit: the planted bugs of carrying that out.
//!
//! Owns what a report is taken for under each of them. What follows from one, `core` knows.

use sillok_core::citation::Citation;
use sillok_core::command::{Command, GateReport, Submission};
use sillok_core::event::Body;
use sillok_core::state::State;

use crate::protocol::{Protocol, Safeguard};

/// Planted bug: a report, as if what was looked at were what its entry says by now; none where it is that.
pub(super) fn as_of_now<P: Protocol>(
    protocol: P,
    state: &State,
    given: &Submission,
) -> Option<Submission> {
    if protocol.keeps(Safeguard::HoldsReportsToVersions) {
        return None;
    }
    let Command::ReportGate(said) = &given.command else {
        return None;
    };
    let head = state.head(said.entry)?;
    let said = GateReport {
        expected_version: head.version,
        ..(**said).clone()
    };
    Some(Submission {
        command: Command::ReportGate(Box::new(said)),
        ..given.clone()
    })
}

/// Planted bug: what moved is cited in the files of what else its entry rests on.
pub(super) fn misplace<P: Protocol>(protocol: P, bodies: &mut [Body]) {
    if protocol.keeps(Safeguard::CitesWhereItLies) {
        return;
    }
    for body in bodies {
        if let Body::CitationsRefreshed(refreshed) = body {
            let paths = refreshed.citations.iter().filter_map(path);
            let mut others: Vec<String> = paths.collect();
            for citation in &mut refreshed.citations {
                if let Citation::File { path, .. } = citation
                    && let Some(other) = others.pop()
                {
                    *path = other;
                }
            }
        }
    }
}

fn path(citation: &Citation) -> Option<String> {
    match citation {
        Citation::File { path, .. } => Some(path.clone()),
        _ => None,
    }
}
