//! `entry`, `show`, `supersede` and `history`

use serde_json::value::{RawValue, to_raw_value};
use sillok_core::id::EntryId;
use sillok_server::api::{
    AmendEntry, Binding, Bound, Citation, Claim, Disposition, EntryHead, EntryView, EntryWritten,
    ExcerptQuery, History, NewEntry, PutEntry, ResolveState, RestoreEntry, Supersede,
    VerificationRef,
};

use super::citation;
use super::log::text_or_stdin;
use crate::args::{self, EntryAmend, EntryCommand, EntryPut, Grounds, Named};
use crate::client::Client;
use crate::failure::Failure;
use crate::here::{self, Here};
use crate::output::{Style, harmless, one_line, table, time};
use crate::session::Session;

/// Characters of what a citation quotes.
const QUOTE_CHARS_MAX: usize = 160;

/// Carries out `entry`.
///
/// # Errors
/// [`Failure`]
pub async fn run(session: &Session, command: EntryCommand) -> Result<(), Failure> {
    let done = done_by(&command);
    let written = match command {
        EntryCommand::Put(put) => {
            session
                .client
                .put_entry(&put_body(session, put).await?)
                .await?
        }
        EntryCommand::Amend(amend) => {
            session
                .client
                .amend_entry(&amend_body(session, amend).await?)
                .await?
        }
        EntryCommand::Resolve(resolve) => {
            let body = ResolveState {
                entry: resolve.entry.to_string(),
                expected_version: resolve.expected_version,
                reason: resolve.reason,
                verification: verification(&resolve.named),
            };
            session.client.resolve_state(&body).await?
        }
        EntryCommand::Restore(restore) => {
            let body = RestoreEntry {
                entry: restore.entry.to_string(),
                reason: restore.reason,
            };
            session.client.restore_entry(&body).await?
        }
    };
    session
        .output
        .show(&written, |style| describe_written(style, &written, done))
}

async fn put_body(session: &Session, put: EntryPut) -> Result<PutEntry, Failure> {
    let content = text_or_stdin(put.content)?;
    Ok(PutEntry {
        scope: put.scope.to_string(),
        table: put.table,
        bound: bound_here(&content),
        content,
        citations: citation::resolve(&session.client, &put.grounds.cite).await?,
        commit: None,
        skill: None,
        failure: false,
        metadata: metadata(&put.grounds),
        verification: verification(&put.grounds.named),
        claim: claim(put.grounds),
    })
}

async fn amend_body(session: &Session, amend: EntryAmend) -> Result<AmendEntry, Failure> {
    Ok(AmendEntry {
        entry: amend.entry.to_string(),
        expected_version: amend.expected_version,
        content: text_or_stdin(amend.content)?,
        citations: citation::resolve(&session.client, &amend.grounds.cite).await?,
        skill: None,
        metadata: metadata(&amend.grounds),
        verification: verification(&amend.grounds.named),
        claim: claim(amend.grounds),
    })
}

/// What an entry is bound to that is written here and says this.
fn bound_here(content: &str) -> Option<Bound> {
    Here::look(".".as_ref()).bound_of_entry(content)
}

fn metadata(grounds: &Grounds) -> Option<Box<RawValue>> {
    let raw = |value| to_raw_value(value).expect("it was parsed from JSON");
    grounds.metadata.as_ref().map(raw)
}

fn verification(named: &Named) -> Option<VerificationRef> {
    let (id, task) = (named.verification?, named.verified_task.as_ref()?);
    Some(VerificationRef {
        task: task.to_string(),
        id: id.to_string(),
    })
}

fn claim(grounds: Grounds) -> Option<Claim> {
    grounds.claim.map(|(key, value)| Claim { key, value })
}

/// What a command did to an entry that it did not merge.
const fn done_by(command: &EntryCommand) -> &'static str {
    match command {
        EntryCommand::Put(_) | EntryCommand::Amend(_) => "written",
        EntryCommand::Resolve(_) => "resolved",
        EntryCommand::Restore(_) => "brought back",
    }
}

fn describe_written(style: Style, written: &EntryWritten, done: &str) -> String {
    let became = match &written.disposition {
        Disposition::Created => done.to_owned(),
        Disposition::Merged { cosine } => format!("merged: it says the same (cosine {cosine:.2})"),
        Disposition::Contradicts { other } => format!("written; it contradicts {other}"),
        Disposition::LeftOut => "left out".to_owned(),
    };
    format!(
        "{} version {}, {}: {became}",
        style.name(&written.entry.to_string()),
        written.version,
        written.status
    )
}

/// Carries out `supersede`.
///
/// # Errors
/// [`Failure`]
pub async fn supersede(session: &Session, args: args::Supersede) -> Result<(), Failure> {
    let citations = citation::resolve(&session.client, &args.grounds.cite).await?;
    let replacement = match args.content {
        None => None,
        Some(content) => {
            let content = text_or_stdin(content)?;
            Some(NewEntry {
                table: args.table,
                bound: bound_here(&content),
                content,
                metadata: metadata(&args.grounds),
                claim: claim(args.grounds.clone()),
                citations,
                commit: None,
                skill: None,
                failure: false,
            })
        }
    };
    let body = Supersede {
        old: args.old.to_string(),
        expected_version: args.expected_version,
        new: args.new.map(|id| id.to_string()),
        replacement,
        reason: args.reason,
        commit: args.commit,
        verification: verification(&args.grounds.named),
    };
    let done = session.client.supersede(&body).await?;
    session.output.show(&done, |style| {
        format!(
            "{} replaces {}",
            style.name(&done.new.to_string()),
            style.dim(&done.old.to_string())
        )
    })
}

