//! The command line: every command, flag and environment variable.
//!
//! Owns their names and forms. It must not know what a command does: that is [`crate::commands`].

use std::path::PathBuf;

use clap::{Parser, Subcommand};
use clap_complete::Shell;
use sillok_core::event::EventKind;
use sillok_core::id::EntryId;
use sillok_core::scope::Scope;

mod anchor;
mod bank;
mod brief;
mod code;
mod decision;
mod entry;
mod erase;
mod evidence;
mod fix;
mod graph;
mod import;
mod install;
mod jobs;
mod kinds;
mod log;
mod mcp;
mod review;
mod run;
mod task;
mod token;
mod verify;

pub use anchor::{AnchorAdd, AnchorCommand, AnchorDrop, AnchorList, AnchorNamed};
pub use bank::{NamedStep, PatternCommand, PatternSearch, TrajectoryCommand, TrajectoryStore};
pub use brief::Brief;
pub use code::{CodeCommand, CodeDependents, CodeStatus, CodeSymbols};
pub use decision::{
    Changes, DecisionChange, DecisionCommand, DecisionHistory, DecisionImpact, DecisionList,
    DecisionNamed, DecisionPropose, DecisionRestore, DecisionSave, Declared, Format, Former, Part,
    Place, PolicyCommand, PolicyList, PolicySet, Related, Seen,
};
pub(crate) use entry::bytes;
pub use entry::{
    Cite, EntryAmend, EntryCommand, EntryPut, EntryResolve, Grounds, Named, Recall, Supersede,
};
pub use erase::Erase;
pub use evidence::{EvidenceCommand, EvidenceList, EvidenceNamed, EvidenceSave, EvidenceText};
pub use fix::{FixCheck, FixCommand, FixFailed, Touched};
pub use graph::{GraphCommand, GraphQuery};
pub use import::{Formats, Import};
pub use install::{ClientName, Doctor, Install, InstallScope};
pub use jobs::{JobsCommand, JobsList};
pub use kinds::{KindDeclare, KindList};
pub use log::{LogAdd, LogCommand, LogImport, LogList, SnapshotAdd, SnapshotCommand};
pub use mcp::Mcp;
pub use review::{Report, ReviewApprove, ReviewCommand, ReviewList, Undo};
pub use run::{
    Against, Assume, AuditCommand, Backup, ClusterCommand, ConfigCommand, Demo, Maintain, Restore,
    Serve,
};
pub use task::{TaskCommand, TaskList, TaskOpen};
pub use token::{TokenCommand, TokenMint};
pub use verify::{Verify, VerifyCommand, VerifyRecord, VerifyRetry};

/// The whole command line.
#[derive(Debug, Parser)]
#[command(
    name = "sillok",
    version,
    about = "A governed memory for coding agents: drafts are free, only what was verified is published.",
    after_help = "Exit status: 0 done; 1 a negative verdict or a refusal; 2 wrong usage; 75 try again later; 78 bad configuration.",
    max_term_width = 100
)]
pub struct Args {
    /// What holds for every command.
    #[command(flatten)]
    pub global: Global,
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// Flags of every command.
#[derive(Clone, Debug, Default, clap::Args)]
#[command(next_help_heading = "Everywhere")]
pub struct Global {
    /// Print one JSON document (one a line for streams)
    #[arg(long, global = true)]
    pub json: bool,
    /// Address of the server; otherwise the one that serves the data directory
    #[arg(long, global = true, env = "SILLOK_URL", value_name = "URL")]
    pub url: Option<String>,
    /// Token to act with; otherwise the administrator's, from the data directory
    #[arg(
        long,
        global = true,
        env = "SILLOK_TOKEN",
        hide_env_values = true,
        value_name = "TOKEN"
    )]
    pub token: Option<String>,
    /// File that holds the token
    #[arg(long, global = true, value_name = "FILE", conflicts_with = "token")]
    pub token_file: Option<PathBuf>,
    /// Data directory
    #[arg(long, global = true, env = "SILLOK_DATA", value_name = "DIR")]
    pub data: Option<PathBuf>,
    /// Configuration file
    #[arg(long, global = true, env = "SILLOK_CONFIG", value_name = "FILE")]
    pub config: Option<PathBuf>,
}

/// The scope that a reading command looks into.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct Within {
    /// Scope; otherwise the one that the data directory names as its default
    #[arg(long, env = "SILLOK_SCOPE", value_name = "SCOPE")]
    pub scope: Option<Scope>,
}

