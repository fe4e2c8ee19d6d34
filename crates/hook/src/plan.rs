//! What follows from an event: what is written, what is asked, and whether what waits is handed over.
//!
//! Owns that mapping, whole and pure. It must not know how anything is sent, or how a client is answered.

use serde_json::{Value, json};
use sillok_core::limits::{ANCHOR_HINT_BYTES_MAX, APPROACH_NAME_BYTES_MAX};

use crate::client::Client;
use crate::event::{Edit, Event, Kind, Tool, Used};
use crate::limits::{APPROACH_BYTES, CLIENT_WORD_BYTES};
use crate::place::Place;
use crate::wording::{Level, cut_to};

/// A record that is to be appended.
#[derive(Clone, Debug, PartialEq)]
pub struct Written {
    /// How loud it is.
    pub level: Level,
    /// Its text.
    pub content: String,
    /// What it is of.
    pub metadata: Value,
}

/// What the server is asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Question {
    /// What holds here: a brief.
    Brief,
    /// What is known of this, and what failed that is like it.
    Recall(String),
    /// Whether this change is one that failed before.
    Fix {
        /// The change, in words.
        approach: String,
        /// The files that it touches, from the root of the work tree.
        files: Vec<String>,
    },
    /// What holds here, so that an anchor leads to it: what the anchor says.
    Anchor(String),
}

impl Question {
    /// Whether the conversation's task has to be there before it is asked.
    #[must_use]
    pub const fn needs_task(&self) -> bool {
        matches!(self, Self::Fix { .. })
    }

    /// Whether more is known once that task is there: by what it was opened with it is warned.
    #[must_use]
    pub const fn goes_by_task(&self) -> bool {
        matches!(self, Self::Fix { .. } | Self::Recall(_))
    }
}

/// Whether what waits is handed over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Handing {
    /// That of all conversations.
    All,
    /// That of this one.
    Own,
    /// That of this one, where enough of it waits.
    OwnIfDue,
    /// Nothing.
    None,
}

/// What follows from an event.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    /// What is written.
    pub written: Option<Written>,
    /// What a person said, which opens the task where nothing did before.
    pub words: Option<String>,
    /// Whether what is written can be held until somebody says or does something.
    pub holds: bool,
    /// What is asked.
    pub question: Option<Question>,
    /// Whether what waits is handed over.
    pub handing: Handing,
    /// Whether the conversation is over.
    pub ends: bool,
    /// Whether it is a tool's event, which is often.
    pub often: bool,
}

impl Plan {
    /// What follows from an event of a client.
    #[must_use]
    pub fn of(client: Client, name: &str, event: &Event, place: &Place) -> Self {
        let about = About {
            client,
            name,
            event,
        };
        match &event.kind {
            Kind::Start { source, model } => {
                let word = |word| cut_to(word, CLIENT_WORD_BYTES);
                let model = model.as_deref().map(word);
                let said = model.map_or(String::new(), |model| format!(", with {model}"));
                let source = word(source);
                Self {
                    question: Some(Question::Brief),
                    handing: Handing::All,
                    holds: true,
                    ..about.said(format!("A conversation begins ({source}){said}."))
                }
            }
            Kind::Prompt(text) if text.trim().is_empty() => Self::nothing(),
            Kind::Prompt(text) => Self {
                question: Some(Question::Recall(text.clone())),
                handing: Handing::Own,
                words: Some(text.clone()),
                ..about.said(format!("A person says: {text}"))
            },
            Kind::Before(tool) => Self {
                question: asked_before(client, tool, place),
                often: true,
                ..Self::nothing()
            },
            Kind::After(tool, used) => Self {
                question: asked_after(client, tool, place),
                ..about.used(tool, used)
            },
            Kind::Compaction { trigger } => {
                let hint = format!(
                    "What held when the conversation {} of {client} was compacted ({trigger})",
                    event.session
                );
                Self {
                    question: Some(Question::Anchor(
                        cut_to(&hint, ANCHOR_HINT_BYTES_MAX).to_owned(),
                    )),
                    handing: Handing::Own,
                    ..about.said(format!("The conversation is compacted ({trigger})."))
                }
            }
            Kind::Stop { said } => Self {
                handing: Handing::Own,
                ..about.said(match said {
                    Some(said) => format!("An agent has finished: {said}"),
                    None => "An agent has finished.".to_owned(),
                })
            },
            Kind::End { reason } => Self {
                handing: Handing::All,
                ends: true,
                ..about.said(format!("The conversation is over ({reason})."))
            },
            Kind::Other => Self::nothing(),
        }
    }

    const fn nothing() -> Self {
        Self {
            written: None,
            words: None,
            holds: false,
            question: None,
            handing: Handing::None,
            ends: false,
            often: false,
        }
    }
}

struct About<'a> {
    client: Client,
    name: &'a str,
    event: &'a Event,
}

impl About<'_> {
    fn metadata(&self) -> Value {
        let mut metadata = json!({
            "client": self.client.as_str(),
            "session": self.event.session,
            "event": self.name,
        });
        if let Some(agent) = &self.event.agent {
            metadata["agent"] = json!(agent);
        }
        metadata
    }

    fn said(&self, content: String) -> Plan {
        Plan {
            written: Some(Written {
                level: Level::Info,
                content,
                metadata: self.metadata(),
            }),
            ..Plan::nothing()
        }
    }

    fn used(&self, tool: &Tool, used: &Used) -> Plan {
        let mut metadata = self.metadata();
        metadata["tool"] = json!(tool.name);
        if let Some(id) = &tool.id {
            metadata["tool_use"] = json!(id);
        }
        if let Some(ms) = used.duration_ms {
            metadata["duration_ms"] = json!(ms);
        }
        let input = crate::wording::shortened(&tool.input.to_string());
        let output = crate::wording::shortened(&used.output);
        let how = if used.failed { "failed with" } else { "gave" };
        let content = format!("{} was given {input}\nand {how}: {output}", tool.name);
        Plan {
            written: Some(Written {
                level: if used.failed {
                    Level::Error
                } else {
                    Level::Tool
                },
                content,
                metadata,
            }),
            handing: Handing::OwnIfDue,
            often: true,
            ..Plan::nothing()
        }
    }
}

/// Cursor takes no text before a tool, so it is asked about behind it.
fn asked_before(client: Client, tool: &Tool, place: &Place) -> Option<Question> {
    let told = client != Client::Cursor;
    told.then(|| tool.edit().map(|edit| fix(&edit, place)))
        .flatten()
}

fn asked_after(client: Client, tool: &Tool, place: &Place) -> Option<Question> {
    let told = client == Client::Cursor;
    told.then(|| tool.edit().map(|edit| fix(&edit, place)))
        .flatten()
}

fn fix(edit: &Edit, place: &Place) -> Question {
    let named = edit.files.iter().map(|file| place.relative(file));
    // What the rules take for no name would have the whole question refused.
    let is_name = |file: &String| !file.trim().is_empty() && file.len() <= APPROACH_NAME_BYTES_MAX;
    let files: Vec<String> = named.filter(is_name).collect();
    let text = cut_to(&edit.text, APPROACH_BYTES);
    Question::Fix {
        approach: format!("Change {}: {text}", files.join(", ")),
        files,
    }
}
