//! Routes of tokens.

use axum::Json;
use axum::extract::State;
use sillok_core::command::{AnswerBody, Command};
use sillok_core::error::Error;
use sillok_core::id::TokenId;
use sillok_core::permission::{Access, Control, allows};
use sillok_core::principal::Principal;
use sillok_core::scope::{Level, Scope, ScopePrefix};
use sillok_core::token::{Token, TokenHash, hash_secret};

use super::{authorize_under, not_found};
use crate::api::{MintToken, Page, RevokeToken, TokenMinted, TokenRevoked, TokenView, UnderQuery};
use crate::http::command::Reply;
use crate::http::extract::{Read, Write};
use crate::http::{App, Refusal};

/// Make a token. An orchestrator makes short-lived ones for agents; all else is a person's.
#[utoipa::path(post, path = "/v1/tokens", tag = "tokens", operation_id = "mint_token", request_body = MintToken,
    responses((status = 200, description = "The token, with its secret.", body = TokenMinted)),
    extensions(("x-sillok-access" = json!(["control/mint_agent_token", "control/manage_tokens"]))))]
pub(super) async fn mint(State(app): State<App>, write: Write<MintToken>) -> Reply<TokenMinted> {
    let (scope, kind, id, lifetime_ms) = write.body.into_parts().map_err(Refusal::of(write.id))?;
    // A retry derives the same secret, though only its hash is stored.
    let secret = app
        .inner
        .key
        .secret(&scope, &write.session.principal.actor, write.id);
    let command = Command::MintToken {
        hash: hash_secret(&secret),
        kind,
        id,
        lifetime_ms,
    };
    let receipt = app
        .carry_out(&write.session, write.id, (scope, command))
        .await?;
    let AnswerBody::Token {
        id,
        prefix,
        expires,
    } = receipt.result
    else {
        return receipt.unfit();
    };
    Ok(Json(TokenMinted {
        token: secret,
        id,
        scope: prefix,
        expires,
        seq: receipt.seq,
        time: receipt.time,
        command_id: receipt.command_id,
    }))
}

/// Revoke a token.
#[utoipa::path(post, path = "/v1/tokens/revoke", tag = "tokens", operation_id = "revoke_token",
    request_body = RevokeToken,
    responses((status = 200, description = "The token counts no more.", body = TokenRevoked)),
    extensions(("x-sillok-access" = json!(["control/manage_tokens"]))))]
pub(super) async fn revoke(
    State(app): State<App>,
    write: Write<RevokeToken>,
) -> Reply<TokenRevoked> {
    let refused = |error| Refusal::of(write.id)(error);
    let id: TokenId = write.body.id.parse().map_err(refused)?;
    let (hash, scope) = app
        .revocable(&write.session.principal, id)
        .await
        .map_err(refused)?;
    let receipt = app
        .carry_out(
            &write.session,
            write.id,
            (scope, Command::RevokeToken { hash }),
        )
        .await?;
    app.inner.sessions.forget(&hash);
    let AnswerBody::Done = receipt.result else {
        return receipt.unfit();
    };
    Ok(Json(TokenRevoked {
        id,
        seq: receipt.seq,
        time: receipt.time,
        command_id: receipt.command_id,
    }))
}

/// List the tokens under a scope, or under `*`, without their secrets.
#[utoipa::path(get, path = "/v1/tokens", tag = "tokens", operation_id = "list_tokens", params(UnderQuery),
    responses((status = 200, description = "All tokens.", body = Page<TokenView>)),
    extensions(("x-sillok-access" = json!(["control/manage_tokens"]))))]
pub(super) async fn list(State(app): State<App>, read: Read<UnderQuery>) -> Reply<Page<TokenView>> {
    let under: ScopePrefix = read.query.scope.parse()?;
    authorize_under(&read.session.principal, &under)?;
    check_manages(&read.session.principal)?;
    let tokens = app.reader().tokens(&under).await?;
    Ok(Json(Page {
        items: tokens.into_iter().map(|(_, token)| token.into()).collect(),
        next: None,
    }))
}

impl App {
    /// The hash and scope of a token that lies in what a principal covers.
    async fn revocable(
        &self,
        principal: &Principal,
        id: TokenId,
    ) -> Result<(TokenHash, Scope), Error> {
        let tokens = self.reader().tokens(&principal.prefix).await?;
        let found = tokens.into_iter().find(|(_, token)| token.id == id);
        match found {
            Some((
                hash,
                Token {
                    prefix: ScopePrefix::Scope(scope),
                    ..
                },
            )) => Ok((hash, scope)),
            Some((
                _,
                Token {
                    prefix: ScopePrefix::All,
                    ..
                },
            )) => {
                let why = "the operator's token belongs to no scope: who owns the disk replaces it, by removing \
                           admin.token and starting the server again";
                Err(Error::forbidden("token/operator", why))
            }
            None => {
                check_manages(principal)?;
                Err(not_found("such token"))
            }
        }
    }
}

/// Checks the rule of tokens where no scope's actor is asked. The rule is the same at every level.
fn check_manages(principal: &Principal) -> Result<(), Error> {
    let access = Access::Control(Control::ManageTokens);
    if allows(principal.kind(), access, Level::Org) {
        return Ok(());
    }
    let rule = access.rule(Level::Org);
    Err(Error::forbidden(
        rule,
        format!(
            "{rule} does not allow it to a principal of kind {}",
            principal.kind()
        ),
    ))
}
