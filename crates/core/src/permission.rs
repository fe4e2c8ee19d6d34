//! Permissions: the two tables that say who may do what, where.
//!
//! Owns both tables, each once. Every transport and every command is checked against them, and
//! nothing else grants anything.

use crate::decision::Rank;
use crate::error::Error;
use crate::principal::{Principal, PrincipalKind};
use crate::scope::{Level, Scope};

/// One row of the table of entry writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EntryRule {
    /// The level of the scope that is written to.
    pub level: Level,
    /// The rule's name, as a denial gives it.
    pub name: &'static str,
    /// Who may write entries there.
    pub writers: &'static [PrincipalKind],
    /// Whether a write rests on a passed verification, or on a person's own word.
    pub needs_verification: bool,
}

/// Who may write entries. One row for each level, narrowest first.
pub const ENTRY_WRITES: [EntryRule; 4] = [
    EntryRule {
        level: Level::Task,
        name: "entries/task",
        writers: &[PrincipalKind::Agent, PrincipalKind::Orchestrator],
        needs_verification: false,
    },
    EntryRule {
        level: Level::Worktree,
        name: "entries/worktree",
        writers: &[PrincipalKind::Agent, PrincipalKind::Orchestrator],
        needs_verification: false,
    },
    EntryRule {
        level: Level::Project,
        name: "entries/project",
        writers: &[PrincipalKind::Orchestrator, PrincipalKind::Human],
        needs_verification: true,
    },
    EntryRule {
        level: Level::Org,
        name: "entries/org",
        writers: &[PrincipalKind::Human, PrincipalKind::System],
        needs_verification: true,
    },
];

/// A control command, as the second table names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Control {
    /// Open a task.
    OpenTask,
    /// Append to a task's log.
    AppendLog,
    /// Record a verification.
    RecordVerification,
    /// Close a task.
    CloseTask,
    /// Mark a task stuck.
    MarkStuck,
    /// Clear that mark.
    ClearStuck,
    /// Archive, prune, expire.
    Maintain,
    /// Make a short-lived, narrower token for an agent.
    MintAgentToken,
    /// All else about tokens.
    ManageTokens,
    /// Report what an entry was to a task.
    ReportOutcome,
    /// Ask what a decision would mean that nobody has made yet.
    Propose,
    /// Decide a review item, or undo a promotion, in a task or worktree.
    DecideBelowProject,
    /// The same in a project or organisation.
    DecideFromProject,
    /// Destroy content.
    Erase,
    /// Save a normal decision in a task or worktree.
    SaveNormalBelowProject,
    /// The same in a project.
    SaveNormalProject,
    /// The same in an organisation.
    SaveNormalOrg,
    /// Save a decision of rank `lock` in a task, worktree or project.
    SaveLockUpToProject,
    /// The same in an organisation.
    SaveLockOrg,
    /// Save a decision of rank `axis`, or a policy.
    SaveAxis,
    /// Store how an agent went about a task, with its reward.
    StoreTrajectory,
}

/// One row of the table of control commands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ControlRule {
    /// The command.
    pub control: Control,
    /// The rule's name, as a denial gives it.
    pub name: &'static str,
    /// Whether an agent, an orchestrator, a human, the system may, in this order.
    pub allowed: [bool; 4],
}

/// Who may give which control command.
pub const CONTROLS: [ControlRule; 21] = [
    ControlRule {
        control: Control::OpenTask,
        name: "control/open_task",
        allowed: [true, true, true, true],
    },
    ControlRule {
        control: Control::AppendLog,
        name: "control/append_log",
        allowed: [true, true, true, true],
    },
    ControlRule {
        control: Control::RecordVerification,
        name: "control/record_verification",
        allowed: [false, true, true, true],
    },
    ControlRule {
        control: Control::CloseTask,
        name: "control/close_task",
        allowed: [false, true, true, true],
    },
    ControlRule {
        control: Control::MarkStuck,
        name: "control/mark_stuck",
        allowed: [true, true, true, true],
    },
    ControlRule {
        control: Control::ClearStuck,
        name: "control/clear_stuck",
        allowed: [false, true, true, false],
    },
    ControlRule {
        control: Control::Maintain,
        name: "control/maintain",
        allowed: [false, false, false, true],
    },
    ControlRule {
        control: Control::MintAgentToken,
        name: "control/mint_agent_token",
        allowed: [false, true, true, false],
    },
    ControlRule {
        control: Control::ManageTokens,
        name: "control/manage_tokens",
        allowed: [false, false, true, false],
    },
    ControlRule {
        control: Control::ReportOutcome,
        name: "control/report_outcome",
        allowed: [true, true, true, true],
    },
    ControlRule {
        control: Control::Propose,
        name: "control/propose",
        allowed: [true, true, true, true],
    },
    ControlRule {
        control: Control::DecideBelowProject,
        name: "control/decide_below_project",
        allowed: [false, true, true, false],
    },
    ControlRule {
        control: Control::DecideFromProject,
        name: "control/decide_from_project",
        allowed: [false, false, true, false],
    },
    ControlRule {
        control: Control::Erase,
        name: "control/erase",
        allowed: [false, false, true, false],
    },
    ControlRule {
        control: Control::SaveNormalBelowProject,
        name: "control/save_normal_below_project",
        allowed: [true, true, true, false],
    },
    ControlRule {
        control: Control::SaveNormalProject,
        name: "control/save_normal_project",
        allowed: [false, true, true, false],
    },
    ControlRule {
        control: Control::SaveNormalOrg,
        name: "control/save_normal_org",
        allowed: [false, false, true, false],
    },
    ControlRule {
        control: Control::SaveLockUpToProject,
        name: "control/save_lock_up_to_project",
        allowed: [false, true, true, false],
    },
    ControlRule {
        control: Control::SaveLockOrg,
        name: "control/save_lock_org",
        allowed: [false, false, true, false],
    },
    ControlRule {
        control: Control::SaveAxis,
        name: "control/save_axis",
        allowed: [false, false, true, false],
    },
    ControlRule {
        control: Control::StoreTrajectory,
        name: "control/store_trajectory",
        allowed: [false, true, false, false],
    },
];

