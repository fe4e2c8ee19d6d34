//! `demo`: agents at work in one governed memory, and a report of what came of it.
//!
//! Owns the course: a server, a play, a pruning, a restart, a count, an audit, the report. The agents
//! speak HTTP to the server as any client would.

use std::io::IsTerminal;
use std::net::{Ipv4Addr, SocketAddr};

use sillok_core::id::EntryId;
use sillok_core::scope::Scope;
use sillok_server::api::{Citation, ExcerptQuery, ListQuery};

use crate::args::{self, Global};
use crate::client::{Client, RetryPolicy};
use crate::data_directory::DataDirectory;
use crate::failure::Failure;
use crate::local_server::{LocalServer, NO_NIGHTS};
use crate::output::{Output, note};
use crate::progress;

pub mod agent;
pub mod deciding;
pub mod governance;
pub mod home;
pub mod journal;
pub mod judgement;
pub mod keeping;
pub mod play;
pub mod recorded_play;
pub mod report;
pub mod sample_play;
pub mod sample_repository;
pub mod scenario;
pub mod stage;

use self::home::Home;
use self::play::Played;
use self::report::{
    DecisionReport, Finding, FollowReport, Pruned, Quote, Report, Sums, finders, page,
};
use self::stage::Stage;

/// Records of one page when they are counted.
const PAGE_RECORDS: usize = 1_000;

/// Carries out `demo`.
///
/// # Errors
/// [`Failure::Verdict`] when a record was lost, the audit found a difference, or something was not
/// refused that should have been.
pub async fn run(global: &Global, demo: &args::Demo) -> Result<(), Failure> {
    let output = Output::new(global.json);
    let agents = usize::from(demo.agents);
    let name = if demo.trajectories.is_some() {
        "recorded"
    } else {
        "tally"
    };
    let home = Home::prepare(global, name).await?;
    let spinner = progress::spinner("records acknowledged");

    // It carries out no run that was missed: whoever shows a demo has not asked for one, of whatever project.
    let server =
        LocalServer::start_with(global, home.data.path(), demo.address, &[NO_NIGHTS]).await?;
    let stage = Stage::open(
        operator(&server, &home.data)?,
        home.project.clone(),
        spinner.clone(),
    )
    .await?;
    let played = match &demo.trajectories {
        Some(folder) => recorded_play::play(&stage, agents, folder, demo.assume).await?,
        None => sample_play::play(&stage, agents, &home.folder).await?,
    };
    server.stop().await?;
    let pruned = prune(global, &home, played.judgement.poor).await?;

    // From here on nothing is taken on trust: what counts is what another server finds.
    spinner.set_message("records counted after the restart");
    let address = again(demo.address);
    // Somebody who sees it and can end it: without either it would wait for ever.
    let is_watched = std::io::stdout().is_terminal() && std::io::stdin().is_terminal();
    let stays_up = demo.keep || (is_watched && !output.json);
    // One that stays up is a server as any other, for all of the directory.
    let more: &[(&str, &str)] = if stays_up { &[] } else { &[NO_NIGHTS] };
    let server = LocalServer::start_again(global, home.data.path(), address, more).await?;
    let operator = operator(&server, &home.data)?;
    let report = examine(&operator, &home, agents, (played, pruned)).await?;
    spinner.finish_and_clear();
    home.leave_context()?;
    output.show(&report, |style| page::render(&report, style))?;

    if stays_up {
        note("\nThe server stays up until Ctrl-C.");
        tokio::signal::ctrl_c()
            .await
            .map_err(Failure::io("Ctrl-C cannot be heard"))?;
    }
    server.stop().await?;
    verdict(&report)
}

/// Prunes by a server of its own, which ends with it: whoever uses the one that stays up, maybe for another project of
/// the same directory, is to find the retention that is configured.
async fn prune(
    global: &Global,
    home: &Home,
    poor: Option<EntryId>,
) -> Result<Vec<Pruned>, Failure> {
    let free_port = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
    let more = [judgement::RETENTION, NO_NIGHTS];
    let server = LocalServer::start_again(global, home.data.path(), free_port, &more).await?;
    let operator = operator(&server, &home.data)?;
    let pruned = judgement::prune(&operator, &home.project, poor).await;
    let stopped = server.stop().await;
    pruned.and_then(|pruned| stopped.map(|()| pruned))
}

/// A free port again where one was asked for; else the same address.
fn again(address: SocketAddr) -> SocketAddr {
    if address.port() == 0 {
        SocketAddr::from((Ipv4Addr::LOCALHOST, 0))
    } else {
        address
    }
}

fn operator(server: &LocalServer, data: &DataDirectory) -> Result<Client, Failure> {
    let missing = || {
        Failure::Config(format!(
            "{} holds no administrator's token",
            data.path().display()
        ))
    };
    let token = data.admin_token()?.ok_or_else(missing)?;
    Client::new(server.url(), Some(token), RetryPolicy::default())
}

