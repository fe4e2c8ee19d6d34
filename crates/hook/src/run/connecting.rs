//! A connection to the server, and as whom it is spoken to.

use std::io;

use super::Error;
use crate::agent;
use crate::clock::Deadline;
use crate::settings::Settings;
use crate::speaker::Speaker;
use crate::talk::{self, Address, Connection, Server};

/// A server, and as whom it is spoken to.
#[derive(Debug)]
pub struct Connected {
    /// The server.
    pub server: Server,
    /// Whom it hears.
    pub speaker: Speaker,
}

impl Connected {
    /// Forgets the project's own token where the server has said that it does not know it: it was revoked, or another store
    /// stands behind it. Whether that was so, and a further connection has another token.
    ///
    /// # Errors
    /// [`agent::Error`]
    pub fn forget_unknown(&self, settings: &Settings) -> Result<bool, agent::Error> {
        let (Speaker::Own(own), Some(scope)) = (&self.speaker, &settings.scope) else {
            return Ok(false);
        };
        if !self.server.knows_nobody() {
            return Ok(false);
        }
        agent::forget(&settings.data, scope, &own.token)?;
        Ok(true)
    }
}

/// Connects to the server that the settings name.
///
/// # Errors
/// [`Error::Server`] or [`Error::Token`]
pub fn connect(settings: &Settings, deadline: Deadline) -> Result<Connected, Error> {
    let url = settings.url().ok_or_else(|| talk::Error::Away {
        address: settings.data.display().to_string(),
        source: io::Error::new(
            io::ErrorKind::NotFound,
            "no server serves the data directory",
        ),
    })?;
    let address = Address::parse(&url)?;
    let speaker = settings.speaker(&address, deadline);
    let speaker = speaker.map_err(|error| match error {
        agent::Error::Talk(error) => Error::Server(error),
        error => Error::Token(error),
    })?;
    let connect_ms = settings.patience.connect_ms;
    let connection = Connection::open(&address, speaker.token(), connect_ms, deadline)?;
    Ok(Connected {
        server: Server::new(connection),
        speaker,
    })
}
