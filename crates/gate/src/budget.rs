//! How far a search may go.
//!
//! Owns the count. It must not know what is searched.

use std::time::{Duration, Instant};

/// How far the search for what is not in its place may go, for all entries of one question. What was not looked for
/// everywhere is said to be unverifiable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Budget {
    /// Files that it looks into however long that takes, so that small work trees are answered alike on any machine.
    pub files_min: u32,
    /// Bytes that it reads and hashes for that at most.
    pub bytes_min: u64,
    /// Files at most.
    pub files_max: u32,
    /// Bytes that are read and hashed at most.
    pub bytes_max: u64,
    /// How long it goes on after the least number of files. Half of it may go into finding out which files there are.
    pub time_max: Duration,
}

impl Budget {
    /// While an agent waits for its next step: near the cited places, and no further in a large work tree.
    pub const ANSWER: Self = Self {
        files_min: 64,
        bytes_min: 1 << 20,
        files_max: 2_000,
        bytes_max: 64 << 20,
        time_max: Duration::from_millis(3),
    };
    /// While a person waits.
    pub const PATIENT: Self = Self {
        files_min: 1_000,
        bytes_min: 64 << 20,
        files_max: 200_000,
        bytes_max: 4 << 30,
        time_max: Duration::from_secs(1),
    };
    /// In the background: all of the work tree.
    pub const WHOLE: Self = Self {
        files_min: 1_000,
        bytes_min: 64 << 20,
        files_max: 1_000_000,
        bytes_max: 64 << 30,
        time_max: Duration::from_secs(120),
    };

    pub(crate) fn begin(self) -> Spending {
        let now = Instant::now();
        Spending {
            budget: self,
            listed_until: now + self.time_max / 2,
            until: now + self.time_max,
            files: 0,
            bytes: 0,
        }
    }
}

/// What is left of a budget.
#[derive(Debug)]
pub(crate) struct Spending {
    budget: Budget,
    listed_until: Instant,
    until: Instant,
    files: u32,
    bytes: u64,
}

impl Spending {
    /// Whether another file may be looked into; it is counted.
    pub(crate) fn takes_file(&mut self) -> bool {
        self.files = self.files.saturating_add(1);
        self.is_within()
    }

    /// Whether so many bytes more may be read or hashed; they are counted.
    pub(crate) fn takes_bytes(&mut self, bytes: usize) -> bool {
        let bytes = u64::try_from(bytes).unwrap_or(u64::MAX);
        self.bytes = self.bytes.saturating_add(bytes);
        self.is_within()
    }

    /// Whether a file of so many bytes may be parsed; only then it is counted, so that a large one leaves room for others.
    pub(crate) fn takes_parsed(&mut self, bytes: usize) -> bool {
        let before = self.bytes;
        let takes = self.takes_bytes(bytes.saturating_mul(PARSING_FACTOR));
        if !takes {
            self.bytes = before;
        }
        takes
    }

    /// Whether so many files may be listed.
    pub(crate) fn takes_listed(&self, files: usize) -> bool {
        let free = u64::from(self.budget.files_min).saturating_mul(LISTED_FACTOR);
        u64::try_from(files).is_ok_and(|files| files <= free) || Instant::now() < self.listed_until
    }

    /// Whether there is time left.
    pub(crate) fn has_time(&self) -> bool {
        Instant::now() < self.until
    }

    fn is_within(&self) -> bool {
        let Budget {
            files_min,
            bytes_min,
            files_max,
            bytes_max,
            ..
        } = self.budget;
        let is_free = self.files <= files_min && self.bytes <= bytes_min;
        let fits = self.files <= files_max && self.bytes <= bytes_max;
        fits && (is_free || self.has_time())
    }
}

/// How many files are listed in the time in which one is read, about.
const LISTED_FACTOR: u64 = 16;
/// How many times longer than reading a byte it takes to parse it, about.
const PARSING_FACTOR: usize = 64;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_least_number_of_files_is_looked_into_without_time() {
        let budget = Budget {
            files_min: 3,
            bytes_min: 8,
            files_max: 9,
            bytes_max: 10,
            time_max: Duration::ZERO,
        };
        let mut spending = budget.begin();
        let taken: Vec<bool> = (0..5).map(|_| spending.takes_file()).collect();
        assert_eq!(taken, [true, true, true, false, false]);
        let mut spending = budget.begin();
        assert!(spending.takes_file() && spending.takes_bytes(8) && !spending.takes_bytes(1));
    }

    #[test]
    fn a_file_that_is_too_large_to_be_parsed_leaves_room_for_others() {
        let budget = Budget {
            files_min: 1,
            bytes_min: 640,
            files_max: 1,
            bytes_max: 640,
            time_max: Duration::ZERO,
        };
        let mut spending = budget.begin();
        assert!(!spending.takes_parsed(11));
        assert!(spending.takes_parsed(10) && !spending.takes_parsed(1));
    }

    #[test]
    fn neither_files_nor_bytes_go_over() {
        let budget = Budget {
            files_min: 3,
            bytes_min: 8,
            files_max: 2,
            bytes_max: 10,
            time_max: Duration::from_secs(60),
        };
        let mut spending = budget.begin();
        assert!(spending.takes_file() && spending.takes_bytes(10));
        assert!(!spending.takes_bytes(1) && !spending.takes_file());
        let mut spending = budget.begin();
        assert!(spending.takes_file() && spending.takes_file() && !spending.takes_file());
    }
}