/// Carries out `show`.
///
/// # Errors
/// [`Failure`]
pub async fn show(session: &Session, entry: EntryId) -> Result<(), Failure> {
    let entry = session.client.entry(entry).await?;
    let quoted = quotes(session, &entry).await;
    session
        .output
        .show(&entry, |style| describe(style, &entry, &quoted))
}

/// What the citations of an entry quote, for a person.
pub async fn quotes(session: &Session, entry: &EntryView) -> Vec<Option<String>> {
    let mut quoted = Vec::new();
    if !session.output.json {
        for citation in &entry.head.citations {
            quoted.push(quote(&session.client, citation).await);
        }
    }
    quoted
}

/// What stands where a citation points; nothing where that may not be read, or is not there any more.
async fn quote(client: &Client, citation: &Citation) -> Option<String> {
    let Citation::Excerpt { id, from, to } = citation else {
        return None;
    };
    let query = ExcerptQuery {
        id: id.clone(),
        from: *from,
        to: *to,
    };
    let said = client.excerpt(&query).await.ok()?;
    Some(one_line(&said.text, QUOTE_CHARS_MAX))
}

/// An entry, for a person, with what its citations quote.
#[must_use]
pub fn describe(style: Style, entry: &EntryView, quoted: &[Option<String>]) -> String {
    let (head, version) = (&entry.head, &entry.version);
    let mut lines = vec![
        style.name(&head.id.to_string()),
        format!(
            "{} in {}, {}, version {}, by {}:{} at {}",
            head.table,
            head.scope,
            status(style, head),
            head.version,
            head.author.kind,
            head.author.id,
            time(head.created_at)
        ),
        format!(
            "confidence {:.2} after {} validations; it helped {} tasks, was wrong for {} and stale for {}",
            head.trust.confidence,
            head.trust.validation_count,
            head.usage.helped,
            head.usage.wrong,
            head.usage.stale
        ),
    ];
    lines.extend(describe_binding(&head.binding));
    lines.extend(drawn_by(entry));
    if let Some(by) = head.lifecycle.superseded_by {
        let why = head
            .lifecycle
            .contradiction_note
            .as_deref()
            .unwrap_or_default();
        lines.push(format!("replaced by {by}: {}", one_line(why, 300)));
    }
    lines.extend(
        head.lifecycle
            .supersedes
            .map(|old| format!("replaces {old}")),
    );
    lines.extend(
        head.links
            .iter()
            .map(|link| format!("{:?} {}", link.kind, link.to).to_lowercase()),
    );
    let content = match head.erased {
        true => style.bad("its content was erased"),
        false => harmless(&version.content),
    };
    lines.push(format!("\n{content}\n"));
    if let Some(skill) = &version.skill {
        lines.push(format!("{}\n", harmless(&skill.code)));
    }
    for (cited, quote) in head.citations.iter().zip(quoted) {
        lines.push(format!("rests on {}", citation::line(cited)));
        let quote = quote.as_ref();
        lines.extend(quote.map(|quote| style.dim(&format!("  {quote}"))));
    }
    lines.join("\n")
}

/// Where an entry was true first, for a person.
fn describe_binding(binding: &Binding) -> Vec<String> {
    match binding {
        Binding::NoRepository => vec!["bound to no repository".to_owned()],
        Binding::Commit { hash, repository } => {
            vec![format!("bound to commit {hash} of {repository}")]
        }
        Binding::Bound {
            place,
            files,
            left_out,
        } => here::describe(&Bound {
            place: place.clone(),
            files: files.clone(),
            left_out: *left_out,
        }),
    }
}

/// The promotion that made an entry, and what drew it: the first version alone says that, since whoever amends writes
/// metadata of its own.
fn drawn_by(entry: &EntryView) -> Option<String> {
    let promotion = entry.head.promotion?;
    let first = (entry.version.number == 1).then(|| entry.version.metadata.get());
    let metadata: serde_json::Value = serde_json::from_str(first.unwrap_or("{}")).ok()?;
    let by = metadata["cognifier"].as_str();
    let by = by.map_or_else(String::new, |by| format!(", drawn by {}", one_line(by, 90)));
    Some(format!("published by promotion {promotion}{by}"))
}

fn status(style: Style, head: &EntryHead) -> String {
    let text = head.status.to_string();
    if head.status.is_live() {
        style.good(&text)
    } else {
        style.bad(&text)
    }
}

/// Carries out `history`.
///
/// # Errors
/// [`Failure`]
pub async fn history(session: &Session, entry: EntryId) -> Result<(), Failure> {
    let history = session.client.history(entry).await?;
    session
        .output
        .show(&history, |style| describe_history(style, entry, &history))
}

fn describe_history(style: Style, entry: EntryId, history: &History) -> String {
    let versions: Vec<Vec<String>> = history
        .versions
        .iter()
        .map(|version| {
            vec![
                version.number.to_string(),
                time(version.created_at),
                format!("{}:{}", version.author.kind, version.author.id),
                one_line(&version.content, 90),
            ]
        })
        .collect();
    let line: Vec<Vec<String>> = history
        .line
        .iter()
        .map(|head| {
            let mark = if head.id == entry { "→" } else { "" };
            let why = head
                .lifecycle
                .contradiction_note
                .as_deref()
                .unwrap_or_default();
            vec![
                mark.to_owned(),
                head.id.to_string(),
                head.status.to_string(),
                one_line(why, 60),
            ]
        })
        .collect();
    format!(
        "{}\n\n{}",
        table(style, &["VERSION", "TIME", "BY", "TEXT"], &versions),
        table(style, &["", "LINE", "STATUS", "WHY IT WAS REPLACED"], &line)
    )
}
