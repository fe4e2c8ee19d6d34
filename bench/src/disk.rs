//! The disk alone: how many times in a second a 4 KiB append becomes durable.

use std::fs::OpenOptions;
use std::io::Write;
use std::time::Instant;

use crate::engines::folder;
use crate::error::Error;
use crate::gauge::{elapsed_us, histogram};
use crate::report::{Report, Row};
use crate::scale::Scale;

const BLOCK_BYTES: usize = 4_096;

/// Appends a block and waits for `fdatasync`, one after the other.
///
/// # Errors
/// What the file system answered.
pub(crate) fn measure(scale: &Scale, report: &mut Report) -> Result<(), Error> {
    let folder = folder()?;
    let mut file = OpenOptions::new()
        .create_new(true)
        .append(true)
        .open(folder.path().join("blocks"))?;
    let block = [0x5a; BLOCK_BYTES];
    let mut latency = histogram();
    let began = Instant::now();
    while began.elapsed() < scale.window.measured / 3 {
        let sent = Instant::now();
        file.write_all(&block)?;
        file.sync_data()?;
        latency.saturating_record(elapsed_us(sent));
    }
    let rate = latency.len() as f64 / began.elapsed().as_secs_f64();
    report.add(Row::new("disk: append 4 KiB, fdatasync", rate, "fsyncs/s").with_latency(&latency));
    Ok(())
}
