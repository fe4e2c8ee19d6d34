//! Tokens on the wire.

use serde::{Deserialize, Serialize};
use sillok_core::error::Error;
use sillok_core::id::{CommandId, Seq, TokenId};
use sillok_core::principal::{PrincipalId, PrincipalKind};
use sillok_core::scope::{Scope, ScopePrefix};
use sillok_core::time::Timestamp;
use sillok_core::token::Token;
use utoipa::ToSchema;

use super::{Actor, schema};

/// Makes a token.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct MintToken {
    /// The scope that it covers, with all that lies inside it.
    #[schema(value_type = schema::Scope)]
    pub scope: String,
    /// The kind of principal that it stands for.
    #[schema(value_type = schema::PrincipalKind)]
    pub kind: PrincipalKind,
    /// The principal's id.
    #[schema(value_type = schema::PrincipalId)]
    pub id: String,
    /// How long it counts, in seconds.
    #[schema(minimum = 1, maximum = 315_619_200)]
    pub lifetime_s: u64,
}

impl MintToken {
    /// The scope, the kind, the principal's id and the lifetime in milliseconds.
    ///
    /// # Errors
    /// `invalid_scope` or `invalid_id`.
    pub fn into_parts(self) -> Result<(Scope, PrincipalKind, PrincipalId, u64), Error> {
        let lifetime_ms = self.lifetime_s.saturating_mul(1_000);
        Ok((
            Scope::parse(&self.scope)?,
            self.kind,
            PrincipalId::parse(&self.id)?,
            lifetime_ms,
        ))
    }
}

/// Revokes a token.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct RevokeToken {
    /// The token's public id.
    #[schema(value_type = schema::TokenId)]
    pub id: String,
}

/// A token was made.
#[derive(Clone, Serialize, Deserialize, ToSchema)]
pub struct TokenMinted {
    /// The secret: what `Authorization: Bearer` carries. It is shown in no other answer.
    pub token: String,
    /// The public id.
    #[schema(value_type = schema::TokenId)]
    pub id: TokenId,
    /// What it covers.
    #[schema(value_type = schema::ScopePrefix)]
    pub scope: ScopePrefix,
    /// When it stops to count.
    #[schema(value_type = schema::Timestamp)]
    pub expires: Timestamp,
    /// The scope's last position.
    #[schema(value_type = schema::Seq)]
    pub seq: Seq,
    /// When it was made.
    #[schema(value_type = schema::Timestamp)]
    pub time: Timestamp,
    /// The command that did it.
    #[schema(value_type = schema::CommandId)]
    pub command_id: CommandId,
}

impl std::fmt::Debug for TokenMinted {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // The secret stays out of logs.
        f.debug_struct("TokenMinted")
            .field("id", &self.id)
            .field("scope", &self.scope)
            .finish_non_exhaustive()
    }
}

/// A token was revoked.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct TokenRevoked {
    /// The public id.
    #[schema(value_type = schema::TokenId)]
    pub id: TokenId,
    /// The scope's last position.
    #[schema(value_type = schema::Seq)]
    pub seq: Seq,
    /// When it was done.
    #[schema(value_type = schema::Timestamp)]
    pub time: Timestamp,
    /// The command that did it.
    #[schema(value_type = schema::CommandId)]
    pub command_id: CommandId,
}

/// A token, without its secret.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct TokenView {
    /// The public id.
    #[schema(value_type = schema::TokenId)]
    pub id: TokenId,
    /// Whom it stands for.
    pub actor: Actor,
    /// What it covers.
    #[schema(value_type = schema::ScopePrefix)]
    pub scope: ScopePrefix,
    /// When it stops to count.
    #[schema(value_type = schema::Timestamp)]
    pub expires: Timestamp,
    /// Who made it.
    pub minted_by: Actor,
    /// When.
    #[schema(value_type = schema::Timestamp)]
    pub minted_at: Timestamp,
    /// When it was revoked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<schema::Timestamp>)]
    pub revoked_at: Option<Timestamp>,
}

impl From<Token> for TokenView {
    fn from(token: Token) -> Self {
        Self {
            id: token.id,
            actor: token.actor.into(),
            scope: token.prefix,
            expires: token.expires,
            minted_by: token.minted_by.into(),
            minted_at: token.minted_at,
            revoked_at: token.revoked_at,
        }
    }
}
