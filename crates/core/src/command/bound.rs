//! Commands without what a work tree was at.
//!
//! Owns where a command says it, and the form of it that says no more than the commit: that is what older nodes read, and what
//! tells a retry from another command. Whoever gives a command again may have gone on working meanwhile.

use super::{Command, Replacement};
use crate::entry::Binding;
use crate::verification::NewFailure;

impl Command {
    /// The same command without what a work tree was at, where it says that.
    #[must_use]
    pub fn unbound(&self) -> Option<Self> {
        if let Self::AppendBound { records } = self {
            let records = records.iter().map(|one| one.record.clone()).collect();
            return Some(Self::Append { records });
        }
        if !self
            .bindings()
            .any(|binding| matches!(binding, Binding::Bound(_)))
        {
            return None;
        }
        let mut plain = self.clone();
        plain.each_binding(&mut |binding| *binding = binding.plain());
        Some(plain)
    }

    /// All bindings that the command says.
    fn bindings(&self) -> impl Iterator<Item = &Binding> {
        let judged = match self {
            Self::RecordVerification(said) => Some(&said.binding),
            Self::RecordFailure(failure) => Some(&failure.said.binding),
            Self::Publish(publish) => Some(&publish.verification.said.binding),
            _ => None,
        };
        let products = match self {
            Self::Publish(publish) => publish.products.as_slice(),
            Self::Offer(offer) => core::slice::from_ref(&offer.product),
            Self::PutEntry { entry, .. } => core::slice::from_ref(&**entry),
            Self::Supersede(supersede) => match &supersede.new {
                Replacement::New(entry) => core::slice::from_ref(&**entry),
                Replacement::Existing(_) => &[],
            },
            _ => &[],
        };
        judged
            .into_iter()
            .chain(products.iter().map(|product| &product.binding))
    }

    fn each_binding(&mut self, change: &mut impl FnMut(&mut Binding)) {
        match self {
            Self::RecordVerification(said) => change(&mut said.binding),
            Self::RecordFailure(failure) => change(&mut failure.said.binding),
            Self::Publish(publish) => {
                change(&mut publish.verification.said.binding);
                for product in &mut publish.products {
                    change(&mut product.binding);
                }
            }
            Self::Offer(offer) => change(&mut offer.product.binding),
            Self::PutEntry { entry, .. } => change(&mut entry.binding),
            Self::Supersede(supersede) => {
                if let Replacement::New(entry) = &mut supersede.new {
                    change(&mut entry.binding);
                }
            }
            _ => {}
        }
    }
}

impl NewFailure {
    /// The command that records the verification alone.
    pub(super) fn as_verification(&self) -> Command {
        Command::RecordVerification(Box::new(self.said.clone()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bound::{Bound, Place, TreeState};
    use crate::entry::{Detail, Metadata, Table};
    use crate::membership::WireVersion;
    use crate::promotion::NewEntry;
    use crate::staging::{LogLevel, NewBoundRecord, NewRecord, RecordKind};
    use crate::verification::{NewVerification, Outcome, VerificationSource};

    fn bound(commit: &str) -> Bound {
        Bound {
            place: Some(Place {
                repository: "host/a".into(),
                project: String::new(),
                commit: Some(commit.into()),
                branch: None,
                state: TreeState::Clean,
                is_shallow: false,
            }),
            ..Bound::default()
        }
    }

    fn append(bound: Option<Bound>) -> Command {
        let record = NewRecord {
            kind: RecordKind::Log {
                level: LogLevel::Info,
            },
            content: "c".into(),
            metadata: Metadata::default(),
            time: None,
        };
        let records = vec![NewBoundRecord { record, bound }];
        Command::AppendBound { records }
    }

    fn put(binding: Binding) -> Command {
        Command::PutEntry {
            entry: Box::new(NewEntry {
                table: Table::Observations,
                content: "c".into(),
                detail: Detail::Plain,
                metadata: Metadata::default(),
                claim: None,
                citations: Vec::new(),
                failure: false,
                binding,
                embedding: None,
            }),
            verification: None,
        }
    }

    fn failure(binding: Binding) -> Command {
        Command::RecordFailure(Box::new(NewFailure {
            said: NewVerification {
                outcome: Outcome::Failed,
                source: VerificationSource::TestsFailed,
                run: "r".into(),
                citations: Vec::new(),
                binding,
                error: None,
                approach: None,
                target: None,
            },
            files: Vec::new(),
            symbols: Vec::new(),
        }))
    }

    fn verification(binding: Binding) -> Command {
        let Command::RecordFailure(failure) = failure(binding) else {
            panic!("it is one")
        };
        failure.as_verification()
    }

    #[test]
    fn a_retry_from_a_work_tree_that_went_on_is_no_other_command() {
        let digest = |bound| append(bound).digest();
        assert_eq!(
            digest(Some(bound("0123456"))),
            digest(Some(bound("abcdef0")))
        );
        assert_eq!(digest(Some(bound("0123456"))), digest(None));
        let plain = append(None).unbound().unwrap();
        assert_eq!(plain.digest(), digest(None), "older nodes record this one");
        let full = |commit: &str| Binding::Bound(Box::new(bound(commit)));
        for command in [put, failure, verification] {
            let one = command(full("0123456"));
            assert_ne!(one.digest(), command(full("abcdef0")).digest());
            assert_eq!(one.digest(), one.unbound().unwrap().digest());
        }
    }

    #[test]
    fn older_nodes_are_given_the_form_that_they_read() {
        let older = WireVersion::WITH_FAILURES;
        let all = [put, failure, verification].map(|command| {
            let full = command(Binding::Bound(Box::new(bound("0123456"))));
            let plain = command(Binding::Commit {
                hash: "0123456".into(),
                repository: "host/a".into(),
            });
            assert!(plain.unbound().is_none() && full.unbound().is_some());
            (full, plain)
        });
        for (full, plain) in all.into_iter().chain([(
            append(Some(bound("0123456"))),
            append(None).unbound().unwrap(),
        )]) {
            assert_eq!(full.read_by(older), Some(plain.clone()));
            assert_eq!(full.read_by(WireVersion::WITH_BINDINGS), None);
            assert_eq!(full.since(), plain.since(), "{}", full.name());
        }
        let both = failure(Binding::Bound(Box::default())).read_by(WireVersion::WITH_EVIDENCE);
        assert_eq!(both, Some(verification(Binding::NoRepository)));
    }
}
