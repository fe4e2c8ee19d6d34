//! The typed parts of an entry's text: claims, episodes, skills.
//!
//! Owns their fields. It must not know how they come to be: promotion and callers make them.

use core::num::NonZeroU64;

use serde::{Deserialize, Serialize};

use crate::promotion::CausalEdge;
use crate::reuse::Usage;
use crate::scope::Scope;
use crate::secret::mask;

/// What the published text says under a key: two entries that declare the same key with other
/// values contradict one another.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Claim {
    /// What the claim is about, such as `http.framework`.
    pub key: String,
    /// What is claimed.
    pub value: String,
}

impl Claim {
    /// The claim as it is stored: with its secrets masked.
    #[must_use]
    pub fn masked(&self) -> Self {
        Self {
            key: mask(&self.key).text.into_owned(),
            value: mask(&self.value).text.into_owned(),
        }
    }
}

/// What an index keeps of an entry's claim, so that it is found by its key: two numbers, which mean something among the
/// entries of one scope alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ClaimHash {
    /// Names the key.
    pub key: NonZeroU64,
    /// Names the value under that key.
    pub value: u64,
}

impl ClaimHash {
    /// That of a claim, as it is stored, of an entry of `scope`.
    #[must_use]
    pub fn of(claim: &Claim, scope: &Scope) -> Self {
        let key = number(
            "sillok 2026 keys of claims",
            &[claim.key.as_str(), scope.as_str()],
        );
        let value = number(
            "sillok 2026 values of claims",
            &[claim.value.as_str(), claim.key.as_str(), scope.as_str()],
        );
        Self {
            key: NonZeroU64::new(key).unwrap_or(NonZeroU64::MIN),
            value,
        }
    }

    /// Whether the other one is of the same key, and of another value.
    #[must_use]
    pub fn contradicts(self, other: Self) -> bool {
        self.key == other.key && self.value != other.value
    }
}

/// A number for some texts, which another list of texts does not have.
fn number(context: &str, texts: &[&str]) -> u64 {
    let mut hasher = blake3::Hasher::new_derive_key(context);
    for text in texts {
        hasher.update(&(text.len() as u64).to_le_bytes());
        hasher.update(text.as_bytes());
    }
    let hash = hasher.finalize();
    let (first, _) = hash
        .as_bytes()
        .split_first_chunk()
        .expect("a hash has 32 bytes");
    u64::from_le_bytes(*first)
}

/// What became of one task, in the shape of a Reflexion episode.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Episode {
    /// The task's scope.
    pub task_id: Scope,
    /// What was to be done.
    pub task: String,
    /// What was learnt.
    pub critique: String,
    /// 0 to 1.
    pub reward: f64,
    /// Whether it succeeded.
    pub success: bool,
    /// What the agent started from.
    pub input: String,
    /// What came out.
    pub output: String,
    /// Choices that were made on the way. They are no decisions until somebody saves them.
    pub key_decisions: Vec<String>,
    /// What brought about what; this episode is their source.
    pub causal_edges: Vec<CausalEdge>,
}

impl Episode {
    /// Bytes of all its texts.
    #[must_use]
    pub fn text_bytes(&self) -> usize {
        let texts = [&self.task, &self.critique, &self.input, &self.output];
        let texts = texts.into_iter().chain(&self.key_decisions);
        let edges = self.causal_edges.iter().map(CausalEdge::text_bytes);
        texts.map(String::len).sum::<usize>() + edges.sum::<usize>()
    }
}

/// A way of doing something.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Skill {
    /// A short name.
    pub name: String,
    /// What it is for.
    pub description: String,
    /// How it is done.
    pub code: String,
    /// How often it was used before it was written here.
    pub usage_count: u64,
    /// Share of those uses that helped, 0 to 1.
    pub success_rate: f64,
}

impl Skill {
    /// What is known of it with what tasks reported since it was written: the share of all uses that helped. Where no use
    /// was counted before, what was written weighs as much as one, so that a first report does not decide alone.
    #[must_use]
    pub fn with(self, usage: Usage) -> Self {
        Self {
            usage_count: self.usage_count.saturating_add(uses(usage)),
            success_rate: self.success_rate_with(usage),
            ..self
        }
    }

