//! `sillok-bench`: measures Sillok and its peers in one run, and says which floors hold.
//!
//! Owns the order of the items and the exit status: 0 when every floor holds, 1 when one is missed,
//! 2 when an item could not be measured. What an item measures stands at the head of its module and
//! in the README.

mod args;
mod bank;
mod bed;
mod beside;
mod brief;
mod chains;
mod cluster;
mod code;
mod corpus;
mod decisions;
mod disk;
mod engines;
mod error;
mod exact;
mod fixes;
mod gate;
mod gauge;
mod hooks;
mod http;
mod impact;
mod lanes;
mod maintenance;
mod many;
mod mcp;
mod memory;
mod planning;
mod promotion;
mod pruned_sql;
mod recall;
mod report;
mod runs;
mod scale;
mod scope_actors;
mod scopes;
mod scribe;
mod sqlite;
mod store_alone;
mod workload;
mod year;

use std::io::Write;
use std::process::ExitCode;

use clap::Parser;

use crate::args::{Args, Child, Item};
use crate::error::Error;
use crate::report::Report;
use crate::scale::Scale;

/// The system's allocator returns memory between batches only to ask for it again.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    let args = Args::parse();
    let result = match &args.child {
        Some(child) => run_child(child),
        None => run(&args),
    };
    result.unwrap_or_else(|error| {
        // Standard error may be gone; the status still tells.
        let _ = writeln!(std::io::stderr(), "sillok-bench: {error}");
        ExitCode::from(2)
    })
}

fn run(args: &Args) -> Result<ExitCode, Error> {
    let scale = if args.quick {
        Scale::QUICK
    } else {
        Scale::FULL
    };
    let mut report = Report::new(!args.quick);
    let items: &[Item] = if args.only.is_empty() {
        &Item::ALL
    } else {
        &args.only
    };
    for item in items {
        // Progress belongs to whoever watches; the table comes at the end.
        let _ = writeln!(std::io::stderr(), "measuring: {}", item.what());
        match item {
            Item::Disk => disk::measure(&scale, &mut report)?,
            Item::Store => store_alone::measure(&scale, &mut report)?,
            Item::Actors => scope_actors::measure(&scale, &mut report)?,
            Item::Sqlite => sqlite::measure(&scale, &mut report)?,
            Item::Http => http::measure(&scale, &mut report)?,
            Item::Memory => memory::measure(&scale, &mut report)?,
            Item::Scopes => scopes::measure(&scale, &mut report)?,
            Item::Recall => recall::measure(&scale, &mut report)?,
            Item::Mcp => mcp::measure(&scale, &mut report)?,
            Item::Many => many::measure(&scale, &mut report)?,
            Item::Promotion => promotion::measure(&scale, &mut report)?,
            Item::Decisions => decisions::measure(&scale, &mut report)?,
            Item::Brief => brief::measure(&scale, &mut report)?,
            Item::Impact => impact::measure(&scale, &mut report)?,
            Item::Fixes => fixes::measure(&scale, &mut report)?,
            Item::Code => code::measure(&scale, &mut report)?,
            Item::Gate => gate::measure(&scale, &mut report)?,
            Item::Hooks => hooks::measure(&scale, &mut report)?,
            Item::Bank => bank::measure(&scale, &mut report)?,
            Item::Maintenance => maintenance::measure(&scale, &mut report)?,
            Item::Year => year::measure(&scale, &mut report)?,
            Item::Cluster => cluster::measure(&scale, &mut report)?,
        }
    }
    report.compare();
    let mut out = std::io::stdout().lock();
    if args.json {
        serde_json::to_writer_pretty(&mut out, &report.document())?;
        writeln!(out)?;
    } else {
        report.print(&mut out)?;
    }
    Ok(if report.holds() {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

/// What the item that started this process reads from its standard output.
fn run_child(child: &Child) -> Result<ExitCode, Error> {
    let document = match child {
        Child::ChildRecords { records, folder } => {
            serde_json::to_value(memory::child(*records, folder)?)?
        }
        Child::ChildScopes {
            scopes,
            probes,
            folder,
        } => serde_json::to_value(scopes::child(*scopes, *probes, folder)?)?,
        Child::ChildCode { lines, folder } => serde_json::to_value(code::child(*lines, folder)?)?,
        Child::ChildPlan { folder } => serde_json::to_value(planning::child(folder)?)?,
        Child::ChildPlanNode { folder } => serde_json::to_value(planning::child_node(folder)?)?,
    };
    writeln!(std::io::stdout(), "{document}")?;
    Ok(ExitCode::SUCCESS)
}
