//! Prints what deduplication makes of the labelled pairs, with an embedder that has a model, and how long it takes for a
//! text.
//!
//! `dedup_pairs_of_model MODEL [FLAGS]`, as [`asked`] reads them. Exits with 1 under a floor. With `--list`, each pair of
//! the tuned half is printed as well; those held out are counted only.

mod asked;

use std::error::Error;
use std::io::{self, Write as _};
use std::process::ExitCode;
use std::time::Instant;

use sillok_pairs::{judge, pairs, tell};

use asked::{Asked, asked, embedder};

fn main() -> io::Result<ExitCode> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    runtime.block_on(run()).or_else(|error| {
        writeln!(io::stderr(), "{error}")?;
        Ok(ExitCode::FAILURE)
    })
}

async fn run() -> Result<ExitCode, Box<dyn Error>> {
    let Asked { config, is_listed } = asked(std::env::args().skip(1))?;
    let embedder = embedder(config).await?;
    let begun = Instant::now();
    let judged = judge(embedder.as_ref(), &pairs()).await?;
    let took = begun.elapsed();
    let mut out = io::stdout().lock();
    let is_well = tell(&judged, is_listed, &mut out)?;
    let (space, texts) = (embedder.space(), judged.len() * 2);
    let each = took / u32::try_from(texts)?.max(1);
    writeln!(out, "{space}: {texts} texts in {took:.1?}, {each:.1?} each")?;
    Ok(if is_well {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}
