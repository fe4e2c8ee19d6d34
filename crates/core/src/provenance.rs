//! Provenance: what stands behind an entry, and the status that follows from it.
//!
//! Owns rules 1 to 3 of the specification's section 6. It must not know how a source is found.

use crate::citation::{self, Citation, Excerpt};
use crate::command::VerificationRef;
use crate::commit::{CommitName, Presence};
use crate::config::TrustConfig;
use crate::entry::{Kind, Status};
use crate::error::{Error, ErrorCode};
use crate::facts::Facts;
use crate::id::RecordId;
use crate::permission::entry_rule;
use crate::principal::{Principal, PrincipalKind};
use crate::promotion::judgement;
use crate::scope::{Level, Scope};
use crate::time::Timestamp;
use crate::trust::Trust;
use crate::verification::{Outcome, Verification, VerificationSource};

/// What stands behind a write: nothing, a recorded verification, or a person's own word.
#[derive(Clone, Debug, PartialEq)]
pub enum Backing {
    /// Nothing.
    None,
    /// A validation that counts.
    Validated {
        /// Where it comes from.
        source: VerificationSource,
        /// Its run: the same one counts once.
        run: String,
        /// The citation that stands for it.
        citation: Citation,
    },
}

impl Backing {
    /// What a passed verification gives.
    #[must_use]
    pub fn of_verification(verification: &Verification) -> Self {
        match verification.said.outcome {
            Outcome::Failed => Self::None,
            Outcome::Passed => Self::Validated {
                source: verification.said.source,
                run: verification.said.run.clone(),
                citation: judgement(verification),
            },
        }
    }

    /// What stands behind an entry that `principal` writes to `scope` itself.
    ///
    /// # Errors
    /// `forbidden` when the level needs a verification and none is named, `not_found` when the
    /// named one does not exist, `invalid_argument` when it did not pass or is from elsewhere.
    pub fn of_write(
        principal: &Principal,
        scope: &Scope,
        named: Option<&VerificationRef>,
        facts: &Facts,
        run: &str,
    ) -> Result<Self, Error> {
        if let Some(named) = named {
            let found = facts.verifications.get(named).and_then(Option::as_ref);
            let verification = found
                .filter(|_| principal.prefix.covers(&named.task))
                .ok_or_else(|| {
                    Error::new(
                        ErrorCode::NotFound,
                        format!("{} has no verification {}", named.task, named.id),
                    )
                })?;
            if verification.said.outcome != Outcome::Passed || !scope.contains(&named.task) {
                let why = "an entry rests on a passed verification of a task inside its scope";
                return Err(Error::new(ErrorCode::InvalidArgument, why));
            }
            return Ok(Self::of_verification(verification));
        }
        if principal.kind() == PrincipalKind::Human {
            return Ok(Self::of_person(principal, run));
        }
        let rule = entry_rule(scope.level());
        if rule.needs_verification {
            let why = format!(
                "an entry of a {} names the passed verification that it rests on",
                scope.level()
            );
            return Err(Error::forbidden(rule.name, why));
        }
        Ok(Self::None)
    }

    /// A person's own word, given in `run`.
    #[must_use]
    pub fn of_person(person: &Principal, run: &str) -> Self {
        Self::Validated {
            source: VerificationSource::HumanApproved,
            run: run.to_owned(),
            citation: Citation::Human {
                user: person.actor.id.clone(),
            },
        }
    }

    /// The citations of an entry with this backing: the caller's, and the one that stands for it.
    #[must_use]
    pub fn cite(&self, citations: &[Citation]) -> Vec<Citation> {
        match self {
            Self::None => citations.to_vec(),
            Self::Validated { citation, .. } => {
                citation::join(core::slice::from_ref(citation), citations)
            }
        }
    }

