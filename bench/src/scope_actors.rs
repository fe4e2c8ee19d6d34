//! Scope actors in process: a node under commands of one record each.
//!
//! Clients are those of [`crate::lanes`]: each submits its next command when the last one is acknowledged.

use std::time::Instant;

use sillok_actors::Node;
use sillok_core::principal::{Principal, PrincipalKind};
use sillok_store::FjallStore;

use crate::engines::{folder, runtime};
use crate::error::Error;
use crate::lanes::{Client, load};
use crate::report::{Key, Report, Row};
use crate::scale::Scale;
use crate::workload::{append, open_task, principal, submission, task};

/// Measures 1, 5 and many scopes, each on a store of its own.
///
/// # Errors
/// What the node answered.
pub(crate) fn measure(scale: &Scale, report: &mut Report) -> Result<(), Error> {
    let runtime = runtime()?;
    for scopes in [1, 5, scale.wide] {
        let folder = folder()?;
        let open = |node: Node<FjallStore>, lane| async move {
            node.submit(submission(&task(lane), &agent(), open_task()))
                .await?;
            Ok(())
        };
        let (measured, batch) = load(&runtime, folder.path(), scopes, scale, open, append_on)?;
        let what = format!("scope actors: {scopes} scopes, {batch:.0} commands a batch");
        let row = Row::rate(what, &measured);
        if scopes == scale.wide {
            report.add_keyed(Key::Actors, row);
        } else {
            report.add(row);
        }
    }
    Ok(())
}

fn agent() -> Principal {
    principal(PrincipalKind::Agent)
}

async fn append_on(client: Client) -> Result<(), Error> {
    let (agent, scope) = (agent(), task(client.lane));
    let mut next = client.first;
    while client.gauge.is_on() {
        let command = submission(&scope, &agent, append(client.texts.get(next)));
        let sent = Instant::now();
        client.node.submit(command).await?;
        client.gauge.acknowledged(client.lane, sent, 1);
        next += 1;
    }
    Ok(())
}
