//! Originals that agents keep as evidence, and hints that they leave at anchors.
//!
//! Owns their words: as they are handed over, and as they have to be stored, with what stands for a secret in its place. It
//! must not know how a node masks, cuts or stores them.

use std::fmt::Write as _;

use serde::{Deserialize, Serialize};
use sillok_core::evidence::NewEvidence;
use sillok_core::limits::CHUNK_BYTES;
use sillok_core::staging::Content;

/// Whole chunks that an original fills at most.
pub(super) const CHUNKS_MAX: u8 = 3;
/// The media type of all of them.
pub(super) const MEDIA_TYPE: &str = "text/x-log";
/// What stands for a secret where it is stored.
const MASKED: &str = "[masked:github_token]";
/// What stands where no secret does.
const NO_SECRET: &str = "a closed door";
/// Bytes of an original that is no larger than a few lines.
const SMALL_BYTES: usize = 200;

/// A secret, in two parts, so that no file of the project holds a whole key.
fn secret() -> String {
    ["gh", "p_aB3dE6gH9jK2mN5pQ8sT1vW4yZ7aB3dE6gH9"].concat()
}

/// Something that an agent wrote, like nothing that anybody else wrote.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Original {
    /// Who wrote it.
    pub(super) agent: usize,
    /// How many there were of this agent.
    pub(super) number: u64,
    /// Whole chunks that it fills, and a part of one more; none of one that fits a row.
    pub(super) chunks: u8,
    /// Whether secrets are in it.
    pub(super) masks: bool,
}

impl Original {
    /// The one that is kept under a title, with so many secrets in it; none where no agent wrote one like that.
    pub(super) fn told(title: &str, masked: u32, content: &Content) -> Option<Self> {
        let (number, agent) = title.strip_prefix("original ")?.split_once(" of agent ")?;
        let chunks = match content {
            Content::Inline(_) => 0,
            Content::Chunked { bytes, .. } => bytes / CHUNK_BYTES as u64,
        };
        Some(Self {
            agent: agent.parse().ok()?,
            number: number.parse().ok()?,
            chunks: u8::try_from(chunks).ok()?,
            masks: masked > 0,
        })
    }

    /// As its writer hands it over.
    pub(super) fn given(&self) -> NewEvidence {
        NewEvidence {
            title: self.title(),
            source: self.source(),
            media_type: MEDIA_TYPE.to_owned(),
            content: self.text(&self.opened_with(secret())),
        }
    }

    /// Its text as it has to be stored.
    pub(super) fn stored(&self) -> String {
        self.text(&self.opened_with(MASKED.to_owned()))
    }

    /// How many secrets are in it.
    pub(super) const fn secrets(&self) -> u32 {
        if self.masks { 2 } else { 0 }
    }

    /// What it is, in a line.
    pub(super) fn title(&self) -> String {
        format!("original {} of agent {}", self.number, self.agent)
    }

    /// Where it was.
    pub(super) fn source(&self) -> String {
        format!("logs/{}/{}.txt", self.agent, self.number)
    }

    fn opened_with(&self, secret: String) -> String {
        if self.masks {
            secret
        } else {
            NO_SECRET.to_owned()
        }
    }

    /// Lines that all differ, so that pieces in another order are another text, with characters of several bytes, between
    /// two that say the same. How many there are does not depend on what those two say.
    fn text(&self, opened: &str) -> String {
        let bytes = match self.chunks {
            0 => SMALL_BYTES,
            chunks => usize::from(chunks) * CHUNK_BYTES + CHUNK_BYTES / 4,
        };
        let mut lines = String::new();
        for line in 1.. {
            if lines.len() >= bytes {
                break;
            }
            writeln!(lines, "줄 {line}: 기록은 {} 남는다", self.title()).expect("memory takes it");
        }
        let ends = format!("{} began at {opened} and ended there.\n", self.title());
        format!("{ends}{lines}{ends}")
    }
}

/// The hint of an anchor, as its writer hands it over.
pub(super) fn hint(original: &Original) -> String {
    pointing(original, &original.opened_with(secret()))
}

/// The same as it has to be stored.
pub(super) fn stored_hint(original: &Original) -> String {
    pointing(original, &original.opened_with(MASKED.to_owned()))
}

fn pointing(original: &Original, opened: &str) -> String {
    let Original { agent, number, .. } = original;
    format!("agent {agent} found hint {number} at {opened} 여기")
}

/// The part of a text from one byte to another, without the characters that do not lie in it whole: where it begins, and
/// what it says.
pub(super) fn part(text: &str, from: u64, to: u64) -> (u64, String) {
    let within = text.char_indices().filter(|(at, character)| {
        let (begin, end) = (*at as u64, (*at + character.len_utf8()) as u64);
        begin >= from && end <= to
    });
    let within: Vec<(usize, char)> = within.collect();
    let begin = within.first().map_or(from, |(at, _)| *at as u64);
    (begin, within.into_iter().map(|(_, one)| one).collect())
}

#[cfg(test)]
pub(super) mod tests {
    use sillok_core::limits::EVIDENCE_INLINE_BYTES_MAX;
    use sillok_core::secret::mask;

    use super::*;

    /// An original of the first agent.
    pub(in super::super) fn original(number: u64, chunks: u8, masks: bool) -> Original {
        Original {
            agent: 1,
            number,
            chunks,
            masks,
        }
    }

    #[test]
    fn what_is_handed_over_is_stored_with_its_secrets_masked_and_nothing_else() {
        let numbers = (1..200)
            .map(|number| (number, 0))
            .chain((1..9).map(|number| (number, 2)));
        let all = numbers.flat_map(|one| [false, true].map(|masks| (one, masks)));
        for ((number, chunks), masks) in all {
            let one = original(number, chunks, masks);
            let given = one.given();
            let masked = mask(&given.content);
            assert_eq!(masked.count, one.secrets());
            assert_eq!(masked.text, one.stored());
            assert_eq!(given.content != one.stored(), masks);
            for kept in [&given.title, &given.source] {
                assert_eq!(mask(kept).count, 0);
            }
            let hint = hint(&one);
            let masked = mask(&hint);
            assert_eq!(masked.count, u32::from(masks));
            assert_eq!(masked.text, stored_hint(&one));
        }
    }

    #[test]
    fn an_original_fits_a_row_or_fills_its_chunks_and_a_part_of_one_more() {
        assert!(original(1, 0, true).stored().len() < 1_000);
        for chunks in 1..=CHUNKS_MAX {
            let text = original(1, chunks, true).stored();
            assert!(text.len() > EVIDENCE_INLINE_BYTES_MAX);
            assert_eq!(text.len() / CHUNK_BYTES, usize::from(chunks));
            let mut lines: Vec<&str> = text.lines().skip(1).collect();
            let count = lines.len();
            lines.sort_unstable();
            lines.dedup();
            assert_eq!(lines.len(), count, "two of its lines are the same");
        }
        assert_ne!(original(1, 0, true).stored(), original(2, 0, true).stored());
    }

    #[test]
    fn a_part_has_no_character_that_does_not_lie_in_it_whole() {
        let text = "a줄b";
        let part = |from, to| part(text, from, to);
        assert_eq!(part(0, 5), (0, "a줄b".to_owned()));
        assert_eq!(part(0, 9), (0, "a줄b".to_owned()));
        assert_eq!(part(1, 4), (1, "줄".to_owned()));
        assert_eq!(part(0, 3), (0, "a".to_owned()));
        assert_eq!(part(2, 5), (4, "b".to_owned()));
        assert_eq!(part(2, 3), (2, String::new()));
    }
}
