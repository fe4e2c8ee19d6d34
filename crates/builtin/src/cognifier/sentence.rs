//! Sentences: from an agent's prose to statements that stand by themselves.
//!
//! Owns how prose is cut, which openers carry nothing, and which sentences are dropped because a
//! pronoun would be left hanging. It must not know records or tools.

use core::ops::Range;
use std::sync::LazyLock;

use regex::Regex;

use super::evidence::{offset, range};

/// Characters of the longest statement; longer ones are no atomic facts.
const CHARS_MAX: usize = 320;
/// Words of the shortest one.
const WORDS_MIN: usize = 4;

/// What a sentence of prose says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Sense {
    /// Why something is so.
    Cause,
    /// What is to be done, and why that way.
    Decision,
    /// Any other statement.
    Statement,
}

/// One sentence of a prose.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Sentence {
    /// It, on one line.
    pub(super) text: String,
    /// Its bytes in the prose.
    pub(super) at: Range<usize>,
}

/// Cuts prose into sentences. Code blocks are left out.
pub(super) fn sentences(prose: &str) -> Vec<Sentence> {
    let blocks = prose.split("```").step_by(2);
    let items = blocks
        .flat_map(|block| block.split("\n\n"))
        .flat_map(split_items);
    let mut sentences = Vec::new();
    for item in items {
        let (flat, words) = flatten(item);
        let base = offset(item, prose);
        let mut from = 0;
        for end in ends(&flat).into_iter().chain([flat.len()]) {
            let text = flat[from..end].trim();
            from = end;
            if !text.is_empty() {
                let at = range(text, &flat);
                let at = base + place(&words, at.start)..base + place(&words, at.end - 1) + 1;
                let text = text.to_owned();
                sentences.push(Sentence { text, at });
            }
        }
    }
    sentences
}

/// A text with single blanks between its words, and where each word begins in the one and in the other.
fn flatten(text: &str) -> (String, Vec<(usize, usize)>) {
    let mut flat = String::with_capacity(text.len());
    let mut words = Vec::new();
    for word in text.split_whitespace() {
        if !flat.is_empty() {
            flat.push(' ');
        }
        words.push((flat.len(), offset(word, text)));
        flat.push_str(word);
    }
    (flat, words)
}

/// Where a byte of a word of a flattened text stands in the text.
fn place(words: &[(usize, usize)], byte: usize) -> usize {
    let word = words.partition_point(|(flat, _)| *flat <= byte) - 1;
    let (flat, original) = words[word];
    original + (byte - flat)
}

/// The statement that a sentence makes, without openers and hanging pronouns, and its sense; none
/// when it cannot stand by itself.
pub(super) fn statement(sentence: &str) -> Option<(Sense, String)> {
    let sense = sense(sentence);
    let text = without_openers(chosen(sentence, sense), false);
    Some((sense, stated(&HEDGE.replace_all(text, ""), sense)?))
}

/// What a sentence of a report states. Its doubts stay: what a reporter supposes, nobody has found.
pub(super) fn reported(sentence: &str) -> Option<String> {
    let sense = sense(sentence);
    stated(without_openers(chosen(sentence, sense), true), sense)
}

/// Of a decision what is decided; else the whole sentence.
fn chosen(sentence: &str, sense: Sense) -> &str {
    if sense == Sense::Decision {
        after_modal(sentence)
    } else {
        sentence
    }
}

fn without_openers(mut text: &str, keeps_doubt: bool) -> &str {
    loop {
        let doubt = || DOUBT.find(text).filter(|_| !keeps_doubt);
        let Some(opener) = OPENER.find(text).or_else(doubt) else {
            return text;
        };
        text = text[opener.end()..].trim_start();
    }
}

/// A text as a sentence that stands by itself; none when it does not.
fn stated(text: &str, sense: Sense) -> Option<String> {
    let text = EMPHASIS.replace_all(text, "");
    let text = DEMONSTRATIVE.replace_all(&text, "the $noun");
    let text = if sense == Sense::Decision {
        before_hanging_clause(&text)
    } else {
        &text
    };
    let text = text
        .trim()
        .trim_end_matches([':', '.', '!', ',', ';'])
        .trim();
    // A doubt says nothing by itself, and the pronoun in it stands for nothing.
    let bare = SUPPOSES.replace_all(text, "");
    let fits = text.chars().count() <= CHARS_MAX && bare.split_whitespace().count() >= WORDS_MIN;
    if !fits || text.ends_with('?') || PRONOUN.is_match(&without_quotes(&bare)) {
        return None;
    }
    Some(format!("{}.", capitalised(text)))
}

