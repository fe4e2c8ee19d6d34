//! What a question is narrowed to: kinds and tables, files and symbols, and how much text the asker has room
//! for.
//!
//! Owns which entries concern a file or a symbol, and the estimate of tokens. It must not know how an entry was
//! found.

use crate::citation::Citation;
use crate::entry::{Kind, Table};
use crate::error::{Error, ErrorCode};
use crate::limits::{PLACES_MAX, SHORT_TEXT_BYTES_MAX};

/// What the entries of an answer are to be about. What is empty narrows nothing; all that is not empty must hold.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Narrowing {
    /// Of one of these kinds.
    pub kinds: Vec<Kind>,
    /// Of one of these tables.
    pub tables: Vec<Table>,
    /// Concerning one of these files, or with a `/` at the end one of these directories: paths from the root of
    /// the work tree.
    pub files: Vec<String>,
    /// Concerning one of these named pieces of code.
    pub symbols: Vec<String>,
}

impl Narrowing {
    /// Checks the form, and puts paths in the one that citations have.
    ///
    /// # Errors
    /// `invalid_argument` for a path that is empty, absolute or leads upward, for an empty symbol, and for tables
    /// that are of none of the kinds; `too_large` for too many, or too long ones.
    pub fn checked(mut self) -> Result<Self, Error> {
        for places in [&self.files, &self.symbols] {
            at_most("files or symbols", PLACES_MAX, places.len())?;
            for place in places {
                at_most(
                    "bytes of a path or symbol",
                    SHORT_TEXT_BYTES_MAX,
                    place.len(),
                )?;
            }
        }
        for file in &mut self.files {
            *file = from_the_root(file)?;
        }
        if self.symbols.iter().any(|symbol| symbol.trim().is_empty()) {
            return Err(invalid("a symbol has a name"));
        }
        if !self.tables.is_empty() && !self.kinds.is_empty() && self.searched().is_empty() {
            return Err(invalid("none of the tables is of one of the kinds"));
        }
        Ok(self)
    }

    /// The tables that are left; none stands for all.
    #[must_use]
    pub fn searched(&self) -> Vec<Table> {
        if self.kinds.is_empty() {
            return self.tables.clone();
        }
        let tables = if self.tables.is_empty() {
            Table::ALL
        } else {
            &self.tables
        };
        tables
            .iter()
            .copied()
            .filter(|table| self.kinds.contains(&table.kind()))
            .collect()
    }

    /// Whether an entry of `table` is asked for.
    #[must_use]
    pub fn admits(&self, table: Table) -> bool {
        (self.tables.is_empty() || self.tables.contains(&table))
            && (self.kinds.is_empty() || self.kinds.contains(&table.kind()))
    }

    /// Whether files or symbols are asked for, which an index does not know.
    #[must_use]
    pub fn has_places(&self) -> bool {
        !self.files.is_empty() || !self.symbols.is_empty()
    }

    /// Whether an entry is about what is asked for. It concerns a file that it cites, or that its text names; so
    /// with a symbol.
    #[must_use]
    pub fn concerns(&self, citations: &[Citation], text: &str) -> bool {
        let any = |wanted: &[String],
                   cites: fn(&Citation, &str) -> bool,
                   names: fn(&str, &str) -> bool| {
            wanted.is_empty()
                || wanted.iter().any(|place| {
                    citations.iter().any(|citation| cites(citation, place)) || names(text, place)
                })
        };
        any(&self.files, cites_file, names_file) && any(&self.symbols, cites_symbol, names_symbol)
    }
}

/// A path without `./` before it.
fn from_the_root(path: &str) -> Result<String, Error> {
    let path = path.trim_start_matches("./");
    let upward = path.split('/').any(|part| part == "..");
    if path.is_empty() || path.starts_with('/') || upward {
        return Err(invalid(
            "a path leads downward from the root of the work tree",
        ));
    }
    Ok(path.to_owned())
}

/// Whether `path` is the file, or lies in the directory, that is asked for.
fn lies_in(path: &str, wanted: &str) -> bool {
    let path = path.trim_start_matches("./");
    path == wanted || (wanted.ends_with('/') && path.starts_with(wanted))
}

fn cites_file(citation: &Citation, wanted: &str) -> bool {
    match citation {
        Citation::File { path, .. } => lies_in(path, wanted),
        Citation::Symbol { file, .. } => lies_in(file, wanted),
        _ => false,
    }
}

fn cites_symbol(citation: &Citation, wanted: &str) -> bool {
    matches!(citation, Citation::Symbol { id, name, .. } if id == wanted || name == wanted)
}

/// Whether a text names a path, alone or as the end of a longer one: a log often has the path of its machine.
fn names_file(text: &str, wanted: &str) -> bool {
    text.match_indices(wanted).any(|(at, _)| {
        let starts = !text[..at].ends_with(|c: char| is_of_word(c) || c == '-' || c == '.');
        starts && (wanted.ends_with('/') || ends_a_path(&text[at + wanted.len()..]))
    })
}

