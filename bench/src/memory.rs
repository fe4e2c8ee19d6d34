//! Memory after many records: the resident size of a process whose scope actors took them.
//!
//! The process is a fresh one, so nothing else is in its memory but the load itself, which counts
//! too. [`child`] runs in it and prints a [`Grown`]; [`measure`] starts it and reads that.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Instant;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use sillok_actors::NodeConfig;
use sillok_core::principal::PrincipalKind;

use crate::engines::{folder, runtime, start_node};
use crate::error::Error;
use crate::report::{Floor, Report, Row};
use crate::scale::Scale;
use crate::workload::{Texts, append, open_task, principal, submission, task};

/// Scopes that the records go to.
const SCOPES: usize = 50;
/// Submitters of each scope.
const SUBMITTERS: usize = 64;
/// The floor, in MB of 10^6 bytes.
pub(crate) const RESIDENT_MB_MAX: f64 = 400.0;

/// What the fresh process found.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Grown {
    /// Records that were acknowledged.
    records: u64,
    /// Resident bytes once the last one was.
    resident_bytes: u64,
    /// The most that was ever resident.
    peak_bytes: u64,
    /// How long the load took.
    seconds: f64,
}

/// Measures a fresh process.
///
/// # Errors
/// What the process answered.
pub(crate) fn measure(scale: &Scale, report: &mut Report) -> Result<(), Error> {
    let folder = folder()?;
    let records = scale.memory_records;
    let grown: Grown = fresh_process(&["child-records", &records.to_string()], folder.path())?;
    if grown.records != records {
        return Err(Error::Wrong(format!(
            "{} of {records} records were acknowledged",
            grown.records
        )));
    }
    let mb = |bytes: u64| bytes as f64 / 1e6;
    let what = format!("memory: resident after {records} records");
    report.add(
        Row::new(what, mb(grown.resident_bytes), "MB").with_floor(Floor::AtMost(RESIDENT_MB_MAX)),
    );
    report.add(Row::new(
        "memory: peak on the way there",
        mb(grown.peak_bytes),
        "MB",
    ));
    report.add(Row::new(
        "memory: rate on the way there",
        grown.records as f64 / grown.seconds,
        "records/s",
    ));
    Ok(())
}

/// Runs this binary anew and reads the document that it prints.
///
/// # Errors
/// When it does not end well, or prints something else.
pub(crate) fn fresh_process<T: DeserializeOwned>(
    arguments: &[&str],
    folder: &Path,
) -> Result<T, Error> {
    let program = std::env::current_exe()?;
    let output = Command::new(&program)
        .args(arguments)
        .arg(folder)
        .stdin(Stdio::null())
        .stderr(Stdio::inherit())
        .output()?;
    if !output.status.success() {
        return Err(Error::Process {
            program,
            why: format!("ended with {}", output.status),
        });
    }
    Ok(serde_json::from_slice(&output.stdout)?)
}

/// The load, in the fresh process.
///
/// # Errors
/// What the node answered.
pub(crate) fn child(records: u64, folder: &Path) -> Result<Grown, Error> {
    let runtime = runtime()?;
    let texts = Arc::new(Texts::new());
    let began = Instant::now();
    runtime.block_on(async {
        let node = start_node(folder, NodeConfig::default()).await?;
        let agent = principal(PrincipalKind::Agent);
        let lanes = (SCOPES * SUBMITTERS) as u64;
        let mut submitters = Vec::new();
        for lane in 0..SCOPES {
            let scope = task(lane);
            node.submit(submission(&scope, &agent, open_task())).await?;
            for number in 0..SUBMITTERS {
                let (node, texts) = (node.clone(), Arc::clone(&texts));
                let (scope, agent) = (scope.clone(), agent.clone());
                let index = lane * SUBMITTERS + number;
                // The first lanes take what does not divide evenly.
                let share = records / lanes + u64::from((index as u64) < records % lanes);
                submitters.push(tokio::spawn(async move {
                    for (_, text) in (0..share).zip(index * 31..) {
                        node.submit(submission(&scope, &agent, append(texts.get(text))))
                            .await?;
                    }
                    Ok::<u64, sillok_core::Error>(share)
                }));
            }
        }
        let mut acknowledged = 0;
        for submitter in submitters {
            let joined = submitter
                .await
                .map_err(|panic| Error::Wrong(panic.to_string()))?;
            acknowledged += joined?;
        }
        let grown = Grown {
            records: acknowledged,
            resident_bytes: status_bytes("self", "VmRSS:")?,
            peak_bytes: status_bytes("self", "VmHWM:")?,
            seconds: began.elapsed().as_secs_f64(),
        };
        node.shutdown().await;
        Ok(grown)
    })
}

/// A size that the system states about a process, in bytes.
///
/// # Errors
/// When it does not state it.
pub(crate) fn status_bytes(process: &str, field: &str) -> Result<u64, Error> {
    let path = PathBuf::from("/proc").join(process).join("status");
    let text = std::fs::read_to_string(&path)?;
    let kib = text.lines().find_map(|line| {
        line.strip_prefix(field)?
            .trim()
            .strip_suffix("kB")?
            .trim()
            .parse()
            .ok()
    });
    let kib: u64 = kib.ok_or_else(|| Error::Wrong(format!("{} has no {field}", path.display())))?;
    Ok(kib * 1_024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_system_states_the_resident_size() {
        let resident = status_bytes("self", "VmRSS:").unwrap();
        assert!(resident > 100_000 && resident <= status_bytes("self", "VmHWM:").unwrap());
        assert!(status_bytes("self", "VmNone:").is_err());
    }
}
