//! The spool: what is to be written in the memory, kept on this machine until the server has it.
//!
//! [`note`] owns the bytes, [`journal`] what they say, [`replay`] in which order commands are handed over and what counts as
//! handed over, [`file`] and [`directory`] the files. The first three are pure.

pub mod directory;
pub mod file;
pub mod journal;
pub mod note;
pub mod replay;

#[cfg(test)]
mod tests;
