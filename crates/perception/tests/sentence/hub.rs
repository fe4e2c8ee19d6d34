//! Models by name: a hub on this machine, which sends on to another place as the real one does.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::Arc;

use parking_lot::Mutex;
use serde_json::json;
use sillok_core::ports::Embedder as _;
use sillok_perception::{EmbedderConfig, EmbedderProvider, Error, SentenceEmbedder};
use tempfile::TempDir;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;

use sillok_sentence_model::Tiny;

use crate::opened::{embedder, open};

const COMMIT: &str = "0123456789abcdef0123456789abcdef01234567";

/// What a server was asked for: the first line and the headers of each request.
type Asked = Arc<Mutex<Vec<String>>>;

/// What it answers, by path: a status, headers and bytes.
type Answers = BTreeMap<String, (u16, String, Vec<u8>)>;

/// A server that answers each path with a status, headers and bytes, and what it does not know with 404.
async fn serving(answers: Answers) -> (String, Asked) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    let asked = Asked::default();
    let noted = Arc::clone(&asked);
    tokio::spawn(async move {
        loop {
            let (mut stream, _) = listener.accept().await.unwrap();
            let mut head = Vec::new();
            while !head.ends_with(b"\r\n\r\n") {
                head.push(stream.read_u8().await.unwrap());
            }
            let head = String::from_utf8(head).unwrap();
            let path = head.split(' ').nth(1).unwrap();
            let unknown = (404, String::new(), Vec::new());
            let (status, headers, body) = answers.get(path).unwrap_or(&unknown);
            let length = body.len();
            let start =
                format!("HTTP/1.1 {status} Said\r\ncontent-length: {length}\r\n{headers}\r\n");
            noted.lock().push(head.clone());
            // Whoever has heard enough hangs up.
            drop(stream.write_all(start.as_bytes()).await);
            drop(stream.write_all(body).await);
        }
    });
    (url, asked)
}

/// The answers of a hub that has a model in a directory, with its weights elsewhere.
fn of_hub(files: &Path, elsewhere: &str) -> Answers {
    let mut names = vec!["README.md", "pytorch_model.bin"];
    names.extend([
        "1_Pooling/config.json",
        "config.json",
        "model.safetensors",
        "modules.json",
        "sentence_bert_config.json",
        "tokenizer.json",
    ]);
    let siblings: Vec<_> = names
        .iter()
        .map(|name| json!({"rfilename": name}))
        .collect();
    let listed = json!({"id": "an-owner/tiny", "sha": COMMIT, "siblings": siblings});
    let mut answers = BTreeMap::from([(
        "/api/models/an-owner/tiny/revision/main".to_owned(),
        (200, String::new(), listed.to_string().into_bytes()),
    )]);
    for name in &names[2..] {
        let path = format!("/an-owner/tiny/resolve/{COMMIT}/{name}");
        let answer = if *name == "model.safetensors" {
            (
                302,
                format!("location: {elsewhere}blob?of=1\r\n"),
                Vec::new(),
            )
        } else {
            (200, String::new(), fs::read(files.join(name)).unwrap())
        };
        answers.insert(path, answer);
    }
    answers
}

struct Hub {
    config: EmbedderConfig,
    asked: Asked,
    asked_elsewhere: Asked,
    _cache: TempDir,
    _key: tempfile::NamedTempFile,
}

async fn hub(files: &Path, blob: Vec<u8>, change: impl FnOnce(&mut Answers)) -> Hub {
    let blobs = BTreeMap::from([("/blob?of=1".to_owned(), (200, String::new(), blob))]);
    let (elsewhere, asked_elsewhere) = serving(blobs).await;
    let mut answers = of_hub(files, &elsewhere);
    change(&mut answers);
    let (url, asked) = serving(answers).await;
    let cache = TempDir::new().unwrap();
    let key = tempfile::NamedTempFile::new().unwrap();
    fs::write(key.path(), "hub-key").unwrap();
    let config = EmbedderConfig {
        provider: EmbedderProvider::Sentence,
        model: "an-owner/tiny".to_owned(),
        hub_cache: cache.path().to_owned(),
        endpoint: url,
        api_key_file: key.path().to_owned(),
        timeout_ms: 10_000,
        ..EmbedderConfig::default()
    };
    Hub {
        config,
        asked,
        asked_elsewhere,
        _cache: cache,
        _key: key,
    }
}

async fn refusal(config: &EmbedderConfig) -> String {
    let refused: Result<SentenceEmbedder, Error> = open(config).await;
    let text = refused.err().expect("it is no model").to_string();
    assert!(text.starts_with("configuration embedder.model"), "{text}");
    assert!(
        !text.contains("hub-key") && text.lines().count() == 1,
        "{text}"
    );
    text
}

fn made() -> (Tiny, TempDir, Vec<u8>) {
    let (tiny, directory) = (Tiny::new(1), TempDir::new().unwrap());
    tiny.write(directory.path()).unwrap();
    let weights = fs::read(directory.path().join("model.safetensors")).unwrap();
    (tiny, directory, weights)
}

