//! Live tails: what they carry, how they resume, and what ends them.

use std::time::Duration;

use axum::body::{Body, BodyDataStream};
use axum::http::{Method, StatusCode};
use futures::StreamExt;
use serde_json::{Value, json};
use sillok_core::ErrorCode;

use super::{Server, TASK, logs, request, taken};
use crate::api::{Appended, EventView, Page, TailItem, TokenRevoked};

/// A reader of one tail.
struct Listener {
    body: BodyDataStream,
    text: String,
}

impl Listener {
    async fn open(server: &Server, token: &str, query: &str, last_event: Option<&str>) -> Self {
        let mut request = request(Method::GET, token, &format!("/v1/tail?{query}"));
        if let Some(cursor) = last_event {
            request = request.header("Last-Event-ID", cursor);
        }
        let response = server.send(request.body(Body::empty()).unwrap()).await;
        assert_eq!(response.status(), StatusCode::OK);
        assert_eq!(response.headers()["content-type"], "text/event-stream");
        Self {
            body: response.into_body().into_data_stream(),
            text: String::new(),
        }
    }

    /// The next block of the stream; none at its end.
    async fn block(&mut self) -> Option<String> {
        loop {
            if let Some((block, rest)) = self.text.split_once("\n\n") {
                let block = block.to_owned();
                self.text = rest.to_owned();
                return Some(block);
            }
            let next = tokio::time::timeout(Duration::from_secs(20), self.body.next()).await;
            let bytes = next.expect("a tail says something in time")?.unwrap();
            self.text.push_str(core::str::from_utf8(&bytes).unwrap());
        }
    }

    async fn item(&mut self) -> TailItem {
        loop {
            let block = self.block().await.expect("the tail goes on");
            let Some(data) = block.lines().find_map(|line| line.strip_prefix("data: ")) else {
                continue;
            };
            let item: TailItem = serde_json::from_str(data).unwrap();
            let id = block.lines().find_map(|line| line.strip_prefix("id: "));
            assert_eq!(id, Some(item.cursor.as_str()));
            return item;
        }
    }
}

#[tokio::test]
async fn a_tail_gives_what_was_and_what_comes_and_resumes_behind_a_cursor() {
    let server = Server::start().await;
    server.open_task(TASK).await;
    let scope = format!("scope={TASK}");
    let mut tail = Listener::open(&server, &server.admin, &scope, None).await;
    let opened = tail.item().await;
    assert_eq!(opened.event.kind.as_str(), "TASK_OPENED");
    for content in ["one", "two"] {
        server
            .post::<Appended>(&server.admin, "/v1/logs", logs(TASK, content))
            .await
            .unwrap();
    }
    let one = tail.item().await;
    let two = tail.item().await;
    assert_eq!(
        (
            one.event.body["content"].as_str(),
            two.event.body["content"].as_str()
        ),
        (Some("one"), Some("two"))
    );
    assert_eq!((one.event.seq.get(), two.event.seq.get()), (2, 3));
    let mut resumed = Listener::open(&server, &server.admin, &scope, Some(&one.cursor)).await;
    assert_eq!(resumed.item().await.cursor, two.cursor);
    let with_cursor = format!("{scope}&cursor={}", opened.cursor);
    let mut resumed = Listener::open(&server, &server.admin, &with_cursor, None).await;
    assert_eq!(resumed.item().await.cursor, one.cursor);
}

#[tokio::test]
async fn a_tail_of_one_kind_says_how_far_it_has_looked_and_resumes_there() {
    let server = Server::with(|config| config.server.tail_heartbeat_ms = 20).await;
    server.open_task(TASK).await;
    let stuck = json!({ "scope": TASK, "reason": "the disk is full" });
    let kinds = "scope=org/acme&kind=STUCK_MARKED,STUCK_CLEARED";
    let mut tail = Listener::open(&server, &server.admin, kinds, None).await;
    for content in ["one", "two", "three"] {
        let body = logs(TASK, content);
        let logged = server.post::<Appended>(&server.admin, "/v1/logs", body);
        logged.await.unwrap();
    }
    // Nothing that is asked for has happened; the cursor comes to the end, and then rests.
    let mut ids = Vec::new();
    let mut quiet = 0;
    while quiet < 5 {
        let block = tail.block().await.unwrap();
        assert!(block.starts_with(": nothing new"), "{block}");
        match block.lines().find_map(|line| line.strip_prefix("id: ")) {
            Some(id) => ids.push(id.to_owned()),
            None => quiet += 1,
        }
    }
    assert!(ids.is_sorted() && !ids.is_empty(), "{ids:?}");
    server
        .post::<Value>(&server.admin, "/v1/tasks/stuck", stuck)
        .await
        .unwrap();
    let item = tail.item().await;
    assert_eq!(
        (item.event.kind.as_str(), item.event.seq.get()),
        ("STUCK_MARKED", 5)
    );
    // All kinds, from there on: what was passed over lies before the cursor.
    let from = ids.last().map(String::as_str);
    let mut resumed = Listener::open(&server, &server.admin, "scope=org/acme", from).await;
    assert_eq!(resumed.item().await.cursor, item.cursor);
}

