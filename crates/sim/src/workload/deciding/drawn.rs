//! What agents do about decisions, drawn by chance.
//!
//! Owns how often each action comes, and what it is about. It must not know what comes of it.

use sillok_core::decision::{Rank, Reach, RelationKind};

use super::declaring::NAMES;
use super::keeping::{ANCHORS_MAX, GOALS_MAX, PART_MAX};
use super::original::CHUNKS_MAX;
use super::{
    Action, AtHand, DOMAINS, Home, ITEMS_MAX, KEYS, Keeping, LEVELS, PLACES, PROJECTS, RING, Says,
    VERSIONS_MAX, WRITERS,
};
use crate::workload::Draw;

/// An action.
pub(super) fn action(draw: &mut Draw<'_>) -> Action {
    match draw.byte(100) {
        0..=22 => Action::Begin {
            home: home(draw),
            says: says(draw, 0),
            asks: asks(draw),
        },
        23..=37 => Action::Change {
            which: which(draw),
            says: says(draw, 400),
            asks: asks(draw),
        },
        38..=40 => Action::Rush {
            which: which(draw),
            writers: WRITERS.0 + draw.byte((WRITERS.1 - WRITERS.0 + 1).into()),
        },
        41..=45 => Action::Withdraw {
            which: which(draw),
            asks: asks(draw),
        },
        46..=50 => Action::Restore {
            which: draw.byte(64),
            text: draw.byte(8),
            asks: asks(draw),
        },
        51..=53 => declare(draw),
        54..=59 => Action::Ring {
            home: home(draw),
            size: RING.0 + draw.byte((RING.1 - RING.0 + 1).into()),
            kind: draw.byte(3),
        },
        60..=73 => brief(draw),
        74..=78 => Action::Impact {
            home: home(draw),
            at: AtHand {
                which: Some(which(draw)),
                place: maybe(draw, 500, PLACES.len()),
                evidence: maybe(draw, 300, 16),
            },
            width: width(draw),
        },
        79..=83 => Action::Propose {
            home: home(draw),
            which: maybe(draw, 400, 64),
            says: says(draw, 400),
        },
        84..=87 => Action::History {
            which: which(draw),
            after: draw.byte(3),
            limit: 1 + draw.byte(VERSIONS_MAX.into()),
        },
        _ => Action::Keeping(keeping(draw)),
    }
}

/// In an organisation or a project: nothing inside one declares anything.
fn declare(draw: &mut Draw<'_>) -> Action {
    let home = Home {
        level: draw.byte(2),
        ..home(draw)
    };
    Action::Declare {
        home,
        name: draw.byte(NAMES.len()),
        reach: draw.byte(Reach::ALL.len()),
    }
}

fn keeping(draw: &mut Draw<'_>) -> Keeping {
    match draw.byte(13) {
        0..=3 => Keeping::Save {
            home: home(draw),
            chunks: maybe(draw, 350, CHUNKS_MAX.into()).map_or(0, |chunks| chunks + 1),
            masks: draw.stream.permille(300),
        },
        4..=7 => Keeping::Point {
            home: home(draw),
            domain: draw.byte(DOMAINS.len()),
            to: (0..=draw.byte(ANCHORS_MAX.into()))
                .map(|_| goals(draw))
                .collect(),
            masks: draw.stream.permille(200),
        },
        8 => Keeping::Drop {
            which: draw.byte(16),
        },
        9 | 10 => {
            let part = (draw.byte(PART_MAX.into()), draw.byte(PART_MAX.into()));
            Keeping::Read {
                which: draw.byte(64),
                part: draw.stream.permille(600).then_some(part),
            }
        }
        11 => Keeping::Follow {
            which: draw.byte(64),
            width: width(draw),
        },
        _ => Keeping::Search {
            home: home(draw),
            domain: draw.byte(DOMAINS.len()),
            word: draw.byte(64),
            number: maybe(draw, 500, 64),
            few: draw.stream.permille(300),
            width: width(draw),
        },
    }
}

/// What an anchor points to: decisions more often than evidence.
fn goals(draw: &mut Draw<'_>) -> Vec<(bool, u8)> {
    (0..=draw.byte(GOALS_MAX.into()))
        .map(|_| (draw.stream.permille(300), draw.byte(32)))
        .collect()
}

fn home(draw: &mut Draw<'_>) -> Home {
    let crowded = draw.stream.permille(350);
    Home {
        project: draw.byte(if crowded { 1 } else { PROJECTS.into() }),
        level: match draw.byte(20) {
            0..=5 => 0,
            6..=10 => 1,
            11..=15 => 2,
            _ => 3,
        },
    }
}

/// How wide a token is: most often as wide as the organisation.
fn width(draw: &mut Draw<'_>) -> u8 {
    let narrower = 1 + draw.byte(usize::from(LEVELS) - 1);
    if draw.stream.permille(400) {
        narrower
    } else {
        0
    }
}

/// The width of the token with which it is asked what a save means, if it is asked.
fn asks(draw: &mut Draw<'_>) -> Option<u8> {
    let width = width(draw);
    draw.stream.permille(250).then_some(width)
}

fn says(draw: &mut Draw<'_>, keeps_permille: u32) -> Says {
    let rank = match draw.byte(20) {
        0 | 1 => Rank::Policy,
        2..=5 => Rank::Axis,
        6..=11 => Rank::Lock,
        _ => Rank::Normal,
    };
    let (domain, key) = (draw.byte(DOMAINS.len()), draw.byte(KEYS.len()));
    let claim = draw.stream.permille(400).then_some(key);
    let mut relations: Vec<(u8, u8)> = (0..draw.byte(4))
        .map(|_| (draw.byte(4), draw.byte(16)))
        .collect();
    // What it rests on comes on top, so that the others stay as many.
    let evidence = maybe(draw, 200, 16);
    relations.extend(evidence.map(|which| (RelationKind::RestsOn.ordinal(), which)));
    // And so does what a declared kind leads to.
    let name = RelationKind::DECLARED_ORDINAL + draw.byte(NAMES.len());
    let declared = maybe(draw, 150, 16);
    relations.extend(declared.map(|which| (name, which)));
    Says {
        rank: rank as u8,
        domain,
        claim,
        relations: (!draw.stream.permille(keeps_permille)).then_some(relations),
    }
}

/// A decision by its place: most often one of the first few.
fn which(draw: &mut Draw<'_>) -> u8 {
    let few = draw.stream.permille(500);
    draw.byte(if few { 4 } else { 64 })
}

fn maybe(draw: &mut Draw<'_>, permille: u32, below: usize) -> Option<u8> {
    let number = draw.byte(below);
    draw.stream.permille(permille).then_some(number)
}

fn brief(draw: &mut Draw<'_>) -> Action {
    Action::Brief {
        home: home(draw),
        domain: draw.byte(DOMAINS.len()),
        at: AtHand {
            which: maybe(draw, 400, 64),
            place: maybe(draw, 700, PLACES.len()),
            evidence: maybe(draw, 200, 16),
        },
        items: maybe(draw, 300, ITEMS_MAX.into()).map(|items| items + 1),
        beside: draw.stream.permille(400),
        width: width(draw),
    }
}
