//! Patience with a server that refuses for now.
//!
//! Owns how often the same call is made again. It must not know what the call is for.

use std::time::Duration;

use crate::failure::{EXIT_RETRY, Failure};

/// Refusals that pass, and after which the same call is still made again. The client has tried for some seconds by each.
const REFUSALS_MAX: u32 = 5;
/// How long is waited after the first of them; doubled for each further one.
const PAUSE: Duration = Duration::from_secs(2);

/// What `call` says once it is not refused for now. A server that is not there can be told nothing either, and is waited for.
pub(super) async fn patiently<T, F>(call: impl FnMut() -> F) -> Result<T, Failure>
where
    F: Future<Output = Result<T, Failure>>,
{
    with_pauses(PAUSE, call).await
}

async fn with_pauses<T, F>(pause: Duration, mut call: impl FnMut() -> F) -> Result<T, Failure>
where
    F: Future<Output = Result<T, Failure>>,
{
    let mut refusals = 0;
    loop {
        match call().await {
            Err(failure) if failure.exit_status() == EXIT_RETRY => {
                refusals += u32::from(failure.code().is_some());
                if refusals == REFUSALS_MAX {
                    return Err(failure);
                }
            }
            done => return done,
        }
        tokio::time::sleep(pause * (1 << refusals.saturating_sub(1))).await;
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use sillok_core::error::{Error, ErrorCode};

    use super::*;

    fn refused(code: ErrorCode) -> Failure {
        Failure::Core(Error::new(code, "no"))
    }

    async fn calls_until(mut answers: impl FnMut(u32) -> Result<(), Failure>) -> (u32, bool) {
        let calls = Cell::new(0);
        let done = with_pauses(Duration::ZERO, || {
            calls.set(calls.get() + 1);
            core::future::ready(answers(calls.get()))
        });
        let done = done.await.is_ok();
        (calls.get(), done)
    }

    #[tokio::test]
    async fn a_refusal_that_passes_is_outwaited_for_a_while_and_another_ends_it() {
        for code in ErrorCode::ALL {
            let (calls, done) = calls_until(|_| Err(refused(*code))).await;
            let expected = if code.is_passing() { REFUSALS_MAX } else { 1 };
            assert_eq!((calls, done), (expected, false), "{code}");
        }
        let soon = calls_until(|call| {
            if call < 3 {
                Err(refused(ErrorCode::Busy))
            } else {
                Ok(())
            }
        });
        assert_eq!(soon.await, (3, true));
    }

    #[tokio::test]
    async fn a_server_that_is_away_is_waited_for() {
        let away = |call: u32| {
            let data = "d".into();
            if call < 4 * REFUSALS_MAX {
                Err(Failure::NoServer { data })
            } else {
                Ok(())
            }
        };
        assert_eq!(calls_until(away).await, (4 * REFUSALS_MAX, true));
    }
}
