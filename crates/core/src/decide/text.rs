//! The texts of entries: their limits, and their form with secrets masked.
//!
//! Owns what is checked and masked before an entry's text becomes part of an event.

use super::check_short;
use crate::entry::{Claim, Detail, Embedding, Metadata};
use crate::error::{Error, ErrorCode};
use crate::event::Text;
use crate::fingerprint::ContentHash;
use crate::limits::{EMBEDDING_DIMENSIONS_MAX, ENTRY_BYTES_MAX, SKILL_USES_MAX};
use crate::secret::mask;

/// Checks the sizes and coordinates of a text that is about to be written.
pub(super) fn check_text(
    content: &str,
    detail: &Detail,
    claim: Option<&Claim>,
    embedding: Option<&Embedding>,
) -> Result<(), Error> {
    if content.trim().is_empty() {
        return Err(Error::new(
            ErrorCode::InvalidArgument,
            "an entry has content",
        ));
    }
    let bytes = content.len() + detail.text_bytes();
    if bytes > ENTRY_BYTES_MAX {
        return Err(Error::too_large(
            "entry bytes",
            ENTRY_BYTES_MAX as u64,
            bytes as u64,
        ));
    }
    if let Some(claim) = claim {
        check_short("claim key", &claim.key)?;
        check_short("claim value", &claim.value)?;
    }
    if let Some(embedding) = embedding {
        let dimensions = embedding.values.len();
        if dimensions > EMBEDDING_DIMENSIONS_MAX {
            return Err(Error::too_large(
                "embedding dimensions",
                EMBEDDING_DIMENSIONS_MAX as u64,
                dimensions as u64,
            ));
        }
        if !embedding.values.iter().all(|value| value.is_finite()) {
            return Err(Error::new(
                ErrorCode::InvalidArgument,
                "an embedding's coordinates are finite",
            ));
        }
    }
    Ok(())
}

/// Checks the numbers that a caller gives with a typed part: none of them outweighs what is reported later, nor is
/// shown as a share that is none.
pub(super) fn check_numbers(detail: &Detail) -> Result<(), Error> {
    match detail {
        Detail::Plain => Ok(()),
        Detail::Episode(episode) => {
            check_share("reward", episode.reward)?;
            let mut edges = episode.causal_edges.iter();
            edges.try_for_each(|edge| check_share("confidence", edge.confidence))
        }
        Detail::Skill(skill) => {
            check_share("success_rate", skill.success_rate)?;
            if skill.usage_count > SKILL_USES_MAX {
                let got = skill.usage_count;
                return Err(Error::too_large("usage_count", SKILL_USES_MAX, got));
            }
            Ok(())
        }
    }
}

/// What is no number is no share either.
fn check_share(what: &str, value: f64) -> Result<(), Error> {
    if (0.0..=1.0).contains(&value) {
        return Ok(());
    }
    let why = format!("{what} is {value}, and not within 0 to 1");
    Err(Error::new(ErrorCode::InvalidArgument, why))
}

/// The text as it is stored: with its secrets masked.
pub(super) fn text(
    content: &str,
    detail: &Detail,
    metadata: &Metadata,
    claim: Option<&Claim>,
    embedding: Option<&Embedding>,
) -> Result<Text, Error> {
    let content = mask(content).text.into_owned();
    Ok(Text {
        content_hash: ContentHash::of(&content),
        content,
        detail: masked_detail(detail),
        metadata: Metadata::parse(&mask(metadata.as_str()).text)?,
        claim: claim.map(Claim::masked),
        embedding: embedding.cloned(),
    })
}

fn masked_detail(detail: &Detail) -> Detail {
    let clean = |text: &mut String| {
        if let std::borrow::Cow::Owned(masked) = mask(text).text {
            *text = masked;
        }
    };
    let mut detail = detail.clone();
    match &mut detail {
        Detail::Plain => {}
        Detail::Episode(episode) => {
            let texts = [
                &mut episode.task,
                &mut episode.critique,
                &mut episode.input,
                &mut episode.output,
            ];
            let edges = episode.causal_edges.iter_mut();
            texts
                .into_iter()
                .chain(&mut episode.key_decisions)
                .chain(edges.flat_map(|edge| [&mut edge.cause, &mut edge.effect]))
                .for_each(clean);
        }
        Detail::Skill(skill) => {
            [&mut skill.name, &mut skill.description, &mut skill.code]
                .into_iter()
                .for_each(clean);
        }
    }
    detail
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::entry::{Episode, Skill};
    use crate::promotion::CausalEdge;
    use crate::scope::Scope;

    fn skill(usage_count: u64, success_rate: f64) -> Detail {
        Detail::Skill(Box::new(Skill {
            name: "deploy".into(),
            description: String::new(),
            code: String::new(),
            usage_count,
            success_rate,
        }))
    }

    fn episode(reward: f64, confidence: f64, cause: &str) -> Detail {
        Detail::Episode(Box::new(Episode {
            task_id: Scope::parse("org/a/project/b/worktree/c/task/d").unwrap(),
            task: String::new(),
            critique: String::new(),
            reward,
            success: true,
            input: String::new(),
            output: String::new(),
            key_decisions: Vec::new(),
            causal_edges: vec![CausalEdge {
                cause: cause.into(),
                effect: cause.into(),
                confidence,
            }],
        }))
    }

    #[test]
    fn shares_lie_within_0_to_1_and_uses_are_bounded() {
        for share in [0.0, -0.0, 0.5, 1.0] {
            check_numbers(&skill(SKILL_USES_MAX, share)).unwrap();
            check_numbers(&episode(share, share, "")).unwrap();
        }
        for share in [-0.1, 1.1, 7.0, f64::NAN, f64::INFINITY] {
            for (detail, field) in [
                (skill(1, share), "success_rate"),
                (episode(share, 0.5, ""), "reward"),
                (episode(0.5, share, ""), "confidence"),
            ] {
                let refused = check_numbers(&detail).unwrap_err();
                assert_eq!(refused.code, ErrorCode::InvalidArgument, "{field} {share}");
                assert!(refused.message.starts_with(field), "{refused}");
            }
        }
        let refused = check_numbers(&skill(SKILL_USES_MAX + 1, 1.0)).unwrap_err();
        assert_eq!(refused.code, ErrorCode::TooLarge);
    }

    #[test]
    fn what_brought_about_what_is_masked_and_counted() {
        // In two parts, so that no file of the project holds a whole key.
        let secret = ["gh", "p_aB3dE6gH9jK2mN5pQ8sT1vW4yZ7aB3dE6gH9"].concat();
        let masked = masked_detail(&episode(1.0, 1.0, &secret));
        let Detail::Episode(said) = masked else {
            panic!("{masked:?}")
        };
        let edge = &said.causal_edges[0];
        let hidden = mask(&secret);
        assert_eq!(hidden.count, 1);
        for text in [&edge.cause, &edge.effect] {
            assert_eq!(*text, hidden.text);
        }
        let long = "x".repeat(ENTRY_BYTES_MAX / 2);
        let refused = check_text("a", &episode(1.0, 1.0, &long), None, None).unwrap_err();
        assert_eq!(refused.code, ErrorCode::TooLarge);
    }
}
