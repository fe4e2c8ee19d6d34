//! Reading tokens, by their hash or by what they cover.

use sillok_core::Error;
use sillok_core::scope::ScopePrefix;
use sillok_core::token::{Token, TokenHash};
use sillok_store::{Store, keys};

use super::Reader;
use crate::errors::refusal;
use crate::row_stream::RowStream;
use crate::rows;

impl<S: Store> Reader<S> {
    /// The token with a hash, expired and revoked ones included.
    ///
    /// # Errors
    /// What the store answers.
    pub async fn token(&self, hash: &TokenHash) -> Result<Option<Token>, Error> {
        let mut txn = self.snapshot().await?;
        let found = rows::read(&mut txn, &keys::token::key(hash), keys::token::decode).await;
        found.map_err(|error| refusal(&error))
    }

    /// All tokens that cover `under` in part and nothing beside it, in the order of their hashes.
    ///
    /// # Errors
    /// What the store answers.
    pub async fn tokens(&self, under: &ScopePrefix) -> Result<Vec<(TokenHash, Token)>, Error> {
        let mut txn = self.snapshot().await?;
        let mut stream = RowStream::new(keys::token::range_all());
        let mut tokens = Vec::new();
        while let Some((key, value)) = stream
            .next(&mut txn)
            .await
            .map_err(|error| refusal(&error))?
        {
            let hash = keys::token::parse(&key)
                .map_err(|error| refusal(&error))?
                .hash;
            let token = keys::token::decode(&key, &value).map_err(|error| refusal(&error))?;
            if under.covers_prefix(&token.prefix) {
                tokens.push((hash, token));
            }
        }
        Ok(tokens)
    }
}
