//! The routes, each said once: to the router and to the document alike.
//!
//! Owns the list. Handlers lie in one file for each family, and hold nothing but the way from a
//! request to a command or a read, and back.

mod anchors;
mod backup;
mod bank;
mod brief;
mod checkpoint;
mod code;
mod decisions;
mod entries;
mod erase;
mod events;
mod evidence;
mod fixes;
mod graph;
mod impact;
mod jobs;
mod node;
mod recall;
mod relations;
mod reviews;
mod staging;
mod tasks;
mod tokens;
mod verifications;

use sillok_core::error::{Error, ErrorCode};
use sillok_core::principal::Principal;
use sillok_core::scope::{Scope, ScopePrefix};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::{App, document};

/// The rules that decide a save of what has no rank, or of a decision that is `normal`, by the level of the scope.
const SAVES_NORMAL: [&str; 3] = [
    "control/save_normal_below_project",
    "control/save_normal_project",
    "control/save_normal_org",
];

/// Rows of a page whose size is not asked for.
const PAGE_ROWS: usize = 100;

/// Every route, with what it says of itself.
pub(super) fn all() -> OpenApiRouter<App> {
    interface().merge(probes())
}

/// What tells how the server is. It answers however much else is under way.
pub(super) fn probes() -> OpenApiRouter<App> {
    OpenApiRouter::with_openapi(document::empty())
        .routes(routes!(node::live))
        .routes(routes!(node::ready))
        .routes(routes!(node::metrics))
}

/// What people and tasks say of entries.
fn judging() -> OpenApiRouter<App> {
    OpenApiRouter::with_openapi(document::empty())
        .routes(routes!(reviews::report))
        .routes(routes!(reviews::report_gate))
        .routes(routes!(reviews::list))
        .routes(routes!(reviews::show))
        .routes(routes!(reviews::answer))
}

/// All other routes.
pub(super) fn interface() -> OpenApiRouter<App> {
    of_tasks().merge(of_memory()).merge(of_nodes())
}

/// What happens in tasks, how they end, and what is left of them.
fn of_tasks() -> OpenApiRouter<App> {
    OpenApiRouter::with_openapi(document::empty())
        .routes(routes!(tasks::open, tasks::list))
        .routes(routes!(tasks::show))
        .routes(routes!(tasks::mark_stuck))
        .routes(routes!(tasks::clear_stuck))
        .routes(routes!(tasks::close))
        .routes(routes!(tasks::archive))
        .routes(routes!(staging::append_logs))
        .routes(routes!(staging::append_snapshot))
        .routes(routes!(staging::append_memory_event))
        .routes(routes!(staging::list))
        .routes(routes!(staging::show))
        .routes(routes!(staging::excerpt))
        .routes(routes!(verifications::record, verifications::list))
        .routes(routes!(verifications::promotion))
        .routes(routes!(verifications::retry))
        .routes(routes!(verifications::undo))
        .routes(routes!(fixes::check))
        .routes(routes!(fixes::failed))
        .routes(routes!(bank::store))
        .routes(routes!(bank::search))
        .routes(routes!(jobs::list))
        .routes(routes!(jobs::drop_promotion))
}

/// What is known: entries, decisions, evidence, anchors, and the code.
fn of_memory() -> OpenApiRouter<App> {
    OpenApiRouter::with_openapi(document::empty())
        .routes(routes!(entries::put))
        .routes(routes!(entries::amend))
        .routes(routes!(entries::supersede))
        .routes(routes!(entries::resolve))
        .routes(routes!(entries::restore))
        .routes(routes!(entries::show))
        .routes(routes!(entries::history))
        .routes(routes!(erase::erase))
        .merge(judging())
        .routes(routes!(recall::recall))
        .routes(routes!(decisions::save, decisions::list))
        .routes(routes!(decisions::propose))
        .routes(routes!(decisions::deactivate))
        .routes(routes!(decisions::restore))
        .routes(routes!(decisions::show))
        .routes(routes!(decisions::history))
        .routes(routes!(relations::declare, relations::list))
        .routes(routes!(evidence::save, evidence::list))
        .routes(routes!(evidence::show))
        .routes(routes!(evidence::text))
        .routes(routes!(anchors::add, anchors::list))
        .routes(routes!(anchors::drop))
        .routes(routes!(anchors::show))
        .routes(routes!(anchors::follow))
        .routes(routes!(anchors::search))
        .routes(routes!(impact::impact))
        .routes(routes!(brief::brief))
        .routes(routes!(graph::query))
        .routes(routes!(code::tree))
        .routes(routes!(code::symbols))
        .routes(routes!(code::dependents))
}

/// Events, tokens, and what operators ask of nodes.
fn of_nodes() -> OpenApiRouter<App> {
    OpenApiRouter::with_openapi(document::empty())
        .routes(routes!(events::list))
        .routes(routes!(events::tail))
        .routes(routes!(tokens::mint, tokens::list))
        .routes(routes!(tokens::revoke))
        .routes(routes!(node::audit))
        .routes(routes!(checkpoint::make))
        .routes(routes!(checkpoint::compare))
        .routes(routes!(node::maintain))
        .routes(routes!(backup::backup))
        .routes(routes!(node::status))
        .routes(routes!(node::cluster))
        .routes(routes!(node::fence))
        .routes(routes!(node::quarantine))
        .routes(routes!(node::document))
}

/// Checks that a principal may read everything under a prefix.
fn authorize_under(principal: &Principal, under: &ScopePrefix) -> Result<(), Error> {
    if principal.prefix.covers_prefix(under) {
        return Ok(());
    }
    Err(Error::forbidden(
        "token/scope",
        format!("the token of {} does not cover {under}", principal.actor),
    ))
}

/// Checks that a principal works in a scope or inside it: what was decided and kept there is for it as well.
fn authorize_sight(principal: &Principal, scope: &Scope) -> Result<(), Error> {
    if principal.prefix.sees_entries_of(scope) {
        return Ok(());
    }
    Err(Error::forbidden(
        "token/scope",
        format!(
            "the token of {} covers neither {scope} nor anything inside it",
            principal.actor
        ),
    ))
}

fn not_found(what: &str) -> Error {
    Error::new(
        ErrorCode::NotFound,
        format!("there is no {what}, or it is not visible to the token"),
    )
}
