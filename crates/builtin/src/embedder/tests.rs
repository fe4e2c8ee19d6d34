//! What the space promises, and the measurement that its thresholds rest on.

use std::time::Instant;

use proptest::prelude::*;
use sillok_core::dedup::CONTRADICTION_COSINE_MIN;

use super::*;

const PAIRS: &str = include_str!("../../testdata/pairs.tsv");

fn cosine(a: &str, b: &str) -> f32 {
    HashEmbedder::vector(a)
        .iter()
        .zip(&HashEmbedder::vector(b))
        .map(|(a, b)| a * b)
        .sum()
}

/// (label, cosine, texts) of every labelled pair.
fn measured() -> Vec<(&'static str, f32, String)> {
    let lines = PAIRS
        .lines()
        .filter(|line| !line.starts_with('#') && !line.trim().is_empty());
    lines
        .map(|line| {
            let [label, a, b] = line.split('\t').collect::<Vec<_>>()[..] else {
                panic!("three columns: {line}")
            };
            (label, cosine(a, b), format!("{a} / {b}"))
        })
        .collect()
}

fn at_or_over<'a>(
    pairs: &'a [(&str, f32, String)],
    label: &str,
    threshold: f32,
) -> (usize, usize, Vec<&'a str>) {
    let labelled: Vec<_> = pairs.iter().filter(|pair| pair.0 == label).collect();
    let over = labelled.iter().filter(|pair| pair.1 >= threshold);
    (
        over.clone().count(),
        labelled.len(),
        over.map(|pair| pair.2.as_str()).collect(),
    )
}

#[test]
fn the_merge_threshold_merges_what_is_the_same_and_nothing_else() {
    let pairs = measured();
    for (label, cosine, texts) in &pairs {
        println!("{label}\t{cosine:.3}\t{texts}");
    }
    for label in ["other", "far"] {
        let (wrong, _, texts) = at_or_over(&pairs, label, THRESHOLDS.merge);
        assert_eq!(wrong, 0, "{label} pairs would merge: {texts:?}");
    }
    let (merged, of, _) = at_or_over(&pairs, "same", THRESHOLDS.merge);
    assert!(
        merged * 10 >= of * 9,
        "only {merged} of {of} same pairs merge"
    );
}

#[test]
fn the_similar_threshold_keeps_unrelated_texts_apart() {
    let pairs = measured();
    let (far, _, texts) = at_or_over(&pairs, "far", THRESHOLDS.similar);
    assert_eq!(far, 0, "{texts:?}");
    // Other statements in nearly the same words may be suggested to a person, but rarely.
    let (other, of, texts) = at_or_over(&pairs, "other", THRESHOLDS.similar);
    assert!(other * 4 <= of, "{texts:?}");
    let (same, of, _) = at_or_over(&pairs, "same", THRESHOLDS.similar);
    assert_eq!(same, of, "every pair that is the same is at least similar");
    let (near, of, _) = at_or_over(&pairs, "near", THRESHOLDS.similar);
    assert!(near * 4 >= of, "only {near} of {of} near pairs are similar");
}

#[test]
fn a_short_text_and_its_negation_are_near_enough_to_be_compared() {
    for (text, negation) in [
        ("The cache is warm.", "The cache is not warm."),
        ("There is a lock", "There is no lock"),
        ("It works", "It doesn't work"),
        ("It works", "It never works"),
        ("It runs with a lock", "It runs without a lock"),
        (
            "The server can resume a tail",
            "The server cannot resume a tail",
        ),
        ("잠금이 있다", "잠금이 없다"),
        ("이 테스트는 작동한다", "이 테스트는 작동하지 않는다"),
        ("빌드가 된다", "빌드가 안 된다"),
    ] {
        let cosine = cosine(text, negation);
        assert!(
            cosine >= CONTRADICTION_COSINE_MIN,
            "{cosine:.3} {text} / {negation}"
        );
        assert!(
            cosine < THRESHOLDS.similar,
            "they are told apart: {cosine:.3} {text} / {negation}"
        );
    }
}

#[test]
fn vectors_of_this_space_never_change() {
    // A failure here means that stored vectors no longer compare: give the space a new id.
    let mut hasher = blake3::Hasher::new();
    for text in [
        "TimeDelta serialization loses precision",
        "테스트가 실패한다",
        "In calc.py, `a - b` became `a + b`.",
    ] {
        for value in HashEmbedder::vector(text) {
            // Rounded, so that the last bit of a square root does not matter.
            hasher.update(format!("{value:.5},").as_bytes());
        }
    }
    insta::assert_snapshot!(hasher.finalize().to_hex()[..16]);
}

#[test]
fn a_short_text_is_embedded_in_tens_of_microseconds() {
    let text = "The current implementation uses integer division, which truncates the decimal part and leads to \
        incorrect rounding of TimeDelta milliseconds on line 1475 of src/marshmallow/fields.py, so round it.";
    const RUNS: u32 = 500;
    let start = Instant::now();
    for _ in 0..RUNS {
        std::hint::black_box(HashEmbedder::vector(std::hint::black_box(text)));
    }
    let each = start.elapsed() / RUNS;
    println!("{} bytes in {each:?}", text.len());
    // Ten times the aim, for a busy machine.
    assert!(each.as_micros() < 400, "{each:?}");
}

proptest! {
    #[test]
    fn a_vector_has_length_one_or_is_zero(text in ".{0,200}") {
        let vector = HashEmbedder::vector(&text);
        let length: f32 = vector.iter().map(|value| value * value).sum();
        prop_assert_eq!(vector.len(), DIMENSIONS);
        prop_assert!(length == 0.0 || (length - 1.0).abs() < 1e-4);
    }

    #[test]
    fn case_and_white_space_do_not_matter(words in proptest::collection::vec("[a-z]{1,9}", 1..12)) {
        let a = words.join(" ");
        let b = words.join(" \n ").to_uppercase();
        prop_assert!((cosine(&a, &b) - 1.0).abs() < 1e-4 || a.is_empty());
    }
}
