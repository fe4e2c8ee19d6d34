//! Anchors from standard input, each a line of JSON.
//!
//! Owns how a line is read, and that what is wrong with one is told with its number. What an anchor may say and lead to is
//! the server's to judge, which numbers anchors as these lines are.

use std::io::BufRead;

use serde::Deserialize;
use sillok_core::decision::Domain;
use sillok_core::limits::ANCHORS_PER_COMMAND_MAX;
use sillok_core::scope::Scope;
use sillok_server::api::NewAnchor;

use super::LINE_CHARS_MAX;
use crate::args::Place;
use crate::failure::Failure;
use crate::output::one_line;

/// What a line says.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Line {
    hint: String,
    domain: Option<Domain>,
    to: Vec<String>,
}

/// Reads anchors for a scope, of which those are about `domain` that do not say what they are about: 1 to as many as one
/// request adds.
///
/// # Errors
/// [`Failure::Usage`] for the first line that is wrong, and [`Failure::Io`] for what is no UTF-8 text.
pub fn read(
    input: impl BufRead,
    scope: &Scope,
    domain: &Domain,
) -> Result<Vec<NewAnchor>, Failure> {
    let mut anchors = Vec::new();
    for (number, line) in (1usize..).zip(input.lines()) {
        let line = line.map_err(Failure::io("standard input is no text"))?;
        if number > ANCHORS_PER_COMMAND_MAX {
            let why = format!("{ANCHORS_PER_COMMAND_MAX} anchors at most are added at once");
            return Err(wrong(number, &why));
        }
        let anchor = anchor(&line, scope, domain);
        anchors.push(anchor.map_err(|why| wrong(number, &why))?);
    }
    if anchors.is_empty() {
        let why = "standard input has no line: each is an anchor";
        return Err(Failure::Usage(why.to_owned()));
    }
    Ok(anchors)
}

fn wrong(number: usize, why: &str) -> Failure {
    let why = one_line(why, LINE_CHARS_MAX);
    Failure::Usage(format!(
        "line {number} of standard input: {why}; nothing was added"
    ))
}

fn anchor(line: &str, scope: &Scope, domain: &Domain) -> Result<NewAnchor, String> {
    let line: Line = serde_json::from_str(line).map_err(|error| told(&error))?;
    let mut to = Vec::with_capacity(line.to.len());
    for (number, place) in (1..).zip(&line.to) {
        let place: Result<Place, _> = place.parse();
        let place = place.map_err(|error| format!("node {number} of \"to\": {error}"))?;
        to.push(place.within(scope).to_string());
    }
    Ok(NewAnchor {
        hint: line.hint,
        domain: Some(line.domain.as_ref().unwrap_or(domain).to_string()),
        to,
    })
}

/// What is wrong with the JSON of one line. The number that it would have by itself is none of standard input.
fn told(error: &serde_json::Error) -> String {
    let said = error.to_string();
    let why = said.rsplit_once(" at line ").map_or(&*said, |(why, _)| why);
    format!("{why}, at column {}", error.column())
}

#[cfg(test)]
mod tests {
    use super::*;

    const ID: &str = "01900000-0000-7000-8000-000000000000";

    fn given(text: &str) -> Result<Vec<NewAnchor>, String> {
        let scope = Scope::parse("org/a").unwrap();
        let read = read(text.as_bytes(), &scope, &"ui".parse().unwrap());
        read.map_err(|failure| {
            assert_eq!(failure.exit_status(), 2, "{failure}");
            failure.to_string()
        })
    }

    #[test]
    fn each_line_is_an_anchor_and_a_node_may_be_named_in_short() {
        let evidence = format!("evidence:org/a/project/b#{ID}");
        let lines = [
            format!(r#"{{"hint": "Why", "domain": "pricing", "to": ["{ID}", "{evidence}"]}}"#),
            format!(r#"{{"to": ["{evidence}"], "hint": "How"}}"#),
        ];
        let anchor = |hint: &str, domain: &str, to: &[&str]| NewAnchor {
            hint: hint.to_owned(),
            domain: Some(domain.to_owned()),
            to: to.iter().map(|&node| node.to_owned()).collect(),
        };
        let decision = format!("decision:org/a#{ID}");
        let expected = [
            anchor("Why", "pricing", &[&decision, &evidence]),
            anchor("How", "ui", &[&evidence]),
        ];
        // Whether or not the last line is ended.
        for text in [lines.join("\n"), lines.join("\n") + "\n"] {
            assert_eq!(given(&text).unwrap(), expected);
        }
    }

    #[test]
    fn what_is_wrong_is_told_with_the_number_of_its_line() {
        let right = format!(r#"{{"hint": "h", "to": ["{ID}"]}}"#);
        for (wrong, why) in [
            ("{\"hint\": \"h\"", "EOF while parsing an object, at column"),
            ("", "EOF while parsing a value"),
            ("[]x", "column"),
            (r#"{"hint": "h"}"#, "missing field `to`"),
            (r#"{"to": []}"#, "missing field `hint`"),
            (
                r#"{"hint": "h", "to": [], "two": 2}"#,
                "unknown field `two`",
            ),
            (r#"{"hint": "h", "to": ["nowhere"]}"#, "node 1 of \"to\": "),
            (
                r#"{"hint": "h", "to": [], "domain": "Large"}"#,
                "a domain has 1 to 64",
            ),
        ] {
            let said = given(&format!("{right}\n{wrong}\n{right}\n")).unwrap_err();
            let place = "line 2 of standard input: ";
            assert!(said.starts_with(place), "{wrong}: {said}");
            assert!(said.contains(why) && !said.contains(" at line "), "{said}");
        }
        let said = given("").unwrap_err();
        assert!(said.contains("has no line"), "{said}");
    }

    #[test]
    fn as_many_lines_are_taken_as_one_request_adds_and_the_next_one_is_named() {
        let line = format!("{{\"hint\": \"h\", \"to\": [\"{ID}\"]}}\n");
        let most = line.repeat(ANCHORS_PER_COMMAND_MAX);
        assert_eq!(given(&most).unwrap().len(), ANCHORS_PER_COMMAND_MAX);
        let said = given(&(most + "no JSON either")).unwrap_err();
        let expected = "line 65 of standard input: 64 anchors at most";
        assert!(said.starts_with(expected), "{said}");
    }

    #[test]
    fn what_is_no_text_is_refused() {
        let scope = Scope::parse("org/a").unwrap();
        let read = read(&b"\xff\n"[..], &scope, &Domain::global());
        assert!(matches!(read, Err(Failure::Io { .. })));
    }
}
