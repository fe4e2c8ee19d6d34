//! Flags of `token`.

use clap::{Args, Subcommand};
use sillok_core::id::TokenId;
use sillok_core::principal::{PrincipalId, PrincipalKind};
use sillok_core::scope::{Scope, ScopePrefix};

/// `token`
#[derive(Debug, Subcommand)]
pub enum TokenCommand {
    /// Make a token and print its secret, once
    Mint(TokenMint),
    /// List tokens, without their secrets
    List {
        /// Those whose scope lies inside this one; * for all
        #[arg(long, default_value = "*", value_name = "SCOPE")]
        scope: ScopePrefix,
    },
    /// Revoke a token
    Revoke {
        /// The token's id
        id: TokenId,
    },
}

/// `token mint`
#[derive(Debug, Args)]
pub struct TokenMint {
    /// The scope that it covers, with all that lies inside
    #[arg(long, env = "SILLOK_SCOPE", value_name = "SCOPE")]
    pub scope: Scope,
    /// agent, orchestrator, human or system
    #[arg(long, value_name = "KIND")]
    pub kind: PrincipalKind,
    /// Name of the principal
    #[arg(long, value_name = "NAME", value_parser = PrincipalId::parse)]
    pub id: PrincipalId,
    /// How long it counts, in seconds
    #[arg(long, default_value_t = 24 * 60 * 60, value_name = "SECONDS")]
    pub lifetime_s: u64,
}
