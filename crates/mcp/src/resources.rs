//! Resources: the log of a task, a memory, and the chain of a decision's versions.
//!
//! Owns their names, `sillok://...`, and what is read under them. Each is a request to the API, as a tool is.

mod name;
mod read;

use rmcp::model::{ListResourcesResult, Resource, ResourceTemplate};
use serde::Deserialize;
use sillok_core::error::ErrorCode;

pub(crate) use name::Name;
pub(crate) use read::read;

use crate::api::Api;
use crate::call::Call;
use crate::limits::RESOURCES_PAGE;
use crate::refusal::Refusal;

/// The media type of all of them.
pub(crate) const JSON: &str = "application/json";

/// The forms of their names.
pub(crate) fn templates() -> Vec<ResourceTemplate> {
    let of = |uri: &str, name: &str, title: &str, description: &str| {
        ResourceTemplate::new(uri, name)
            .with_title(title)
            .with_description(description)
            .with_mime_type(JSON)
    };
    vec![
        of(
            "sillok://log/{+task}{?after}",
            "log",
            "Log of a task",
            "The records of a task, the first one first. `after` goes on behind a record's seq or a cursor.",
        ),
        of(
            "sillok://entry/{entry}",
            "entry",
            "Memory",
            "One memory with its sources, trust and history.",
        ),
        of(
            "sillok://decision/{root}/{+scope}{?after}",
            "decision",
            "Chain of a decision",
            "All versions of a decision that was made in a scope, the first one first.",
        ),
    ]
}

/// Which part of the list a cursor stands in, and behind what.
enum Place {
    Tasks(Option<String>),
    Decisions(Option<String>),
}

impl Place {
    fn parse(cursor: Option<&str>) -> Result<Self, Refusal> {
        let Some(cursor) = cursor else {
            return Ok(Self::Tasks(None));
        };
        let after = |after: &str| (!after.is_empty()).then(|| after.to_owned());
        match cursor.split_once('.') {
            Some(("tasks", rest)) => Ok(Self::Tasks(after(rest))),
            Some(("decisions", rest)) => Ok(Self::Decisions(after(rest))),
            _ => {
                let why = "the cursor is none that this list gave out";
                Err(Refusal::of_arguments(ErrorCode::InvalidArgument, why))
            }
        }
    }

    fn cursor(&self) -> String {
        let (part, after) = match self {
            Self::Tasks(after) => ("tasks", after),
            Self::Decisions(after) => ("decisions", after),
        };
        format!("{part}.{}", after.as_deref().unwrap_or_default())
    }
}

#[derive(Deserialize)]
struct Page<T> {
    items: Vec<T>,
    #[serde(default)]
    next: Option<String>,
}

#[derive(Deserialize)]
struct TaskItem {
    scope: String,
    status: String,
}

#[derive(Deserialize)]
struct DecisionItem {
    root: String,
    scope: String,
    rank: String,
}

/// One page of what lies in a scope: the logs of the tasks inside it, then the decisions that were made in it. Nothing where no
/// scope is named: only its caller knows where it stands. What somebody wrote stands in no name: a list is read unmarked.
pub(crate) async fn list<A: Api>(
    call: &Call<'_, A>,
    scope: Option<&str>,
    cursor: Option<&str>,
) -> Result<ListResourcesResult, Refusal> {
    let place = Place::parse(cursor)?;
    let Some(scope) = scope else {
        return Ok(ListResourcesResult::with_all_items(Vec::new()));
    };
    let query = |after: &Option<String>| {
        vec![
            ("scope", Some(scope.to_owned())),
            ("after", after.clone()),
            ("limit", Some(RESOURCES_PAGE.to_string())),
        ]
    };
    let (items, next): (Vec<Resource>, _) = match &place {
        Place::Tasks(after) => {
            let page: Page<TaskItem> = call.read("/v1/tasks", query(after)).await?;
            let items = page.items.into_iter().map(log_of).collect();
            let next = page.next.map(|next| Place::Tasks(Some(next)));
            (items, Some(next.unwrap_or(Place::Decisions(None))))
        }
        Place::Decisions(after) => {
            let page: Page<DecisionItem> = call.read("/v1/decisions", query(after)).await?;
            let items = page.items.into_iter().map(chain_of).collect();
            (items, page.next.map(|next| Place::Decisions(Some(next))))
        }
    };
    let mut result = ListResourcesResult::with_all_items(items);
    result.next_cursor = next.map(|place| place.cursor());
    Ok(result)
}

fn log_of(task: TaskItem) -> Resource {
    let uri = Name::Log {
        task: task.scope.clone(),
        after: None,
    };
    Resource::new(uri.to_string(), task.scope)
        .with_description(format!("Log of a task that is {}", task.status))
        .with_mime_type(JSON)
}

fn chain_of(decision: DecisionItem) -> Resource {
    let name = format!("decision:{}#{}", decision.scope, decision.root);
    let uri = Name::Decision {
        root: decision.root,
        scope: decision.scope,
        after: None,
    };
    Resource::new(uri.to_string(), name)
        .with_description(format!("Versions of a decision of rank {}", decision.rank))
        .with_mime_type(JSON)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cursor_goes_there_and_back_and_no_other_is_taken() {
        for place in [
            Place::Tasks(Some("a.b".to_owned())),
            Place::Decisions(None),
            Place::Decisions(Some("c".to_owned())),
        ] {
            let cursor = place.cursor();
            assert_eq!(Place::parse(Some(&cursor)).unwrap().cursor(), cursor);
        }
        for wrong in ["", "x", "other.a", "tasks"] {
            let refusal = Place::parse(Some(wrong)).err().unwrap();
            assert_eq!(refusal.code, ErrorCode::InvalidArgument, "{wrong}");
        }
    }
}
