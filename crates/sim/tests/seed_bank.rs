//! The seed bank: no plan that ever failed may fail again.

use std::path::Path;

use sillok_sim::{Suite, bank, quiet_planted_panics, run};

#[test]
fn no_plan_that_ever_failed_fails_again() {
    quiet_planted_panics();
    let suite = Suite::built_in();
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("seeds");
    for (name, saved) in bank::read(&folder, &suite).unwrap() {
        assert!(saved.why.is_some(), "{name} does not say why it is kept");
        let outcome = run(&saved.plan, &suite);
        assert_eq!(outcome.violation, None, "{name}: {:?}", saved.why);
    }
}
