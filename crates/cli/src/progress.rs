//! Progress of long work: a bar on standard error, only where somebody watches.
//!
//! Owns its looks.

use std::io::IsTerminal;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};

/// A bar of `length` steps; hidden when standard error is no terminal.
#[must_use]
pub fn bar(length: u64, what: &'static str) -> ProgressBar {
    if !std::io::stderr().is_terminal() {
        return ProgressBar::hidden();
    }
    let style = ProgressStyle::with_template("{msg} {bar:30} {human_pos}/{human_len} {eta}")
        .expect("the template is fixed and tested");
    ProgressBar::new(length)
        .with_style(style)
        .with_message(what)
}

/// A sign of life for work whose length is not known; hidden when standard error is no terminal.
#[must_use]
pub fn spinner(what: &'static str) -> ProgressBar {
    if !std::io::stderr().is_terminal() {
        return ProgressBar::hidden();
    }
    let style = ProgressStyle::with_template("{spinner} {msg} {human_pos} {elapsed}")
        .expect("the template is fixed and tested");
    let spinner = ProgressBar::new_spinner()
        .with_style(style)
        .with_message(what);
    spinner.enable_steady_tick(Duration::from_millis(120));
    spinner
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_templates_are_well_formed() {
        for template in [
            "{msg} {bar:30} {human_pos}/{human_len} {eta}",
            "{spinner} {msg} {human_pos} {elapsed}",
        ] {
            assert!(ProgressStyle::with_template(template).is_ok());
        }
        // Without a terminal nothing is drawn.
        assert!(bar(3, "x").is_hidden() || std::io::stderr().is_terminal());
    }
}
