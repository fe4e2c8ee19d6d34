//! `cluster`

use sillok_server::api::{
    Actor, ClusterNode, ClusterQuery, ClusterSlot, ClusterView, FenceNode, OrdersView,
    QuarantineScope, QuarantineView,
};

use crate::args::ClusterCommand;
use crate::failure::Failure;
use crate::output::{Style, one_line, table, time};
use crate::session::Session;

/// Carries out `cluster`.
///
/// # Errors
/// [`Failure`]
pub async fn run(session: &Session, command: ClusterCommand) -> Result<(), Failure> {
    match command {
        ClusterCommand::Status { slots, orders } => {
            let query = ClusterQuery { slots, orders };
            let view = session.client.cluster(&query).await?;
            session.output.show(&view, |style| describe(style, &view))
        }
        ClusterCommand::Fence { node, run } => fence(session, node, run).await,
        ClusterCommand::Quarantine { scope, reason, .. } => {
            quarantine(session, QuarantineScope { scope, reason }).await
        }
    }
}

async fn fence(session: &Session, node: String, run: Option<u64>) -> Result<(), Failure> {
    let incarnation = match run {
        Some(run) => run,
        None => {
            let view = session.client.cluster(&ClusterQuery::default()).await?;
            let found = view.nodes.iter().find(|known| known.name == node);
            // The server says so of a node that it does not know.
            found.map_or(0, |known| known.incarnation)
        }
    };
    let asked = FenceNode { node, incarnation };
    let order = session.client.fence_node(&asked).await?;
    session.output.show(&order, |_| {
        let (node, run) = (&order.node, order.incarnation);
        format!(
            "run {run} of node {node} takes no more beats: the node begins another run, or the others \
             take its slots once it was silent for longer than a lease"
        )
    })
}

async fn quarantine(session: &Session, asked: QuarantineScope) -> Result<(), Failure> {
    let order = session.client.quarantine_scope(&asked).await?;
    session.output.show(&order, |_| match &order.reason {
        Some(_) => format!("nothing is written any more: {}", quarantined(&order)),
        None => format!("{} may be written to again", order.scope),
    })
}

fn quarantined(order: &QuarantineView) -> String {
    let reason = order.reason.as_deref().unwrap_or_default();
    let (by, at) = (&order.by, time(order.at));
    format!(
        "{} is quarantined by {}:{} since {at}: {reason}",
        order.scope, by.kind, by.id
    )
}

fn describe(style: Style, view: &ClusterView) -> String {
    let mut parts = vec![summary(style, view)];
    let rows: Vec<Vec<String>> = view.nodes.iter().map(node).collect();
    parts.push(table(
        style,
        &["NODE", "RUN", "STATE", "SLOTS", "WIRE", "LAST BEAT"],
        &rows,
    ));
    if let Some(slots) = &view.slots {
        let rows: Vec<Vec<String>> = slots.iter().map(slot).collect();
        parts.push(table(
            style,
            &["SLOT", "NODE", "RUN", "EPOCH", "STATE", "UNTOLD"],
            &rows,
        ));
    }
    if let Some(orders) = &view.orders {
        parts.push(table(style, &["TIME", "BY", "ORDER"], &given(orders)));
    }
    parts.join("\n\n")
}

/// All orders, in the order in which they were given.
fn given(orders: &OrdersView) -> Vec<Vec<String>> {
    let fences = orders.fences.iter().map(|order| {
        let (node, run) = (&order.node, order.incarnation);
        (order.at, &order.by, format!("end run {run} of node {node}"))
    });
    let quarantines = orders.quarantines.iter().map(|order| {
        let what = match &order.reason {
            Some(reason) => format!("quarantine {}: {reason}", order.scope),
            None => format!("lift the quarantine of {}", order.scope),
        };
        (order.at, &order.by, what)
    });
    let mut all: Vec<_> = fences.chain(quarantines).collect();
    all.sort_by_key(|(at, ..)| *at);
    let row = |(at, by, what): (_, &Actor, String)| {
        vec![
            time(at),
            format!("{}:{}", by.kind, by.id),
            one_line(&what, 100),
        ]
    };
    all.into_iter().map(row).collect()
}

fn summary(style: Style, view: &ClusterView) -> String {
    let verdict = if view.healthy {
        style.good("healthy")
    } else {
        style.bad("unhealthy")
    };
    let (owned, used, node) = (view.slots_owned, view.slots_used, &view.node);
    let mut lines = vec![format!(
        "{verdict}, as node {node} sees it: {owned} of {used} slots have an owner"
    )];
    lines.extend(
        view.reasons
            .iter()
            .map(|reason| format!("  {}", reason.message)),
    );
    if let Some(untold) = view.untold.filter(|untold| *untold > 0) {
        lines.push(format!(
            "  the stream is yet to be told of {untold} commits"
        ));
    }
    let newer = view.nodes.iter().filter(|node| node.living);
    let newest = newer.map(|node| node.wire_version).max();
    let spoken = view.wire_version;
    if let Some(newest) = newest.filter(|newest| !view.alone && *newest > spoken) {
        lines.push(format!(
            "  nodes speak version {spoken} until all of them read version {newest}"
        ));
    }
    let fences = view.nodes.iter().filter_map(|node| node.fence.as_ref());
    lines.extend(fences.map(|fence| {
        let at = time(fence.at);
        let by = format!("{}:{}", fence.by.kind, fence.by.id);
        let (run, node) = (fence.incarnation, &fence.node);
        format!("  run {run} of node {node} was ended by {by} at {at}")
    }));
    let orders = view.quarantines.iter();
    lines.extend(orders.map(|order| format!("  {}", quarantined(order))));
    lines.join("\n")
}

