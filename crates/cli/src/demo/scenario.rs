//! What the demo's agents set out to do: real bugs of the sample repository, and real edits.
//!
//! Owns the script as data. It must not know how it is played.

/// A bug of the sample repository, and how it is fixed.
#[derive(Debug)]
pub struct Bug {
    /// The tool that has it; also names the task.
    pub tool: &'static str,
    /// The task in a line.
    pub title: &'static str,
    /// The task in full.
    pub description: &'static str,
    /// Why it happens, as whoever has read the source would note it. It names code of the source: a
    /// cause that names nothing which the run showed is not published.
    pub cause: &'static str,
    /// The attempts that lead to a fix: the last one makes the test pass.
    pub attempts: &'static [Attempt],
}

/// One change that an agent tries.
#[derive(Debug)]
pub struct Attempt {
    /// The approach, in a line.
    pub approach: &'static str,
    /// The text that stands in the source...
    pub old: &'static str,
    /// ...and what replaces it.
    pub new: &'static str,
}

impl Bug {
    /// Path of the source, from the root of the repository.
    #[must_use]
    pub fn source(&self) -> String {
        format!("src/{}.sh", self.tool)
    }

    /// The command that tests it.
    #[must_use]
    pub fn test(&self) -> [String; 2] {
        ["sh".to_owned(), format!("tests/{}_test.sh", self.tool)]
    }
}

/// The bug that two agents of five meet.
const SUM: Bug = Bug {
    tool: "sum",
    title: "sum.sh loses the last line",
    description: "The total is too small when the input has no newline after its last line.",
    cause: "The loop skips a last line without a newline, because `read` fails there.",
    attempts: &[Attempt {
        approach: "Use a loop condition that also holds when read fails but has put something into name.",
        old: "while read -r name amount; do",
        new: "while read -r name amount || [ -n \"$name\" ]; do",
    }],
};

const SLUG: Bug = Bug {
    tool: "slug",
    title: "slug.sh prints stray dashes",
    description: "A title with punctuation gives two dashes in a row, or a dash at the end.",
    cause: "Stray dashes come up because `tr -c` turns every other character into a dash of its own.",
    attempts: &[
        Attempt {
            approach: "Use tr -s, so that repeated dashes become one.",
            old: "tr -c 'a-z0-9' '-'",
            new: "tr -cs 'a-z0-9' '-'",
        },
        Attempt {
            approach: "Use tr -s to squeeze the dashes, and sed to cut the dashes at both ends.",
            old: "tr -cs 'a-z0-9' '-'",
            new: "tr -cs 'a-z0-9' '-' | sed 's/^-//; s/-$//'",
        },
    ],
};

const DURATION: Bug = Bug {
    tool: "duration",
    title: "duration.sh counts minutes past sixty",
    description: "3725 seconds print as 1:62:05 instead of 1:02:05.",
    cause: "The minutes exceed 59 because `printf` gets the minutes of the whole time, never reduced modulo 60.",
    attempts: &[Attempt {
        approach: "Replace the minutes by the minutes modulo 60.",
        old: "$(($1 / 60))",
        new: "$(($1 / 60 % 60))",
    }],
};

const OLDER: Bug = Bug {
    tool: "older",
    title: "older.sh puts 1.10 before 1.9",
    description: "Version 1.9.0 does not count as older than 1.10.0.",
    cause: "Version 1.9.0 sorts behind 1.10.0 because `sort` compares the versions as text.",
    attempts: &[Attempt {
        approach: "Use a numeric sort key for each of the three numbers.",
        old: "| sort |",
        new: "| sort -t . -k 1,1n -k 2,2n -k 3,3n |",
    }],
};

/// The bug of the later task, a close relative of [`SUM`] in another file, with one of the ways to fix it.
const fn later(attempts: &'static [Attempt]) -> Bug {
    Bug {
        tool: "count",
        title: "count.sh misses a name",
        description: "The count is one too small when the input has no newline after its last line.",
        cause: "The count is too small because the loop goes by `read -r name rest` alone, in the same way as sum.sh did.",
        attempts,
    }
}

/// The bug of the later task with each of two ways to fix it, both of which make the test pass. The first is the one that its
/// agent takes where nobody has decided anything.
pub static LATER: [Bug; 2] = [
    later(&[Attempt {
        approach: "Hand the input to the loop in a here-document, which ends every line.",
        old: "done",
        new: "done <<EOF\n$(cat)\nEOF",
    }]),
    later(&[Attempt {
        approach: "Use the loop condition that was published for sum.sh.",
        old: "while read -r name rest; do",
        new: "while read -r name rest || [ -n \"$name\" ]; do",
    }]),
];

/// What each of five agents sets out to fix: the first and the last have the same bug.
pub const FIVE: [Bug; 5] = [SUM, SLUG, DURATION, OLDER, SUM];

/// What the agent with this number, from 0, sets out to fix.
#[must_use]
pub fn bug(agent: usize) -> &'static Bug {
    &FIVE[agent % FIVE.len()]
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;
    use crate::demo::sample_repository::SampleRepository;

    #[test]
    fn every_test_fails_until_the_last_attempt() {
        let folder = tempfile::tempdir().unwrap();
        let repository = SampleRepository::create(&folder.path().join("sample")).unwrap();
        for (place, bug) in FIVE[..4].iter().chain(&LATER).enumerate() {
            let dir = repository.worktree(&format!("{}-{place}", bug.tool));
            let dir = dir.unwrap();
            let passes = || {
                let [program, script] = bug.test();
                Command::new(program)
                    .arg(script)
                    .current_dir(&dir)
                    .output()
                    .unwrap()
                    .status
                    .success()
            };
            assert!(!passes(), "{} has a bug", bug.tool);
            for (number, attempt) in bug.attempts.iter().enumerate() {
                let path = dir.join(bug.source());
                let source = std::fs::read_to_string(&path).unwrap();
                assert_eq!(source.matches(attempt.old).count(), 1, "{}", bug.tool);
                std::fs::write(&path, source.replace(attempt.old, attempt.new)).unwrap();
                let is_last = number + 1 == bug.attempts.len();
                assert_eq!(passes(), is_last, "{}: {}", bug.tool, attempt.approach);
            }
        }
    }

    #[test]
    fn every_cause_names_code_of_its_source() {
        let folder = tempfile::tempdir().unwrap();
        let repository = SampleRepository::create(folder.path()).unwrap();
        for bug in FIVE.iter().chain(&LATER) {
            let source = std::fs::read_to_string(repository.root().join(bug.source())).unwrap();
            let code = bug.cause.split('`').nth(1).expect("it names code");
            assert!(source.contains(code), "{}: {code}", bug.tool);
        }
    }

    #[test]
    fn two_of_five_have_the_same_bug_and_one_fails_first() {
        let same = FIVE.iter().filter(|bug| bug.tool == "sum").count();
        assert_eq!(same, 2);
        assert!(FIVE.iter().any(|bug| bug.attempts.len() > 1));
        assert_eq!(bug(5).tool, FIVE[0].tool);
    }
}
