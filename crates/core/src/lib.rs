//! The rules of Sillok, and nothing else.
//!
//! This crate owns every decision the system takes: what a scope is, who may write where, how a
//! command becomes events, how trust grows and decays, how an event chain is sealed. It is pure:
//! time, randomness and facts about the world are arguments. It must not know stores, transports,
//! runtimes or clocks.

pub mod anchor;
pub mod bank;
pub mod bound;
pub mod brief;
pub mod bundle;
pub mod chain;
pub mod channel;
pub mod checkpoint;
pub mod circular;
pub mod citation;
pub mod command;
pub mod commit;
pub mod config;
pub mod decay;
pub mod decide;
pub mod decision;
pub mod dedup;
pub mod entry;
pub mod erasure;
pub mod error;
pub mod event;
pub mod evidence;
pub mod facts;
pub mod fair;
pub mod fingerprint;
pub mod gate;
pub mod id;
pub mod impact;
pub mod invariants;
pub mod limits;
pub mod membership;
pub mod permission;
pub mod ports;
pub mod principal;
pub mod promotion;
pub mod provenance;
pub mod quarantine;
pub mod quota;
pub mod recall;
pub mod retention;
pub mod reuse;
pub mod review;
pub mod schedule;
pub mod scope;
pub mod secret;
pub mod slot;
pub mod staging;
pub mod stamp;
pub mod state;
pub mod task;
pub mod terminal;
pub mod time;
pub mod token;
pub mod trace;
pub mod trust;
pub mod validity;
pub mod verification;
pub mod words;

pub use error::{Error, ErrorCode};
