//! The OpenAPI document: what the routes say of themselves, and what holds for all of them.
//!
//! Each operation carries `x-sillok-access`: the names of the rules that decide it, or `everything`, `read`,
//! `sees_entries` or `public`. A route is a write when one of its rules is `entries` or begins with `control/`, but for
//! `control/propose`, and it is not a GET. What follows from that (the token, the command id, the form of a refusal) is
//! added here, once.

mod links;

use std::sync::LazyLock;

use bytes::Bytes;
use serde_json::Value;
use utoipa::ToSchema;
use utoipa::openapi::content::ContentBuilder;
use utoipa::openapi::path::{Operation, ParameterBuilder, ParameterIn, PathItem};
use utoipa::openapi::response::ResponseBuilder;
use utoipa::openapi::schema::{ArrayItems, Components, Ref, Schema};
use utoipa::openapi::security::{Http, HttpAuthScheme, SecurityRequirement, SecurityScheme};
use utoipa::openapi::{InfoBuilder, OpenApi, OpenApiBuilder, RefOr, Required};

use super::routes;
use crate::api::{Problem, TailItem, schema};

/// The extension that names an operation's rules.
pub(super) const ACCESS: &str = "x-sillok-access";

const SCHEME: &str = "token";

/// The document that `/v1/openapi.json` shows.
#[must_use]
pub fn openapi() -> OpenApi {
    let (_, document) = routes::all().split_for_parts();
    finish(document)
}

/// The document's text, made once.
pub(super) fn text() -> Bytes {
    static TEXT: LazyLock<Bytes> = LazyLock::new(|| {
        let text = openapi().to_json().expect("a document is plain data");
        Bytes::from(text)
    });
    TEXT.clone()
}

/// The empty document that the routes add themselves to.
pub(super) fn empty() -> OpenApi {
    let info = InfoBuilder::new()
        .title("Sillok")
        .version(env!("CARGO_PKG_VERSION"))
        .description(Some("The governed memory of parallel coding agents."))
        .build();
    OpenApiBuilder::new().info(info).build()
}

fn finish(mut document: OpenApi) -> OpenApi {
    let components = document.components.get_or_insert_default();
    let mut schemas = Vec::new();
    with_parts::<Problem>(&mut schemas);
    with_parts::<TailItem>(&mut schemas);
    // What stands in parameters alone.
    with_parts::<schema::IdempotencyKey>(&mut schemas);
    with_parts::<schema::Cursor>(&mut schemas);
    with_parts::<schema::PageRows>(&mut schemas);
    with_parts::<schema::EventKinds>(&mut schemas);
    with_parts::<schema::ScopeInProject>(&mut schemas);
    with_parts::<schema::FilePath>(&mut schemas);
    with_parts::<schema::SymbolName>(&mut schemas);
    components.schemas.extend(schemas);
    refer(components);
    components.add_security_scheme(
        SCHEME,
        SecurityScheme::Http(Http::new(HttpAuthScheme::Bearer)),
    );
    for item in document.paths.paths.values_mut() {
        for (method, operation) in operations(item) {
            complete(operation, method);
        }
    }
    links::join(&mut document.paths);
    document
}

/// Adds a schema, and those that it names.
fn with_parts<T: ToSchema>(schemas: &mut Vec<(String, RefOr<Schema>)>) {
    T::schemas(schemas);
    schemas.push((T::name().into_owned(), T::schema()));
}

/// Has pages name the schema of their items, which stands in each of them otherwise.
fn refer(components: &mut Components) {
    let names: Vec<String> = components.schemas.keys().cloned().collect();
    for name in names {
        let Some(item) = name.strip_prefix("Page_") else {
            continue;
        };
        if !components.schemas.contains_key(item) {
            continue;
        }
        let page = components.schemas.get_mut(&name);
        if let Some(RefOr::T(Schema::Object(page))) = page
            && let Some(RefOr::T(Schema::Array(items))) = page.properties.get_mut("items")
        {
            items.items =
                ArrayItems::RefOrSchema(Box::new(RefOr::Ref(Ref::from_schema_name(item))));
        }
    }
}

fn operations(item: &mut PathItem) -> impl Iterator<Item = (&'static str, &mut Operation)> {
    [("get", item.get.as_mut()), ("post", item.post.as_mut())]
        .into_iter()
        .filter_map(|(method, operation)| Some((method, operation?)))
}

