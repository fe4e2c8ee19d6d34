//! End-to-end tests against real `sillok` processes.
//!
//! Owns what a user is promised: one module for each concern. Requests and answers are plain JSON
//! here, written out by hand, so that a changed wire form turns red. It must not know how anything
//! inside the server works, save the bytes of the store, which the tamper tests change.

#[cfg(test)]
mod harness;

#[cfg(test)]
mod as_of;
#[cfg(test)]
mod backup;
#[cfg(test)]
mod bank;
#[cfg(test)]
mod binding;
#[cfg(test)]
mod checkpoints;
#[cfg(test)]
mod cli;
#[cfg(test)]
mod cluster;
#[cfg(test)]
mod code;
#[cfg(test)]
mod contention;
#[cfg(test)]
mod contradictions;
#[cfg(test)]
mod crash;
#[cfg(test)]
mod decisions;
#[cfg(test)]
mod demo;
#[cfg(test)]
mod durability;
#[cfg(test)]
mod erase;
#[cfg(test)]
mod evidence;
#[cfg(test)]
mod fixes;
#[cfg(test)]
mod gate;
#[cfg(test)]
mod governance;
#[cfg(test)]
mod hooks;
#[cfg(test)]
mod import;
#[cfg(test)]
mod index_damage;
#[cfg(test)]
mod jobs;
#[cfg(test)]
mod logs;
#[cfg(test)]
mod maintenance;
#[cfg(test)]
mod manifests;
#[cfg(test)]
mod mcp;
#[cfg(test)]
mod metrics;
#[cfg(test)]
mod nats;
#[cfg(test)]
mod news;
#[cfg(test)]
mod permissions;
#[cfg(test)]
mod recall;
#[cfg(test)]
mod refusals;
#[cfg(test)]
mod sentence;
#[cfg(test)]
mod skills;
#[cfg(test)]
mod sources;
#[cfg(test)]
mod tamper;
#[cfg(test)]
mod traces;
#[cfg(test)]
mod versions;