    /// The trust of a new entry with this backing.
    #[must_use]
    pub fn first_trust(&self, kind: Kind, now: Timestamp, config: &TrustConfig) -> Trust {
        let draft = Trust::draft(kind, config);
        match self {
            Self::None => draft,
            Self::Validated { source, run, .. } => draft
                .validated(*source, run, now, config)
                .at_least_verified(config),
        }
    }

    /// The trust of a known entry that this backing confirms.
    #[must_use]
    pub fn approved_trust(&self, trust: &Trust, now: Timestamp, config: &TrustConfig) -> Trust {
        match self {
            Self::None => trust.clone(),
            Self::Validated { source, run, .. } => trust
                .validated(*source, run, now, config)
                .at_least_verified(config),
        }
    }

    /// The trust of a known entry that was said again with this backing: `repeated_success`, once
    /// for each run. What nothing stands behind validates nothing: an agent cannot verify itself.
    #[must_use]
    pub fn repeated_trust(&self, trust: &Trust, now: Timestamp, config: &TrustConfig) -> Trust {
        match self {
            Self::None => trust.clone(),
            Self::Validated { source, run, .. } if trust.has_counted(*source, run) => trust.clone(),
            Self::Validated { run, .. } => trust
                .validated(VerificationSource::RepeatedSuccess, run, now, config)
                .at_least_verified(config),
        }
    }
}

/// The status of an entry, by rules 1 to 3.
///
/// `backed` says whether a recorded verification or a person stands behind a verifying citation;
/// a citation alone, which anybody can write, verifies nothing.
#[must_use]
pub fn status_of(
    current: Status,
    citations: &[Citation],
    backed: bool,
    reuse_count: u64,
    config: &TrustConfig,
) -> Status {
    match current {
        Status::Deprecated | Status::Archived | Status::Published => current,
        Status::Hypothesis | Status::Verified => {
            // Rule 1: without a citation nothing rises. Rule 2: only a test or a person verifies.
            let verified = current == Status::Verified
                || (backed && citations.iter().any(Citation::can_verify));
            if !verified {
                Status::Hypothesis
            } else if reuse_count >= config.reuse_to_publish {
                Status::Published // Rule 3.
            } else {
                Status::Verified
            }
        }
    }
}

/// The citations of an entry without those that a promotion gave it: its verification's judgement, if it is given,
/// and the records that it spoke for.
#[must_use]
pub fn without(
    citations: &[Citation],
    task: &Scope,
    verification: &Verification,
    judgement: Option<&Citation>,
) -> Vec<Citation> {
    let spoken_for = |citation: &&Citation| {
        citation.record().is_some_and(|record| {
            record.scope == *task
                && record.seq > verification.from
                && record.seq <= verification.through
        })
    };
    let stays = |citation: &&Citation| Some(*citation) != judgement && !spoken_for(citation);
    citations.iter().filter(stays).cloned().collect()
}

/// Checks that citations have their form, that each record they name exists, is of the kind
/// they say, and is one that the principal may read, and that no commit they name is known to be missing
/// from the server's copy of its repository. One of which nobody can say is a pointer, and no proof.
///
/// # Errors
/// `unresolvable_citation` or `too_large`.
pub fn check_citations(
    principal: &Principal,
    citations: &[Citation],
    facts: &Facts,
) -> Result<(), Error> {
    citation::check_all(citations)?;
    for citation in citations {
        if let Some(commit) = citation.commit()
            && facts.commits.get(&commit) == Some(&Presence::Missing)
        {
            let CommitName { hash, repository } = commit;
            return Err(citation::unresolvable(format!(
                "the server's copy of {repository} has no commit {hash}: have it fetched there, or leave it out"
            )));
        }
        let Some(id) = citation.record() else {
            continue;
        };
        let found = match citation {
            Citation::Excerpt(excerpt) => facts.excerpts.get(excerpt) == Some(&true),
            _ => facts
                .records
                .get(id)
                .is_some_and(|fact| fact.bears(citation)),
        };
        if !found || !principal.prefix.covers(&id.scope) {
            return Err(no_such_text(citation, id));
        }
    }
    Ok(())
}