/// One page of a listing.
#[derive(Clone, Debug, clap::Args)]
pub struct Paging {
    /// At most this many rows
    #[arg(long, default_value_t = 100, value_name = "N")]
    pub limit: usize,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Serve a data directory over HTTP, until Ctrl-C
    Serve(Serve),
    /// Serve an agent's tools over standard input and output (Model Context Protocol), by the server that runs
    Mcp(Mcp),
    /// Show five agents at work in a sample repository, or from recorded runs
    Demo(Demo),
    /// Bring recorded work into the memory: runs of SWE-agent, sessions of Claude Code and of Codex
    Import(Import),
    /// Tokens: what proves who acts
    #[command(subcommand)]
    Token(TokenCommand),
    /// Tasks: open, look at, mark, close
    #[command(subcommand)]
    Task(TaskCommand),
    /// Records of a task's log
    #[command(subcommand)]
    Log(LogCommand),
    /// Terminal snapshots
    #[command(subcommand)]
    Snapshot(SnapshotCommand),
    /// Run a command and record what truly happened, or record a verdict from elsewhere
    Verify(Verify),
    /// Fixes: what failed, and whether it is tried again
    #[command(subcommand)]
    Fix(FixCommand),
    /// How agents went about tasks, for who comes after them
    #[command(subcommand)]
    Trajectory(TrajectoryCommand),
    /// What became of approaches to sorts of tasks
    #[command(subcommand)]
    Pattern(PatternCommand),
    /// Promotions that are not finished: list, try anew, give up
    #[command(subcommand)]
    Jobs(JobsCommand),
    /// Write entries directly
    #[command(subcommand)]
    Entry(EntryCommand),
    /// Search what was published
    Recall(Recall),
    /// Print one entry
    Show {
        /// The entry's id
        entry: EntryId,
    },
    /// Replace one entry by another
    Supersede(Supersede),
    /// Print an entry's versions and its line of supersessions
    History {
        /// The entry's id
        entry: EntryId,
    },
    /// Say for a task what an entry was to it
    Report(Report),
    /// What waits for a person: merges, contradictions, doubts, offers
    #[command(subcommand)]
    Review(ReviewCommand),
    /// Take a promotion back
    Undo(Undo),
    /// Decisions: choices that go on applying, and what they affect
    #[command(subcommand)]
    Decision(DecisionCommand),
    /// Policies of a project or an organisation: what every brief begins with
    #[command(subcommand)]
    Policy(PolicyCommand),
    /// Evidence: originals that decisions rest on, kept as they were
    #[command(subcommand)]
    Evidence(EvidenceCommand),
    /// Anchors: hints where to go on reading
    #[command(subcommand)]
    Anchor(AnchorCommand),
    /// The graph of decisions, of what they are related to, and of causes: ask it
    #[command(subcommand)]
    Graph(GraphCommand),
    /// Source files of a work tree that the server follows: symbols, and what depends on what
    #[command(subcommand)]
    Code(CodeCommand),
    /// Print what whoever works in a scope has to know, the strongest first
    Brief(Brief),
    /// Destroy content for good: records, entries, offers, decisions, evidence, anchors, kinds. Only a person may
    Erase(Erase),
    /// Look at all that is published: archive, prune, offer, forget, optimise. Once a night is enough
    Maintain(Maintain),
    /// Print the events of one scope, the oldest first
    Events {
        /// Where to look.
        #[command(flatten)]
        within: Within,
        /// Behind this number
        #[arg(long, value_name = "N", default_value_t = 0)]
        after: u64,
        /// Events of this kind only, such as ENTRIES_RETIRED; may be repeated
        #[arg(long = "kind", value_name = "KIND", value_delimiter = ',')]
        kinds: Vec<EventKind>,
    },
    /// Follow what happens in a scope and in all that lies inside it
    Tail {
        /// Where to look.
        #[command(flatten)]
        within: Within,
        /// Begin behind this cursor; otherwise with what happens from the start of the log
        #[arg(long, value_name = "CURSOR")]
        cursor: Option<String>,
        /// Events of this kind only, such as PUBLISHED; may be repeated
        #[arg(long = "kind", value_name = "KIND", value_delimiter = ',')]
        kinds: Vec<EventKind>,
    },
    /// Prove that nothing recorded was changed
    #[command(subcommand)]
    Audit(AuditCommand),
    /// Write all that is stored into one file, while the server serves
    Backup(Backup),
    /// Make a data directory from a backup, as of its end or an earlier moment
    Restore(Restore),
    /// Make the view and the vector tables anew from the events (no server may be running)
    Rebuild,
    /// Have a coding agent run Sillok's hooks and know its tools, or take them out again
    Install(Install),
    /// Send an event all the way from an agent to the memory, read it back, and say what is wrong
    Doctor(Doctor),
    /// Say how the server is doing
    Status,
    /// The nodes that share a store
    #[command(subcommand)]
    Cluster(ClusterCommand),
    /// The configuration
    #[command(subcommand)]
    Config(ConfigCommand),
    /// Print shell completions
    Completions {
        /// The shell
        shell: Shell,
    },
    /// Print the OpenAPI document of the HTTP interface
    Openapi,
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    fn parse(line: &str) -> Result<Args, clap::Error> {
        Args::try_parse_from(line.split_whitespace())
    }

