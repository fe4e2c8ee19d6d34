//! What source files say, on the wire: a work tree, its symbols, and what depends on what.
//!
//! Owns what is common to them: the bounds that a request may ask for. It must not know how files are read.

use sillok_core::error::{Error, ErrorCode};

mod dependents;
mod named;
mod symbols;
mod work_tree;

pub use dependents::{
    CodeCut, CodeCutReason, CodeDependent, CodeDependents, CodeRelation, DependentsQuery,
};
pub(crate) use named::node_of;
pub use symbols::{CodeSymbol, SymbolsFound, SymbolsQuery};
pub use work_tree::{WorkTreeQuery, WorkTreeView};

fn within(what: &str, usual: usize, most: usize, asked: Option<usize>) -> Result<usize, Error> {
    match asked.unwrap_or(usual) {
        0 => Err(refused(&format!("at least one of {what} is asked for"))),
        asked if asked > most => Err(Error::too_large(what, most as u64, asked as u64)),
        asked => Ok(asked),
    }
}

fn refused(why: &str) -> Error {
    Error::new(ErrorCode::InvalidArgument, why)
}

#[cfg(test)]
mod tests;
