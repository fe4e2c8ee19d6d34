//! What an expression of Prometheus says: which metrics it reads, by which labels it selects, and which it keeps.
//!
//! Owns a reading that is good enough for the alerts and panels here: no label has a comma or a brace in its value.
//! It must not know which metrics there are.

use std::collections::BTreeSet;

/// What a metric of Sillok begins with. Those of others are found where labels select.
const OURS: &str = "sillok_";

/// A metric that is read, and the series of it that are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Selector<'a> {
    /// Its name.
    pub metric: &'a str,
    /// By which labels it is selected.
    pub matchers: Vec<Matcher<'a>>,
}

/// A label, and the values that it is held against.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Matcher<'a> {
    /// Its name.
    pub label: &'a str,
    /// The alternatives: one, unless it is held against a pattern.
    pub values: Vec<&'a str>,
}

/// What an expression reads, in order.
#[must_use]
pub fn selectors(expr: &str) -> Vec<Selector<'_>> {
    names(expr).filter_map(selector).collect()
}

fn selector<'a>((metric, after): (&'a str, &'a str)) -> Option<Selector<'a>> {
    let inside = after.strip_prefix('{');
    let inside = inside.and_then(|rest| rest.split('}').next());
    let is_read = inside.is_some() || metric.starts_with(OURS);
    is_read.then(|| Selector {
        metric,
        matchers: inside.map(matchers).unwrap_or_default(),
    })
}

/// The labels that an expression keeps, where it says which.
#[must_use]
pub fn kept(expr: &str) -> BTreeSet<&str> {
    let groups = expr.split("by (").skip(1);
    let groups = groups.filter_map(|rest| rest.split(')').next());
    groups
        .flat_map(|group| group.split(',').map(str::trim))
        .collect()
}

fn matchers(inside: &str) -> Vec<Matcher<'_>> {
    inside.split(',').filter_map(matcher).collect()
}

fn matcher(said: &str) -> Option<Matcher<'_>> {
    let (label, value) = said.split_once(['=', '!'])?;
    let value = value.trim_start_matches(['=', '~']);
    let value = value.trim().trim_matches('"');
    let is_pattern = said.contains("=~") || said.contains("!~");
    Some(Matcher {
        label: label.trim(),
        values: if is_pattern {
            value.split('|').collect()
        } else {
            vec![value]
        },
    })
}

/// The names in an expression, each with what follows it.
fn names(expr: &str) -> impl Iterator<Item = (&str, &str)> {
    let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let mut rest = expr;
    std::iter::from_fn(move || {
        rest = &rest[rest.find(is_name)?..];
        let end = rest.find(|c| !is_name(c)).unwrap_or(rest.len());
        let (name, after) = rest.split_at(end);
        rest = after;
        Some((name, after))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn metrics_are_found_with_the_labels_that_select_them() {
        let expr = "sum by (pod, le) (rate(sillok_a_total{code!=\"busy\", kind=~\"A|B\"}[5m])) > on (pod) up{pod=\"x\"} \
                    or sillok_b";
        let found = selectors(expr);
        let one = |label, values: &[&'static str]| Matcher {
            label,
            values: values.to_vec(),
        };
        let of_a = vec![one("code", &["busy"]), one("kind", &["A", "B"])];
        let named = |metric, matchers| Selector { metric, matchers };
        let up = named("up", vec![one("pod", &["x"])]);
        assert_eq!(
            found,
            [named("sillok_a_total", of_a), up, named("sillok_b", vec![])]
        );
        assert_eq!(kept(expr), BTreeSet::from(["pod", "le"]));
        assert_eq!(kept("up == 0"), BTreeSet::new());
    }
}
