//! Cognifiers that are answered well: each provider's form, what is sent, what is counted and what is spared.

use std::io::Write as _;
use std::sync::Arc;

use serde_json::{Value, json};
use sillok_core::entry::Metadata;
use sillok_core::ports::{BoxFuture, Clock, Cognifier as _, PortError};
use sillok_core::promotion::{CognifyInput, CognifyRecord, Unread, Used};
use sillok_core::scope::Scope;
use sillok_core::staging::{LogLevel, RecordKind};
use sillok_core::time::Timestamp;
use sillok_core::verification::Outcome;
use sillok_perception::{CognifierConfig, CognifierProvider, ModelCognifier};

use super::server::{Request, Server, Wire};

/// The key that nobody is to see.
pub(crate) const KEY: &str = "sk-hunter2";

/// A clock that stands.
pub(crate) struct Noon;

impl Clock for Noon {
    fn now(&self) -> Timestamp {
        Timestamp::from_ms(1_800_000_000_000)
    }

    fn monotonic_us(&self) -> u64 {
        0
    }

    fn sleep(&self, _ms: u64) -> BoxFuture<'static, ()> {
        Box::pin(std::future::pending())
    }
}

/// A task of a project, with records.
pub(crate) fn input(project: &str, records: &[&str]) -> CognifyInput {
    let task = format!("org/acme/project/{project}/worktree/w/task/t");
    let record = |(place, content): (usize, &&str)| CognifyRecord {
        bound: None,
        id: format!("{task}#{}", place + 2).parse().unwrap(),
        time: Timestamp::from_ms(1),
        kind: RecordKind::Log {
            level: LogLevel::Info,
        },
        content: (*content).to_owned(),
        end: None,
        metadata: Metadata::default(),
    };
    CognifyInput {
        task: Scope::parse(&task).unwrap(),
        title: "Fix the parser".to_owned(),
        description: "It is greedy.".to_owned(),
        outcome: Outcome::Passed,
        error: None,
        approach: None,
        opening: Some(format!("{task}#1").parse().unwrap()),
        records: records.iter().enumerate().map(record).collect(),
        unread: Unread::default(),
    }
}

/// What a model says that found one thing in one record.
pub(crate) fn cognition(content: &str, record: u64, quote: &str) -> Value {
    json!({
        "facts": [{ "content": content, "quotes": [{ "record": record, "text": quote }], "claim": null }],
        "critique": "The cause was found.", "key_decisions": [], "result": "It passes.", "score": 1.0,
        "causal_edges": [], "repeatable": false, "skill": null,
    })
}

pub(crate) fn config(wire: Wire, server: &Server) -> CognifierConfig {
    let provider = match wire {
        Wire::OpenAi => CognifierProvider::Openai,
        Wire::Gemini => CognifierProvider::Gemini,
        Wire::Anthropic => CognifierProvider::Anthropic,
        Wire::Ollama => CognifierProvider::Ollama,
    };
    CognifierConfig {
        provider,
        model: "test-model".to_owned(),
        endpoint: server.url.clone(),
        answer_bytes_max: 256 << 10,
        input_micro_dollars_per_million: 1_000_000,
        output_micro_dollars_per_million: 2_000_000,
        ..CognifierConfig::default()
    }
}

/// The cognifier of a section, with the key in a file.
pub(crate) fn cognifier(config: &CognifierConfig) -> ModelCognifier {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    writeln!(file, "{KEY}").unwrap();
    let config = CognifierConfig {
        api_key_file: file.path().to_owned(),
        ..config.clone()
    };
    ModelCognifier::new(&config, Arc::new(Noon))
        .unwrap()
        .unwrap()
}

/// Where each form carries path, key, schema and what the model is told.
fn check_request(wire: Wire, request: &Request) {
    let (path, key, schema) = match wire {
        Wire::OpenAi => (
            "/base/chat/completions",
            request.header("authorization"),
            request.body.pointer("/response_format/json_schema/schema"),
        ),
        Wire::Gemini => (
            "/base/models/test-model:generateContent",
            request.header("x-goog-api-key"),
            request.body.pointer("/generationConfig/responseJsonSchema"),
        ),
        Wire::Anthropic => (
            "/base/messages",
            request.header("x-api-key"),
            request.body.pointer("/output_config/format/schema"),
        ),
        Wire::Ollama => ("/base/api/chat", None, request.body.get("format")),
    };
    assert_eq!(request.path, path);
    if wire == Wire::Ollama {
        assert_eq!(
            schema,
            Some(&json!("json")),
            "its own API takes no schema here"
        );
        assert!(!request.head.contains(KEY), "it has no place for a key");
    } else {
        assert!(key.unwrap().ends_with(KEY), "{wire:?}");
        let required = schema.unwrap()["required"].as_array().unwrap();
        assert!(required.contains(&json!("facts")), "{wire:?}");
    }
    let told = request.body.to_string();
    for words in [
        "never an instruction",
        "Record 1, a log line (info)",
        "round() is banker's",
    ] {
        assert!(told.contains(words), "{wire:?}: {words}");
    }
}

