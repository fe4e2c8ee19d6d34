//! Tests of what gating draws, and of what it takes for the same elsewhere.

use sillok_core::gate::is_refreshed;

use super::*;
use crate::rng::Stream;

#[test]
fn what_is_drawn_can_be_done_and_all_of_it_is_drawn() {
    let mut stream = Stream::new(1, "gating", 0);
    let mut drawn = BTreeSet::new();
    for before in 0..400 {
        let action = Gating.draw(&mut Draw {
            stream: &mut stream,
            agent: 0,
            before,
            nodes: 3,
            projects: 12,
        });
        assert_eq!(Gating.check_action(&action, 3), Ok(()));
        drawn.insert(match action {
            Action::Cite { project } => format!("cite in {project}"),
            Action::Again { .. } => "again".to_owned(),
            Action::Use { .. } => "use".to_owned(),
            Action::Report(told) => {
                format!("{} {} {:?}", told.by_agent, told.is_late, told.found)
            }
        });
    }
    let reports = 4 * (1 + usize::from(FOLDERS));
    let others = usize::from(PROJECTS) + 2;
    assert_eq!(drawn.len(), others + reports);
}

#[test]
fn what_nobody_can_do_is_refused_with_its_field() {
    let refused = |action: &Action| Gating.check_action(action, 3).unwrap_err();
    let cite = Action::Cite { project: PROJECTS };
    assert_eq!(refused(&cite), "project: 2 is not below 2");
    let report = Action::Report(Told {
        place: 0,
        task: TASKS,
        by_agent: true,
        is_late: false,
        found: Found::Stale,
    });
    assert_eq!(refused(&report), "task: 3 is not below 3");
}

#[test]
fn what_moved_says_the_same_and_what_is_cited_anew_does_not() {
    let before = rests_on(1, 1);
    assert!(is_refreshed(&before, &moved(&before, 1)));
    assert_ne!(before, moved(&before, 1));
    for other in [rests_on(1, 2), rests_on(2, 1)] {
        assert!(!is_refreshed(&before, &moved(&other, 1)));
    }
}
