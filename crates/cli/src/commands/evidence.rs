//! `evidence`

use sillok_server::api::{
    EvidenceHead, EvidenceListQuery, EvidenceQuery, EvidenceTextQuery, SaveEvidence,
};

use super::decision::{pages, with_more};
use super::log::text_or_stdin;
use crate::args::{EvidenceCommand, EvidenceList, EvidenceNamed, EvidenceSave, EvidenceText};
use crate::failure::Failure;
use crate::output::{Style, harmless, one_line, table, time};
use crate::session::Session;

/// Characters of a title or a source on one line.
const LINE_CHARS_MAX: usize = 160;
/// Characters of a title in a listing.
const TITLE_CHARS_MAX: usize = 80;

/// Carries out `evidence`.
///
/// # Errors
/// [`Failure`]
pub async fn run(session: &Session, command: EvidenceCommand) -> Result<(), Failure> {
    match command {
        EvidenceCommand::Save(args) => save(session, args).await,
        EvidenceCommand::List(args) => list(session, &args).await,
        EvidenceCommand::Show(args) => show(session, &args).await,
        EvidenceCommand::Text(args) => text(session, &args).await,
    }
}

async fn save(session: &Session, args: EvidenceSave) -> Result<(), Failure> {
    let body = SaveEvidence {
        scope: args.scope.to_string(),
        title: args.title,
        source: args.source,
        media_type: args.media_type,
        content: text_or_stdin(args.content)?,
    };
    let saved = session.client.save_evidence(&body).await?;
    session.output.show(&saved, |style| {
        let masked = masked(saved.masked);
        format!(
            "{} hash {}{masked}",
            style.name(&saved.id.to_string()),
            saved.hash
        )
    })
}

/// How many secrets were masked, where any were.
fn masked(count: u32) -> String {
    match count {
        0 => String::new(),
        count => format!(" ({count} secrets masked)"),
    }
}

async fn list(session: &Session, args: &EvidenceList) -> Result<(), Failure> {
    let scope = session.scope(&args.within)?;
    let found = pages(args.paging.limit, async |after, limit| {
        let query = EvidenceListQuery {
            scope: scope.to_string(),
            after,
            limit,
        };
        session.client.evidence_list(&query).await
    })
    .await?;
    session.output.show(&found, |style| {
        with_more(style, listed(style, &found.items), &found)
    })
}

/// Evidence, a line each.
fn listed(style: Style, heads: &[EvidenceHead]) -> String {
    let row = |head: &EvidenceHead| {
        vec![
            head.id.to_string(),
            head.media_type.clone(),
            head.bytes.to_string(),
            titled(head, TITLE_CHARS_MAX),
        ]
    };
    let rows: Vec<Vec<String>> = heads.iter().map(row).collect();
    table(style, &["EVIDENCE", "TYPE", "BYTES", "TITLE"], &rows)
}

/// What evidence is, or that it was erased.
fn titled(head: &EvidenceHead, chars_max: usize) -> String {
    if head.erased {
        return "(erased)".to_owned();
    }
    one_line(&head.title, chars_max)
}

async fn show(session: &Session, args: &EvidenceNamed) -> Result<(), Failure> {
    let query = EvidenceQuery {
        scope: session.scope(&args.within)?.to_string(),
        id: args.id.to_string(),
    };
    let head = session.client.evidence(&query).await?;
    session.output.show(&head, |style| described(style, &head))
}

/// What there is to know of evidence without its text.
#[must_use]
pub fn described(style: Style, head: &EvidenceHead) -> String {
    let source = if head.source.is_empty() {
        String::new()
    } else {
        format!(" from {}", one_line(&head.source, LINE_CHARS_MAX))
    };
    let what = match head.erased {
        true => String::new(),
        false => format!(
            ", {} bytes of {}{}",
            head.bytes,
            head.media_type,
            masked(head.masked)
        ),
    };
    let mut lines = vec![
        format!(
            "{} in {}{what}",
            style.name(&head.id.to_string()),
            head.scope
        ),
        titled(head, LINE_CHARS_MAX),
        style.dim(&format!(
            "saved by {}:{} at {}{source}",
            head.by.kind,
            head.by.id,
            time(head.at)
        )),
    ];
    if !head.erased {
        lines.push(style.dim(&format!("hash {}", head.hash)));
    }
    lines.join("\n")
}

async fn text(session: &Session, args: &EvidenceText) -> Result<(), Failure> {
    let named = &args.named;
    let query = EvidenceTextQuery {
        scope: session.scope(&named.within)?.to_string(),
        id: named.id.to_string(),
        from: args.bytes.map(|(from, _)| u64::from(from)),
        to: args.bytes.map(|(_, to)| u64::from(to)),
    };
    let text = session.client.evidence_text(&query).await?;
    session.output.show(&text, |_| harmless(&text.text))
}

#[cfg(test)]
mod tests {
    use sillok_core::id::{EvidenceId, Seq};
    use sillok_core::principal::PrincipalKind;
    use sillok_core::scope::Scope;
    use sillok_core::time::Timestamp;
    use sillok_server::api::Actor;

    use super::*;

    const PLAIN: Style = Style { colour: false };

    fn head(source: &str, masked: u32) -> EvidenceHead {
        EvidenceHead {
            scope: Scope::parse("org/a").unwrap(),
            id: EvidenceId::from_bytes([1; 16]),
            erased: false,
            title: "What\u{1b}[2J ran\n".to_owned(),
            source: source.to_owned(),
            media_type: "text/csv".to_owned(),
            bytes: 700,
            hash: "ab".repeat(32),
            masked,
            by: Actor {
                kind: PrincipalKind::Agent,
                id: "a-1".to_owned(),
            },
            at: Timestamp::from_ms(0),
            seq: Seq::new(1),
        }
    }

    #[test]
    fn evidence_is_described_in_lines_that_move_no_cursor() {
        let shown = described(PLAIN, &head("", 0));
        let lines: Vec<&str> = shown.lines().collect();
        let id = EvidenceId::from_bytes([1; 16]);
        assert_eq!(
            lines[..2],
            [
                format!("{id} in org/a, 700 bytes of text/csv").as_str(),
                "What[2J ran"
            ]
        );
        assert!(lines[2].starts_with("saved by agent:a-1 at ") && lines.len() == 4);
        let shown = described(PLAIN, &head("logs/a.csv", 2));
        assert!(shown.contains("(2 secrets masked)") && shown.contains(" from logs/a.csv"));
        let erased = EvidenceHead {
            erased: true,
            title: String::new(),
            ..head("", 0)
        };
        let shown = described(PLAIN, &erased);
        assert!(shown.contains("(erased)") && !shown.contains("hash"));
        assert!(listed(PLAIN, &[erased]).ends_with("(erased)"));
    }
}
