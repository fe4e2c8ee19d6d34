//! Retries, against a server that answers by a script.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::mpsc;

use sillok_core::{Error, ErrorCode};
use sillok_server::api::TailQuery;

use super::*;

/// Serves one connection for each answer, and hands out the heads of the requests. An answer that
/// is none closes the connection.
fn scripted(answers: Vec<Option<(u16, String)>>) -> (String, mpsc::Receiver<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let base = format!("http://{}", listener.local_addr().unwrap());
    let (heads, received) = mpsc::channel();
    std::thread::spawn(move || {
        for answer in answers {
            let (mut stream, _) = listener.accept().unwrap();
            heads.send(request_head(&mut stream)).unwrap();
            if let Some((status, body)) = answer {
                let length = body.len();
                let head = format!(
                    "HTTP/1.1 {status} X\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n"
                );
                stream.write_all((head + &body).as_bytes()).unwrap();
            }
        }
    });
    (base, received)
}

/// The head of a request that is read whole: a socket closed with bytes unread is reset, and the
/// client may then never see the answer.
fn request_head(stream: &mut TcpStream) -> String {
    let mut reader = BufReader::new(stream);
    let (mut head, mut length) = (String::new(), 0);
    loop {
        let from = head.len();
        reader.read_line(&mut head).unwrap();
        let line = head[from..].trim_end().to_lowercase();
        if let Some(value) = line.strip_prefix("content-length:") {
            length = value.trim().parse().unwrap();
        }
        if line.is_empty() {
            break;
        }
    }
    std::io::copy(&mut reader.take(length), &mut std::io::sink()).unwrap();
    head
}

fn problem(error: &Error) -> Option<(u16, String)> {
    Some((
        503,
        serde_json::to_string(&Problem::new(error, 503, None)).unwrap(),
    ))
}

fn client(base: &str) -> Client {
    let retry = RetryPolicy {
        attempts_max: 4,
        delay_ms_first: 1,
        delay_ms_max: 4,
    };
    Client::new(base, Some("slk_x".to_owned()), retry).unwrap()
}

fn key(head: &str) -> String {
    let line = head
        .lines()
        .find(|line| line.to_lowercase().starts_with("idempotency-key:"));
    line.unwrap().to_lowercase()
}

#[tokio::test]
async fn an_answer_that_is_longer_than_any_is_not_read_to_its_end() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let base = format!("http://{}", listener.local_addr().unwrap());
    let server = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        request_head(&mut stream);
        let head = "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n";
        stream.write_all(head.as_bytes()).unwrap();
        let piece = vec![b'x'; 1 << 20];
        let pieces = 4 * ANSWER_BYTES_MAX / piece.len();
        // Whoever reads no more closes the connection.
        (0..pieces)
            .take_while(|_| stream.write_all(&piece).is_ok())
            .count()
            < pieces
    });
    let failure = client(&base).status().await.unwrap_err();
    assert!(matches!(failure, Failure::Foreign { .. }), "{failure:?}");
    // The connection is closed beside this.
    let is_cut = tokio::task::spawn_blocking(move || server.join().unwrap());
    assert!(is_cut.await.unwrap(), "it was read to its end");
}

#[tokio::test]
async fn a_write_is_repeated_under_the_same_command_id_until_it_is_answered() {
    let unknown = Error::new(ErrorCode::OutcomeUnknown, "who knows");
    let answers = vec![
        problem(&Error::busy("later", 2)),
        None,
        problem(&unknown),
        Some((200, "7".to_owned())),
    ];
    let (base, heads) = scripted(answers);
    let answer: u64 = client(&base).write("/v1/tasks", &"x").await.unwrap();
    assert_eq!(answer, 7);
    let keys: Vec<String> = heads.try_iter().map(|head| key(&head)).collect();
    assert_eq!(keys.len(), 4);
    assert!(keys.iter().all(|other| *other == keys[0]));
}

