//! Deciding about tokens: making and revoking them.

use super::{Context, Decision};
use crate::command::AnswerBody;
use crate::error::{Error, ErrorCode};
use crate::event::Body;
use crate::id::TokenId;
use crate::principal::{Actor, PrincipalId, PrincipalKind};
use crate::scope::ScopePrefix;
use crate::token::{Token, TokenHash, check_mint};

pub(super) fn mint(
    context: &Context<'_>,
    hash: &TokenHash,
    kind: PrincipalKind,
    id: &PrincipalId,
    lifetime_ms: u64,
) -> Result<Decision, Error> {
    let minter = &context.submission.principal;
    let prefix = ScopePrefix::Scope(context.scope().clone());
    check_mint(minter, kind, &prefix, lifetime_ms)?;
    if lifetime_ms == 0 {
        return Err(Error::new(
            ErrorCode::InvalidArgument,
            "a token's lifetime is over 0",
        ));
    }
    if context.state.token(hash).is_some() {
        return Err(Error::new(
            ErrorCode::InvalidArgument,
            "that secret belongs to another token",
        ));
    }
    let token = Token {
        id: TokenId::of_hash(hash),
        actor: Actor {
            kind,
            id: id.clone(),
        },
        prefix: prefix.clone(),
        expires: context.now.plus_ms(lifetime_ms),
        minted_by: minter.actor.clone(),
        minted_at: context.now,
        revoked_at: None,
    };
    let result = AnswerBody::Token {
        id: token.id,
        prefix,
        expires: token.expires,
    };
    Ok(Decision::of(
        vec![Body::TokenMinted {
            hash: *hash,
            token: Box::new(token),
        }],
        result,
    ))
}

pub(super) fn revoke(context: &Context<'_>, hash: &TokenHash) -> Result<Decision, Error> {
    let here = ScopePrefix::Scope(context.scope().clone());
    let token = context
        .state
        .token(hash)
        .filter(|token| token.prefix == here);
    let token = token.ok_or_else(|| {
        Error::new(
            ErrorCode::NotFound,
            format!("no such token of {}", context.scope()),
        )
    })?;
    if token.revoked_at.is_some() {
        return Ok(Decision::of(Vec::new(), AnswerBody::Done));
    }
    let body = Body::TokenRevoked {
        hash: *hash,
        token: token.id,
    };
    Ok(Decision::of(vec![body], AnswerBody::Done))
}