/// Whether a sentence supposes what it says.
pub(super) fn is_guess(sentence: &str) -> bool {
    GUESS.is_match(&without_quotes(sentence))
}

/// Whether a statement tells of something found in code or data, not of the way of working.
pub(super) fn is_finding(said: &str) -> bool {
    FINDING.is_match(said)
        && said.contains(['`', '"'])
        && !WORKING.is_match(said)
        && !OF_ALL.is_match(said)
        && !is_guess(said)
}

/// A sentence begins with a capital letter, unless it begins with code.
fn capitalised(text: &str) -> String {
    let first_word = text.split_whitespace().next().unwrap_or_default();
    let is_code = first_word.contains(['_', '(', '.', '/', ':']) || first_word.starts_with('`');
    let mut chars = text.chars();
    match chars.next() {
        Some(first) if !is_code => first.to_uppercase().chain(chars).collect(),
        _ => text.to_owned(),
    }
}

/// A text cut to `chars` characters, on one line.
pub(super) fn clip(text: &str, chars: usize) -> String {
    let flat = text.split_whitespace().collect::<Vec<_>>().join(" ");
    if flat.chars().count() <= chars {
        return flat;
    }
    let kept: String = flat.chars().take(chars).collect();
    format!("{}\u{2026}", kept.trim_end())
}

static OPENER: LazyLock<Regex> = LazyLock::new(|| {
    compiled(
        r"(?ix)^(?:
        (?:so|now|well|ok|okay|also|however|therefore|thus|then|next|first|finally|indeed|anyway|oh\ no|hmm)\b[,!]?\s*
        | (?:I|we)\ (?:can\ |now\ |just\ |have\ |also\ |indeed\ )*(?:see|saw|found(?:\ out)?|noticed?|know|realised?|realized?|learned|learnt|conclude|discovered)(?:\ that|:)?\s+
        | it\ (?:turns\ out|is\ clear|means)(?:\ that)?\s+
        | (?:this|that)\ (?:means|shows|confirms)\ that\s+
        | the\ issue\ (?:suggests|indicates|says|states)\ that\s+
        )",
    )
});

/// Openers by which a sentence says that it only supposes.
static DOUBT: LazyLock<Regex> = LazyLock::new(|| {
    compiled(
        r"(?ix)^(?:
        (?:I|we)\ (?:can\ |now\ |just\ |have\ |also\ |indeed\ )*(?:think|believe)(?:\ that|:)?\s+
        | it\ (?:seems|appears|looks\ like|is\ (?:likely|possible))(?:\ that)?\s+
        | (?:this|that)\ (?:indicates|suggests)\ that\s+
        | (?:looks|seems)\ like\s+
        )",
    )
});

/// Doubts that are nobody's, as a report may hold them.
static SUPPOSES: LazyLock<Regex> = LazyLock::new(|| {
    compiled(
        r"(?i)(?:\bit (?:seems|appears|looks like|is (?:likely|possible))(?: that)? |^(?:looks|seems) like )",
    )
});

static HEDGE: LazyLock<Regex> =
    LazyLock::new(|| compiled(r"(?i)\bit (?:seems|appears|looks like)(?: that)? "));

static EMPHASIS: LazyLock<Regex> = LazyLock::new(|| {
    compiled(r"(?i)\b(?:it turns out(?: that)? |indeed |actually |clearly |obviously )")
});

/// Words by which a sentence supposes, wherever they stand.
static GUESS: LazyLock<Regex> = LazyLock::new(|| {
    compiled(
        r"(?i)\b(?:likely|probably|perhaps|possibly|maybe|presumably|might|could be|may be|potential(?:ly)?|(?:it|this|that) (?:seems|appears|looks like)|(?:looks|seems) like|(?:I|we) (?:think|believe|suspect|guess|assume))\b",
    )
});

