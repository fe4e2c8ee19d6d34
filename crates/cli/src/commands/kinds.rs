//! `decision declare` and `decision kinds`

use sillok_server::api::{DeclareRelation, DeclaredRelation, RelationKindsQuery};

use super::decision::{pages, with_more};
use crate::args::{KindDeclare, KindList};
use crate::failure::Failure;
use crate::output::{Style, one_line, table};
use crate::session::Session;

/// Characters of a meaning in a listing.
const MEANING_CHARS_MAX: usize = 80;

/// Carries out `decision declare`.
///
/// # Errors
/// [`Failure`]
pub async fn declare(session: &Session, args: KindDeclare) -> Result<(), Failure> {
    let body = DeclareRelation {
        scope: args.scope.to_string(),
        name: args.name.to_string(),
        reach: args.reach,
        meaning: args.meaning,
    };
    let declared = session.client.declare_relation(&body).await?;
    session.output.show(&declared, |style| {
        let (name, scope) = (style.name(declared.name.as_str()), &args.scope);
        format!("{name} is declared in {scope}, for good")
    })
}

/// Carries out `decision kinds`.
///
/// # Errors
/// [`Failure`]
pub async fn list(session: &Session, args: &KindList) -> Result<(), Failure> {
    let scope = session.scope(&args.within)?;
    let found = pages(args.paging.limit, async |after, limit| {
        let query = RelationKindsQuery {
            scope: scope.to_string(),
            after,
            limit,
        };
        session.client.relation_kinds(&query).await
    })
    .await?;
    session.output.show(&found, |style| {
        with_more(style, listed(style, &found.items), &found)
    })
}

/// Kinds, a line each.
fn listed(style: Style, kinds: &[DeclaredRelation]) -> String {
    let row = |kind: &DeclaredRelation| {
        vec![
            kind.name.to_string(),
            kind.reach.to_string(),
            kind.scope.to_string(),
            meaning(kind),
        ]
    };
    let rows: Vec<Vec<String>> = kinds.iter().map(row).collect();
    table(style, &["KIND", "REACH", "DECLARED IN", "MEANING"], &rows)
}

/// What a kind means, or that this was erased.
fn meaning(kind: &DeclaredRelation) -> String {
    if kind.erased {
        return "(erased)".to_owned();
    }
    one_line(&kind.meaning, MEANING_CHARS_MAX)
}

#[cfg(test)]
mod tests {
    use sillok_core::decision::Reach;
    use sillok_core::id::Seq;
    use sillok_core::principal::PrincipalKind;
    use sillok_core::scope::Scope;
    use sillok_core::time::Timestamp;
    use sillok_server::api::Actor;

    use super::*;

    #[test]
    fn kinds_are_listed_in_lines_that_move_no_cursor() {
        let kind = DeclaredRelation {
            name: "CAUSES".parse().unwrap(),
            reach: Reach::Forward,
            meaning: "It brings\u{1b}[2J the other\nabout".to_owned(),
            erased: false,
            scope: Scope::parse("org/a").unwrap(),
            by: Actor {
                kind: PrincipalKind::Human,
                id: "kim".to_owned(),
            },
            at: Timestamp::from_ms(0),
            seq: Seq::new(1),
        };
        let gone = DeclaredRelation {
            name: "BREAKS".parse().unwrap(),
            meaning: String::new(),
            erased: true,
            ..kind.clone()
        };
        let shown = listed(Style { colour: false }, &[kind, gone]);
        let expected = [
            "KIND    REACH    DECLARED IN  MEANING",
            "CAUSES  forward  org/a        It brings[2J the other about",
            "BREAKS  forward  org/a        (erased)",
        ];
        assert_eq!(shown, expected.join("\n"));
    }
}