#[tokio::test]
async fn attempts_are_bounded_and_the_failure_is_one_to_try_later() {
    let (base, heads) = scripted(vec![problem(&Error::busy("later", 1)); 8]);
    let failure = client(&base)
        .write::<u64>("/v1/tasks", &"x")
        .await
        .unwrap_err();
    assert_eq!(failure.exit_status(), EXIT_RETRY);
    assert_eq!(heads.try_iter().count(), 4);
}

#[tokio::test]
async fn a_refusal_that_stays_is_not_repeated() {
    let (base, heads) = scripted(vec![problem(&Error::forbidden("entries/org", "no"))]);
    let failure = client(&base)
        .write::<u64>("/v1/entries", &"x")
        .await
        .unwrap_err();
    assert_eq!(failure.code(), Some(ErrorCode::Forbidden));
    assert_eq!(heads.try_iter().count(), 1);
}

#[tokio::test]
async fn nobody_at_the_address_is_a_failure_to_try_later() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let base = format!("http://{}", listener.local_addr().unwrap());
    drop(listener);
    let failure = client(&base)
        .get::<u64>("/v1/status", &())
        .await
        .unwrap_err();
    assert_eq!(failure.exit_status(), EXIT_RETRY);
}

#[tokio::test]
async fn an_answer_that_is_no_json_is_named_as_foreign() {
    let (base, _heads) = scripted(vec![
        Some((200, "<html>".to_owned())),
        Some((500, "oops".to_owned())),
    ]);
    let client = client(&base);
    for _ in 0..2 {
        let failure = client.get::<u64>("/v1/status", &()).await.unwrap_err();
        assert!(matches!(failure, Failure::Foreign { .. }), "{failure}");
    }
}

#[test]
fn delays_grow_to_a_bound_and_heed_the_server() {
    let policy = RetryPolicy {
        attempts_max: 9,
        delay_ms_first: 100,
        delay_ms_max: 1_000,
    };
    assert_eq!(policy.delay(1, None, 1.0).as_millis(), 100);
    assert_eq!(policy.delay(3, None, 0.0).as_millis(), 200);
    assert_eq!(policy.delay(9, None, 1.0).as_millis(), 1_000);
    assert_eq!(policy.delay(1, Some(700), 0.0).as_millis(), 700);
    assert_eq!(policy.delay(1, Some(99_000), 0.0).as_millis(), 1_000);
}

#[test]
fn addresses_are_checked() {
    let new = |base| Client::new(base, None, RetryPolicy::default());
    assert!(new("http://127.0.0.1:7411/").is_ok());
    for bad in ["127.0.0.1", "https://example.org", "no address"] {
        assert!(matches!(new(bad), Err(Failure::Config(_))), "{bad}");
    }
    let loopback = |text: &str| is_loopback(&Url::parse(text).unwrap());
    assert!(
        loopback("http://127.0.0.1:1")
            && loopback("http://[::1]:1")
            && loopback("http://localhost")
    );
    assert!(!loopback("http://127.evil.org") && !loopback("http://10.0.0.1"));
}

/// A tail's answer that holds these events: (name, data).
fn stream(events: &[(&str, &str)]) -> Option<(u16, String)> {
    let event = |(name, data): &(&str, &str)| format!("event: {name}\ndata: {data}\n\n");
    Some((200, events.iter().map(event).collect()))
}

/// The data of an event that stands behind `cursor`.
fn item(cursor: &str) -> String {
    let command = new_command_id();
    format!(
        r#"{{"cursor":"{cursor}","event":{{"scope":"org/a","seq":1,"time":1,"kind":"DENIED","actor":{{"kind":"agent","id":"a"}},"command":"{command}","body":null}}}}"#
    )
}

fn last_word(error: &Error) -> String {
    serde_json::to_string(&Problem::new(error, 503, None)).unwrap()
}

