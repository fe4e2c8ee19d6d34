//! Progress of long work: a bar on standard error, only where somebody watches.
//!
//! Owns its looks.

use std::io::IsTerminal;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// How often a sign of life moves.
const TICK: Duration = Duration::from_millis(120);

/// A bar of `length` steps; hidden when standard error is no terminal.
#[must_use]
pub fn bar(length: u64, what: &'static str) -> ProgressBar {
    if !std::io::stderr().is_terminal() {
        return ProgressBar::hidden();
    }
    ProgressBar::new(length)
        .with_style(style_of_bar())
        .with_message(what)
}

/// A bar over bytes that are read; hidden when standard error is no terminal.
#[must_use]
pub fn bytes(length: u64, what: &'static str) -> ProgressBar {
    if !std::io::stderr().is_terminal() {
        return ProgressBar::hidden();
    }
    let style = ProgressStyle::with_template("{msg} {bar:30} {bytes}/{total_bytes} {eta}")
        .expect("the template is fixed and tested");
    ProgressBar::new(length)
        .with_style(style)
        .with_message(what)
}

fn style_of_bar() -> ProgressStyle {
    ProgressStyle::with_template("{msg} {bar:30} {human_pos}/{human_len} {eta}")
        .expect("the template is fixed and tested")
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
    spinner.enable_steady_tick(TICK);
    spinner
}

/// A sign of life for work that says nothing of how far it is; hidden when standard error is no
/// terminal.
#[must_use]
pub fn waiting(what: &'static str) -> ProgressBar {
    if !std::io::stderr().is_terminal() {
        return ProgressBar::hidden();
    }
    waiting_at(what, ProgressDrawTarget::stderr())
}

fn waiting_at(what: &'static str, target: ProgressDrawTarget) -> ProgressBar {
    let style = ProgressStyle::with_template("{spinner} {msg} {elapsed}")
        .expect("the template is fixed and tested");
    ProgressBar::with_draw_target(None, target)
        .with_style(style)
        .with_message(what)
}

/// Shows a sign of life while work goes on, and takes it away however the work ends.
pub async fn during<T>(shown: ProgressBar, work: impl Future<Output = T>) -> T {
    shown.enable_steady_tick(TICK);
    let done = work.await;
    shown.finish_and_clear();
    done
}

/// How far work is that somebody else does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Counted {
    /// What is counted.
    pub what: &'static str,
    /// How many are done.
    pub position: u64,
    /// Of how many.
    pub length: u64,
}

/// Shows a bar while somebody else works, who is asked every so often how far that is, and takes it away however the
/// work ends. Nobody is asked where nobody watches.
pub async fn counted<T, L: Future<Output = Option<Counted>>>(
    every: Duration,
    look: impl FnMut() -> L,
    work: impl Future<Output = T>,
) -> T {
    if !std::io::stderr().is_terminal() {
        return work.await;
    }
    let shown = waiting("the server begins");
    shown.enable_steady_tick(TICK);
    counted_on(&shown, every, look, work).await
}

async fn counted_on<T, L: Future<Output = Option<Counted>>>(
    shown: &ProgressBar,
    every: Duration,
    mut look: impl FnMut() -> L,
    work: impl Future<Output = T>,
) -> T {
    let watching = async {
        loop {
            tokio::time::sleep(every).await;
            if let Some(counted) = look().await {
                shown.set_style(style_of_bar());
                shown.set_message(counted.what);
                shown.set_length(counted.length.max(counted.position));
                shown.set_position(counted.position);
            }
        }
    };
    let done = tokio::select! {
        done = work => done,
        () = watching => unreachable!("it watches for as long as the work goes on"),
    };
    shown.finish_and_clear();
    done
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use indicatif::TermLike;

    use super::*;

    /// A terminal that remembers its line and whether anything ever stood there.
    #[derive(Clone, Debug, Default)]
    struct Terminal(Arc<Mutex<(String, bool)>>);

    impl TermLike for Terminal {
        fn width(&self) -> u16 {
            80
        }
        fn move_cursor_up(&self, _: usize) -> std::io::Result<()> {
            Ok(())
        }
        fn move_cursor_down(&self, _: usize) -> std::io::Result<()> {
            Ok(())
        }
        fn move_cursor_right(&self, _: usize) -> std::io::Result<()> {
            Ok(())
        }
        fn move_cursor_left(&self, _: usize) -> std::io::Result<()> {
            Ok(())
        }
        fn write_line(&self, text: &str) -> std::io::Result<()> {
            self.write_str(text)
        }
        fn write_str(&self, text: &str) -> std::io::Result<()> {
            let mut screen = self.0.lock().unwrap();
            screen.0.push_str(text);
            screen.1 |= text.contains("looking");
            Ok(())
        }
        fn clear_line(&self) -> std::io::Result<()> {
            self.0.lock().unwrap().0.clear();
            Ok(())
        }
        fn flush(&self) -> std::io::Result<()> {
            Ok(())
        }
    }

    #[tokio::test]
    async fn who_waits_sees_a_sign_of_life_until_the_work_ends() {
        let terminal = Terminal::default();
        let target = ProgressDrawTarget::term_like(Box::new(terminal.clone()));
        let work = async {
            while !terminal.0.lock().unwrap().1 {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
            Err::<(), _>("refused")
        };
        let done = during(waiting_at("looking", target), work);
        let done = tokio::time::timeout(Duration::from_secs(20), done).await;
        assert_eq!(done.expect("it is shown"), Err("refused"));
        let (line, _) = terminal.0.lock().unwrap().clone();
        assert!(!line.contains("looking"), "{line:?}");
    }

    #[tokio::test]
    async fn who_waits_sees_how_far_others_are_until_they_are_done() {
        let terminal = Terminal::default();
        let target = ProgressDrawTarget::term_like(Box::new(terminal.clone()));
        let shown = waiting_at("begins", target);
        let look = || {
            let counted = Counted {
                what: "looking",
                position: 3,
                length: 7,
            };
            core::future::ready(Some(counted))
        };
        let work = async {
            while !terminal.0.lock().unwrap().0.contains("3/7") {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
            "done"
        };
        let done = counted_on(&shown, Duration::from_millis(1), look, work);
        let done = tokio::time::timeout(Duration::from_secs(20), done).await;
        assert_eq!(done.expect("it is shown"), "done");
        assert!(shown.is_finished() && shown.length() == Some(7));
        assert!(!terminal.0.lock().unwrap().0.contains("looking"));
    }

    #[test]
    fn the_templates_are_well_formed() {
        for template in [
            "{msg} {bar:30} {human_pos}/{human_len} {eta}",
            "{msg} {bar:30} {bytes}/{total_bytes} {eta}",
            "{spinner} {msg} {human_pos} {elapsed}",
            "{spinner} {msg} {elapsed}",
        ] {
            assert!(ProgressStyle::with_template(template).is_ok());
        }
        // Without a terminal nothing is drawn.
        for shown in [bar(3, "x"), bytes(3, "x")] {
            assert!(shown.is_hidden() || std::io::stderr().is_terminal());
        }
    }
}
