//! Routes of source files: the work tree, its symbols, and what depends on what.

use axum::Json;
use axum::extract::State;
use sillok_core::permission::authorize_read;
use sillok_core::scope::Scope;

use crate::api::{
    CodeDependents, DependentsQuery, SymbolsFound, SymbolsQuery, WorkTreeQuery, WorkTreeView,
};
use crate::http::App;
use crate::http::command::Reply;
use crate::http::extract::Read;

/// Say what is known of the work tree of a scope, or of the nearest one around it: how much, and what is missing.
#[utoipa::path(get, path = "/v1/code", tag = "code", operation_id = "show_work_tree", params(WorkTreeQuery),
    responses((status = 200, description = "The work tree.", body = WorkTreeView)),
    extensions(("x-sillok-access" = json!(["read"]))))]
pub(super) async fn tree(State(app): State<App>, read: Read<WorkTreeQuery>) -> Reply<WorkTreeView> {
    let scope = Scope::parse(&read.query.scope)?;
    authorize_read(&read.session.principal, &scope)?;
    Ok(Json(app.look_at_code(scope, WorkTreeView::of).await?))
}

/// List the symbols of a file, or those of a name, with their signatures.
#[utoipa::path(get, path = "/v1/code/symbols", tag = "code", operation_id = "list_symbols", params(SymbolsQuery),
    responses((status = 200, description = "The symbols.", body = SymbolsFound)),
    extensions(("x-sillok-access" = json!(["read"]))))]
pub(super) async fn symbols(
    State(app): State<App>,
    read: Read<SymbolsQuery>,
) -> Reply<SymbolsFound> {
    let asked = read.query.parse()?;
    authorize_read(&read.session.principal, &asked.scope)?;
    let scope = asked.scope.clone();
    let found = app.ask_code(scope, move |seen, is_over| {
        SymbolsFound::of(seen, &asked, is_over)
    });
    Ok(Json(found.await?))
}

/// Say what depends on a file or a symbol: what imports and calls it, and what imports and calls that.
#[utoipa::path(get, path = "/v1/code/dependents", tag = "code", operation_id = "code_dependents", params(DependentsQuery),
    responses((status = 200, description = "What depends on it, the nearest first.", body = CodeDependents)),
    extensions(("x-sillok-access" = json!(["read"]))))]
pub(super) async fn dependents(
    State(app): State<App>,
    read: Read<DependentsQuery>,
) -> Reply<CodeDependents> {
    let asked = read.query.parse()?;
    authorize_read(&read.session.principal, &asked.scope)?;
    let scope = asked.scope.clone();
    let found = app.ask_code(scope, move |seen, is_over| {
        CodeDependents::of(seen, &asked, is_over)
    });
    Ok(Json(found.await?))
}