    /// The success rate of [`Self::with`] alone.
    #[must_use]
    #[expect(
        clippy::cast_precision_loss,
        reason = "counts of uses are far under 2^53"
    )]
    pub fn success_rate_with(&self, usage: Usage) -> f64 {
        let used = uses(usage);
        if used == 0 {
            return self.success_rate;
        }
        let before = self.usage_count.max(1) as f64;
        let helped = self.success_rate.mul_add(before, usage.helped as f64);
        (helped / (before + used as f64)).clamp(0.0, 1.0)
    }

    /// The same way with what `before` says of uses: whoever rewrites a skill has seen reports counted in, which are
    /// counted still.
    #[must_use]
    pub fn used_as(self, before: &Self) -> Self {
        Self {
            usage_count: before.usage_count,
            success_rate: before.success_rate,
            ..self
        }
    }
}

/// Uses of a skill that tasks reported.
const fn uses(usage: Usage) -> u64 {
    usage.helped.saturating_add(usage.wrong)
}

/// The typed part of an entry's text.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Detail {
    /// Plain text.
    #[default]
    Plain,
    /// An episode.
    Episode(Box<Episode>),
    /// A skill.
    Skill(Box<Skill>),
}

impl Detail {
    /// The same, where it is a skill with what tasks reported since it was written.
    #[must_use]
    pub fn with(self, usage: Usage) -> Self {
        match self {
            Self::Skill(skill) => Self::Skill(Box::new(skill.with(usage))),
            other => other,
        }
    }

    /// Bytes of all its texts.
    #[must_use]
    pub fn text_bytes(&self) -> usize {
        match self {
            Self::Plain => 0,
            Self::Episode(episode) => episode.text_bytes(),
            Self::Skill(skill) => skill.name.len() + skill.description.len() + skill.code.len(),
        }
    }

    /// The task that succeeded, for an episode that tells of it.
    #[must_use]
    pub fn succeeded(&self) -> Option<&Scope> {
        match self {
            Self::Episode(episode) if episode.success => Some(&episode.task_id),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_skill_is_worth_what_tasks_report(
            before in 0u64..1_000, rate in 0.0..=1.0, helped in 0u64..1_000, wrong in 0u64..1_000, stale in 0u64..9,
        ) {
            let stored = Skill {
                name: String::new(),
                description: String::new(),
                code: String::new(),
                usage_count: before,
                success_rate: rate,
            };
            prop_assert_eq!(&stored.clone().with(Usage::default()), &stored, "nobody reported");
            let usage = Usage { helped, wrong, stale, wrong_asked: 0 };
            let seen = stored.clone().with(usage);
            prop_assert_eq!(seen.usage_count, before + helped + wrong);
            prop_assert_eq!(seen.success_rate.to_bits(), stored.success_rate_with(usage).to_bits());
            if before > 0 {
                let share = (rate * before as f64 + helped as f64) / seen.usage_count as f64;
                prop_assert!((seen.success_rate - share).abs() < 1e-12, "it is the share of uses that helped");
            }
            prop_assert!((0.0..=1.0).contains(&seen.success_rate));
            let worse = stored.clone().with(Usage { wrong: wrong + 1, ..usage });
            prop_assert!(worse.success_rate <= seen.success_rate + 1e-12);
            let better = stored.with(Usage { helped: helped + 1, ..usage });
            prop_assert!(better.success_rate >= seen.success_rate - 1e-12);
        }
    }

    #[test]
    fn reports_raise_a_skill_that_was_written_as_poor() {
        let written = |usage_count, success_rate| Skill {
            name: String::new(),
            description: String::new(),
            code: String::new(),
            usage_count,
            success_rate,
        };
        let helped = |helped| Usage {
            helped,
            ..Usage::default()
        };
        let raised = written(10, 0.4).with(helped(100));
        assert_eq!(raised.usage_count, 110);
        assert!((raised.success_rate - 104.0 / 110.0).abs() < 1e-12);
        // What a promotion publishes was used once, and well, as far as its reports are concerned.
        let failed = Usage {
            wrong: 1,
            ..Usage::default()
        };
        let published = written(0, 1.0).with(failed);
        assert!((published.success_rate - failed.success_rate()).abs() < 1e-12);
    }
}
