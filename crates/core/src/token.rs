//! Tokens: what proves a principal, and who may make which.
//!
//! Owns the stored form (a hash, never the secret) and the rules of minting. It must not know how
//! a secret is made or carried.

use serde::{Deserialize, Serialize};

use crate::error::Error;
use crate::id::TokenId;
use crate::limits::{AGENT_TOKEN_LIFETIME_MS_MAX, TOKEN_LIFETIME_MS_MAX};
use crate::principal::{Actor, Principal, PrincipalKind};
use crate::scope::ScopePrefix;
use crate::time::Timestamp;

/// BLAKE3 of a token's secret.
pub type TokenHash = [u8; 32];

/// The hash under which a secret is stored.
#[must_use]
pub fn hash_secret(secret: &str) -> TokenHash {
    blake3::derive_key("sillok 2026 token secret", secret.as_bytes())
}

/// A token as it is stored, under its hash.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Token {
    /// Its public id.
    pub id: TokenId,
    /// Whom it stands for.
    pub actor: Actor,
    /// What it covers.
    pub prefix: ScopePrefix,
    /// When it stops to count.
    pub expires: Timestamp,
    /// Who made it.
    pub minted_by: Actor,
    /// When.
    pub minted_at: Timestamp,
    /// When it was revoked, if it was.
    pub revoked_at: Option<Timestamp>,
}

impl Token {
    /// Whom the token stands for at `now`; none when it has expired or was revoked.
    #[must_use]
    pub fn principal_at(&self, now: Timestamp) -> Option<Principal> {
        let counts = self.revoked_at.is_none() && now < self.expires;
        counts.then(|| Principal {
            actor: self.actor.clone(),
            prefix: self.prefix.clone(),
        })
    }
}

/// Checks that `minter` may make a token of this kind, for this prefix and lifetime.
///
/// A person makes any token inside what their own covers. An orchestrator makes short-lived ones
/// for agents inside what its own covers.
///
/// # Errors
/// `forbidden`, or `too_large` when the lifetime is.
pub fn check_mint(
    minter: &Principal,
    kind: PrincipalKind,
    prefix: &ScopePrefix,
    lifetime_ms: u64,
) -> Result<(), Error> {
    if !minter.prefix.covers_prefix(prefix) {
        return Err(Error::forbidden(
            "token/prefix",
            "a token covers no more than the one it is made with",
        ));
    }
    let lifetime_ms_max = match minter.kind() {
        PrincipalKind::Orchestrator => AGENT_TOKEN_LIFETIME_MS_MAX,
        PrincipalKind::Agent | PrincipalKind::Human | PrincipalKind::System => {
            TOKEN_LIFETIME_MS_MAX
        }
    };
    if minter.kind() == PrincipalKind::Orchestrator && kind != PrincipalKind::Agent {
        return Err(Error::forbidden(
            "token/kind",
            "an orchestrator makes tokens for agents only",
        ));
    }
    if lifetime_ms > lifetime_ms_max {
        return Err(Error::too_large(
            "token lifetime ms",
            lifetime_ms_max,
            lifetime_ms,
        ));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::principal::PrincipalId;

    fn principal(kind: PrincipalKind, prefix: &str) -> Principal {
        Principal {
            actor: Actor {
                kind,
                id: PrincipalId::parse("p").unwrap(),
            },
            prefix: prefix.parse().unwrap(),
        }
    }

    #[test]
    fn no_token_is_wider_than_its_maker() {
        let human = principal(PrincipalKind::Human, "org/a/project/b");
        let inside = "org/a/project/b/worktree/c".parse().unwrap();
        assert!(check_mint(&human, PrincipalKind::Agent, &inside, 1).is_ok());
        for wider in ["org/a", "org/a/project/c", "*"] {
            let error =
                check_mint(&human, PrincipalKind::Agent, &wider.parse().unwrap(), 1).unwrap_err();
            assert_eq!(error.rule(), Some("token/prefix"));
        }
    }

    #[test]
    fn an_orchestrator_makes_short_lived_agents_only() {
        let orchestrator = principal(PrincipalKind::Orchestrator, "org/a");
        let prefix = "org/a".parse().unwrap();
        assert!(
            check_mint(
                &orchestrator,
                PrincipalKind::Agent,
                &prefix,
                AGENT_TOKEN_LIFETIME_MS_MAX
            )
            .is_ok()
        );
        assert!(
            check_mint(
                &orchestrator,
                PrincipalKind::Agent,
                &prefix,
                AGENT_TOKEN_LIFETIME_MS_MAX + 1
            )
            .is_err()
        );
        assert!(check_mint(&orchestrator, PrincipalKind::Human, &prefix, 1).is_err());
    }

    #[test]
    fn an_expired_or_revoked_token_stands_for_nobody() {
        let token = Token {
            id: TokenId::of_hash(&hash_secret("s")),
            actor: Actor::system(),
            prefix: ScopePrefix::All,
            expires: Timestamp::from_ms(10),
            minted_by: Actor::system(),
            minted_at: Timestamp::EPOCH,
            revoked_at: None,
        };
        assert!(token.principal_at(Timestamp::from_ms(9)).is_some());
        assert!(token.principal_at(Timestamp::from_ms(10)).is_none());
        let revoked = Token {
            revoked_at: Some(Timestamp::EPOCH),
            ..token
        };
        assert!(revoked.principal_at(Timestamp::from_ms(9)).is_none());
    }
}
