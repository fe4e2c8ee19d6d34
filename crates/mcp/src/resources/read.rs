//! Reading resources.
//!
//! Owns what of the API's answer is told, and where it goes on. What somebody wrote is marked as data.

use rmcp::model::{JsonObject, ResourceContents};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{JSON, Name};
use crate::api::Api;
use crate::budget::{Budget, Give};
use crate::call::Call;
use crate::data::{marked, shortened};
use crate::limits::{PAGE_ROWS, RESOURCE_TOKENS_MAX};
use crate::refusal::Refusal;
use crate::tools;

#[derive(Deserialize)]
struct Page<T> {
    items: Vec<T>,
    #[serde(default)]
    next: Option<String>,
}

#[derive(Deserialize)]
struct Author {
    kind: String,
    id: String,
}

#[derive(Deserialize)]
struct Record {
    seq: u64,
    sort: String,
    #[serde(default)]
    level: Option<String>,
    #[serde(default)]
    event_type: Option<String>,
    content: String,
    #[serde(default)]
    metadata: Value,
    time: u64,
    author: Author,
}

#[derive(Deserialize)]
struct Version {
    number: u64,
    act: String,
    #[serde(default)]
    text: Option<Text>,
    #[serde(default)]
    reason: String,
    by: Author,
    at: u64,
}

#[derive(Deserialize)]
struct Text {
    rank: String,
    title: String,
    content: String,
    #[serde(default)]
    claim: Option<Value>,
    #[serde(default)]
    relations: Vec<Value>,
}

/// One item of a resource.
#[derive(Serialize)]
struct Told {
    /// Where it stands, and so where to go on.
    #[serde(flatten)]
    handle: JsonObject,
    /// What somebody wrote.
    data: String,
    #[serde(skip)]
    place: u64,
}

/// What stands under a name.
pub(crate) async fn read<A: Api>(
    call: &Call<'_, A>,
    name: &Name,
    uri: &str,
) -> Result<ResourceContents, Refusal> {
    let document = match name {
        Name::Log { task, after } => log(call, task, after.clone()).await?,
        Name::Entry { entry: id } => entry(call, id).await?,
        Name::Decision { root, scope, after } => chain(call, root, scope, after.clone()).await?,
    };
    let contents = ResourceContents::text(document.to_string(), uri);
    Ok(contents.with_mime_type(JSON))
}

async fn log<A: Api>(
    call: &Call<'_, A>,
    task: &str,
    after: Option<String>,
) -> Result<Value, Refusal> {
    let query = vec![
        ("scope", Some(task.to_owned())),
        ("after", after),
        ("limit", Some(PAGE_ROWS.to_string())),
    ];
    let page: Page<Record> = call.read("/v1/records", query).await?;
    let records = page.items.into_iter().map(Told::from).collect();
    let (records, next) = fitting(records, page.next)?;
    let next = next.map(|after| {
        let task = task.to_owned();
        let after = Some(after);
        Name::Log { task, after }.to_string()
    });
    Ok(document("task", task, "records", &records, next))
}

async fn chain<A: Api>(
    call: &Call<'_, A>,
    root: &str,
    scope: &str,
    after: Option<String>,
) -> Result<Value, Refusal> {
    let query = vec![
        ("scope", Some(scope.to_owned())),
        ("root", Some(root.to_owned())),
        ("after", after),
        ("limit", Some(PAGE_ROWS.to_string())),
    ];
    let page: Page<Version> = call.read("/v1/decision/history", query).await?;
    let versions = page.items.into_iter().map(Told::from).collect();
    let (versions, next) = fitting(versions, page.next)?;
    let next = next.map(|after| {
        let (root, scope) = (root.to_owned(), scope.to_owned());
        let after = Some(after);
        Name::Decision { root, scope, after }.to_string()
    });
    let handle = format!("decision:{scope}#{root}");
    Ok(document("decision", &handle, "versions", &versions, next))
}

/// A memory: what get_memory says of it, with its history.
async fn entry<A: Api>(call: &Call<'_, A>, entry: &str) -> Result<Value, Refusal> {
    let asked = json!({ "entry": entry, "history": true, "budget_tokens": RESOURCE_TOKENS_MAX });
    let Value::Object(asked) = asked else {
        unreachable!("it was written as an object")
    };
    tools::run(tools::Name::GetMemory, call, asked).await
}

fn document(kind: &str, handle: &str, list: &str, items: &[Told], next: Option<String>) -> Value {
    let mut document = json!({ kind: handle, list: items });
    if let Some(next) = next {
        document["next"] = Value::from(next);
    }
    document
}

