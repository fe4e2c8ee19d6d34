//! What an expression of Prometheus says: which metrics it reads, by which labels it selects, and by which it groups.
//!
//! Owns a reading that is good enough for the alerts and panels here: no label has a comma or a brace in its value.
//! It must not know which metrics there are.

use std::collections::BTreeSet;

/// Words that join two expressions, or say more of one.
const OPERATORS: [&str; 5] = ["and", "or", "unless", "bool", "offset"];
/// Words that aggregate, which may stand before `by`. Any other function stands before a parenthesis.
const AGGREGATIONS: [&str; 12] = [
    "avg",
    "bottomk",
    "count",
    "count_values",
    "group",
    "max",
    "min",
    "quantile",
    "stddev",
    "stdvar",
    "sum",
    "topk",
];
/// Words that labels follow in parentheses, of the expression that comes next.
const GROUPING: [&str; 2] = ["by", "without"];
/// Words that labels follow in parentheses, of both sides of an operator.
const MATCHING: [&str; 4] = ["on", "ignoring", "group_left", "group_right"];

/// A metric that is read, and the series of it that are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Selector<'a> {
    /// Its name; empty where labels alone select.
    pub metric: &'a str,
    /// By which labels it is selected.
    pub matchers: Vec<Matcher<'a>>,
}

/// A label, and the values that it is held against.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Matcher<'a> {
    /// Its name.
    pub label: &'a str,
    /// `=`, `!=`, `=~` or `!~`.
    pub operator: &'a str,
    /// The alternatives: one, unless it is held against a pattern.
    pub values: Vec<&'a str>,
}

/// Labels that series are grouped or matched by.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Group<'a> {
    /// The word before them, such as `by`.
    pub word: &'a str,
    /// The labels.
    pub labels: Vec<&'a str>,
    /// The expression that has to have them.
    pub of: &'a str,
}

/// What an expression reads, in order.
#[must_use]
pub fn selectors(expr: &str) -> Vec<Selector<'_>> {
    words(expr).filter_map(selector).collect()
}

fn selector<'a>((word, after): (&'a str, &'a str)) -> Option<Selector<'a>> {
    let next = after.trim_start();
    let is_aggregation = AGGREGATIONS.contains(&word) && words(next).next().is_some_and(is_group);
    let is_other = OPERATORS.contains(&word) || is_group((word, after)) || is_aggregation;
    if is_other || next.starts_with('(') {
        return None;
    }
    let inside = next.strip_prefix('{');
    let inside = inside.and_then(|rest| rest.split('}').next());
    Some(Selector {
        metric: word,
        matchers: inside.map(matchers).unwrap_or_default(),
    })
}

/// By which labels an expression groups and matches, in order.
#[must_use]
pub fn groups<'a>(expr: &'a str) -> Vec<Group<'a>> {
    let found = words(expr).filter(|found| is_group(*found));
    let group = |(word, after): (&'a str, &'a str)| {
        let (labels, rest) = parenthesised(after)?;
        let next = parenthesised(rest).filter(|_| GROUPING.contains(&word));
        Some(Group {
            word,
            labels: labels.split(',').map(str::trim).collect(),
            of: next.map_or(expr, |(of, _)| of),
        })
    };
    found.filter_map(group).collect()
}

/// The labels that an expression keeps, where it says which.
#[must_use]
pub fn kept(expr: &str) -> BTreeSet<&str> {
    let groups = groups(expr).into_iter();
    let groups = groups.filter(|group| group.word == "by");
    groups.flat_map(|group| group.labels).collect()
}

fn is_group((word, after): (&str, &str)) -> bool {
    let is_word = GROUPING.contains(&word) || MATCHING.contains(&word);
    is_word && after.trim_start().starts_with('(')
}

fn matchers(inside: &str) -> Vec<Matcher<'_>> {
    inside.split(',').filter_map(matcher).collect()
}

fn matcher(said: &str) -> Option<Matcher<'_>> {
    let (label, rest) = said.split_at(said.find(['=', '!'])?);
    let (operator, value) = rest.split_at(rest.find(|c| !matches!(c, '=' | '!' | '~'))?);
    let value = value.trim().trim_matches('"');
    Some(Matcher {
        label: label.trim(),
        operator,
        values: if operator.ends_with('~') {
            value.split('|').collect()
        } else {
            vec![value]
        },
    })
}

