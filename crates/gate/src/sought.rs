//! What is looked for when something is not in its place.
//!
//! Owns what of a citation can be found again. It must not know where.

use core::num::NonZeroU32;

use sillok_core::citation::Citation;
use sillok_core::gate::Fingerprint;

/// What a citation says that can be found elsewhere.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Sought {
    /// So many lines that say this.
    Lines(NonZeroU32, Fingerprint),
    /// A whole file that says this.
    File(Fingerprint),
    /// A symbol of this name and this signature, if one is cited.
    Symbol(String, Option<String>),
}

impl Sought {
    /// What a citation says; none where nothing could be found by it.
    pub(crate) fn of(citation: &Citation) -> Option<Self> {
        match citation {
            Citation::File {
                lines, fingerprint, ..
            } => {
                let print = Fingerprint::parse(fingerprint.as_deref()?)?;
                let Some((first, last)) = lines else {
                    return Some(Self::File(print));
                };
                let span = last.checked_sub(*first)?.checked_add(1)?;
                Some(Self::Lines(NonZeroU32::new(span)?, print))
            }
            Citation::Symbol {
                name, signature, ..
            } => Some(Self::Symbol(name.clone(), signature.clone())),
            _ => None,
        }
    }
}

/// The path of a file or a symbol's file that a citation names.
pub(crate) fn path_of(citation: &Citation) -> Option<&str> {
    match citation {
        Citation::File { path, .. } => Some(path),
        Citation::Symbol { file, .. } => Some(file),
        _ => None,
    }
}