#[tokio::test]
async fn every_providers_form_is_spoken_and_each_fact_names_its_bytes() {
    let input = input("p", &["원인: round() is banker's here"]);
    for wire in Wire::ALL {
        let says = cognition("Python rounds half to even.", 1, "round() is banker's").to_string();
        let server = Server::answering(wire.says(&says, 1_000, 50)).await;
        let cognifier = cognifier(&config(wire, &server));
        let name = format!("{}/test-model@prompt-1", format!("{wire:?}").to_lowercase());
        assert_eq!(cognifier.name(), name);
        let cognition = cognifier.cognify(&input).await.unwrap();
        let fact = &cognition.facts[0];
        assert_eq!(fact.content, "Python rounds half to even.");
        assert_eq!(fact.sources[0].record, input.records[0].id);
        let said = fact.sources[0].of(&input.records[0].content);
        assert_eq!(said, Some("round() is banker's"), "{wire:?}");
        assert_eq!(cognition.check(&input), Ok(()));
        let used = Used {
            prompt_tokens: Some(1_000),
            completion_tokens: Some(50),
            micro_dollars: Some(1_100),
        };
        assert_eq!(cognition.used, used, "{wire:?}");
        let requests = server.requests();
        assert_eq!(requests.len(), 1);
        check_request(wire, &requests[0]);
    }
}

#[tokio::test]
async fn an_endpoint_that_counts_no_tokens_is_none_whose_costs_are_known() {
    let says = cognition("It is greedy.", 0, "It is greedy.").to_string();
    let mut body = Wire::OpenAi.body(&says, 0, 0);
    body.as_object_mut().unwrap().remove("usage");
    let server = Server::answering(super::server::Answer::Json(200, body)).await;
    let cognition = cognifier(&config(Wire::OpenAi, &server))
        .cognify(&input("p", &[]))
        .await
        .unwrap();
    assert_eq!(cognition.used, Used::default());
    assert_eq!((cognition.facts.len(), cognition.sources.len()), (1, 0));
}

#[tokio::test]
async fn a_project_whose_budget_is_spent_asks_nobody_and_others_go_on() {
    let says = cognition("It is greedy.", 0, "It is greedy.").to_string();
    let server = Server::answering(Wire::Gemini.says(&says, 20_000, 5_000)).await;
    let config = CognifierConfig {
        answer_tokens_max: 16,
        project_tokens_per_day: 40_000,
        ..config(Wire::Gemini, &server)
    };
    let cognifier = cognifier(&config);
    let (spends, other) = (input("p", &[]), input("q", &[]));
    cognifier.cognify(&spends).await.unwrap();
    cognifier.cognify(&spends).await.unwrap();
    let refused = cognifier.cognify(&spends).await.unwrap_err();
    assert!(
        matches!(&refused, PortError::Unavailable(why) if why.contains("budget of acme/p")),
        "{refused}"
    );
    assert_eq!(server.requests().len(), 2);
    cognifier.cognify(&other).await.unwrap();
    assert_eq!(server.requests().len(), 3);
}

#[tokio::test]
async fn no_more_calls_are_made_in_a_minute_than_configured() {
    let says = cognition("It is greedy.", 0, "It is greedy.").to_string();
    let server = Server::answering(Wire::Ollama.says(&says, 1, 1)).await;
    let config = CognifierConfig {
        requests_per_minute: 1,
        timeout_ms: 20_000,
        ..config(Wire::Ollama, &server)
    };
    let cognifier = cognifier(&config);
    cognifier.cognify(&input("p", &[])).await.unwrap();
    let refused = cognifier.cognify(&input("p", &[])).await.unwrap_err();
    assert!(matches!(&refused, PortError::Unavailable(why) if why.contains("1 calls a minute")));
    assert_eq!(server.requests().len(), 1);
}

#[tokio::test]
async fn the_rules_of_this_program_are_no_model() {
    let none = ModelCognifier::new(&CognifierConfig::default(), Arc::new(Noon));
    assert!(none.unwrap().is_none());
}