/// Whether a path ends where `rest` begins: a full stop may end a sentence, or begin a longer name.
fn ends_a_path(rest: &str) -> bool {
    let mut rest = rest.chars();
    match rest.next() {
        Some('.') => !rest.next().is_some_and(is_of_word),
        Some(c) => !is_of_word(c) && c != '-' && c != '/',
        None => true,
    }
}

fn names_symbol(text: &str, wanted: &str) -> bool {
    text.match_indices(wanted).any(|(at, _)| {
        !text[..at].ends_with(is_of_word) && !text[at + wanted.len()..].starts_with(is_of_word)
    })
}

/// Of a name in the languages that people program in. A Korean particle may follow one, so no other letter counts.
const fn is_of_word(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
}

/// How many tokens a language model makes of a text, estimated: one for four bytes of ASCII, one for each other
/// character. No tokenizer is asked: each model has its own.
#[must_use]
pub fn tokens_of(text: &str) -> u64 {
    const BYTES_PER_TOKEN: u64 = 4;
    let ascii = text.bytes().filter(u8::is_ascii).count() as u64;
    let others = text.chars().filter(|c| !c.is_ascii()).count() as u64;
    ascii.div_ceil(BYTES_PER_TOKEN) + others
}

/// The room that an asker has: texts are taken, the best first, as long as they fit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Budget {
    max: Option<u64>,
    /// Tokens of what was taken.
    pub used: u64,
    /// Texts that did not fit.
    pub left_out: u64,
}

impl Budget {
    /// Room for so many tokens, or for all.
    ///
    /// # Errors
    /// `invalid_argument` when there is room for nothing.
    pub fn of(max: Option<u64>) -> Result<Self, Error> {
        if max == Some(0) {
            return Err(invalid("an answer has room for at least one token"));
        }
        Ok(Self {
            max,
            used: 0,
            left_out: 0,
        })
    }

    /// Whether a text of so many tokens fits: then it is taken, else counted as left out.
    pub fn takes(&mut self, tokens: u64) -> bool {
        let used = self.used.saturating_add(tokens);
        let fits = self.max.is_none_or(|max| used <= max);
        if fits {
            self.used = used;
        } else {
            self.left_out += 1;
        }
        fits
    }
}

fn at_most(what: &str, max: usize, given: usize) -> Result<(), Error> {
    if given > max {
        return Err(Error::too_large(what, max as u64, given as u64));
    }
    Ok(())
}

