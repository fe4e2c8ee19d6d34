//! The way of a question about source files through the server: its turn, its time, and the thread that it keeps from others.
//!
//! Owns that whoever asks has a turn among those who query graphs, and how long it may take. What is known is [`Code`]'s.

use std::sync::Arc;

use sillok_core::error::Error;
use sillok_core::scope::Scope;

use super::App;
use super::graph::{Asker, beside};
use crate::code::{Code, Seen};

/// How long a question may take, in ms. What was found by then is told, with what is missing.
const ASK_MS_MAX: u64 = 1_000;

impl App {
    /// What is answered about the work tree that whoever stands in `scope` is told of. `ask` is told when it is to end: when its
    /// time is over, and when nobody waits for it any more.
    ///
    /// # Errors
    /// `busy` where too many ask or nothing is known yet, `unavailable` where it cannot be known, `not_found` where there is
    /// none, and what `ask` answers.
    pub(super) async fn ask_code<T: Send + 'static>(
        &self,
        scope: Scope,
        ask: impl FnOnce(&Seen<'_>, &dyn Fn() -> bool) -> Result<T, Error> + Send + 'static,
    ) -> Result<T, Error> {
        let asker = Asker::default();
        let ending = self.ending(ASK_MS_MAX, &asker);
        let asked = move |code: &Code, scope: &Scope| {
            code.read(scope, |seen| ask(seen, &|| ending.has_come()))
        };
        self.with_code(scope, asked).await
    }

    /// As [`ask_code`](Self::ask_code), also where nothing is known yet.
    ///
    /// # Errors
    /// `busy`, `not_found`.
    pub(super) async fn look_at_code<T: Send + 'static>(
        &self,
        scope: Scope,
        look: impl FnOnce(&Seen<'_>) -> T + Send + 'static,
    ) -> Result<T, Error> {
        self.with_code(scope, |code, scope| code.look(scope, |seen| Ok(look(seen))))
            .await
    }

    async fn with_code<T: Send + 'static>(
        &self,
        scope: Scope,
        work: impl FnOnce(&Code, &Scope) -> Result<T, Error> + Send + 'static,
    ) -> Result<T, Error> {
        let turn = Arc::new(self.query_turn(&scope)?);
        let app = self.clone();
        beside(&turn, move || work(app.code(), &scope)).await
    }
}