#[tokio::test]
async fn a_model_is_fetched_once_and_is_the_one_of_the_same_files_anywhere() {
    let (tiny, files, weights) = made();
    let hub = hub(files.path(), weights, |_| ()).await;
    let fetched = open(&hub.config).await.unwrap();
    assert_eq!(fetched.space(), embedder(&tiny, files.path()).await.space());
    let asked = hub.asked.lock().clone();
    let paths: Vec<&str> = asked
        .iter()
        .filter_map(|head| head.split(' ').nth(1))
        .collect();
    assert_eq!(paths.len(), 7, "{paths:?}");
    assert!(paths[6].ends_with("/modules.json"), "{paths:?}");
    assert!(
        !paths
            .iter()
            .any(|path| path.contains("pytorch") || path.contains("README"))
    );
    // The key is for the hub, and not for whom it sends on to.
    let keyed = |head: &String| {
        head.to_lowercase()
            .contains("authorization: bearer hub-key")
    };
    assert!(asked.iter().all(keyed));
    let elsewhere = hub.asked_elsewhere.lock().clone();
    assert!(
        elsewhere.len() == 1 && !keyed(&elsewhere[0]),
        "{elsewhere:?}"
    );
    // The next one asks nobody, by the name of the branch or of the commit.
    for revision in ["main", COMMIT] {
        let mut config = hub.config.clone();
        config.revision = revision.to_owned();
        config.endpoint = "http://127.0.0.1:1/".to_owned();
        assert_eq!(open(&config).await.unwrap().space(), fetched.space());
    }
    assert_eq!(hub.asked.lock().len(), 7);
}

#[tokio::test]
async fn what_breaks_off_is_fetched_anew_the_next_time() {
    let (_, files, weights) = made();
    let cut = format!("/an-owner/tiny/resolve/{COMMIT}/modules.json");
    let broken = hub(files.path(), weights.clone(), |answers| {
        answers.insert(cut, (500, String::new(), Vec::new()));
    });
    let broken = broken.await;
    let text = refusal(&broken.config).await;
    assert!(text.contains("modules.json: status 500"), "{text}");
    let whole = hub(files.path(), weights, |_| ()).await;
    let mut config = whole.config.clone();
    config.hub_cache = broken.config.hub_cache.clone();
    open(&config).await.unwrap();
}

#[tokio::test]
async fn who_is_no_hub_and_what_is_no_model_of_one_is_refused() {
    let list = "/api/models/an-owner/tiny/revision/main";
    let (_, files, weights) = made();
    let listed = |text: serde_json::Value| (200, String::new(), text.to_string().into_bytes());
    let pickle = json!({"sha": COMMIT, "siblings": [{"rfilename": "pytorch_model.bin"}]});
    let onward = (302, format!("location: {list}\r\n"), Vec::new());
    let file = (
        302,
        "location: file:///etc/passwd\r\n".to_owned(),
        Vec::new(),
    );
    for (answer, why) in [
        (listed(pickle), "it has no model.safetensors there"),
        (
            listed(json!({"sha": "../..", "siblings": []})),
            "names no commit",
        ),
        (listed(json!([])), "cannot be read"),
        ((404, String::new(), Vec::new()), "status 404"),
        ((302, String::new(), Vec::new()), "sent on to no place"),
        (onward, "sent on and on"),
        (file, "not spoken with"),
    ] {
        let change = |answers: &mut Answers| {
            answers.insert(list.to_owned(), answer);
        };
        let hub = hub(files.path(), weights.clone(), change).await;
        let text = refusal(&hub.config).await;
        assert!(text.contains(why), "{why}: {text}");
        assert!(text.contains("could not be fetched"), "{text}");
    }
    let hub = hub(files.path(), weights, |_| ()).await;
    let mut config = hub.config.clone();
    config.endpoint = "http://127.0.0.1:1/".to_owned();
    let text = refusal(&config).await;
    assert!(text.contains("127.0.0.1 was not reached"), "{text}");
}

#[tokio::test]
async fn a_hub_is_waited_for_and_listened_to_within_bounds() {
    let (_, files, weights) = made();
    let long = |answers: &mut Answers| {
        let list = "/api/models/an-owner/tiny/revision/main".to_owned();
        answers.insert(list, (200, String::new(), vec![b' '; 9 << 20]));
    };
    let hub = hub(files.path(), weights, long).await;
    let text = refusal(&hub.config).await;
    assert!(text.contains("it has more than 8388608 bytes"), "{text}");
    let silent = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let mut config = hub.config.clone();
    config.endpoint = format!("http://{}/", silent.local_addr().unwrap());
    config.timeout_ms = 100;
    let text = refusal(&config).await;
    assert!(text.contains("127.0.0.1 did not answer"), "{text}");
}
