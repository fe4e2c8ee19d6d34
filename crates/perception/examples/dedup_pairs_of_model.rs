//! Prints what deduplication makes of the labelled pairs, with a sentence transformer, and how long it takes for a text.
//!
//! `dedup_pairs_of_model DIRECTORY|NAME [--merge COSINE] [--similar COSINE] [--list]`. Exits with 1 under a floor.
//! With `--list`, each pair of the tuned half is printed as well; those held out are counted only.

use std::error::Error;
use std::io::{self, Write as _};
use std::path::Path;
use std::process::ExitCode;
use std::time::Instant;

use sillok_core::ports::Embedder as _;
use sillok_pairs::{judge, pairs, tell};
use sillok_perception::{EmbedderConfig, EmbedderProvider, SentenceEmbedder};

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
    let (config, is_listed) = asked(std::env::args().skip(1))?;
    let opened = SentenceEmbedder::open(&config).await?;
    let embedder = opened.ok_or("no sentence transformer is named")?;
    let begun = Instant::now();
    let judged = judge(&embedder, &pairs()).await?;
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

/// The section that the arguments name, and whether pairs are listed.
fn asked(
    mut arguments: impl Iterator<Item = String>,
) -> Result<(EmbedderConfig, bool), Box<dyn Error>> {
    let mut config = EmbedderConfig {
        provider: EmbedderProvider::Sentence,
        timeout_ms: 3_600_000,
        ..EmbedderConfig::default()
    };
    let mut is_listed = false;
    while let Some(argument) = arguments.next() {
        let mut cosine = || -> Result<f64, Box<dyn Error>> {
            let next = arguments.next().ok_or("a cosine is wanted")?;
            Ok(next.parse()?)
        };
        match argument.as_str() {
            "--list" => is_listed = true,
            "--merge" => config.merge_cosine = cosine()?,
            "--similar" => config.similar_cosine = cosine()?,
            place if Path::new(place).is_dir() => config.directory = place.into(),
            name => config.model = name.to_owned(),
        }
    }
    Ok((config, is_listed))
}
