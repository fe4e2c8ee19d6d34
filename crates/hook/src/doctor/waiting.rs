//! What people are told of what waits, and that it is handed over while they look on.

use std::io;

use crate::arguments::Flags;
use crate::clock::Deadline;
use crate::limits::SPOOLS_MAX;
use crate::run::{Connected, Error, chain, connect, hand_over};
use crate::settings::{Environment, Settings};
use crate::spool::directory::Spools;

/// How long handing over may take where a person waits for it, in ms.
const FLUSH_MS: u64 = 600_000;

/// Hands over all that waits: what is told of it, a line each.
///
/// # Errors
/// [`Error`]
pub fn flush(flags: &Flags, environment: Environment<'_>) -> Result<Vec<String>, Error> {
    let settings = Settings::resolve(flags, environment)?;
    let spools = Spools::of(&settings.data);
    let failed = |source| Error::Spool {
        path: spools.path().to_owned(),
        source,
    };
    let deadline = Deadline::after_ms(FLUSH_MS);
    let mut connected = connect(&settings, deadline)?;
    spools.note_back();
    let mut flushed = all_handed(&settings, &spools, &mut connected).map_err(failed)?;
    if connected.forget_unknown(&settings)? {
        let before = flushed.accepted;
        connected = connect(&settings, deadline)?;
        flushed = all_handed(&settings, &spools, &mut connected).map_err(failed)?;
        flushed.accepted += before;
    }
    let Flushed {
        accepted,
        waiting,
        lost,
    } = flushed;
    let mut lines = settings.said;
    lines.insert(
        0,
        format!("{accepted} commands were handed over; {waiting} wait"),
    );
    lines.extend(connected.speaker.unkept().map(|error| chain(error)));
    lines.extend(lost);
    Ok(lines)
}

/// What handing all spools over came to.
struct Flushed {
    accepted: u64,
    waiting: u64,
    /// What is lost, a line each.
    lost: Vec<String>,
}

fn all_handed(
    settings: &Settings,
    spools: &Spools,
    connected: &mut Connected,
) -> io::Result<Flushed> {
    let by = connected.speaker.by();
    let mut flushed = Flushed {
        accepted: 0,
        waiting: 0,
        lost: Vec::new(),
    };
    for spool in spools.all()? {
        let target = settings.configured_url.as_deref();
        let handed = hand_over(&spool, target, &mut connected.server, &by)?;
        flushed.accepted += handed.accepted;
        flushed.waiting += handed.waiting;
        flushed.lost.extend(handed.lost.lines());
    }
    Ok(flushed)
}

/// Says what waits, a line each.
///
/// # Errors
/// [`Error`]
pub fn waiting(flags: &Flags, environment: Environment<'_>) -> Result<Vec<String>, Error> {
    let settings = Settings::resolve(flags, environment)?;
    let spools = Spools::of(&settings.data);
    let found = waiting_in(&spools).map_err(|source| Error::Spool {
        path: spools.path().to_owned(),
        source,
    });
    let (commands, lost) = found?;
    let mut lines = vec![format!(
        "{commands} commands wait in {}",
        spools.path().display()
    )];
    lines.extend(lost);
    Ok(lines)
}

/// How many commands wait in all spools, and what of them is lost, a line each.
pub(super) fn waiting_in(spools: &Spools) -> io::Result<(usize, Vec<String>)> {
    let mut commands = 0;
    let mut lines = Vec::new();
    for spool in spools.all()?.into_iter().take(SPOOLS_MAX) {
        let journal = spool.read()?;
        commands += journal.waiting().count();
        lines.extend(journal.lost_in_all().lines());
    }
    let gone = spools.lost();
    let lost = gone.read()?.lost_in_all().lines();
    if !lost.is_empty() {
        let path = gone.path().display();
        lines.push(format!(
            "of conversations that are over (remove {path} once you know it):"
        ));
        lines.extend(lost);
    }
    Ok((commands, lines))
}