/// What a command needs leave for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Write an entry in the scope.
    Entries,
    /// Give a control command to the scope.
    Control(Control),
    /// Decide a review item, or undo a promotion: one of two control commands, by the scope's level.
    Decide,
    /// Save a decision of a rank, withdraw or restore one: one of six control commands, by the rank and the scope's level.
    Save(Rank),
    /// Carry out what a recorded verification authorised. Only the server itself asks for this:
    /// no request from outside becomes such a command.
    CarryOut,
}

impl Access {
    /// The name of the rule that decides it for a scope of `level`.
    #[must_use]
    pub fn rule(self, level: Level) -> &'static str {
        match self {
            Self::Entries => entry_rule(level).name,
            Self::Control(control) => control_rule(control).name,
            Self::Decide => control_rule(decides_at(level)).name,
            Self::Save(rank) => control_rule(saves_at(rank, level)).name,
            Self::CarryOut => "carry_out",
        }
    }
}

/// The row of entry writes for a level.
#[must_use]
pub fn entry_rule(level: Level) -> &'static EntryRule {
    ENTRY_WRITES
        .iter()
        .find(|rule| rule.level == level)
        .expect("the table has a row for every level")
}

/// The row of a control command.
#[must_use]
pub fn control_rule(control: Control) -> &'static ControlRule {
    CONTROLS
        .iter()
        .find(|rule| rule.control == control)
        .expect("the table has a row for every command")
}

/// The control command that deciding in a scope of `level` is.
fn decides_at(level: Level) -> Control {
    if level < Level::Project {
        Control::DecideBelowProject
    } else {
        Control::DecideFromProject
    }
}

/// The control command that saving a decision of `rank` in a scope of `level` is.
const fn saves_at(rank: Rank, level: Level) -> Control {
    match (rank, level) {
        (Rank::Normal, Level::Task | Level::Worktree) => Control::SaveNormalBelowProject,
        (Rank::Normal, Level::Project) => Control::SaveNormalProject,
        (Rank::Normal, Level::Org) => Control::SaveNormalOrg,
        (Rank::Lock, Level::Task | Level::Worktree | Level::Project) => {
            Control::SaveLockUpToProject
        }
        (Rank::Lock, Level::Org) => Control::SaveLockOrg,
        (Rank::Axis | Rank::Policy, _) => Control::SaveAxis,
    }
}

fn gives(kind: PrincipalKind, control: Control) -> bool {
    let column = PrincipalKind::ALL.iter().position(|k| *k == kind);
    control_rule(control).allowed[column.expect("every kind has a column")]
}

/// Whether a principal of `kind` has the access in a scope of `level`, wherever its token reaches.
#[must_use]
pub fn allows(kind: PrincipalKind, access: Access, level: Level) -> bool {
    match access {
        Access::Entries => entry_rule(level).writers.contains(&kind),
        Access::Control(control) => gives(kind, control),
        Access::Decide => gives(kind, decides_at(level)),
        Access::Save(rank) => gives(kind, saves_at(rank, level)),
        Access::CarryOut => kind == PrincipalKind::System,
    }
}

