//! Where what is answered goes on: the links of the document.
//!
//! Owns which part of a request and its answer is what another operation is asked by. A generator of clients has them for
//! navigation, and `make schemathesis` makes sequences of calls along them.

use serde_json::{Map, Value};
use utoipa::openapi::RefOr;
use utoipa::openapi::link::{Link, LinkBuilder};
use utoipa::openapi::path::{Operation, ParameterIn, Paths};

/// From an operation to others: each is told values by their names, of the first one's body (`<`), query (`?`) or answer
/// (`>`).
type Onward = (
    &'static str,
    &'static [(
        &'static [&'static str],
        &'static [(&'static str, &'static str)],
    )],
);

/// A page's cursor, for the next one. A listing of decisions is left out: its cursor is that of a rank and a domain.
const NEXT: &[(&str, &str)] = &[("scope", "?scope"), ("after", ">next")];

const LINKS: &[Onward] = &[
    (
        "open_task",
        &[(
            &[
                "show_task",
                "list_records",
                "list_events",
                "list_verifications",
                "list_failed_approaches",
                "append_logs",
                "append_snapshot",
                "append_memory_event",
                "record_verification",
                "mark_stuck",
                "close_task",
                "check_fix",
                "brief",
                "recall",
                "save_decision",
                "save_evidence",
                "put_entry",
                "declare_relation",
                "search_patterns",
            ],
            &[("scope", "<scope")],
        )],
    ),
    (
        "append_logs",
        &[(
            &["list_records", "record_verification"],
            &[("scope", "<scope")],
        )],
    ),
    (
        "record_verification",
        &[(
            &[
                "show_promotion",
                "retry_promotion",
                "drop_promotion",
                "undo_promotion",
            ],
            &[("scope", "<scope"), ("verification", ">verification")],
        )],
    ),
    (
        "mark_stuck",
        &[(&["clear_stuck", "check_fix"], &[("scope", "<scope")])],
    ),
    (
        "close_task",
        &[(
            &["store_trajectory", "archive_task"],
            &[("scope", "<scope")],
        )],
    ),
    (
        "store_trajectory",
        &[(&["search_patterns"], &[("scope", "<scope")])],
    ),
    (
        "save_decision",
        &[
            (
                &["show_decision", "list_decision_versions"],
                &[("scope", "<scope"), ("root", ">root")],
            ),
            (
                &["deactivate_decision"],
                &[
                    ("scope", "<scope"),
                    ("root", ">root"),
                    ("expected_version", ">version"),
                ],
            ),
        ],
    ),
    (
        "deactivate_decision",
        &[(
            &["restore_decision"],
            &[
                ("scope", "<scope"),
                ("root", "<root"),
                ("expected_version", ">version"),
            ],
        )],
    ),
    (
        "save_evidence",
        &[(
            &["show_evidence", "show_evidence_text"],
            &[("scope", "<scope"), ("id", ">id")],
        )],
    ),
    (
        "put_entry",
        &[
            (&["show_entry", "show_history"], &[("id", ">entry")]),
            (
                &["amend_entry", "resolve_state"],
                &[("entry", ">entry"), ("expected_version", ">version")],
            ),
            (
                &["supersede_entry"],
                &[("old", ">entry"), ("expected_version", ">version")],
            ),
            (&["report_reuse"], &[("entry", ">entry")]),
            (
                &["report_gate"],
                &[("entry", ">entry"), ("expected_version", ">version")],
            ),
        ],
    ),
    (
        "add_anchors",
        &[(
            &["show_anchor", "follow_anchor", "drop_anchor"],
            &[("scope", "<scope"), ("id", ">ids/0")],
        )],
    ),
    (
        "list_records",
        &[
            (&["show_record"], &[("id", ">items/0/id")]),
            (&["list_records"], NEXT),
        ],
    ),
    (
        "list_reviews",
        &[
            (
                &["show_review"],
                &[("scope", "?scope"), ("id", ">items/0/id")],
            ),
            (
                &["answer_review"],
                &[("scope", "?scope"), ("review", ">items/0/id")],
            ),
            (&["list_reviews"], NEXT),
        ],
    ),
    ("mint_token", &[(&["revoke_token"], &[("id", ">id")])]),
    ("list_anchors", &[(&["list_anchors"], NEXT)]),
    ("list_evidence", &[(&["list_evidence"], NEXT)]),
    ("list_events", &[(&["list_events"], NEXT)]),
    ("list_tasks", &[(&["list_tasks"], NEXT)]),
    ("list_jobs", &[(&["list_jobs"], NEXT)]),
    ("list_relation_kinds", &[(&["list_relation_kinds"], NEXT)]),
    (
        "list_failed_approaches",
        &[(&["list_failed_approaches"], NEXT)],
    ),
];

/// Adds the links to the answers that they go on from.
///
/// # Panics
/// Where the table names an operation that there is not.
pub(super) fn join(paths: &mut Paths) {
    for (source, targets) in LINKS {
        let made: Vec<(String, Link)> = targets
            .iter()
            .flat_map(|(names, values)| names.iter().map(move |name| (name, values)))
            .map(|(name, values)| ((*name).to_owned(), link(find(paths, name), name, values)))
            .collect();
        let operation = find_mut(paths, source);
        let answer = operation.responses.responses.get_mut("200");
        let Some(RefOr::T(answer)) = answer else {
            panic!("{source} answers nothing that goes on");
        };
        answer
            .links
            .extend(made.into_iter().map(|(name, link)| (name, RefOr::T(link))));
    }
}

fn link(target: &Operation, name: &str, values: &[(&str, &str)]) -> Link {
    let in_query = |value: &str| {
        let parameters = target.parameters.iter().flatten();
        parameters
            .filter_map(|parameter| match parameter {
                RefOr::T(parameter) => Some(parameter),
                RefOr::Ref(_) => None,
            })
            .any(|parameter| {
                parameter.name == value && parameter.parameter_in == ParameterIn::Query
            })
    };
    let mut body = Map::new();
    let mut link = LinkBuilder::new().operation_id(name);
    for (value, of) in values {
        if in_query(value) {
            link = link.parameter(*value, expression(of));
        } else {
            body.insert((*value).to_owned(), Value::from(expression(of)));
        }
    }
    if !body.is_empty() {
        link = link.request_body(Some(Value::Object(body)));
    }
    link.build()
}

/// The runtime expression of OpenAPI for a value.
fn expression(of: &str) -> String {
    let (place, name) = of.split_at(1);
    match place {
        "<" => format!("$request.body#/{name}"),
        "?" => format!("$request.query.{name}"),
        _ => format!("$response.body#/{name}"),
    }
}

fn find<'a>(paths: &'a Paths, name: &str) -> &'a Operation {
    let mut all = paths.paths.values();
    let found = all.find_map(|item| {
        let mut both = [item.get.as_ref(), item.post.as_ref()]
            .into_iter()
            .flatten();
        both.find(|operation| operation.operation_id.as_deref() == Some(name))
    });
    found.unwrap_or_else(|| panic!("there is no operation {name}"))
}

fn find_mut<'a>(paths: &'a mut Paths, name: &str) -> &'a mut Operation {
    let mut all = paths.paths.values_mut();
    let found = all.find_map(|item| {
        let mut both = [item.get.as_mut(), item.post.as_mut()]
            .into_iter()
            .flatten();
        both.find(|operation| operation.operation_id.as_deref() == Some(name))
    });
    found.unwrap_or_else(|| panic!("there is no operation {name}"))
}