/// Says the same of what is not there and of what may not be read.
fn no_such_text(citation: &Citation, id: &RecordId) -> Error {
    citation::unresolvable(match citation {
        Citation::Excerpt(Excerpt { from, to, .. }) => {
            format!("{id} has no text whose bytes {from} to {to} are whole characters")
        }
        _ => format!("{id} is no such record"),
    })
}

/// Checks that an entry has the citation that its kind needs at this level. A person's own write
/// rests on that person.
///
/// # Errors
/// `citation_required`.
pub fn check_required(
    principal: &Principal,
    kind: Kind,
    level: Level,
    citations: &[Citation],
) -> Result<(), Error> {
    let human = principal.kind() == PrincipalKind::Human;
    if kind.needs_citation() && level > Level::Worktree && citations.is_empty() && !human {
        let why = format!("an entry of kind {kind} in a {level} cites its source");
        return Err(Error::new(ErrorCode::CitationRequired, why));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::citation::TestOutcome;
    use crate::principal::{Actor, PrincipalId};

    fn test_citation() -> Citation {
        Citation::Test {
            name: "t".into(),
            outcome: TestOutcome::Pass,
            run: "r".into(),
        }
    }

    proptest! {
        #[test]
        fn without_a_citation_an_entry_stays_a_hypothesis(backed: bool, reuse in 0u64..10) {
            let config = TrustConfig::default();
            prop_assert_eq!(status_of(Status::Hypothesis, &[], backed, reuse, &config), Status::Hypothesis);
        }

        #[test]
        fn a_citation_that_nothing_stands_behind_verifies_nothing(reuse in 0u64..10) {
            let config = TrustConfig::default();
            let status = status_of(Status::Hypothesis, &[test_citation()], false, reuse, &config);
            prop_assert_eq!(status, Status::Hypothesis);
        }

        #[test]
        fn status_never_falls(backed: bool, reuse in 0u64..10) {
            let config = TrustConfig::default();
            for status in [Status::Hypothesis, Status::Verified, Status::Published] {
                prop_assert!(status_of(status, &[test_citation()], backed, reuse, &config) >= status);
            }
        }
    }

    #[test]
    fn three_reuses_publish_what_is_verified() {
        let config = TrustConfig::default();
        assert_eq!(
            status_of(Status::Verified, &[test_citation()], true, 2, &config),
            Status::Verified
        );
        assert_eq!(
            status_of(Status::Verified, &[test_citation()], true, 3, &config),
            Status::Published
        );
    }

    #[test]
    fn a_project_entry_rests_on_something() {
        let principal = |kind| Principal {
            actor: Actor {
                kind,
                id: PrincipalId::parse("p").unwrap(),
            },
            prefix: "org/a".parse().unwrap(),
        };
        let scope = Scope::parse("org/a/project/b").unwrap();
        let orchestrator = principal(PrincipalKind::Orchestrator);
        let error =
            Backing::of_write(&orchestrator, &scope, None, &Facts::default(), "r").unwrap_err();
        assert_eq!(
            (error.code, error.rule()),
            (ErrorCode::Forbidden, Some("entries/project"))
        );
        let human = principal(PrincipalKind::Human);
        let backing = Backing::of_write(&human, &scope, None, &Facts::default(), "r").unwrap();
        assert!(backing.cite(&[])[0].can_verify());
        let error =
            check_required(&orchestrator, Kind::Knowledge, Level::Project, &[]).unwrap_err();
        assert_eq!(error.code, ErrorCode::CitationRequired);
        assert!(check_required(&orchestrator, Kind::Knowledge, Level::Worktree, &[]).is_ok());
        assert!(check_required(&orchestrator, Kind::Episodic, Level::Project, &[]).is_ok());
    }
}
