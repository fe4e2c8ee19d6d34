//! What an agent is advised to do whose approach failed before, or whose task is stuck: it follows from what failed.
//!
//! Owns the texts, in both languages. What others wrote stands in them in quotation marks, on one line and in short. It must
//! not know how a verdict is reached.

use super::approach::Likeness;
use super::history::{ApproachJudged, Verdict};
use super::told::Language;
use super::tried::{Places, Tried};
use crate::scope::Scope;

/// Reasons that are named; of more it is said how many there are.
const REASONS_NAMED: usize = 3;
/// Files and symbols that are named.
const PLACES_NAMED: usize = 4;

/// What an agent of `task` should do instead: by how often the approach failed, why, and what all attempts touched, or by why the
/// task is stuck. None where it may go on.
#[must_use]
pub fn suggestion(
    judged: &ApproachJudged,
    task: &Scope,
    stuck: Option<&str>,
    language: Language,
) -> Option<String> {
    let stuck = stuck.map(|reason| of_stuck(&quoted(reason), language));
    let mut sentences: Vec<String> = stuck.into_iter().collect();
    if let Some(tried) = judged.tried.first() {
        sentences.push(of_failures(tried, tried.task == *task, language));
        sentences.extend(of_places(tried, language));
        sentences.extend(advice(judged.verdict, tried.likeness, language).map(str::to_owned));
    }
    (!sentences.is_empty()).then(|| sentences.join(" "))
}

fn of_stuck(reason: &str, language: Language) -> String {
    match language {
        Language::English => format!(
            "The task is stuck: {reason}. Try nothing before it is free, and ask an orchestrator or a person, who can clear that. \
             A verification that passes frees it as well."
        ),
        Language::Korean => format!(
            "작업이 막혀 있습니다: {reason}. 풀릴 때까지 아무것도 시도하지 말고, 막힘을 해제할 수 있는 오케스트레이터나 사람에게 \
             물어보세요. 검증이 통과해도 풀립니다."
        ),
    }
}

/// How often it failed, where, and why.
fn of_failures(tried: &Tried, is_own: bool, language: Language) -> String {
    let (task, times) = (&tried.task, tried.attempts);
    let reasons = reasons(tried, language);
    match language {
        Language::English => {
            let what = match tried.likeness {
                Likeness::One => "This approach",
                Likeness::Near => "An approach that differs from it in a word or two",
            };
            let times = match times {
                1 => "once".to_owned(),
                _ => format!("{times} times"),
            };
            let place = if is_own {
                "this task".to_owned()
            } else {
                task.to_string()
            };
            format!("{what} failed {times} in {place}{reasons}.")
        }
        Language::Korean => {
            let what = match tried.likeness {
                Likeness::One => "이 접근법은",
                Likeness::Near => "한두 단어만 다른 접근법이",
            };
            let place = if is_own {
                "이 작업".to_owned()
            } else {
                task.to_string()
            };
            format!("{what} {place}에서 이미 {times}번 실패했습니다{reasons}.")
        }
    }
}

/// Why it failed, the newest reason first.
fn reasons(tried: &Tried, language: Language) -> String {
    let told = tried.reasons.iter().filter(|reason| !reason.is_empty());
    let told: Vec<String> = told.map(|reason| quoted(reason)).collect();
    let named = &told[..told.len().min(REASONS_NAMED)];
    let (text, more) = (named.join(", "), told.len() - named.len());
    match (language, told.is_empty(), more) {
        (_, true, _) => String::new(),
        (_, false, 0) => format!(": {text}"),
        (Language::English, false, _) => format!(": {text} and {more} more"),
        (Language::Korean, false, _) => format!(": {text} 외 {more}가지"),
    }
}

/// Where it may be better to look; none where no place is known, or where the approach may be about another one.
fn of_places(tried: &Tried, language: Language) -> Option<String> {
    let Places { files, symbols } = &tried.places;
    let all: Vec<String> = files
        .iter()
        .chain(symbols)
        .map(|name| quoted(name))
        .collect();
    if all.is_empty() || tried.likeness == Likeness::Near {
        return None;
    }
    let named = &all[..all.len().min(PLACES_NAMED)];
    let (names, more) = (named.join(", "), all.len() - named.len());
    let names = match (language, more) {
        (_, 0) => names,
        (Language::English, _) => format!("{names} and {more} more"),
        (Language::Korean, _) => format!("{names} 외 {more}곳"),
    };
    Some(match (language, tried.attempts) {
        (Language::English, 1) => format!("It touched {names}: the cause may lie elsewhere."),
        (Language::English, _) => {
            format!("Every attempt touched {names}: look for the cause elsewhere.")
        }
        (Language::Korean, 1) => {
            format!("건드린 곳: {names}. 원인은 다른 곳에 있을 수 있습니다.")
        }
        (Language::Korean, _) => {
            format!("모든 시도가 건드린 곳: {names}. 원인을 다른 곳에서 찾아보세요.")
        }
    })
}

const fn advice(verdict: Verdict, likeness: Likeness, language: Language) -> Option<&'static str> {
    match (verdict, likeness, language) {
        (Verdict::Allow | Verdict::Block, ..) => None,
        (Verdict::Reject, _, Language::English) => {
            Some("Try another approach, or ask a person to step in.")
        }
        (Verdict::Reject, _, Language::Korean) => {
            Some("대안 접근법을 시도하거나 인간 개입을 요청하세요.")
        }
        (Verdict::Warn, Likeness::One, Language::English) => {
            Some("Go on only if you can say what is different now.")
        }
        (Verdict::Warn, Likeness::One, Language::Korean) => {
            Some("이번에는 무엇이 다른지 말할 수 있을 때만 진행하세요.")
        }
        (Verdict::Warn, Likeness::Near, Language::English) => {
            Some("Go on only if it is about another thing.")
        }
        (Verdict::Warn, Likeness::Near, Language::Korean) => {
            Some("다른 대상에 대한 것일 때만 진행하세요.")
        }
    }
}