static DEMONSTRATIVE: LazyLock<Regex> = LazyLock::new(|| {
    compiled(
        r"\b(?:[Tt]his|[Tt]hese|[Tt]hose|[Oo]ur|[Mm]y)\s+(?P<noun>(?:[a-z][a-z-]+\s+)?(?:approach|attack|behaviou?r|branch|bug|change|class|code|command|commit|configuration|dependency|directory|endpoint|error|example|exception|field|file|fix|flag|function|implementation|issue|key|line|loop|method|migration|module|option|output|package|problem|query|repository|request|response|result|script|server|service|setting|setup|snippet|step|table|test|tests|type|value|variable|version|way)\b)",
    )
});

static PRONOUN: LazyLock<Regex> = LazyLock::new(|| {
    compiled(
        r"(?i)\b(?:I|we|you|he|she|they|it|me|us|him|them|my|our|your|this|these|those|here|I'm|I'll|I've|we're|we'll|we've|it's|let's|let us)\b|이것|그것|저것|이는 |그는 ",
    )
});

static MODAL: LazyLock<Regex> = LazyLock::new(|| {
    compiled(
        r"(?ix)\b(?:(?:I|we|you)(?:'ll|\ (?:should|will|must|can|could|need\ to|have\ to|are\ going\ to|am\ going\ to|decided\ to|decide\ to|chose\ to|want\ to))|let's|let\ us|decided\ to|it\ is\ better\ to|better\ to)\s+(?:now\ |first\ |then\ |also\ )?",
    )
});

static CHOICE: LazyLock<Regex> = LazyLock::new(|| {
    compiled(
        r"(?i)\b(?:instead of|rather than|to avoid|decided? to|chose to|prefer|opt for|should (?:ensure|use|replace|change))\b|대신|하기로",
    )
});

/// What is to be reached: what is done for it is a choice, unless it is only the next [`STEP`].
static AIM: LazyLock<Regex> = LazyLock::new(|| compiled(r"(?i)\bto (?:fix|solve|address)\b"));

/// Ways of finding out, which change nothing.
static STEP: LazyLock<Regex> = LazyLock::new(|| {
    compiled(
        r"(?i)^(?:begin|start|try|continue|proceed|analy[sz]e|connect|examine|explore|find|identify|inspect|install|interact|investigate|list|locate|look|navigate|reproduce|review|run|search|submit|understand|view)\b",
    )
});

static IMPERATIVE: LazyLock<Regex> = LazyLock::new(|| {
    compiled(
        r"^(?:Decision: ?|(?:Use|Prefer|Replace|Avoid|Keep|Choose|Always|Never)\b)|하기로|대신.*(?:쓴다|사용한다|쓰자|사용하자)",
    )
});

static CAUSE: LazyLock<Regex> = LazyLock::new(|| {
    compiled(
        r"(?i)\b(?:because|due to|caused by|causes|root cause|the reason|leads? to|led to|results? in|instead of|rather than|is missing|are missing|is wrong|are wrong|is incorrect|fails? (?:when|if|since|with)|the (?:bug|problem|defect|fault|cause) (?:is|was|lies)|truncates|vulnerab\w+|since the)\b|때문|원인|빠져|잘못",
    )
});

static FINDING: LazyLock<Regex> = LazyLock::new(|| {
    compiled(
        r"(?i)\b(?:is|are|uses?|contains?|returns?|requires?|expects?|defines?|calls?|raises?|prints?|depends?|needs?|holds?|accepts?|rejects?|has|have)\b",
    )
});

/// Plans, guesses and progress: true of the run, not of the code.
static WORKING: LazyLock<Regex> = LazyLock::new(|| {
    compiled(
        r"(?i)\b(?:next|should|likely|useful|ready|need to|needs to|would be|will|let's|suggests?|indicates?|been (?:fixed|updated|corrected|resolved|added|made)|now that|located|present|successful(?:ly)?)\b",
    )
});

/// Says something of all things of a kind that is not named by code: what was seen were some of them.
static OF_ALL: LazyLock<Regex> =
    LazyLock::new(|| compiled(r"(?i)^(?:all|both|each|every|none|any|no)\s+[^`\s]"));

fn sense(sentence: &str) -> Sense {
    let chooses = || CHOICE.is_match(sentence);
    let aims = || AIM.is_match(sentence) && !STEP.is_match(after_modal(sentence));
    let acts = MODAL.is_match(sentence) && (chooses() || aims());
    if acts || IMPERATIVE.is_match(sentence) {
        Sense::Decision
    } else if CAUSE.is_match(sentence) {
        Sense::Cause
    } else {
        Sense::Statement
    }
}

