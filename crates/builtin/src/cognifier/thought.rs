//! Thoughts: what an agent said while it worked, as facts that stay true when its work is done.
//!
//! Owns which causes and decisions are kept, and how they say of when and where they are. It must not
//! know what commands came to.

use std::collections::{BTreeMap, BTreeSet};

use super::code::{named, stands};
use super::facts::{Facts, Rank};
use super::read::{Read, Told};
use super::sentence::{Sense, is_finding, is_guess, sentences, statement};
use super::steps::Line;
use super::verb::Verb;

/// Pieces of code that are sought in what commands gave: each is sought in all of it.
const CODES_SOUGHT_MAX: usize = 256;

/// A sentence, and what it states.
struct Thought {
    sentence: String,
    sense: Sense,
    told: Told,
}

/// Adds what an agent thought and noted. `edited` are the steps that changed a file of the repository,
/// in order, each with the file.
pub(super) fn draw(reads: &[Read<'_>], edited: &[(usize, String)], facts: &mut Facts) {
    let mut causes = BTreeSet::new();
    let mut shown = Shown::by(reads.iter().map(|read| read.output.as_str()));
    for (index, read) in reads.iter().enumerate() {
        for thought in read.step.thoughts.iter().flat_map(thoughts) {
            let Thought {
                sentence,
                sense,
                told,
            } = thought;
            match sense {
                // A thought proves nothing. What is kept of it names code that some command showed, and
                // is true of the time at which it was said first.
                Sense::Cause => {
                    let is_kept = !causes.contains(&told.said)
                        && !is_guess(&sentence)
                        && shown.names(&told.said);
                    if is_kept {
                        causes.insert(told.said.clone());
                        let told = cause(told, index, reads, edited);
                        facts.add(Rank::Cause, told.said, told.from);
                    }
                }
                Sense::Decision => {
                    let told = decision(told, read);
                    facts.add(Rank::Decision, told.said, told.from);
                }
                Sense::Statement if is_finding(&told.said) => {
                    facts.add(Rank::Note, told.said, told.from);
                }
                Sense::Statement => {}
            }
        }
        // What is noted apart from commands is meant to be kept as it is.
        for Thought { sense, told, .. } in read.step.notes.iter().flat_map(thoughts) {
            let rank = match sense {
                Sense::Cause => Rank::Cause,
                Sense::Decision => Rank::Decision,
                Sense::Statement => Rank::Note,
            };
            facts.add(rank, told.said, told.from);
        }
    }
}

fn thoughts(line: &Line<'_>) -> Vec<Thought> {
    let mut thoughts = Vec::new();
    for sentence in sentences(&line.text) {
        if let Some((sense, said)) = statement(&sentence.text) {
            let from = line.excerpt(sentence.at).into_iter().collect();
            thoughts.push(Thought {
                sentence: sentence.text,
                sense,
                told: Told { said, from },
            });
        }
    }
    thoughts
}

/// What the commands of a run showed, before and after a thought.
struct Shown<'a> {
    outputs: Vec<&'a str>,
    /// The code that was sought, and whether it was found.
    sought: BTreeMap<String, bool>,
}

impl<'a> Shown<'a> {
    fn by(outputs: impl Iterator<Item = &'a str>) -> Self {
        Self {
            outputs: outputs.collect(),
            sought: BTreeMap::new(),
        }
    }

    /// Whether a sentence names code that some command showed.
    fn names(&mut self, said: &str) -> bool {
        named(said).into_iter().any(|code| self.shows(code))
    }

    /// Whether some command showed a piece of code. Of no more than so many pieces this is known: any other counts as
    /// never shown.
    fn shows(&mut self, code: &str) -> bool {
        if let Some(is_shown) = self.sought.get(code) {
            return *is_shown;
        }
        if self.sought.len() >= CODES_SOUGHT_MAX {
            return false;
        }
        let is_shown = self.outputs.iter().any(|output| stands(code, output));
        self.sought.insert(code.to_owned(), is_shown);
        is_shown
    }
}

/// A cause with the edit that it was said before, since it need not hold after it; else with its place.
fn cause(told: Told, index: usize, reads: &[Read<'_>], edited: &[(usize, String)]) -> Told {
    let Told { said, mut from } = told;
    let (before, later) = edited.split_at(edited.partition_point(|(edit, _)| *edit < index));
    let place = place(&reads[index]);
    let in_place = || later.iter().find(|(_, file)| Some(file.as_str()) == place);
    let next = || later.first().filter(|_| place.is_none());
    let of = later.iter().find(|(_, file)| is_told(file, &said));
    if let Some((edit, file)) = of.or_else(in_place).or_else(next) {
        let is_first = before.iter().all(|(_, known)| known != file);
        let again = if is_first { "" } else { " again" };
        from.extend(reads[*edit].names_edit());
        let said = format!("Before {file} was edited{again}: {said}");
        return Told { said, from };
    }
    match place.filter(|file| !is_told(file, &said)) {
        Some(file) => {
            from.extend(reads[index].names_file.clone());
            let said = format!("{file}: {said}");
            Told { said, from }
        }
        None => Told { said, from },
    }
}

/// A decision as one that was made, with its place.
fn decision(told: Told, read: &Read<'_>) -> Told {
    let Told { said, mut from } = told;
    let said = match place(read).filter(|file| !is_told(file, &said)) {
        Some(file) => {
            from.extend(read.names_file.clone());
            format!("Decided in {file}: {said}")
        }
        None => format!("Decided: {said}"),
    };
    Told { said, from }
}

/// The file that a step set out to change.
fn place<'a>(read: &'a Read<'_>) -> Option<&'a str> {
    read.file
        .as_deref()
        .filter(|_| read.verb == Some(Verb::Edit))
}

/// Whether a sentence names a file.
fn is_told(file: &str, said: &str) -> bool {
    stands(file.rsplit('/').next().unwrap_or(file), said)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_is_sought_once_in_what_commands_showed() {
        let mut shown = Shown::by(["def test_add():", "    return a_sum(a)"].into_iter());
        for said in [
            "It is a_sum( that fails.",
            "Since a_sum( is wrong, so is no_sum(",
        ] {
            assert!(shown.names(said), "{said}");
        }
        assert!(!shown.names("It is no_sum( that fails."));
        assert!(!shown.names("It is no_sum( again."));
        let sought: Vec<(&str, bool)> = shown
            .sought
            .iter()
            .map(|(code, is_shown)| (code.as_str(), *is_shown))
            .collect();
        assert_eq!(sought, [("a_sum(", true), ("no_sum(", false)]);
    }

    #[test]
    fn so_much_code_is_sought_and_no_more() {
        let mut shown = Shown::by(["the_first and the_last"].into_iter());
        assert!(shown.names("It is `the_first`."));
        for number in 1..CODES_SOUGHT_MAX {
            assert!(!shown.names(&format!("It is `no_code_{number}`.")));
        }
        assert!(!shown.names("It is `the_last`."), "it is not sought");
        assert!(shown.names("It is `the_first`."), "it was sought before");
        assert_eq!(shown.sought.len(), CODES_SOUGHT_MAX);
    }
}
