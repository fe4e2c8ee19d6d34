//! Panics: each one that no fault planted is a violation, whoever catches it.
//!
//! Owns the panic hook of the process, and what it saw of the world that runs on each thread. A node
//! goes on after a panic, and tokio keeps those of its tasks to itself, so that only the hook sees
//! them all. It must not know what a world does.

use std::cell::RefCell;
use std::marker::PhantomData;
use std::panic::{PanicHookInfo, set_hook, take_hook};
use std::sync::Once;

use crate::ports::PLANTED_PANIC;
use crate::violation::Violation;

/// The invariant's name.
const INVARIANT: &str = "nothing panics";

thread_local! {
    /// What the world of this thread saw; none while no world runs here.
    static SEEN: RefCell<Option<Seen>> = const { RefCell::new(None) };
}

#[derive(Default)]
struct Seen {
    count: u64,
    first: Option<String>,
}

/// As long as this lives, panics of its thread are counted. A world stays on one thread.
pub(crate) struct Watch(PhantomData<*const ()>);

impl Watch {
    /// Begins to count.
    pub(crate) fn begin() -> Self {
        install();
        SEEN.replace(Some(Seen::default()));
        Self(PhantomData)
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        SEEN.replace(None);
    }
}

/// What panicked on this thread since its watch began, with its place and how many more did.
pub(crate) fn violation() -> Option<Violation> {
    SEEN.with_borrow(|seen| {
        let seen = seen.as_ref()?;
        let first = seen.first.as_ref()?;
        Some(Violation::new(
            INVARIANT,
            match seen.count {
                1 => first.clone(),
                count => format!("{first}; {} more", count - 1),
            },
        ))
    })
}

/// What ended a world, when something did: also what no hook hears of, and a planted panic that nobody
/// caught.
pub(crate) fn caught() -> Violation {
    let unheard = || Violation::new(INVARIANT, "a panic ended the world");
    violation().unwrap_or_else(unheard)
}

/// Sets the hook, once for the process.
pub(crate) fn install() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let before = take_hook();
        set_hook(Box::new(move |info| {
            if info.payload_as_str() != Some(PLANTED_PANIC) {
                note(info);
                before(info);
            }
        }));
    });
}

fn note(info: &PanicHookInfo<'_>) {
    // A thread that ends has no world any more.
    let _ = SEEN.try_with(|seen| {
        let Ok(mut seen) = seen.try_borrow_mut() else {
            return;
        };
        let Some(seen) = seen.as_mut() else {
            return;
        };
        seen.count += 1;
        if seen.first.is_none() {
            let message = info.payload_as_str().unwrap_or("a panic without a message");
            seen.first = Some(match info.location() {
                Some(at) => format!("{message:?} at {}:{}", at.file(), at.line()),
                None => format!("{message:?}"),
            });
        }
    });
}

#[cfg(test)]
mod tests {
    use std::panic::catch_unwind;

    use super::*;

    #[test]
    #[expect(clippy::disallowed_methods, reason = "two threads are what is tested")]
    fn a_panic_counts_on_its_own_thread_and_a_planted_one_nowhere() {
        let watch = Watch::begin();
        assert!(catch_unwind(|| panic!("{PLANTED_PANIC}")).is_err());
        let elsewhere = std::thread::scope(|scope| {
            let other = scope.spawn(|| {
                let _watch = Watch::begin();
                assert!(catch_unwind(|| panic!("elsewhere")).is_err());
                violation()
            });
            other.join().unwrap()
        });
        assert!(elsewhere.unwrap().what.starts_with("\"elsewhere\" at "));
        assert_eq!(violation(), None);
        assert!(catch_unwind(|| panic!("here")).is_err());
        assert!(catch_unwind(|| panic!("and again")).is_err());
        let what = violation().unwrap().what;
        assert!(what.starts_with("\"here\" at "), "{what}");
        assert!(
            what.contains("panics.rs:") && what.ends_with("; 1 more"),
            "{what}"
        );
        drop(watch);
        assert_eq!(violation(), None);
    }
}