fn invalid(why: &str) -> Error {
    Error::new(ErrorCode::InvalidArgument, why)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn file(path: &str) -> Citation {
        Citation::File {
            path: path.into(),
            lines: None,
            fingerprint: None,
        }
    }

    fn symbol(name: &str, file: &str) -> Citation {
        Citation::Symbol {
            id: format!("rust:{name}"),
            name: name.into(),
            file: file.into(),
            signature: None,
        }
    }

    fn about(files: &[&str], symbols: &[&str]) -> Narrowing {
        let owned = |texts: &[&str]| texts.iter().map(ToString::to_string).collect();
        Narrowing {
            files: owned(files),
            symbols: owned(symbols),
            ..Narrowing::default()
        }
    }

    #[test]
    fn a_file_is_cited_by_itself_by_a_symbol_in_it_or_by_its_directory() {
        let cited = [file("src/scan.rs"), symbol("parse", "src/lex/parse.rs")];
        for (wanted, holds) in [
            ("src/scan.rs", true),
            ("src/lex/parse.rs", true),
            ("src/", true),
            ("src/lex/", true),
            ("scan.rs", false),
            ("src", false),
            ("src/le", false),
            ("src/scan", false),
        ] {
            assert_eq!(
                about(&[wanted], &[]).concerns(&cited, ""),
                holds,
                "{wanted}"
            );
        }
        assert!(about(&["src/a.rs"], &[]).concerns(&[file("./src/a.rs")], ""));
    }

    #[test]
    fn a_text_names_a_whole_path_and_nothing_longer() {
        for (text, holds) in [
            ("src/scan.rs leaks", true),
            ("see `src/scan.rs`.", true),
            ("it lies in src/scan.rs.", true),
            ("/testbed/src/scan.rs:10: error", true),
            ("src/scan.rs에서 샌다", true),
            ("src/scan.rs.orig was left", false),
            ("src/scan.rsx", false),
            ("src/scan.rs/part", false),
            ("mysrc/scan.rs", false),
            ("my-src/scan.rs", false),
            ("src/other.rs", false),
        ] {
            assert_eq!(
                about(&["src/scan.rs"], &[]).concerns(&[], text),
                holds,
                "{text}"
            );
        }
        assert!(about(&["src/"], &[]).concerns(&[], "under src/lex all is well"));
    }

    #[test]
    fn a_symbol_is_cited_by_name_or_id_or_named_as_a_whole_word() {
        let cited = [symbol("parse", "src/p.rs")];
        for wanted in ["parse", "rust:parse"] {
            assert!(about(&[], &[wanted]).concerns(&cited, ""), "{wanted}");
        }
        assert!(!about(&[], &["pars"]).concerns(&cited, ""));
        for (text, holds) in [
            ("parse(line) loops", true),
            ("Scanner::parse loops", true),
            ("parse는 줄을 잃는다", true),
            ("reparse loops", false),
            ("parse_line loops", false),
        ] {
            assert_eq!(about(&[], &["parse"]).concerns(&[], text), holds, "{text}");
        }
    }

    #[test]
    fn one_of_the_files_and_one_of_the_symbols_must_hold() {
        let both = about(&["a.rs", "b.rs"], &["f"]);
        assert!(both.concerns(&[file("b.rs")], "f fails"));
        assert!(!both.concerns(&[file("b.rs")], "g fails"));
        assert!(!both.concerns(&[file("c.rs")], "f fails"));
        assert!(Narrowing::default().concerns(&[], ""));
        assert!(!Narrowing::default().has_places() && both.has_places());
    }

    #[test]
    fn kinds_and_tables_are_searched_where_both_hold() {
        let narrowed = |kinds: &[Kind], tables: &[Table]| Narrowing {
            kinds: kinds.to_vec(),
            tables: tables.to_vec(),
            ..Narrowing::default()
        };
        assert_eq!(narrowed(&[], &[]).searched(), []);
        assert_eq!(
            narrowed(&[Kind::Knowledge], &[]).searched(),
            [Table::Skills, Table::Patterns, Table::CodeGraph]
        );
        let both = narrowed(&[Kind::State], &[Table::Skills, Table::Gotchas]);
        assert_eq!(both.searched(), [Table::Gotchas]);
        assert!(
            both.admits(Table::Gotchas)
                && !both.admits(Table::Skills)
                && !both.admits(Table::Tasks)
        );
        let nothing = narrowed(&[Kind::State], &[Table::Skills]);
        assert_eq!(
            nothing.checked().unwrap_err().code,
            ErrorCode::InvalidArgument
        );
    }

    #[test]
    fn what_names_no_place_is_refused() {
        for (files, symbols) in [
            (vec![""], vec![]),
            (vec!["./"], vec![]),
            (vec!["/etc/passwd"], vec![]),
            (vec!["src/../../x"], vec![]),
            (vec![], vec![" "]),
        ] {
            let refused = about(&files, &symbols).checked().unwrap_err();
            assert_eq!(
                refused.code,
                ErrorCode::InvalidArgument,
                "{files:?} {symbols:?}"
            );
        }
        let many = vec!["x"; PLACES_MAX + 1];
        assert_eq!(
            about(&many, &[]).checked().unwrap_err().code,
            ErrorCode::TooLarge
        );
        let long = "x".repeat(SHORT_TEXT_BYTES_MAX + 1);
        assert_eq!(
            about(&[], &[&long]).checked().unwrap_err().code,
            ErrorCode::TooLarge
        );
        assert_eq!(
            about(&["./src/a.rs"], &[]).checked().unwrap().files,
            ["src/a.rs"]
        );
    }

    #[test]
    fn tokens_are_counted_by_script() {
        assert_eq!(tokens_of(""), 0);
        assert_eq!(tokens_of("abcde"), 2);
        assert_eq!(tokens_of("다른 전략"), 1 + 4);
    }

    proptest! {
        #[test]
        fn a_budget_is_never_overdrawn_and_counts_every_text(
            max in proptest::option::of(1u64..500), texts in proptest::collection::vec(0u64..200, 0..30),
        ) {
            let mut budget = Budget::of(max).unwrap();
            let taken: Vec<u64> = texts.iter().copied().filter(|tokens| budget.takes(*tokens)).collect();
            prop_assert_eq!(taken.iter().sum::<u64>(), budget.used);
            prop_assert_eq!((taken.len() as u64) + budget.left_out, texts.len() as u64);
            prop_assert!(max.is_none_or(|max| budget.used <= max));
            prop_assert!(max.is_some() || budget.left_out == 0);
        }

        #[test]
        fn admitted_tables_are_the_searched_ones(
            kinds in proptest::sample::subsequence(Kind::ALL.to_vec(), 0..3), tables in proptest::sample::subsequence(Table::ALL.to_vec(), 0..6),
        ) {
            let narrowing = Narrowing { kinds: kinds.clone(), tables: tables.clone(), ..Narrowing::default() };
            let searched = narrowing.searched();
            let all = kinds.is_empty() && tables.is_empty();
            for table in Table::ALL {
                prop_assert_eq!(narrowing.admits(*table), all || searched.contains(table));
            }
        }
    }

    #[test]
    fn there_is_room_for_something() {
        assert_eq!(
            Budget::of(Some(0)).unwrap_err().code,
            ErrorCode::InvalidArgument
        );
    }
}
