//! Secrets of tokens: their form, and how they are made.
//!
//! Owns the form `slk_` and 64 hexadecimal digits. A minted secret is derived from a key of the
//! server and the command that asked for it, so a retry is given the same one although only its
//! hash is stored.

use std::fmt;

use ed25519_dalek::SigningKey;
use sillok_core::id::CommandId;
use sillok_core::principal::Actor;
use sillok_core::scope::Scope;

use crate::system::random;

const PREFIX: &str = "slk_";
const SECRET_BYTES: usize = 32;

/// The key that minted secrets are derived from.
#[derive(Clone)]
pub struct TokenKey([u8; SECRET_BYTES]);

impl fmt::Debug for TokenKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("TokenKey")
    }
}

impl TokenKey {
    /// A new key.
    #[must_use]
    pub fn random() -> Self {
        let mut bytes = [0; SECRET_BYTES];
        random(&mut bytes);
        Self(bytes)
    }

    /// The key with these bytes; none when there are not 32 of them.
    #[must_use]
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        bytes.try_into().ok().map(Self)
    }

    /// The bytes of the key.
    #[must_use]
    pub const fn as_bytes(&self) -> &[u8; SECRET_BYTES] {
        &self.0
    }

    /// The key that checkpoints are signed by: the same on all nodes that know this one.
    #[must_use]
    pub fn checkpoint_key(&self) -> SigningKey {
        let derived = blake3::keyed_hash(&self.0, b"sillok 2026 checkpoint signing");
        SigningKey::from_bytes(derived.as_bytes())
    }

    /// The secret that a command of a principal mints in a scope.
    #[must_use]
    pub fn secret(&self, scope: &Scope, actor: &Actor, command: CommandId) -> String {
        let mut hasher = blake3::Hasher::new_keyed(&self.0);
        for part in [
            b"token secret".as_slice(),
            scope.as_str().as_bytes(),
            actor.to_string().as_bytes(),
        ] {
            hasher.update(&(part.len() as u64).to_le_bytes());
            hasher.update(part);
        }
        hasher.update(command.as_bytes());
        form(hasher.finalize().as_bytes())
    }
}

/// A new secret that nothing can be derived from.
#[must_use]
pub fn new_secret() -> String {
    let mut bytes = [0; SECRET_BYTES];
    random(&mut bytes);
    form(&bytes)
}

/// Whether a text has the form of a secret.
#[must_use]
pub fn has_form(text: &str) -> bool {
    let digits = text.strip_prefix(PREFIX).unwrap_or_default();
    digits.len() == 2 * SECRET_BYTES
        && digits
            .bytes()
            .all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

fn form(bytes: &[u8; SECRET_BYTES]) -> String {
    format!("{PREFIX}{}", hex::encode(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_retry_gets_the_same_secret_and_nobody_else_does() {
        let key = TokenKey::random();
        let scope = |path| Scope::parse(path).unwrap();
        let command = |byte| CommandId::from_bytes([byte; 16]);
        let actor = Actor::system();
        let secret = key.secret(&scope("org/a"), &actor, command(1));
        assert!(has_form(&secret));
        assert_eq!(key.secret(&scope("org/a"), &actor, command(1)), secret);
        assert_ne!(key.secret(&scope("org/a"), &actor, command(2)), secret);
        assert_ne!(key.secret(&scope("org/b"), &actor, command(1)), secret);
        assert_ne!(
            TokenKey::random().secret(&scope("org/a"), &actor, command(1)),
            secret
        );
    }

    #[test]
    fn the_commands_of_the_documents_make_secrets_of_the_form() {
        let document = include_str!("../../../docs/operate.md");
        let made = |command: &str| {
            let numbers = document.match_indices(command).map(|(at, _)| {
                let rest = &document[at + command.len()..];
                let digits = rest.split(|c: char| !c.is_ascii_digit()).next();
                digits.unwrap().parse::<usize>().unwrap()
            });
            numbers.collect::<Vec<usize>>()
        };
        let tokens = made("slk_$(openssl rand -hex ");
        assert!(!tokens.is_empty());
        for bytes in tokens {
            // So many bytes are written as twice as many digits.
            let token = format!("slk_{}", "0a".repeat(bytes));
            assert!(has_form(&token), "{token}");
        }
        let keys = made("key=\"$(openssl rand -hex ");
        assert!(keys.len() >= 2, "{keys:?}");
        for bytes in keys {
            assert!(TokenKey::from_bytes(&vec![0; bytes]).is_some(), "{bytes}");
        }
    }

    #[test]
    fn only_the_exact_form_is_a_secret() {
        assert!(has_form(&new_secret()));
        let upper = new_secret().to_ascii_uppercase();
        for text in ["", "slk_", "slk_12", &upper, &"x".repeat(68)] {
            assert!(!has_form(text), "{text}");
        }
    }
}