/// What follows the first "we should", "let's" or the like.
fn after_modal(sentence: &str) -> &str {
    let text = sentence
        .strip_prefix("Decision:")
        .unwrap_or(sentence)
        .trim_start();
    MODAL.find(text).map_or(text, |modal| &text[modal.end()..])
}

/// A clause that tells what may come of a decision.
static GUESSED_CLAUSE: LazyLock<Regex> =
    LazyLock::new(|| compiled(r"(?i), which (?:likely|probably|should|may|might|could)\b"));

/// A decision without the clause at its end that holds a guess or a pronoun: the rest is decided all the same.
fn before_hanging_clause(text: &str) -> &str {
    const CLAUSES: [&str; 5] = [" before ", ", so ", ", which ", ", and ", "; "];
    const WORDS_KEPT_MIN: usize = 6;
    let up_to = |end: usize| {
        let is_whole = text[..end].split_whitespace().count() >= WORDS_KEPT_MIN;
        is_whole.then(|| &text[..end])
    };
    let guess = GUESSED_CLAUSE.find(text);
    if let Some(kept) = guess.and_then(|guess| up_to(guess.start())) {
        return before_hanging_clause(kept);
    }
    let Some(pronoun) = PRONOUN.find(text) else {
        return text;
    };
    let clause = CLAUSES
        .iter()
        .filter_map(|clause| text[..pronoun.start()].rfind(clause))
        .max();
    clause.and_then(up_to).unwrap_or(text)
}

/// The text without what is quoted or code: a pronoun there refers to nothing.
fn without_quotes(text: &str) -> String {
    text.split('`').step_by(2).collect::<Vec<_>>().join("x")
}

/// List items and headings stand for themselves.
fn split_items(paragraph: &str) -> Vec<&str> {
    let mut starts = vec![0];
    for line in paragraph.lines() {
        let item = line.trim_start();
        if item.starts_with("- ") || item.starts_with("* ") || item.starts_with('#') {
            let text = item.trim_start_matches(['-', '*', '#', ' ']);
            starts.push(offset(text, paragraph));
        }
    }
    let ends = starts[1..].iter().copied().chain([paragraph.len()]);
    let items = starts.iter().zip(ends);
    items
        .map(|(from, to)| paragraph[*from..to].trim_end_matches(['-', '*', '#', ' ']))
        .collect()
}

/// The bytes at which sentences end: after `.`, `!` or `?` before white space, or before a word
/// that begins a sentence and was joined to the last one. Not within code.
fn ends(text: &str) -> Vec<usize> {
    const STARTERS: [&str; 14] = [
        "To",
        "The",
        "This",
        "We",
        "It",
        "Given",
        "Since",
        "All",
        "Let",
        "I",
        "Each",
        "Considering",
        "Now",
        "However",
    ];
    let mut ends = Vec::new();
    let mut in_code = false;
    for (at, c) in text.char_indices() {
        in_code ^= c == '`';
        if in_code || !matches!(c, '.' | '!' | '?') {
            continue;
        }
        let rest = &text[at + 1..];
        let word = rest
            .split(|c: char| !c.is_alphabetic())
            .next()
            .unwrap_or_default();
        let abbreviates = text[..at].ends_with("e.g")
            || text[..at].ends_with("i.e")
            || text[..at].ends_with("etc");
        if !abbreviates && (rest.starts_with(' ') || STARTERS.contains(&word)) {
            ends.push(at + 1);
        }
    }
    ends
}

