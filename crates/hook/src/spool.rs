//! The spool: what is to be written in the memory, kept on this machine until the server has it.
//!
//! [`note`] owns the bytes, [`journal`] what they say, [`lost`] what of it is lost, [`replay`] in which order commands are
//! handed over and what counts as handed over, [`file`] and [`directory`] the files. All but the last two are pure.

pub mod directory;
pub mod file;
pub mod journal;
pub mod lost;
pub mod note;
pub mod replay;

#[cfg(test)]
mod tests;
