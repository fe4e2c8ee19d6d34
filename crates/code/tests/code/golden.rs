//! What is found in a small source of each language, symbol by symbol.

use sillok_code::{Language, index};

#[test]
fn an_empty_file_says_nothing() {
    for language in Language::ALL {
        let found = index(language, b"").unwrap();
        assert!(found.symbols.is_empty() && found.imports.is_empty() && found.calls.is_empty());
    }
}