#[tokio::test]
async fn a_tail_of_one_kind_hears_heartbeats_while_others_come_without_a_pause() {
    let server = Server::with(|config| config.server.tail_heartbeat_ms = 500).await;
    server.open_task(TASK).await;
    let kinds = "scope=org/acme&kind=STUCK_MARKED";
    let mut tail = Listener::open(&server, &server.admin, kinds, None).await;
    // Many commits for each heartbeat.
    let logging = async {
        loop {
            let logged = server.post::<Appended>(&server.admin, "/v1/logs", logs(TASK, "busy"));
            logged.await.unwrap();
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    let heartbeats = async {
        let mut ids = Vec::new();
        while ids.len() < 3 {
            let block = tail.block().await.unwrap();
            assert!(block.starts_with(": nothing new"), "{block}");
            let id = block.lines().find_map(|line| line.strip_prefix("id: "));
            ids.push(id.expect("the cursor moved").to_owned());
        }
        ids
    };
    let ids = tokio::select! {
        ids = heartbeats => ids,
        () = logging => unreachable!("it goes on for ever"),
    };
    assert!(ids.windows(2).all(|two| two[0] < two[1]), "{ids:?}");
}

#[tokio::test]
async fn events_are_listed_by_kind_and_a_kind_that_is_none_is_refused() {
    let server = Server::start().await;
    server.open_task(TASK).await;
    let body = logs(TASK, "one");
    let logged = server.post::<Appended>(&server.admin, "/v1/logs", body);
    logged.await.unwrap();
    for (kinds, seqs) in [
        ("TASK_OPENED", vec![1]),
        ("RECORD_APPENDED", vec![2]),
        ("TASK_OPENED,%20RECORD_APPENDED", vec![1, 2]),
        ("PUBLISHED", vec![]),
    ] {
        let path = format!("/v1/events?scope={TASK}&kind={kinds}");
        let page = server.get::<Page<EventView>>(&server.admin, &path).await;
        let items = page.unwrap().items;
        let found: Vec<u64> = items.iter().map(|event| event.seq.get()).collect();
        assert_eq!(found, seqs, "{kinds}");
    }
    for kind in ["", "published", "PUBLISHED,", "NEWS"] {
        for listing in ["/v1/events", "/v1/tail"] {
            let path = format!("{listing}?scope={TASK}&kind={kind}");
            let refused = server.get::<Value>(&server.admin, &path).await.unwrap_err();
            assert_eq!(refused.code, ErrorCode::InvalidArgument, "{path}");
            assert!(refused.detail.contains("PUBLISHED"), "{}", refused.detail);
        }
    }
}

#[tokio::test]
async fn a_quiet_tail_sends_heartbeats_and_ends_with_the_server() {
    let server = Server::with(|config| config.server.tail_heartbeat_ms = 20).await;
    let mut tail = Listener::open(&server, &server.admin, "scope=*", None).await;
    assert!(tail.block().await.unwrap().starts_with(':'));
    server.stop.send_replace(true);
    while let Some(block) = tail.block().await {
        assert!(block.starts_with(':'), "{block}");
    }
}

#[tokio::test]
async fn a_tail_ends_with_the_token_it_was_opened_with() {
    let server = Server::with(|config| config.server.tail_heartbeat_ms = 20).await;
    server.open_task(TASK).await;
    let agent = server.mint("org/acme", "agent").await;
    let mut tail = Listener::open(&server, &agent.token, "scope=org/acme", None).await;
    tail.item().await;
    let revoke = json!({ "id": agent.id });
    server
        .post::<TokenRevoked>(&server.admin, "/v1/tokens/revoke", revoke)
        .await
        .unwrap();
    let mut last = String::new();
    while let Some(block) = tail.block().await {
        last = block;
    }
    assert!(
        last.contains("event: error") && last.contains("unauthenticated"),
        "{last}"
    );
}

/// The code that one more tail is refused with. A tail that is opened never ends.
async fn refused(server: &Server, token: &str) -> ErrorCode {
    let tail = request(Method::GET, token, "/v1/tail?scope=org/acme").body(Body::empty());
    let response = server.send(tail.unwrap()).await;
    assert_eq!(response.status(), StatusCode::TOO_MANY_REQUESTS);
    taken::<Value>(response).await.unwrap_err().code
}

#[tokio::test]
async fn a_principal_has_so_many_tails_and_all_together_so_many() {
    let server = Server::with(|config| {
        config.server.tails_max = 3;
        config.server.tails_per_principal_max = 2;
    })
    .await;
    server.open_task(TASK).await;
    let agent = server.mint("org/acme", "agent").await.token;
    let human = server.mint("org/acme", "human").await.token;
    let query = "scope=org/acme";
    let mut first = Listener::open(&server, &agent, query, None).await;
    let second = Listener::open(&server, &agent, query, None).await;
    first.item().await;
    assert_eq!(refused(&server, &agent).await, ErrorCode::Busy);
    let third = Listener::open(&server, &human, query, None).await;
    assert_eq!(refused(&server, &human).await, ErrorCode::Busy);
    drop((first, third));
    let _third = Listener::open(&server, &human, query, None).await;
    let _first = Listener::open(&server, &agent, query, None).await;
    drop(second);
    let _second = Listener::open(&server, &agent, query, None).await;
    assert_eq!(refused(&server, &human).await, ErrorCode::Busy);
}