/// As many of a page as there is room for, and where it goes on. One that is larger than all the room is told from its
/// beginning, so that the list goes on behind it.
fn fitting(items: Vec<Told>, next: Option<String>) -> Result<(Vec<Told>, Option<String>), Refusal> {
    let mut budget = Budget::of(Some(RESOURCE_TOKENS_MAX), RESOURCE_TOKENS_MAX)?;
    let whole = budget;
    let (mut first, rest) = {
        let mut items = items.into_iter();
        (items.next(), items.collect::<Vec<Told>>())
    };
    if let Some(first) = first.as_mut().filter(|first| !{ whole }.take(&first.data)) {
        let said = crate::data::inside(&first.data);
        let beginning = shortened(said, RESOURCE_BYTES).to_owned();
        let missing = said.len() - beginning.len();
        first
            .handle
            .insert("bytes_left_out".to_owned(), json!(missing));
        first.data = marked(&beginning);
    }
    let items: Vec<Told> = first.into_iter().chain(rest).collect();
    let place = |told: &Told| told.place.to_string();
    let (given, cut) = budget.fill(items, Give::First, |told| &told.data, place);
    let goes_on = if cut.is_nothing() {
        next
    } else {
        given.last().map(|last| last.place.to_string())
    };
    Ok((given, goes_on))
}

/// Bytes of one item that fit by themselves, whatever characters it has: each may be a token, of at least a byte.
const RESOURCE_BYTES: usize = 15_000;

impl From<Record> for Told {
    fn from(record: Record) -> Self {
        let mut said = String::new();
        if let Some(event_type) = &record.event_type {
            said += &format!("{event_type}: ");
        }
        said += &record.content;
        if record
            .metadata
            .as_object()
            .is_some_and(|fields| !fields.is_empty())
        {
            said += &format!("\n\nmetadata: {}", record.metadata);
        }
        let mut handle = JsonObject::new();
        handle.insert("seq".to_owned(), json!(record.seq));
        handle.insert("sort".to_owned(), json!(record.sort));
        if let Some(level) = record.level {
            handle.insert("level".to_owned(), json!(level));
        }
        handle.insert("by".to_owned(), json!(by(&record.author)));
        handle.insert("time".to_owned(), json!(record.time));
        Self {
            handle,
            data: marked(&said),
            place: record.seq,
        }
    }
}

impl From<Version> for Told {
    fn from(version: Version) -> Self {
        let mut handle = JsonObject::new();
        handle.insert("version".to_owned(), json!(version.number));
        handle.insert("act".to_owned(), json!(version.act));
        handle.insert("by".to_owned(), json!(by(&version.by)));
        handle.insert("time".to_owned(), json!(version.at));
        let mut lines = Vec::new();
        if let Some(text) = version.text {
            handle.insert("rank".to_owned(), json!(text.rank));
            lines.push(format!("{}\n\n{}", text.title, text.content));
            lines.extend(text.claim.map(|claim| format!("claims: {claim}")));
            lines.extend(
                text.relations
                    .iter()
                    .map(|relation| format!("related: {relation}")),
            );
        }
        if !version.reason.is_empty() {
            lines.push(format!("reason: {}", version.reason));
        }
        Self {
            handle,
            data: marked(&lines.join("\n")),
            place: version.number,
        }
    }
}

fn by(author: &Author) -> String {
    format!("{}:{}", author.kind, author.id)
}

#[cfg(test)]
mod tests {
    use sillok_core::recall::tokens_of;

    use super::*;

    fn told(place: u64, text: &str) -> Told {
        Told {
            handle: JsonObject::new(),
            data: marked(text),
            place,
        }
    }

    #[test]
    fn a_page_goes_on_behind_what_was_given() {
        let text = "a".repeat(20_000);
        let items = (1..=10).map(|place| told(place, &text)).collect();
        let (given, next) = fitting(items, Some("cursor".to_owned())).unwrap();
        assert!((1..10).contains(&given.len()));
        assert_eq!(next, Some(given.len().to_string()));
        let (given, next) = fitting(vec![told(1, "a")], Some("cursor".to_owned())).unwrap();
        assert_eq!((given.len(), next.as_deref()), (1, Some("cursor")));
        let (given, next) = fitting(Vec::new(), None).unwrap();
        assert!(given.is_empty() && next.is_none());
    }

    #[test]
    fn one_that_is_larger_than_all_the_room_is_begun_and_passed() {
        for character in ["a", "한", "\u{1f600}"] {
            let text = character.repeat(400_000 / character.len());
            let items = vec![told(1, &text), told(2, "b")];
            let (given, next) = fitting(items, None).unwrap();
            assert!(tokens_of(&given[0].data) <= RESOURCE_TOKENS_MAX);
            assert!(given[0].handle["bytes_left_out"].as_u64().unwrap() > 300_000);
            // What comes behind it is given, or the list goes on there.
            assert!(given.len() == 2 || next.as_deref() == Some("1"), "{next:?}");
        }
    }
}