fn node(node: &ClusterNode) -> Vec<String> {
    let is_ending = node
        .fence
        .as_ref()
        .is_some_and(|fence| fence.incarnation == node.incarnation);
    let state = match (node.living, is_ending) {
        (true, false) => "living",
        (true, true) => "ending",
        (false, _) => "over",
    };
    let silent = node.silent_ms.filter(|_| node.living);
    vec![
        node.name.clone(),
        node.incarnation.to_string(),
        state.to_owned(),
        node.slots.to_string(),
        node.wire_version.to_string(),
        silent.map_or_else(String::new, |ms| format!("{ms} ms ago")),
    ]
}

fn slot(slot: &ClusterSlot) -> Vec<String> {
    let state = if slot.owned { "owned" } else { "nobody's" };
    vec![
        slot.slot.to_string(),
        slot.node.clone(),
        slot.incarnation.to_string(),
        slot.epoch.to_string(),
        state.to_owned(),
        slot.untold
            .map_or_else(String::new, |commits| commits.to_string()),
    ]
}

#[cfg(test)]
mod tests {
    use sillok_core::principal::PrincipalKind;
    use sillok_core::scope::Scope;
    use sillok_core::time::Timestamp;
    use sillok_server::api::{Actor, FenceView, ReasonView};

    use super::*;

    fn kim() -> Actor {
        Actor {
            kind: PrincipalKind::Human,
            id: "kim".to_owned(),
        }
    }

    /// A cluster of which much is wrong.
    fn unhealthy() -> ClusterView {
        let of = |name: &str, living, silent_ms| ClusterNode {
            name: name.to_owned(),
            incarnation: 4,
            living,
            slots: 7,
            wire_version: 2,
            silent_ms,
            fence: None,
        };
        let mut eve = of("eve", true, Some(310));
        eve.fence = Some(FenceView {
            node: "eve".to_owned(),
            incarnation: 4,
            by: kim(),
            at: Timestamp::EPOCH,
        });
        ClusterView {
            node: "ada".to_owned(),
            alone: false,
            healthy: false,
            wire_version: 1,
            reasons: vec![ReasonView {
                reason: "owner_gone".to_owned(),
                node: Some("bob".to_owned()),
                message: "7 slots belong to a run of node bob that is over".to_owned(),
            }],
            nodes: vec![of("ada", true, None), of("bob", false, Some(9_000)), eve],
            slots_used: 21,
            slots_owned: 14,
            untold: Some(3),
            quarantines: vec![QuarantineView {
                scope: Scope::parse("org/acme").unwrap(),
                reason: Some("its disk is bad".to_owned()),
                by: kim(),
                at: Timestamp::EPOCH,
            }],
            slots: Some(vec![ClusterSlot {
                slot: 9,
                node: "bob".to_owned(),
                incarnation: 4,
                epoch: 12,
                owned: false,
                untold: Some(3),
            }]),
            orders: Some(OrdersView {
                fences: vec![FenceView {
                    node: "eve".to_owned(),
                    incarnation: 3,
                    by: kim(),
                    at: Timestamp::from_ms(2),
                }],
                quarantines: vec![QuarantineView {
                    scope: Scope::parse("org/acme").unwrap(),
                    reason: None,
                    by: kim(),
                    at: Timestamp::from_ms(1),
                }],
            }),
        }
    }

    #[test]
    fn what_is_wrong_stands_before_the_nodes() {
        let text = describe(Style::default(), &unhealthy());
        assert!(text.starts_with(
            "unhealthy, as node ada sees it: 14 of 21 slots have an owner\n  7 slots belong"
        ));
        assert!(text.contains("told of 3 commits"));
        assert!(
            text.contains("310 ms ago") && !text.contains("9000 ms ago"),
            "{text}"
        );
        assert!(
            text.contains("version 1 until all of them read version 2"),
            "{text}"
        );
        assert!(text.contains("nobody's"));
        assert!(text.contains("run 4 of node eve was ended by human:kim at"));
        assert!(text.contains("ending"), "{text}");
        let quarantined = text.find("org/acme is quarantined by human:kim since ");
        assert!(quarantined.is_some(), "{text}");
        assert!(text.contains(": its disk is bad"), "{text}");
        let orders = ["lift the quarantine of org/acme", "end run 3 of node eve"];
        let orders = orders.map(|order| text.find(order));
        assert!(orders[0].is_some() && orders[0] < orders[1], "{text}");
    }
}