/// Checks that the principal's token covers the scope and that its kind has the access there.
///
/// # Errors
/// `forbidden`, naming the rule: `token/scope` when the token does not reach the scope.
pub fn authorize(principal: &Principal, access: Access, scope: &Scope) -> Result<(), Error> {
    if !principal.prefix.covers(scope) {
        return Err(Error::forbidden(
            "token/scope",
            format!(
                "the token of {} covers {}, not {scope}",
                principal.actor, principal.prefix
            ),
        ));
    }
    if !allows(principal.kind(), access, scope.level()) {
        let rule = access.rule(scope.level());
        return Err(Error::forbidden(
            rule,
            format!(
                "{rule} does not allow it to a principal of kind {}",
                principal.kind()
            ),
        ));
    }
    Ok(())
}

/// Checks that the principal may read the logs, tails and audits of a scope.
///
/// # Errors
/// `forbidden` with rule `token/scope`.
pub fn authorize_read(principal: &Principal, scope: &Scope) -> Result<(), Error> {
    if principal.prefix.covers(scope) {
        return Ok(());
    }
    Err(Error::forbidden(
        "token/scope",
        format!("the token of {} does not cover {scope}", principal.actor),
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::principal::{Actor, PrincipalId};

    #[test]
    fn entry_writes_are_those_of_the_specification() {
        let row = |level| PrincipalKind::ALL.map(|kind| allows(kind, Access::Entries, level));
        assert_eq!(row(Level::Task), [true, true, false, false]);
        assert_eq!(row(Level::Worktree), [true, true, false, false]);
        assert_eq!(row(Level::Project), [false, true, true, false]);
        assert_eq!(row(Level::Org), [false, false, true, true]);
        assert_eq!(
            Level::ALL.map(|level| entry_rule(level).needs_verification),
            [false, false, true, true]
        );
    }

    #[test]
    fn who_decides_follows_from_the_level() {
        let row = |level| PrincipalKind::ALL.map(|kind| allows(kind, Access::Decide, level));
        assert_eq!(row(Level::Task), [false, true, true, false]);
        assert_eq!(row(Level::Worktree), [false, true, true, false]);
        assert_eq!(row(Level::Project), [false, false, true, false]);
        assert_eq!(row(Level::Org), [false, false, true, false]);
    }

    #[test]
    fn who_saves_a_decision_follows_from_its_rank_and_the_level() {
        let row =
            |rank, level| PrincipalKind::ALL.map(|kind| allows(kind, Access::Save(rank), level));
        let (all, orchestrators, humans) = (
            [true, true, true, false],
            [false, true, true, false],
            [false, false, true, false],
        );
        for level in [Level::Task, Level::Worktree] {
            assert_eq!(row(Rank::Normal, level), all);
            assert_eq!(row(Rank::Lock, level), orchestrators);
        }
        for rank in [Rank::Normal, Rank::Lock] {
            assert_eq!(row(rank, Level::Project), orchestrators);
            assert_eq!(row(rank, Level::Org), humans);
        }
        for (rank, level) in [Rank::Axis, Rank::Policy]
            .into_iter()
            .flat_map(|rank| Level::ALL.map(|level| (rank, level)))
        {
            assert_eq!(row(rank, level), humans);
        }
    }

    #[test]
    fn whoever_saves_a_stronger_decision_saves_a_weaker_one() {
        for (kind, level) in PrincipalKind::ALL
            .into_iter()
            .flat_map(|kind| Level::ALL.map(|level| (kind, level)))
        {
            let may = Rank::ALL.map(|rank| allows(kind, Access::Save(rank), level));
            assert!(may.is_sorted(), "{kind} in a {level}: {may:?}");
        }
    }

    #[test]
    fn an_orchestrator_alone_stores_trajectories() {
        let store = Access::Control(Control::StoreTrajectory);
        let row = |level| PrincipalKind::ALL.map(|kind| allows(kind, store, level));
        for level in Level::ALL {
            assert_eq!(row(level), [false, true, false, false]);
        }
    }

    #[test]
    fn every_control_has_exactly_one_row() {
        for rule in CONTROLS {
            assert_eq!(
                CONTROLS
                    .iter()
                    .filter(|other| other.control == rule.control)
                    .count(),
                1
            );
            assert_eq!(
                CONTROLS
                    .iter()
                    .filter(|other| other.name == rule.name)
                    .count(),
                1
            );
        }
    }

    #[test]
    fn a_token_reaches_no_further_than_its_prefix() {
        let principal = Principal {
            actor: Actor {
                kind: PrincipalKind::Human,
                id: PrincipalId::parse("kim").unwrap(),
            },
            prefix: "org/a/project/b".parse().unwrap(),
        };
        let other = Scope::parse("org/a/project/c").unwrap();
        let error = authorize(&principal, Access::Entries, &other).unwrap_err();
        assert_eq!(error.rule(), Some("token/scope"));
        assert!(authorize_read(&principal, &other).is_err());
        assert!(
            authorize(
                &principal,
                Access::Entries,
                &Scope::parse("org/a/project/b").unwrap()
            )
            .is_ok()
        );
    }
}
