//! Who asks: from a bearer token to a principal.
//!
//! Owns the header's form, and a short memory of tokens that were found in the store. The store has
//! the last word: a remembered token is looked up again after a moment, at once when this server
//! revokes it, and its expiry is checked on every request.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use axum::http::{HeaderMap, header};
use parking_lot::{Mutex, RwLock};
use sillok_core::error::{Error, ErrorCode};
use sillok_core::principal::{Actor, Principal};
use sillok_core::time::Timestamp;
use sillok_core::token::{Token, TokenHash, hash_secret};

use super::App;
use super::rate::Bucket;
use crate::config::ServerConfig;
use crate::secrets;

/// Tokens that are remembered at one time. Forgetting them all costs one read each.
const REMEMBERED_MAX: usize = 65_536;

/// A token that was found good.
#[derive(Debug)]
pub(super) struct Session {
    /// Whom it stands for.
    pub(super) principal: Principal,
    hash: TokenHash,
    expires: Timestamp,
    checked_ms: u64,
    bucket: Arc<Bucket>,
}

/// Tokens that were found good a moment ago, and what each principal has used of its rate.
#[derive(Debug)]
pub(super) struct Sessions {
    known: RwLock<HashMap<TokenHash, Arc<Session>>>,
    /// Raised by each revocation: what was read before one is not remembered after it.
    revocations: AtomicU64,
    buckets: Mutex<BTreeMap<Actor, Arc<Bucket>>>,
    check_ms: u64,
    rate_per_s: u32,
    burst: u32,
}

impl Sessions {
    pub(super) fn new(config: &ServerConfig) -> Self {
        Self {
            known: RwLock::default(),
            revocations: AtomicU64::new(0),
            buckets: Mutex::default(),
            check_ms: config.token_check_ms,
            rate_per_s: config.principal_requests_per_s,
            burst: config.principal_burst,
        }
    }

    /// Forgets a token that was revoked.
    pub(super) fn forget(&self, hash: &TokenHash) {
        self.revocations.fetch_add(1, Ordering::SeqCst);
        self.known.write().remove(hash);
    }

    fn fresh(&self, hash: &TokenHash, now_ms: u64) -> Option<Arc<Session>> {
        let known = self.known.read();
        let session = known.get(hash)?;
        (now_ms.saturating_sub(session.checked_ms) < self.check_ms).then(|| Arc::clone(session))
    }

    fn remember(
        &self,
        hash: TokenHash,
        token: &Token,
        principal: Principal,
        now_ms: u64,
        at: u64,
    ) -> Arc<Session> {
        let bucket = self.bucket(&principal.actor, now_ms);
        let session = Session {
            principal,
            hash,
            expires: token.expires,
            checked_ms: now_ms,
            bucket,
        };
        let session = Arc::new(session);
        let mut known = self.known.write();
        if self.revocations.load(Ordering::SeqCst) == at {
            if known.len() >= REMEMBERED_MAX {
                known.clear();
            }
            known.insert(hash, Arc::clone(&session));
        }
        session
    }

    fn bucket(&self, actor: &Actor, now_ms: u64) -> Arc<Bucket> {
        let mut buckets = self.buckets.lock();
        if let Some(bucket) = buckets.get(actor) {
            return Arc::clone(bucket);
        }
        if buckets.len() >= REMEMBERED_MAX {
            buckets.retain(|_, bucket| !bucket.is_idle(now_ms));
        }
        let bucket = Arc::new(Bucket::new(self.rate_per_s, self.burst));
        buckets.insert(actor.clone(), Arc::clone(&bucket));
        bucket
    }
}

impl App {
    /// Whom a request comes from, counted against its principal's rate.
    pub(super) async fn authenticate(&self, headers: &HeaderMap) -> Result<Arc<Session>, Error> {
        let session = self.session(hash_secret(bearer(headers)?)).await?;
        session
            .bucket
            .take(self.clock().monotonic_ms())
            .map_err(|retry_after_ms| {
                let why = format!(
                    "{} sends more requests than it may",
                    session.principal.actor
                );
                Error::busy(why, retry_after_ms)
            })?;
        Ok(session)
    }