fn verdict(report: &Report) -> Result<(), Failure> {
    if report.records_acked != report.records_durable {
        return Err(Failure::Verdict(
            "not every acknowledged record was there after the restart".to_owned(),
        ));
    }
    if report.decisions != report.decisions_durable {
        return Err(Failure::Verdict(
            "not every decision held after the restart".to_owned(),
        ));
    }
    if report.followed != report.followed_durable {
        return Err(Failure::Verdict(
            "not all that was kept was there after the restart".to_owned(),
        ));
    }
    if !report.audit_ok {
        return Err(Failure::Verdict("the audit found a difference".to_owned()));
    }
    Ok(())
}

/// Counts, audits and describes what was played.
async fn examine(
    operator: &Client,
    home: &Home,
    agents: usize,
    (played, pruned): (Played, Vec<Pruned>),
) -> Result<Report, Failure> {
    let mut records_durable = 0;
    for agent in &played.agents {
        records_durable += count_records(operator, &agent.task).await?;
    }
    let deciding = played.deciding;
    let decisions_durable = count_decisions(operator, &deciding.decisions).await?;
    let followed = deciding.followed.as_ref();
    let followed_durable = match followed {
        Some(found) => keeping::found_again(operator, found).await?,
        None => 0,
    };
    let loaded = deciding.loaded.as_ref();
    let audit = operator.audit().await?;
    let sums = Sums::of(&played.agents);
    Ok(Report {
        agents,
        records_acked: played.agents.iter().map(|agent| agent.records_acked).sum(),
        records_durable,
        published: sums.created + played.outcomes.written,
        merged: sums.merged,
        superseded: played.outcomes.supersessions.len(),
        refused: played.outcomes.refusals.len(),
        decided: played.judgement.judged.len(),
        pruned: pruned.len(),
        decisions: deciding.decisions.len(),
        decisions_durable,
        in_line: loaded.map_or(0, |loaded| loaded.in_line.len()),
        followed: followed.map_or(0, FollowReport::count),
        followed_durable,
        stopped: deciding.stops.len(),
        audit_ok: audit.ok,
        episodes: sums.episodes,
        linked_episodes: sums.linked_episodes,
        address: operator.base().to_owned(),
        data: home.data.path().to_owned(),
        scope: home.project.clone(),
        repository: played.repository,
        note: played.note,
        findings: findings(operator, &played.agents).await?,
        agent_details: played.agents,
        recall: played.recall,
        refusals: played.outcomes.refusals,
        supersessions: played.outcomes.supersessions,
        judged: played.judgement.judged,
        forgotten: pruned,
        decision_details: deciding.decisions,
        loaded: deciding.loaded,
        anchor: deciding.followed,
        stops: deciding.stops,
        audit,
        flags: home.flags(),
    })
}

async fn count_records(client: &Client, task: &Scope) -> Result<u64, Failure> {
    let mut query = ListQuery {
        scope: task.to_string(),
        after: None,
        limit: Some(PAGE_RECORDS),
    };
    let mut count = 0;
    loop {
        let page = client.records(&query).await?;
        count += page.items.len() as u64;
        match page.next {
            Some(next) => query.after = Some(next),
            None => return Ok(count),
        }
    }
}

/// How many of these decisions hold, in the version that was acknowledged.
async fn count_decisions(client: &Client, saved: &[DecisionReport]) -> Result<usize, Failure> {
    let mut count = 0;
    for made in saved {
        let head = client.decision(&made.scope, made.saved.root).await?.head;
        count += usize::from(head.active && head.version == made.saved.version);
    }
    Ok(count)
}

/// The first stretch of a log that an entry rests on.
async fn quote(client: &Client, citations: &[Citation]) -> Result<Option<Quote>, Failure> {
    let excerpt = citations.iter().find_map(|citation| match citation {
        Citation::Excerpt { id, from, to } => Some((id.clone(), *from, *to)),
        _ => None,
    });
    let Some((id, from, to)) = excerpt else {
        return Ok(None);
    };
    let said = client.excerpt(&ExcerptQuery { id, from, to }).await?;
    Ok(Some(Quote {
        record: said.id,
        from,
        to,
        text: said.text,
    }))
}

/// The entries that the promotions made, read back.
async fn findings(
    client: &Client,
    agents: &[report::AgentReport],
) -> Result<Vec<Finding>, Failure> {
    let mut findings = Vec::new();
    for (entry, found) in finders(agents) {
        let view = client.entry(entry).await?;
        let quote = quote(client, &view.head.citations).await?;
        findings.push(Finding {
            quote,
            entry,
            table: view.head.table,
            content: view.version.content,
            failure: view.head.failure,
            by: found.by.unwrap_or_else(|| "an earlier run".to_owned()),
            also_by: found.also_by,
            merges: found.merges,
            cosine: found.cosine,
        });
    }
    Ok(findings)
}