    #[test]
    fn the_tree_is_consistent() {
        Args::command().debug_assert();
    }

    #[test]
    fn json_is_taken_before_and_behind_the_command() {
        assert!(parse("sillok --json status").unwrap().global.json);
        assert!(parse("sillok recall words --json").unwrap().global.json);
    }

    #[test]
    fn verify_runs_a_command_or_records() {
        let task = "org/a/project/b/worktree/c/task/d";
        let run = parse(&format!(
            "sillok verify --scope {task} -- sh -c true --json"
        ))
        .unwrap();
        assert!(!run.global.json, "what stands behind -- is the command's");
        let Command::Verify(verify) = run.command else {
            panic!("it is a verify")
        };
        assert_eq!(verify.command, ["sh", "-c", "true", "--json"]);
        let record = parse(&format!(
            "sillok verify record --scope {task} --source human_approved --run r"
        ));
        assert!(matches!(
            record.unwrap().command,
            Command::Verify(Verify {
                command_given: Some(_),
                ..
            })
        ));
        assert!(
            parse(&format!("sillok verify --scope {task}")).is_err(),
            "a command is missing"
        );
    }

    #[test]
    fn a_proposal_says_all_of_a_new_decision_and_of_a_change_what_it_changes() {
        let propose = "sillok decision propose --scope org/a";
        let change = "--root 01900000-0000-7000-8000-000000000000 --expected 1";
        for right in [
            format!("{propose} text --title t"),
            format!("{propose} {change}"),
            format!("{propose} {change} --without claim"),
        ] {
            assert!(parse(&right).is_ok(), "{right}");
        }
        for wrong in [
            format!("{propose} text"),
            format!("{propose} --title t"),
            format!("{propose} text --title t --without claim"),
            format!("{propose} text --title t --expected 1"),
        ] {
            assert_eq!(parse(&wrong).unwrap_err().exit_code(), 2, "{wrong}");
        }
    }

    #[test]
    fn kinds_to_erase_are_named_several_at_once_and_also_by_names_that_are_taken_by_now() {
        let line = "sillok erase --scope org/a --reason r --kind causes,CALLS --kind BREAKS";
        let Command::Erase(erase) = parse(line).unwrap().command else {
            panic!("it is an order to erase")
        };
        let names: Vec<String> = erase.kind.iter().map(ToString::to_string).collect();
        assert_eq!(names, ["CAUSES", "CALLS", "BREAKS"]);
        assert!(
            parse("sillok decision declare CALLS --scope org/a --reach both --meaning m").is_err()
        );
    }

    #[test]
    fn wrong_values_are_usage_errors() {
        for wrong in [
            "sillok decision save x --title t --scope org/a --rank policy",
            "sillok decision save x --title t --scope org/a --domain Large",
            "sillok decision save x --title t --scope org/a --relates _LIKES=file:a",
            "sillok decision declare VALIDATES --scope org/a --reach both --meaning m",
            "sillok decision declare CAUSES --scope org/a --reach sideways --meaning m",
            "sillok erase --scope org/a --reason r",
            "sillok erase --scope org/a --reason r --kind _A",
            "sillok decision impact --scope org/a",
            "sillok decision impact --scope org/a --at src/a.rs",
            "sillok decision impact --scope org/a --at file:a --format svg",
            "sillok policy set x --title t --scope org/a --expected 1",
            "sillok brief --at nowhere",
            "sillok evidence text x --scope org/a",
            "sillok anchor search --scope org/a",
            "sillok anchor search x --scope org/a --domain Large",
            "sillok anchor search x --scope org/a --limit few",
            "sillok graph query --scope org/a",
            "sillok graph query x --scope org/a --param k",
            "sillok graph query x --scope org/a --param =1",
            "sillok graph query x --scope org/a --code-under src",
            "sillok code symbols --scope org/a",
            "sillok code dependents src/a.rs --scope org/a",
            "sillok anchor add h --scope org/a --to evidence:org/a#7",
            "sillok show not-an-id",
            "sillok recall x --scope org",
            "sillok install --client emacs",
            "sillok install --client codex --scope org/a",
            "sillok install --client codex --dry-run --uninstall --in org",
            "sillok doctor --client none",
            "sillok demo --agents 0",
            "sillok demo --assume passed",
            "sillok log show org/a#0",
            "sillok import --into org/a/project/b",
            "sillok import a.jsonl --into org/a/project/b --format jsonl",
            "sillok nothing",
            "sillok mcp --tools everything",
            "sillok --token a --token-file b status",
        ] {
            assert_eq!(parse(wrong).unwrap_err().exit_code(), 2, "{wrong}");
        }
    }
}