    /// Whether a token that was good still is.
    pub(super) async fn still_counts(&self, session: &Session) -> Result<(), Error> {
        self.session(session.hash).await.map(|_| ())
    }

    async fn session(&self, hash: TokenHash) -> Result<Arc<Session>, Error> {
        let sessions = &self.inner.sessions;
        let (now, now_ms) = (self.clock().now(), self.clock().monotonic_ms());
        if let Some(session) = sessions.fresh(&hash, now_ms) {
            return if now < session.expires {
                Ok(session)
            } else {
                Err(unknown())
            };
        }
        let at = sessions.revocations.load(Ordering::SeqCst);
        let token = self.reader().token(&hash).await?.ok_or_else(unknown)?;
        let principal = token.principal_at(now).ok_or_else(unknown)?;
        Ok(sessions.remember(hash, &token, principal, now_ms, at))
    }
}

fn unknown() -> Error {
    Error::new(
        ErrorCode::Unauthenticated,
        "the token is unknown, expired or revoked",
    )
}

/// The secret that an `Authorization` header carries.
fn bearer(headers: &HeaderMap) -> Result<&str, Error> {
    let missing = |why| Error::new(ErrorCode::Unauthenticated, why);
    let mut values = headers.get_all(header::AUTHORIZATION).iter();
    let value = values
        .next()
        .ok_or_else(|| missing("no token came with the request: Authorization: Bearer slk_..."))?;
    if values.next().is_some() {
        return Err(missing(
            "more than one Authorization header came with the request",
        ));
    }
    let (scheme, secret) = value
        .to_str()
        .ok()
        .and_then(|text| text.split_once(' '))
        .ok_or_else(|| missing("the Authorization header is not 'Bearer' and a token"))?;
    let secret = secret.trim();
    if scheme.eq_ignore_ascii_case("bearer") && secrets::has_form(secret) {
        Ok(secret)
    } else {
        Err(missing(
            "the Authorization header is not 'Bearer' and a token of the form slk_ and 64 hexadecimal digits",
        ))
    }
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderValue;

    use super::*;

    fn headers(values: &[&str]) -> HeaderMap {
        values
            .iter()
            .map(|value| (header::AUTHORIZATION, HeaderValue::from_str(value).unwrap()))
            .collect()
    }

    #[test]
    fn only_one_well_formed_bearer_token_is_taken() {
        let secret = secrets::new_secret();
        assert_eq!(
            bearer(&headers(&[&format!("Bearer {secret}")])).unwrap(),
            secret
        );
        assert_eq!(
            bearer(&headers(&[&format!("bearer  {secret}")])).unwrap(),
            secret
        );
        let twice = format!("Bearer {secret}");
        let basic = format!("Basic {secret}");
        let cases = [
            vec![],
            vec![twice.as_str(), &twice],
            vec![&basic],
            vec![&secret],
            vec!["Bearer slk_12"],
            vec!["Bearer"],
        ];
        for bad in cases {
            assert_eq!(
                bearer(&headers(&bad)).unwrap_err().code,
                ErrorCode::Unauthenticated,
                "{bad:?}"
            );
        }
    }

    #[test]
    fn what_was_read_before_a_revocation_is_not_remembered_after_it() {
        let sessions = Sessions::new(&ServerConfig::default());
        let (hash, token) = ([1; 32], token());
        let principal = token.principal_at(Timestamp::EPOCH).unwrap();
        sessions.remember(hash, &token, principal.clone(), 0, 0);
        assert!(sessions.fresh(&hash, 10).is_some() && sessions.fresh(&hash, 1_000).is_none());
        sessions.forget(&hash);
        sessions.remember(hash, &token, principal, 0, 0);
        assert!(sessions.fresh(&hash, 10).is_none());
    }

    fn token() -> Token {
        Token {
            id: sillok_core::id::TokenId::from_bytes([0; 16]),
            actor: Actor::system(),
            prefix: sillok_core::scope::ScopePrefix::All,
            expires: Timestamp::from_ms(10),
            minted_by: Actor::system(),
            minted_at: Timestamp::EPOCH,
            revoked_at: None,
        }
    }
}
