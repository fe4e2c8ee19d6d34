//! The commands: which needs what, and where each is carried out.
//!
//! Owns the dispatch. It must not know how a command line is written.

use clap::CommandFactory;

use crate::args::{
    AnchorCommand, Args, AuditCommand, Command, ConfigCommand, DecisionCommand, EvidenceCommand,
    GraphCommand, JobsCommand, LogCommand, PolicyCommand, ReviewCommand, TaskCommand, TokenCommand,
    Verify, VerifyCommand,
};
use crate::failure::Failure;
use crate::output::{Output, print};
use crate::session::{Need, Session};

pub mod anchor;
pub mod audit;
pub mod backup;
pub mod bank;
pub mod brief;
pub mod checkpoint;
pub mod citation;
pub mod cluster;
pub mod code;
pub mod configuration;
pub mod decision;
pub mod doctor;
pub mod entry;
pub mod erase;
pub mod events;
pub mod evidence;
pub mod fix;
pub mod gate;
pub mod graph;
pub mod impact;
pub mod import;
pub mod install;
pub mod jobs;
pub mod kinds;
pub mod log;
pub mod maintain;
pub mod mcp;
pub mod policy;
pub mod recall;
pub mod review;
pub mod serve;
pub mod task;
pub mod token;
pub mod verify;

/// Carries out a command line.
///
/// # Errors
/// [`Failure`]
pub async fn run(args: Args) -> Result<(), Failure> {
    let Args { global, command } = args;
    let output = Output::new(global.json);
    match command {
        Command::Serve(serve) => serve::run(&global, &serve).await,
        Command::Mcp(args) => Box::pin(mcp::run(&global, &args)).await,
        Command::Demo(demo) => Box::pin(crate::demo::run(&global, &demo)).await,
        Command::Rebuild => audit::rebuild(&global, output).await,
        Command::Audit(AuditCommand::Verify {
            offline: true,
            against,
        }) => audit::offline(&global, output, &against).await,
        Command::Backup(args) if args.offline => backup::offline(&global, output, &args).await,
        Command::Restore(args) => backup::restore(&global, output, &args).await,
        Command::Config(ConfigCommand::Show { origin }) => {
            configuration::show(&global, output, origin)
        }
        Command::Completions { shell } => {
            let mut script = Vec::new();
            clap_complete::generate(shell, &mut Args::command(), "sillok", &mut script);
            print(&String::from_utf8_lossy(&script))
        }
        Command::Openapi => serve::openapi(output),
        Command::Install(args) => install::run(output, &args),
        Command::Doctor(args) => doctor::run(&global, output, &args),
        Command::Graph(GraphCommand::Schema) => graph::schema(output),
        Command::Import(args) if args.dry_run => import::dry_run(output, &args),
        command => {
            let session = Session::open(&global, need(&command)).await?;
            let done = Box::pin(on_server(command, &session)).await;
            let closed = session.close().await;
            done.and(closed)
        }
    }
}

/// What a command wants of a server.
fn need(command: &Command) -> Need {
    match command {
        Command::Recall(_)
        | Command::Show { .. }
        | Command::History { .. }
        | Command::Audit(_)
        | Command::Backup(_)
        | Command::Events { .. }
        | Command::Jobs(JobsCommand::List(_))
        | Command::Log(LogCommand::Show { .. } | LogCommand::List(_))
        | Command::Task(TaskCommand::Show { .. } | TaskCommand::List(_))
        | Command::Token(TokenCommand::List { .. })
        | Command::Verify(Verify {
            command_given: Some(VerifyCommand::List { .. }),
            ..
        })
        | Command::Review(ReviewCommand::List(_) | ReviewCommand::Show { .. })
        | Command::Decision(
            DecisionCommand::Propose(_)
            | DecisionCommand::List(_)
            | DecisionCommand::Kinds(_)
            | DecisionCommand::Show(_)
            | DecisionCommand::History(_)
            | DecisionCommand::Impact(_),
        )
        | Command::Policy(
            PolicyCommand::List(_) | PolicyCommand::Show(_) | PolicyCommand::History(_),
        )
        | Command::Evidence(
            EvidenceCommand::List(_) | EvidenceCommand::Show(_) | EvidenceCommand::Text(_),
        )
        | Command::Anchor(
            AnchorCommand::List(_)
            | AnchorCommand::Show(_)
            | AnchorCommand::Follow(_)
            | AnchorCommand::Search(_),
        )
        | Command::Fix(_)
        | Command::Pattern(_)
        | Command::Brief(_) => Need::Read,
        // A work tree is followed by a server that runs, and by no other.
        Command::Graph(GraphCommand::Query(query)) if !query.code => Need::Read,
        Command::Maintain(_) => Need::Maintain,
        _ => Need::Server,
    }
}

