//! `token`

use sillok_server::api::{MintToken, RevokeToken, TokenView};

use crate::args::TokenCommand;
use crate::client::now;
use crate::failure::Failure;
use crate::output::{table, time};
use crate::session::Session;

/// Carries out `token`.
///
/// # Errors
/// [`Failure`]
pub async fn run(session: &Session, command: TokenCommand) -> Result<(), Failure> {
    match command {
        TokenCommand::Mint(mint) => {
            let body = MintToken {
                scope: mint.scope.to_string(),
                kind: mint.kind,
                id: mint.id.to_string(),
                lifetime_s: mint.lifetime_s,
            };
            let minted = session.client.mint_token(&body).await?;
            session.output.show(&minted, |_| minted.token.clone())
        }
        TokenCommand::List { scope } => {
            let page = session.client.tokens(&scope.to_string()).await?;
            session.output.show(&page, |style| {
                let rows: Vec<Vec<String>> = page.items.iter().map(row).collect();
                table(
                    style,
                    &[
                        "TOKEN",
                        "STANDS FOR",
                        "MADE BY",
                        "EXPIRES",
                        "STATE",
                        "COVERS",
                    ],
                    &rows,
                )
            })
        }
        TokenCommand::Revoke { id } => {
            let revoked = session
                .client
                .revoke_token(&RevokeToken { id: id.to_string() })
                .await?;
            session
                .output
                .show(&revoked, |_| format!("token {id} is revoked"))
        }
    }
}

fn row(token: &TokenView) -> Vec<String> {
    let state = match token.revoked_at {
        Some(_) => "revoked",
        None if token.expires <= now() => "expired",
        None => "valid",
    };
    vec![
        token.id.to_string(),
        format!("{}:{}", token.actor.kind, token.actor.id),
        format!("{}:{}", token.minted_by.kind, token.minted_by.id),
        time(token.expires),
        state.to_owned(),
        token.scope.to_string(),
    ]
}