fn compiled(pattern: &str) -> Regex {
    Regex::new(pattern).expect("the pattern is fixed and tested")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn texts(prose: &str) -> Vec<String> {
        sentences(prose).into_iter().map(|one| one.text).collect()
    }

    fn said(sentence: &str) -> Option<(Sense, String)> {
        statement(sentence)
    }

    #[test]
    fn sentences_end_at_points_even_when_the_space_is_missing() {
        assert_eq!(
            texts(
                "Rounding is wrong on line 1475.To fix it, round. See `a.B` and e.g. this.\n\n```x. y```\nDone"
            ),
            [
                "Rounding is wrong on line 1475.",
                "To fix it, round.",
                "See `a.B` and e.g. this.",
                "Done"
            ]
        );
    }

    #[test]
    fn what_is_said_of_all_is_no_finding_unless_code_names_them() {
        for said in [
            "All moduli are different, and they use `e = 5`.",
            "Each key has a `modulus` of its own.",
            "None of the callers uses `retry`.",
        ] {
            assert!(!is_finding(said), "{said}");
        }
        for said in [
            "The keys use `e = 5`.",
            "All `Retry` values are in ms.",
            "Allocation is done by `mimalloc`.",
        ] {
            assert!(is_finding(said), "{said}");
        }
    }

    #[test]
    fn causes_and_decisions_are_told_apart() {
        assert_eq!(
            said("The test test_add fails because add() subtracts"),
            Some((
                Sense::Cause,
                "The test test_add fails because add() subtracts.".into()
            ))
        );
        assert_eq!(
            said("add() subtracts instead of adding").unwrap(),
            (Sense::Cause, "add() subtracts instead of adding.".into())
        );
        assert_eq!(
            said("To fix this issue, we should ensure that the division results in a float")
                .unwrap(),
            (
                Sense::Decision,
                "Ensure that the division results in a float.".into()
            )
        );
        assert_eq!(
            said("Use a BTreeMap instead of a HashMap").unwrap().0,
            Sense::Decision
        );
        assert_eq!(
            said("To fix it, we should round the result to the nearest integer before converting it to an int").unwrap().1,
            "Round the result to the nearest integer."
        );
    }

    #[test]
    fn what_hangs_on_a_pronoun_is_dropped() {
        for hanging in [
            "This should preserve the milliseconds precision",
            "It fails because of rounding",
            "We ran the tests again and again",
        ] {
            assert_eq!(said(hanging), None, "{hanging}");
        }
        assert_eq!(
            said("Output of this snippet is `344`, but it seems that `345` is correct.")
                .unwrap()
                .1,
            "Output of the snippet is `344`, but `345` is correct."
        );
        assert_eq!(
            said("I just found quite strange behaviour of `TimeDelta`")
                .unwrap()
                .1,
            "Quite strange behaviour of `TimeDelta`."
        );
    }

    #[test]
    fn a_report_keeps_its_doubts_and_an_agent_loses_them() {
        let doubted = "Looks like a rounding issue in `f()`";
        assert_eq!(
            reported(doubted).unwrap(),
            "Looks like a rounding issue in `f()`."
        );
        assert_eq!(said(doubted).unwrap().1, "A rounding issue in `f()`.");
        assert_eq!(
            reported("However, it seems that the last line is lost").unwrap(),
            "It seems that the last line is lost."
        );
        assert_eq!(
            reported("Now the last line is actually lost").unwrap(),
            "The last line is lost."
        );
        for hanging in ["I think the last line is lost", "It seems that it is lost"] {
            assert_eq!(reported(hanging), None, "{hanging}");
        }
    }

    #[test]
    fn guesses_are_told_from_what_was_found() {
        for guess in [
            "The weakness likely lies within the small exponent",
            "It seems that `f()` fails because of the path",
            "The cause could be `f()`",
            "There is potential for an overflow in `f()`",
        ] {
            assert!(is_guess(guess), "{guess}");
        }
        for found in [
            "`f()` fails because the path is wrong, which is unlikely to change",
            "`might` is missing in the list",
        ] {
            assert!(!is_guess(found), "{found}");
        }
    }

    #[test]
    fn a_next_step_is_no_decision_and_what_may_come_of_one_is_no_part_of_it() {
        assert_eq!(
            said("To solve this challenge, I must connect to the server and analyze the output"),
            None
        );
        assert_eq!(
            said("To fix the crash, we should close the file, which could also help").unwrap(),
            (
                Sense::Decision,
                "Close the file, which could also help.".into()
            )
        );
        assert_eq!(
            said("To fix the crash, we should close the file after the last line, which should also help `g()`")
                .unwrap(),
            (
                Sense::Decision,
                "Close the file after the last line.".into()
            )
        );
    }

    #[test]
    fn korean_causes_are_seen() {
        assert_eq!(
            said("반올림 오류 때문에 테스트 test_add 가 실패한다")
                .unwrap()
                .0,
            Sense::Cause
        );
    }

    proptest! {
        #[test]
        fn any_prose_is_read_without_panic(text in "(?s).{0,200}") {
            for sentence in sentences(&text) {
                statement(&sentence.text);
                let words: Vec<&str> = text[sentence.at].split_whitespace().collect();
                prop_assert_eq!(words.join(" "), sentence.text);
            }
        }
    }
}
