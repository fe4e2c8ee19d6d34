//! The two tables of the specification, section 2, copied by hand, and the rules beside them.

use sillok_core::permission::{CONTROLS, ENTRY_WRITES};
use sillok_core::principal::PrincipalKind;
use sillok_core::scope::Level;

const YES: bool = true;
const NO: bool = false;

/// Who may write entries: agent, orchestrator, human, system; and whether a write needs a passed
/// verification.
pub(super) const ENTRIES: [(Level, &str, [bool; 4], bool); 4] = [
    (Level::Task, "entries/task", [YES, YES, NO, NO], NO),
    (Level::Worktree, "entries/worktree", [YES, YES, NO, NO], NO),
    (Level::Project, "entries/project", [NO, YES, YES, NO], YES),
    (Level::Org, "entries/org", [NO, NO, YES, YES], YES),
];

/// Who may give which control command: agent, orchestrator, human, system.
pub(super) const CONTROL: [(&str, [bool; 4]); 21] = [
    ("control/open_task", [YES, YES, YES, YES]),
    ("control/append_log", [YES, YES, YES, YES]),
    ("control/record_verification", [NO, YES, YES, YES]),
    ("control/close_task", [NO, YES, YES, YES]),
    ("control/mark_stuck", [YES, YES, YES, YES]),
    ("control/clear_stuck", [NO, YES, YES, NO]),
    ("control/maintain", [NO, NO, NO, YES]),
    ("control/mint_agent_token", [NO, YES, YES, NO]),
    ("control/manage_tokens", [NO, NO, YES, NO]),
    ("control/report_outcome", [YES, YES, YES, YES]),
    ("control/propose", [YES, YES, YES, YES]),
    ("control/decide_below_project", [NO, YES, YES, NO]),
    ("control/decide_from_project", [NO, NO, YES, NO]),
    ("control/erase", [NO, NO, YES, NO]),
    ("control/save_normal_below_project", [YES, YES, YES, NO]),
    ("control/save_normal_project", [NO, YES, YES, NO]),
    ("control/save_normal_org", [NO, NO, YES, NO]),
    ("control/save_lock_up_to_project", [NO, YES, YES, NO]),
    ("control/save_lock_org", [NO, NO, YES, NO]),
    ("control/save_axis", [NO, NO, YES, NO]),
    ("control/store_trajectory", [NO, YES, NO, NO]),
];

/// Whether a control rule is about scopes of a level.
pub(super) fn decides_at(rule: &str, level: Level) -> bool {
    match rule {
        "control/decide_below_project" => level < Level::Project,
        "control/decide_from_project" => level >= Level::Project,
        _ if rule.starts_with("control/save_") => {
            let ranks = ["normal", "lock", "axis"];
            ranks.iter().any(|rank| saves(rank, level) == rule)
        }
        _ => true,
    }
}

/// The rule of saving a decision of a rank in a scope of a level.
pub(super) fn saves(rank: &str, level: Level) -> &'static str {
    match (rank, level) {
        ("normal", Level::Task | Level::Worktree) => "control/save_normal_below_project",
        ("normal", Level::Project) => "control/save_normal_project",
        ("normal", Level::Org) => "control/save_normal_org",
        ("lock", Level::Org) => "control/save_lock_org",
        ("lock", _) => "control/save_lock_up_to_project",
        ("axis" | "policy", _) => "control/save_axis",
        _ => panic!("{rank} is no rank"),
    }
}

/// The rank of the decisions that a rule is about, if it is about decisions.
pub(super) fn rank_of(rule: &str) -> Option<&'static str> {
    let ranks = ["normal", "lock", "axis"];
    let rank_of = rule.strip_prefix("control/save_")?;
    ranks.into_iter().find(|rank| rank_of.starts_with(rank))
}

/// The rule that decides a request on entries of a level, and whether a kind passes it.
pub(super) fn entries(level: Level, kind: PrincipalKind) -> (&'static str, bool) {
    let (_, rule, allowed, _) = ENTRIES
        .iter()
        .find(|row| row.0 == level)
        .expect("a row a level");
    (rule, allowed[column(kind)])
}

/// Whether a kind passes a control rule.
pub(super) fn control(rule: &str, kind: PrincipalKind) -> bool {
    let row = CONTROL.iter().find(|row| row.0 == rule);
    row.unwrap_or_else(|| panic!("{rule} is a rule without a row in this test"))
        .1[column(kind)]
}

fn column(kind: PrincipalKind) -> usize {
    match kind {
        PrincipalKind::Agent => 0,
        PrincipalKind::Orchestrator => 1,
        PrincipalKind::Human => 2,
        PrincipalKind::System => 3,
    }
}

#[test]
fn the_permission_tables_of_the_rules_are_those_of_the_specification() {
    assert_eq!(ENTRY_WRITES.len(), ENTRIES.len());
    for (level, name, allowed, needs_verification) in ENTRIES {
        let rule = ENTRY_WRITES
            .iter()
            .find(|rule| rule.level == level)
            .expect("a row a level");
        assert_eq!(
            (rule.name, rule.needs_verification),
            (name, needs_verification)
        );
        let found = PrincipalKind::ALL.map(|kind| rule.writers.contains(&kind));
        assert_eq!(found, allowed, "{name}");
    }
    assert_eq!(CONTROLS.len(), CONTROL.len());
    for (name, allowed) in CONTROL {
        let rule = CONTROLS.iter().find(|rule| rule.name == name);
        assert_eq!(rule.map(|rule| rule.allowed), Some(allowed), "{name}");
    }
}