/// What a text begins with in parentheses, and what follows them.
fn parenthesised(text: &str) -> Option<(&str, &str)> {
    let inside = text.trim_start().strip_prefix('(')?;
    let mut depth = 1_usize;
    for (at, c) in inside.char_indices() {
        match c {
            '(' => depth += 1,
            ')' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return Some((&inside[..at], &inside[at + 1..]));
        }
    }
    None
}

/// The words of an expression, each with what follows it: neither numbers, nor what stands in braces, brackets and
/// texts, nor labels that it groups by. Before braces without a name stands an empty word.
fn words(expr: &str) -> impl Iterator<Item = (&str, &str)> {
    let is_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | ':');
    let mut rest = expr;
    std::iter::from_fn(move || {
        loop {
            let first = rest.chars().next()?;
            let ends = match first {
                '{' => Some('}'),
                '[' => Some(']'),
                '"' => Some('"'),
                _ => None,
            };
            if let Some(end) = ends {
                let found = ("", rest);
                rest = rest[1..].split_once(end).map_or("", |(_, rest)| rest);
                if first == '{' {
                    return Some(found);
                }
            } else if first.is_ascii_digit() {
                rest = rest.trim_start_matches(|c: char| c.is_ascii_alphanumeric() || c == '.');
            } else if is_name(first) {
                let (word, after) = rest.split_at(rest.find(|c| !is_name(c)).unwrap_or(rest.len()));
                rest = past(word, after);
                return Some((word, after));
            } else {
                rest = &rest[first.len_utf8()..];
            }
        }
    })
}

/// Where words go on behind a word: past its braces, or past the labels that it groups by.
fn past<'a>(word: &str, after: &'a str) -> &'a str {
    let next = after.trim_start();
    if is_group((word, after)) {
        return parenthesised(after).map_or("", |(_, rest)| rest);
    }
    let inside = next.strip_prefix('{');
    inside.map_or(after, |inside| {
        inside.split_once('}').map_or("", |(_, rest)| rest)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn matcher(
        label: &'static str,
        operator: &'static str,
        values: &[&'static str],
    ) -> Matcher<'static> {
        Matcher {
            label,
            operator,
            values: values.to_vec(),
        }
    }

    #[test]
    fn metrics_are_found_with_the_labels_that_select_them() {
        let expr = "sum by (pod, le) (rate(sillok_a_total{code!=\"busy\", kind=~\"A|B\"}[5m])) > on (pod) up{pod=\"x\"} \
                    or 0.5 * sillok_b unless time() - {job=\"a[0-9]+\"} == 1e3";
        let of_a = vec![
            matcher("code", "!=", &["busy"]),
            matcher("kind", "=~", &["A", "B"]),
        ];
        let named = |metric, matchers| Selector { metric, matchers };
        assert_eq!(
            selectors(expr),
            [
                named("sillok_a_total", of_a),
                named("up", vec![matcher("pod", "=", &["x"])]),
                named("sillok_b", vec![]),
                named("", vec![matcher("job", "=", &["a[0-9]+"])]),
            ]
        );
    }

    #[test]
    fn a_word_that_is_no_function_is_read_as_a_metric() {
        let metrics = |expr| -> Vec<&str> {
            let found = selectors(expr).into_iter();
            found.map(|selector| selector.metric).collect()
        };
        assert_eq!(metrics("up == 0"), ["up"]);
        assert_eq!(metrics("summ by (pod) (up)"), ["summ", "up"]);
        assert_eq!(
            metrics("topk(3, up) or count (job:up:sum)"),
            ["up", "job:up:sum"]
        );
    }

    #[test]
    fn labels_are_found_with_what_has_to_have_them() {
        let expr = "sum by (pod, le) (rate(a[5m])) > on (pod) max without (x) (b)";
        let group = |word, labels: &[&'static str], of| Group {
            word,
            labels: labels.to_vec(),
            of,
        };
        assert_eq!(
            groups(expr),
            [
                group("by", &["pod", "le"], "rate(a[5m])"),
                group("on", &["pod"], expr),
                group("without", &["x"], "b"),
            ]
        );
        assert_eq!(kept(expr), BTreeSet::from(["pod", "le"]));
        assert_eq!(kept("up == 0"), BTreeSet::new());
    }
}
