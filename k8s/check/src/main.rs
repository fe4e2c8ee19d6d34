//! `sillok-k8s-check DIR…`: renders each overlay in some folders and says what is wrong with it.

use std::io::Write as _;
use std::path::Path;
use std::process::ExitCode;

use sillok_k8s_check::{check, overlays, render};

fn main() -> ExitCode {
    let mut out = std::io::stdout().lock();
    match run(&mut out) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            // Nobody is left to tell should this fail too.
            let _ = writeln!(std::io::stderr(), "sillok-k8s-check: {error}");
            ExitCode::from(2)
        }
    }
}

/// Whether nothing was found.
fn run(out: &mut impl std::io::Write) -> Result<bool, Box<dyn std::error::Error>> {
    let folders: Vec<String> = std::env::args().skip(1).collect();
    let mut is_clean = true;
    let mut looked_at = 0;
    for folder in folders {
        for overlay in overlays(Path::new(&folder))? {
            let findings = check(&render(&overlay)?);
            looked_at += 1;
            is_clean &= findings.is_empty();
            writeln!(out, "{}: {} findings", overlay.display(), findings.len())?;
            for finding in findings {
                writeln!(out, "  {finding}")?;
            }
        }
    }
    if looked_at == 0 {
        return Err("folders with overlays are wanted".into());
    }
    Ok(is_clean)
}
