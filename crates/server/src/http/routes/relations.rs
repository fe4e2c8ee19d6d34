//! Routes of the kinds of relations that projects and organisations declare.
//!
//! Owns how a request that names such a kind comes to say which way it carries a change.

use axum::Json;
use axum::extract::State;
use sillok_core::command::AnswerBody;
use sillok_core::decision::{Reach, RelationName};
use sillok_core::error::Error;
use sillok_core::limits::RELATIONS_MAX;
use sillok_core::principal::Principal;
use sillok_core::scope::Scope;

use super::{PAGE_ROWS, authorize_sight};
use crate::api::{
    Cursor, DeclareRelation, DeclaredRelation, Page, Reaches, RelationDeclared, RelationKindsQuery,
    SaveDecision,
};
use crate::http::command::{Receipt, Reply};
use crate::http::extract::{Read, Write};
use crate::http::{App, Refusal};

/// The rules that decide a declaration, by the level of the scope.
const DECLARES: [&str; 2] = ["control/save_lock_up_to_project", "control/save_lock_org"];

/// Declare a kind of relation between decisions, for a project or an organisation and all that lies inside. It is neither
/// changed nor taken back: decisions rest on what it means. Whoever may save a `lock` there may declare it.
#[utoipa::path(post, path = "/v1/decisions/kinds", tag = "decisions", operation_id = "declare_relation",
    request_body = DeclareRelation,
    responses((status = 200, description = "The kind is declared.", body = RelationDeclared)),
    extensions(("x-sillok-access" = json!(DECLARES))))]
pub(super) async fn declare(
    State(app): State<App>,
    write: Write<DeclareRelation>,
) -> Reply<RelationDeclared> {
    let (name, command) = write.body.into_command().map_err(Refusal::of(write.id))?;
    app.carry_out(&write.session, write.id, command)
        .await?
        .declared(name)
}

/// List the declared kinds of relations that count in a scope, by their names: what it declares, and what the scopes around
/// it do.
#[utoipa::path(get, path = "/v1/decisions/kinds", tag = "decisions", operation_id = "list_relation_kinds",
    params(RelationKindsQuery),
    responses((status = 200, description = "A page; it may be short and not the last.", body = Page<DeclaredRelation>)),
    extensions(("x-sillok-access" = json!(["sees_entries"]))))]
pub(super) async fn list(
    State(app): State<App>,
    read: Read<RelationKindsQuery>,
) -> Reply<Page<DeclaredRelation>> {
    let scope = Scope::parse(&read.query.scope)?;
    authorize_sight(&read.session.principal, &scope)?;
    let generation = app.generation();
    let after = Cursor::relation(read.query.after.as_deref(), generation)?;
    let limit = read.query.limit.unwrap_or(PAGE_ROWS);
    let page = app
        .reader()
        .declared_relations(&scope, after, limit)
        .await?;
    Ok(Json(Page {
        items: page.items.into_iter().map(Into::into).collect(),
        next: page
            .next
            .map(|name| Cursor::Relation(name).encode(generation)),
    }))
}

impl App {
    /// Which way the declared kinds carry a change that a decision names. Who does not see the scope is told nothing of them,
    /// and neither what has more relations than a decision may have nor what may be a secret is looked up: the node refuses
    /// all three, and what is not declared there, but not before it has refused who may not save.
    ///
    /// # Errors
    /// `invalid_scope`, and what the store answers.
    pub(super) async fn reaches(
        &self,
        principal: &Principal,
        said: &SaveDecision,
    ) -> Result<Reaches, Error> {
        let names = said.declared_kinds();
        if names.is_empty() {
            return Ok(Reaches::new());
        }
        let scope = Scope::parse(&said.scope)?;
        let is_seen = principal.prefix.sees_entries_of(&scope);
        let is_sought = is_seen && said.relations.len() <= RELATIONS_MAX;
        let sought = names.iter().copied();
        let sought = sought.filter(|name| is_sought && !name.holds_secret());
        let known = self.reader().declared_reaches(&scope, sought.collect());
        let mut reaches: Reaches = names
            .into_iter()
            .map(|name| (name, Reach::Neither))
            .collect();
        reaches.extend(known.await?);
        Ok(reaches)
    }
}

impl Receipt {
    fn declared(self, name: RelationName) -> Reply<RelationDeclared> {
        let AnswerBody::Done = self.result else {
            return self.unfit();
        };
        let Self {
            seq,
            time,
            command_id,
            ..
        } = self;
        Ok(Json(RelationDeclared {
            name,
            seq,
            time,
            command_id,
        }))
    }
}
