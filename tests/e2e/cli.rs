//! The command line: exit statuses, JSON, tails, and every line of the documents' tours.

mod banking;
mod commands;
mod configured;
mod deciding;
mod fixing;
mod judging;
mod keeping;
mod tail;
mod tour;
