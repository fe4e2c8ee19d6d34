//! `serve`, `status` and `openapi`

use serde_json::{Value, json};
use sillok_core::circular::Language;
use sillok_server::Server;
use sillok_server::config::VerificationConfig;
use tokio::task::JoinHandle;

use crate::args::{Global, Serve};
use crate::client::{Client, RetryPolicy};
use crate::data_directory::{Context, DataDirectory, read_token};
use crate::ending::Ending;
use crate::execution::apart::check_closed;
use crate::failure::Failure;
use crate::output::{Output, Style, note, one_line, print};
use crate::session::Session;
use crate::settings;

/// Carries out `serve`: until Ctrl-C, or a request to terminate.
///
/// # Errors
/// [`Failure::Server`]
pub async fn run(global: &Global, serve: &Serve) -> Result<(), Failure> {
    let flags: Vec<(&str, String)> = serve
        .address
        .iter()
        .map(|address| ("server.address", address.to_string()))
        .collect();
    let config = settings::load(global, &flags)?.config;
    let data = DataDirectory::at(&config.server.data);
    let (verification, language) = (config.verification.clone(), config.server.language);
    // Before anybody can see that the server is ready.
    let stop = asked_to_stop();
    let server = Box::pin(Server::start(config)).await?;
    if data.path() == DataDirectory::default_one().path() {
        // From now on commands without flags speak about this directory, not about a demo's.
        let before = data.context()?;
        if before.data.is_some() {
            data.set_context(&Context {
                data: None,
                ..before
            })?;
        }
    }
    let ready = json!({ "url": server.url(), "data": data.path(), "pid": std::process::id() });
    if global.json {
        print(&ready.to_string())?;
    } else {
        note(&format!(
            "serving {} at {}\nthe administrator's token is in {}",
            data.path().display(),
            server.url(),
            server.admin_token_file().display()
        ));
    }
    let endings = endings(&server, &data, verification, language)?;
    let served = Box::pin(server.run(stop)).await;
    for ending in &endings {
        ending.abort();
    }
    for ending in endings {
        // What it runs ends with it, before this process does.
        let _ = ending.await;
    }
    Ok(served?)
}

/// Begins to end the tasks of each project that names its verification. They wait until the server runs.
fn endings(
    server: &Server,
    data: &DataDirectory,
    verification: VerificationConfig,
    language: Language,
) -> Result<Vec<JoinHandle<()>>, Failure> {
    if verification.projects.is_empty() {
        return Ok(Vec::new());
    }
    let token_file = server.admin_token_file();
    let user = verification.run_as()?;
    match user {
        Some(user) => check_closed(user, &[&token_file, data.path()])?,
        None => note(&format!(
            "what is verified runs as the user of this server, and can read {}: verification.user names another",
            data.path().display()
        )),
    }
    let token = read_token(&token_file)?;
    let client = Client::new(&server.url(), token, RetryPolicy::default())?;
    let begin = |project| {
        let ending = Ending::new(client.clone(), project, user, language, data.path());
        tokio::spawn(Box::pin(ending.run()))
    };
    Ok(verification.projects.into_iter().map(begin).collect())
}

/// Listens from now on, and completes when the user or the system asks the process to end. A
/// request that comes between the call and the first poll is heard all the same.
fn asked_to_stop() -> impl Future<Output = ()> + Send + 'static {
    #[cfg(unix)]
    {
        use tokio::signal::unix::{SignalKind, signal};
        let streams = (
            signal(SignalKind::interrupt()),
            signal(SignalKind::terminate()),
        );
        async move {
            let (Ok(mut interrupt), Ok(mut terminate)) = streams else {
                // Without handlers the system ends the process by itself.
                return std::future::pending().await;
            };
            tokio::select! {
                biased;
                _ = interrupt.recv() => {}
                _ = terminate.recv() => {}
            }
        }
    }
    #[cfg(not(unix))]
    {
        async {
            let _ = tokio::signal::ctrl_c().await;
        }
    }
}

/// Carries out `status`.
///
/// # Errors
/// [`Failure`]
pub async fn status(session: &Session) -> Result<(), Failure> {
    let status = session.client.status().await?;
    session.output.show(&status, |style| {
        let document = serde_json::to_value(&status).expect("plain data is JSON");
        format!(
            "{}\n{}",
            style.name(session.client.base()),
            describe(style, &document)
        )
    })
}

/// A JSON object, a line for each field, and a line for each object of a list in it.
fn describe(style: Style, document: &Value) -> String {
    let fields = document.as_object().into_iter().flatten();
    let mut lines = Vec::new();
    for (name, value) in fields {
        let label = style.dim(&format!("{:18}", name.replace('_', " ")));
        match value {
            Value::Array(items) => {
                lines.push(format!("{label} {}", items.len()));
                lines.extend(
                    items
                        .iter()
                        .map(|item| format!("  {}", one_line(&item.to_string(), 200))),
                );
            }
            Value::String(text) => lines.push(format!("{label} {}", one_line(text, 100))),
            other => lines.push(format!("{label} {other}")),
        }
    }
    lines.join("\n")
}

/// Carries out `openapi`: the document of this very build.
///
/// # Errors
/// When standard output is closed.
pub fn openapi(output: Output) -> Result<(), Failure> {
    let document = serde_json::to_value(sillok_server::openapi()).expect("a document is JSON");
    Output {
        json: true,
        ..output
    }
    .show(&document, |_| String::new())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_status_is_a_line_for_each_field() {
        let document = json!({ "events": 3, "node": "n", "promotions": [{ "source": "org/a" }] });
        let text = describe(Style::default(), &document);
        assert_eq!(text.lines().count(), 4);
        assert!(text.contains("events             3"));
        assert!(text.contains("  {\"source\":\"org/a\"}"));
    }
}
