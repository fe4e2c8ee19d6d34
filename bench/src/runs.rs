//! Several runs of one load, of which the worst counts.
//!
//! Owns how many there are and what is told of them together. It must not know what is measured.

use hdrhistogram::Histogram;

use crate::gauge::histogram;

/// Runs of each load.
pub(crate) const RUNS: usize = 5;

/// A quantile of the worst run, in ms.
pub(crate) fn worst_ms(runs: &[Histogram<u64>], quantile: f64) -> f64 {
    let each = runs.iter().map(|run| run.value_at_quantile(quantile));
    each.max().unwrap_or_default() as f64 / 1_000.0
}

/// A quantile of one load over that of another, in the run in which that is the most.
pub(crate) fn worst_ratio(
    ours: &[Histogram<u64>],
    theirs: &[Histogram<u64>],
    quantile: f64,
) -> f64 {
    assert_eq!(ours.len(), theirs.len(), "both loads have the same runs");
    let of = |run: &Histogram<u64>| run.value_at_quantile(quantile).max(1) as f64;
    let ratios = ours.iter().zip(theirs).map(|(a, b)| of(a) / of(b));
    ratios.fold(0.0, f64::max)
}

/// All runs as one.
pub(crate) fn together(runs: &[Histogram<u64>]) -> Histogram<u64> {
    let mut all = histogram();
    for run in runs {
        all.add(run).expect("all histograms have the same bounds");
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(us: u64) -> Histogram<u64> {
        let mut run = histogram();
        run.saturating_record_n(us, 100);
        run
    }

    #[test]
    fn the_worst_run_counts_and_not_the_mean_of_all() {
        let runs = [run(1_000), run(9_000), run(1_000)];
        let worst = worst_ms(&runs, 0.99);
        assert!((8.9..9.2).contains(&worst), "{worst}");
        assert_eq!(together(&runs).len(), 300);
    }

    #[test]
    fn a_ratio_is_that_of_two_loads_in_the_same_run() {
        // The first load was slower in the first run alone, and the whole machine in the last.
        let ours = [run(1_300), run(1_000), run(5_000)];
        let theirs = [run(1_000), run(1_000), run(5_000)];
        let ratio = worst_ratio(&ours, &theirs, 0.5);
        assert!((1.27..1.33).contains(&ratio), "{ratio}");
        let ratio = worst_ratio(&theirs, &ours, 0.5);
        assert!((0.98..1.02).contains(&ratio), "{ratio}");
    }
}
