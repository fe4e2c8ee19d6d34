//! Looks at real work trees of every sort, made with git.

mod files;
mod fixture;
mod hostile;
mod sorts;
mod states;
