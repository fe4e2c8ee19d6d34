//! The command line: exit statuses, JSON, tails, and every line of the README.

mod commands;
mod judging;
mod tail;
mod tour;