/// Tails until it fails: the cursors of what came, and the failure.
async fn tailed(base: &str) -> (Vec<String>, Failure) {
    let mut cursors = Vec::new();
    let client = client(base);
    let query = TailQuery {
        scope: "org/a".to_owned(),
        kind: Some("DENIED".to_owned()),
        ..TailQuery::default()
    };
    let tail = client.tail(query, |item| {
        cursors.push(item.cursor);
        Ok(())
    });
    let failure = tail.await.unwrap_err();
    (cursors, failure)
}

#[tokio::test]
async fn a_tails_last_word_is_the_refusal_that_it_is() {
    let unknown = last_word(&Error::new(ErrorCode::Unauthenticated, "it was revoked"));
    let (base, heads) = scripted(vec![stream(&[
        ("DENIED", &item("t1")),
        ("error", &unknown),
    ])]);
    let (cursors, failure) = tailed(&base).await;
    assert_eq!(
        failure.code(),
        Some(ErrorCode::Unauthenticated),
        "{failure}"
    );
    assert_eq!(cursors, ["t1"]);
    assert_eq!(heads.try_iter().count(), 1);
}

#[tokio::test]
async fn a_tail_goes_on_behind_a_refusal_that_passes() {
    let unavailable = last_word(&Error::new(ErrorCode::Unavailable, "the store is gone"));
    let revoked = last_word(&Error::new(ErrorCode::Unauthenticated, "it was revoked"));
    let (base, heads) = scripted(vec![
        stream(&[("DENIED", &item("t1")), ("error", &unavailable)]),
        stream(&[("DENIED", &item("t2")), ("error", &revoked)]),
    ]);
    let (cursors, failure) = tailed(&base).await;
    assert_eq!(
        failure.code(),
        Some(ErrorCode::Unauthenticated),
        "{failure}"
    );
    assert_eq!(cursors, ["t1", "t2"]);
    let second = heads.try_iter().last().unwrap();
    assert!(second.contains("cursor=t1"), "{second}");
}

#[tokio::test]
async fn a_tail_goes_on_behind_what_was_looked_at_and_not_asked_for() {
    let revoked = last_word(&Error::new(ErrorCode::Unauthenticated, "it was revoked"));
    let (base, heads) = scripted(vec![
        Some((200, ": nothing new\nid: t7\n\n".to_owned())),
        stream(&[("DENIED", &item("t8")), ("error", &revoked)]),
    ]);
    let (cursors, _) = tailed(&base).await;
    assert_eq!(cursors, ["t8"]);
    let asked: Vec<String> = heads.try_iter().collect();
    assert!(asked[0].contains("kind=DENIED") && !asked[0].contains("cursor="));
    assert!(asked[1].contains("cursor=t7") && asked[1].contains("kind=DENIED"));
}

#[tokio::test]
async fn a_quiet_connection_that_was_good_makes_up_for_failures() {
    let revoked = last_word(&Error::new(ErrorCode::Unauthenticated, "it was revoked"));
    let quiet = || Some((200, ": nothing new\n\n".to_owned()));
    let (base, heads) = scripted(vec![
        None,
        None,
        None,
        quiet(),
        None,
        None,
        None,
        stream(&[("error", &revoked)]),
    ]);
    let (_, failure) = tailed(&base).await;
    assert_eq!(
        failure.code(),
        Some(ErrorCode::Unauthenticated),
        "{failure}"
    );
    assert_eq!(heads.try_iter().count(), 8);
}

#[tokio::test]
async fn a_tail_that_is_only_ever_refused_ends() {
    let busy = last_word(&Error::busy("later", 1));
    let (base, heads) = scripted(vec![stream(&[("error", &busy)]); 8]);
    let (_, failure) = tailed(&base).await;
    assert_eq!(failure.exit_status(), EXIT_RETRY);
    assert_eq!(heads.try_iter().count(), 4);
}