/// What somebody wrote, on one line.
fn quoted(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    format!("“{}”", words.join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::circular::Approach;
    use crate::time::Timestamp;

    const TASK: &str = "org/a/project/p/worktree/w/task/t";
    const OTHER: &str = "org/a/project/p/worktree/w/task/u";

    fn scope(path: &str) -> Scope {
        Scope::parse(path).unwrap()
    }

    fn names(names: &[&str]) -> Vec<String> {
        names.iter().map(|name| (*name).to_owned()).collect()
    }

    fn tried(task: &str, attempts: u32, reasons: &[&str]) -> Tried {
        Tried {
            task: scope(task),
            likeness: Likeness::One,
            approach: Approach::default(),
            similarity: 0.5,
            attempts,
            last: Timestamp::EPOCH,
            reasons: names(reasons),
            places: Places {
                files: names(&["src/http.rs"]),
                symbols: names(&["Client::read"]),
            },
            cut: false,
        }
    }

    fn told(verdict: Verdict, tried: &[Tried], stuck: Option<&str>) -> [Option<String>; 2] {
        let judged = ApproachJudged {
            verdict,
            tried: tried.to_vec(),
            cut: false,
        };
        [Language::English, Language::Korean]
            .map(|language| suggestion(&judged, &scope(TASK), stuck, language))
    }

    #[test]
    fn who_may_go_on_is_advised_of_nothing() {
        assert_eq!(told(Verdict::Allow, &[], None), [None, None]);
    }

    #[test]
    fn what_failed_is_told_with_how_often_why_and_what_all_attempts_touched() {
        let failed = tried(TASK, 3, &["timed out\n again", "", "refused"]);
        let [english, korean] = told(Verdict::Reject, &[failed], None);
        assert_eq!(
            english.unwrap(),
            "This approach failed 3 times in this task: “timed out again”, “refused”. Every attempt touched “src/http.rs”, \
             “Client::read”: look for the cause elsewhere. Try another approach, or ask a person to step in."
        );
        assert_eq!(
            korean.unwrap(),
            "이 접근법은 이 작업에서 이미 3번 실패했습니다: “timed out again”, “refused”. 모든 시도가 건드린 곳: “src/http.rs”, \
             “Client::read”. 원인을 다른 곳에서 찾아보세요. 대안 접근법을 시도하거나 인간 개입을 요청하세요."
        );
    }

    #[test]
    fn many_reasons_and_places_are_counted_and_where_none_is_told_none_is_named() {
        let mut failed = tried(TASK, 1, &["a", "b", "c", "d", "e"]);
        failed.places.files = names(&["1", "2", "3", "4", "5"]);
        let [english, korean] = told(Verdict::Reject, &[failed.clone()], None);
        let (english, korean) = (english.unwrap(), korean.unwrap());
        for words in [
            "once in this task: “a”, “b”, “c” and 2 more.",
            "“4” and 2 more:",
        ] {
            assert!(english.contains(words), "{english}");
        }
        for words in ["“c” 외 2가지.", "“4” 외 2곳."] {
            assert!(korean.contains(words), "{korean}");
        }
        failed.reasons.clear();
        failed.places = Places::default();
        let [english, korean] = told(Verdict::Reject, &[failed], None);
        assert_eq!(
            english.unwrap(),
            "This approach failed once in this task. Try another approach, or ask a person to step in."
        );
        assert_eq!(
            korean.unwrap(),
            "이 접근법은 이 작업에서 이미 1번 실패했습니다. 대안 접근법을 시도하거나 인간 개입을 요청하세요."
        );
    }

    #[test]
    fn a_warning_names_the_other_task_and_what_would_have_to_be_different() {
        let [english, korean] = told(Verdict::Warn, &[tried(OTHER, 2, &[])], None);
        let (english, korean) = (english.unwrap(), korean.unwrap());
        assert!(english.contains(&format!("failed 2 times in {OTHER}.")));
        assert!(english.ends_with("what is different now."), "{english}");
        assert!(korean.contains(&format!("{OTHER}에서 이미 2번")));
        let near = Tried {
            likeness: Likeness::Near,
            ..tried(OTHER, 2, &[])
        };
        let [english, korean] = told(Verdict::Warn, &[near], None);
        let (english, korean) = (english.unwrap(), korean.unwrap());
        assert!(english.starts_with("An approach that differs from it"));
        assert!(english.ends_with("if it is about another thing."));
        assert!(!english.contains("src/http.rs"), "{english}");
        assert!(korean.starts_with("한두 단어만 다른"), "{korean}");
    }

    #[test]
    fn who_is_stuck_is_told_whom_to_ask_and_what_failed_before() {
        let reason = Some("nobody\nknows");
        let [english, korean] = told(Verdict::Block, &[], reason);
        let (english, korean) = (english.unwrap(), korean.unwrap());
        assert!(english.starts_with("The task is stuck: “nobody knows”."));
        assert!(english.contains("ask an orchestrator or a person"));
        assert!(english.ends_with("frees it as well."), "{english}");
        assert!(korean.starts_with("작업이 막혀 있습니다: “nobody knows”."));
        let [with_failures, _] = told(Verdict::Block, &[tried(TASK, 1, &[])], reason);
        let with_failures = with_failures.unwrap();
        assert!(with_failures.starts_with(&english));
        assert!(with_failures.contains("failed once in this task."));
        assert!(with_failures.ends_with("the cause may lie elsewhere."));
    }
}
