//! The server process: starting it, finding its address and token, ending it.

use std::ffi::OsString;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde::Deserialize;

use crate::error::Error;

/// The variable that names the binary.
const BINARY_VARIABLE: &str = "SILLOK_BIN";
/// How long a server may take until it says where it listens.
const START_MAX: Duration = Duration::from_secs(60);
const POLL: Duration = Duration::from_millis(20);

/// A running server. It is killed when this is dropped.
pub(crate) struct ServerProcess {
    process: Child,
    address: String,
    token: String,
}

/// What a server leaves in its data directory while it serves.
#[derive(Deserialize)]
struct ServerFile {
    address: String,
}

impl ServerProcess {
    /// Starts a server on the data directory inside `folder`, which is made where there is none, and waits until it listens.
    ///
    /// # Errors
    /// [`Error::Process`] when it ends or does not listen in time.
    pub(crate) fn start(folder: &Path) -> Result<Self, Error> {
        let program = binary()?;
        let data = folder.join("data");
        let log = folder.join("server.log");
        // That of one that was killed leads nowhere.
        let _ = fs::remove_file(data.join("server.json"));
        let process = Command::new(&program)
            .args([
                OsString::from("--data"),
                data.clone().into(),
                "serve".into(),
            ])
            .args(["--address", "127.0.0.1:0"])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(File::create(&log)?)
            .spawn()
            .map_err(|error| Error::Process {
                program: program.clone(),
                why: error.to_string(),
            })?;
        let mut server = Self {
            process,
            address: String::new(),
            token: String::new(),
        };
        let began = Instant::now();
        loop {
            if let Some((address, token)) = listening(&data) {
                (server.address, server.token) = (address, token);
                return Ok(server);
            }
            let ended = server.process.try_wait()?;
            if ended.is_some() || began.elapsed() > START_MAX {
                let said = fs::read_to_string(&log)?;
                let why = format!("does not listen ({ended:?}): {}", said.trim());
                return Err(Error::Process { program, why });
            }
            std::thread::sleep(POLL);
        }
    }

    /// Where it listens: host and port.
    pub(crate) fn address(&self) -> &str {
        &self.address
    }

    /// The administrator's token.
    pub(crate) fn token(&self) -> &str {
        &self.token
    }

    /// The id of its process.
    pub(crate) fn id(&self) -> u32 {
        self.process.id()
    }
}

impl Drop for ServerProcess {
    fn drop(&mut self) {
        // It may have ended by itself; either way nothing of it stays.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// `SILLOK_BIN`, or the binary beside this one.
///
/// # Errors
/// What the system says of this very process.
pub(crate) fn binary() -> Result<PathBuf, Error> {
    let named = std::env::var_os(BINARY_VARIABLE)
        .filter(|value| !value.is_empty())
        .map(PathBuf::from);
    Ok(match named {
        Some(named) => named,
        None => std::env::current_exe()?.with_file_name("sillok"),
    })
}

/// Address and token, once the server has written both.
fn listening(data: &Path) -> Option<(String, String)> {
    let file: ServerFile =
        serde_json::from_slice(&fs::read(data.join("server.json")).ok()?).ok()?;
    let address = file.address.trim_start_matches("http://").to_owned();
    let token = fs::read_to_string(data.join("admin.token")).ok()?;
    Some((address, token.trim().to_owned()))
}
