//! What is printed: one JSON document, or one on each line, or text for a person, on standard output;
//! all else on standard error.
//!
//! Owns colours and tables. It must not know what it prints.

use std::io::{IsTerminal, Write};

use serde::Serialize;
use sillok_core::time::Timestamp;

use crate::failure::Failure;

/// Where a command prints to, and how.
#[derive(Clone, Copy, Debug)]
pub struct Output {
    /// Whether the user asked for JSON.
    pub json: bool,
    /// How text is set off.
    pub style: Style,
}

impl Output {
    /// Output in the form that the user asked for. Colours only on a terminal, and never when
    /// `NO_COLOR` is set.
    #[must_use]
    pub fn new(json: bool) -> Self {
        let wanted = std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
        Self {
            json,
            style: Style {
                colour: wanted && !json && std::io::stdout().is_terminal(),
            },
        }
    }

    /// Prints a value: as JSON, or as the text that `human` makes of it.
    ///
    /// # Errors
    /// When standard output is closed.
    pub fn show<T: Serialize>(
        &self,
        value: &T,
        human: impl FnOnce(Style) -> String,
    ) -> Result<(), Failure> {
        if self.json {
            let text = serde_json::to_string_pretty(value).expect("plain data is JSON");
            print(&text)
        } else {
            print(&human(self.style))
        }
    }

    /// Prints one item of a stream: as JSON on one line, or as the text that `human` makes of it.
    ///
    /// # Errors
    /// When standard output is closed.
    pub fn item<T: Serialize>(
        &self,
        value: &T,
        human: impl FnOnce(Style) -> String,
    ) -> Result<(), Failure> {
        if self.json {
            print(&serde_json::to_string(value).expect("plain data is JSON"))
        } else {
            print(&human(self.style))
        }
    }
}

/// Prints a text to standard output, with one newline at its end.
///
/// # Errors
/// When standard output is closed.
pub fn print(text: &str) -> Result<(), Failure> {
    let mut out = std::io::stdout().lock();
    writeln!(out, "{}", text.trim_end_matches('\n'))
        .and_then(|()| out.flush())
        .map_err(Failure::io("standard output is closed"))
}

/// Prints a remark to standard error. That nobody reads it is no failure.
pub fn note(text: &str) {
    let _ = writeln!(std::io::stderr().lock(), "{text}");
}

/// How text is set off from other text.
#[derive(Clone, Copy, Debug, Default)]
pub struct Style {
    /// Whether colours may be used.
    pub colour: bool,
}

impl Style {
    /// Headings.
    #[must_use]
    pub fn bold(self, text: &str) -> String {
        self.paint("1", text)
    }

    /// What matters less.
    #[must_use]
    pub fn dim(self, text: &str) -> String {
        self.paint("2", text)
    }

    /// What went well.
    #[must_use]
    pub fn good(self, text: &str) -> String {
        self.paint("32", text)
    }

    /// What was refused or failed.
    #[must_use]
    pub fn bad(self, text: &str) -> String {
        self.paint("31", text)
    }

    /// Names to copy.
    #[must_use]
    pub fn name(self, text: &str) -> String {
        self.paint("36", text)
    }

    fn paint(self, code: &str, text: &str) -> String {
        if self.colour {
            format!("\u{1b}[{code}m{text}\u{1b}[0m")
        } else {
            text.to_owned()
        }
    }
}

/// A table whose columns are as wide as their widest cell. The last column is not padded.
#[must_use]
pub fn table(style: Style, header: &[&str], rows: &[Vec<String>]) -> String {
    let width = |column: usize| {
        let cells = rows.iter().map(|row| row[column].chars().count());
        cells
            .chain([header[column].chars().count()])
            .max()
            .unwrap_or(0)
    };
    let widths: Vec<usize> = (0..header.len()).map(width).collect();
    let line = |cells: &[String]| {
        let padded = cells
            .iter()
            .zip(&widths)
            .map(|(cell, width)| format!("{cell:width$}"));
        padded.collect::<Vec<_>>().join("  ").trim_end().to_owned()
    };
    let head: Vec<String> = header.iter().map(|name| (*name).to_owned()).collect();
    let mut lines = vec![style.bold(&line(&head))];
    lines.extend(rows.iter().map(|row| line(row)));
    lines.join("\n")
}

/// A text on one line of at most `chars_max` characters, without control characters: what is
/// recorded may hold sequences that would play with the reader's terminal.
#[must_use]
pub fn one_line(text: &str, chars_max: usize) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    let clean: String = words
        .join(" ")
        .chars()
        .filter(|c| !c.is_control())
        .collect();
    if clean.chars().count() <= chars_max {
        return clean;
    }
    clean
        .chars()
        .take(chars_max.saturating_sub(1))
        .chain(['…'])
        .collect()
}

/// A text of several lines without control characters other than newlines and tabs.
#[must_use]
pub fn harmless(text: &str) -> String {
    text.chars()
        .filter(|c| !c.is_control() || matches!(c, '\n' | '\t'))
        .collect()
}

/// A time as people write it, in UTC.
#[must_use]
pub fn time(time: Timestamp) -> String {
    let ms = i64::try_from(time.ms()).unwrap_or(i64::MAX);
    jiff::Timestamp::from_millisecond(ms).map_or_else(
        |_| time.ms().to_string(),
        |time| time.strftime("%Y-%m-%d %H:%M:%S").to_string(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_aligned_and_the_last_is_not_padded() {
        let rows = vec![
            vec!["a".to_owned(), "longer".to_owned()],
            vec!["bbb".to_owned(), "x".to_owned()],
        ];
        assert_eq!(
            table(Style::default(), &["k", "value"], &rows),
            "k    value\na    longer\nbbb  x"
        );
    }

    #[test]
    fn recorded_text_cannot_play_with_the_terminal() {
        assert_eq!(one_line("a\u{1b}[31m b\n\nc", 80), "a[31m b c");
        assert_eq!(one_line("abcdef", 4), "abc…");
        assert_eq!(harmless("a\u{1b}]0;t\u{7}\n\tb"), "a]0;t\n\tb");
    }

    #[test]
    fn times_are_readable() {
        assert_eq!(
            time(Timestamp::from_ms(1_700_000_000_000)),
            "2023-11-14 22:13:20"
        );
        assert_eq!(time(Timestamp::from_ms(u64::MAX)), u64::MAX.to_string());
    }

    #[test]
    fn colour_is_used_only_where_it_is_wanted() {
        assert_eq!(Style { colour: false }.bad("x"), "x");
        assert_eq!(Style { colour: true }.bad("x"), "\u{1b}[31mx\u{1b}[0m");
    }
}