async fn on_server(command: Command, session: &Session) -> Result<(), Failure> {
    match command {
        Command::Import(args) => import::import(session, &args).await,
        Command::Token(command) => token::run(session, command).await,
        Command::Task(command) => task::run(session, command).await,
        Command::Log(command) => log::run(session, command).await,
        Command::Snapshot(command) => log::snapshot(session, command).await,
        Command::Verify(verify) => verify::run(session, verify).await,
        Command::Fix(command) => fix::run(session, command).await,
        Command::Trajectory(command) => bank::trajectory(session, command).await,
        Command::Pattern(command) => bank::pattern(session, command).await,
        Command::Jobs(command) => jobs::run(session, command).await,
        Command::Entry(command) => entry::run(session, command).await,
        Command::Recall(query) => recall::run(session, query).await,
        Command::Show { entry } => entry::show(session, entry).await,
        Command::Supersede(supersede) => entry::supersede(session, supersede).await,
        Command::History { entry } => entry::history(session, entry).await,
        Command::Report(report) => review::report(session, report).await,
        Command::Review(command) => review::run(session, command).await,
        Command::Undo(undo) => review::undo(session, undo).await,
        Command::Decision(command) => decision::run(session, command).await,
        Command::Policy(command) => policy::run(session, command).await,
        Command::Evidence(command) => evidence::run(session, command).await,
        Command::Anchor(command) => anchor::run(session, command).await,
        Command::Graph(GraphCommand::Query(args)) => graph::query(session, args).await,
        Command::Code(command) => code::run(session, command).await,
        Command::Brief(args) => brief::run(session, args).await,
        Command::Erase(erase) => erase::erase(session, erase).await,
        Command::Maintain(args) => maintain::run(session, args).await,
        Command::Events {
            within,
            after,
            kinds,
        } => events::list(session, &within, after, &kinds).await,
        Command::Tail {
            within,
            cursor,
            kinds,
        } => events::tail(session, &within, cursor, &kinds).await,
        Command::Audit(AuditCommand::Verify { against, .. }) => {
            audit::online(session, &against).await
        }
        Command::Audit(AuditCommand::Checkpoint { file }) => checkpoint::make(session, &file).await,
        Command::Backup(args) => backup::online(session, &args).await,
        Command::Status => serve::status(session).await,
        Command::Cluster(command) => cluster::run(session, command).await,
        Command::Serve(_)
        | Command::Mcp(_)
        | Command::Demo(_)
        | Command::Rebuild
        | Command::Restore(_)
        | Command::Config(_)
        | Command::Completions { .. }
        | Command::Graph(GraphCommand::Schema)
        | Command::Install(_)
        | Command::Doctor(_)
        | Command::Openapi => unreachable!("these speak to no server that was started before"),
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;

    use super::*;

    #[test]
    fn what_only_lists_wants_no_server_that_runs_already() {
        for (line, expected) in [
            ("sillok jobs list --halted", Need::Read),
            ("sillok task list", Need::Read),
            ("sillok decision list", Need::Read),
            ("sillok decision impact --at file:a", Need::Read),
            ("sillok decision kinds", Need::Read),
            (
                "sillok decision declare CAUSES --scope org/a --reach both --meaning m",
                Need::Server,
            ),
            ("sillok policy list", Need::Read),
            ("sillok evidence list", Need::Read),
            ("sillok anchor list --dropped", Need::Read),
            ("sillok anchor search deadlock", Need::Read),
            (
                "sillok anchor add h --scope org/a --to evidence:org/a#01900000-0000-7000-8000-000000000000",
                Need::Server,
            ),
            ("sillok brief", Need::Read),
            ("sillok brief --deep deadlock", Need::Read),
            ("sillok graph query x", Need::Read),
            ("sillok graph query x --code", Need::Server),
            ("sillok code symbols read", Need::Server),
            (
                "sillok decision save x --title t --scope org/a",
                Need::Server,
            ),
            ("sillok maintain", Need::Maintain),
            ("sillok status", Need::Server),
        ] {
            let args = Args::try_parse_from(line.split(' ')).unwrap();
            assert_eq!(need(&args.command), expected, "{line}");
        }
    }
}