/// Adds what follows from an operation's rules.
fn complete(operation: &mut Operation, method: &str) {
    let access = access_of(operation);
    assert!(
        !access.is_empty(),
        "every route names its rules: {:?}",
        operation.operation_id
    );
    let problem = ResponseBuilder::new()
        .description("A refusal.")
        .content(
            "application/problem+json",
            ContentBuilder::new()
                .schema(Some(RefOr::Ref(Ref::from_schema_name(Problem::name()))))
                .build(),
        )
        .build();
    operation
        .responses
        .responses
        .insert("default".to_owned(), RefOr::T(problem));
    if access.iter().any(|rule| rule == "public") {
        return;
    }
    operation.security = Some(vec![SecurityRequirement::new(SCHEME, Vec::<String>::new())]);
    if method != "get" && access.iter().any(|rule| writes(rule)) {
        let parameter = ParameterBuilder::new()
            .name("Idempotency-Key")
            .parameter_in(ParameterIn::Header)
            .required(Required::False)
            .description(Some(
                "The command's id: a UUID of version 7. A retry with the same one is given the first answer, and \
                 writes nothing. The server makes one when it is absent.",
            ))
            .schema(Some(RefOr::Ref(Ref::from_schema_name(schema::IdempotencyKey::name()))))
            .build();
        operation
            .parameters
            .get_or_insert_default()
            .push(RefOr::T(parameter));
    }
}

/// Whether what a rule decides is stored.
fn writes(rule: &str) -> bool {
    rule == "entries" || (rule.starts_with("control/") && rule != "control/propose")
}

/// The names of an operation's rules.
pub(super) fn access_of(operation: &Operation) -> Vec<String> {
    let access = operation
        .extensions
        .as_ref()
        .and_then(|extensions| extensions.get(ACCESS));
    let names = access
        .and_then(Value::as_array)
        .map(Vec::as_slice)
        .unwrap_or_default();
    names
        .iter()
        .filter_map(Value::as_str)
        .map(str::to_owned)
        .collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use sillok_core::permission::CONTROLS;

    use super::*;

    #[test]
    fn every_route_names_rules_that_exist_and_every_control_rule_has_a_route() {
        let mut document = openapi();
        let known: BTreeSet<&str> = CONTROLS.iter().map(|rule| rule.name).collect();
        let mut written = BTreeSet::new();
        for (path, item) in &mut document.paths.paths {
            for (method, operation) in operations(item) {
                let access = access_of(operation);
                assert!(!access.is_empty(), "{path}");
                for rule in access {
                    let plain = ["entries", "everything", "read", "sees_entries", "public"]
                        .contains(&rule.as_str());
                    assert!(
                        plain || known.contains(rule.as_str()),
                        "{path} names {rule}"
                    );
                    if method == "post" {
                        written.insert(rule);
                    }
                }
                let answers = &operation.responses.responses;
                assert!(
                    answers.contains_key("200") && answers.contains_key("default"),
                    "{path}"
                );
            }
        }
        assert!(
            known.iter().all(|rule| written.contains(*rule)),
            "{written:?}"
        );
    }

    #[test]
    fn the_document_is_openapi_3_1_and_every_reference_resolves() {
        let text = openapi().to_json().unwrap();
        let document: Value = serde_json::from_str(&text).unwrap();
        assert!(document["openapi"].as_str().unwrap().starts_with("3.1"));
        let schemas = document["components"]["schemas"].as_object().unwrap();
        for reference in text.split("\"#/components/schemas/").skip(1) {
            let name = reference.split('"').next().unwrap();
            assert!(schemas.contains_key(name), "{name} is named and not there");
        }
    }

    #[test]
    fn pages_name_their_items_and_answers_say_where_they_go_on() {
        let document: Value = serde_json::from_str(&openapi().to_json().unwrap()).unwrap();
        let tasks = &document["components"]["schemas"]["Page_TaskView"]["properties"]["items"];
        assert_eq!(tasks["items"]["$ref"], "#/components/schemas/TaskView");
        let opened = &document["paths"]["/v1/tasks"]["post"]["responses"]["200"]["links"];
        let shown = &opened["show_task"];
        assert_eq!(shown["operationId"], "show_task");
        assert_eq!(shown["parameters"]["scope"], "$request.body#/scope");
        let logged = &opened["append_logs"];
        assert_eq!(logged["requestBody"]["scope"], "$request.body#/scope");
    }
}
