//! `code`

use sillok_server::api::{
    CodeCut, CodeCutReason, CodeDependent, CodeDependents, CodeRelation, CodeSymbol,
    DependentsQuery, SymbolsFound, SymbolsQuery, WorkTreeQuery, WorkTreeView,
};

use crate::args::{self, CodeCommand};
use crate::failure::Failure;
use crate::output::{Style, one_line, table};
use crate::session::Session;

/// Characters of a signature or a node on one line.
const LINE_CHARS_MAX: usize = 100;
/// Characters of why a look failed.
const FAILED_CHARS_MAX: usize = 300;

/// Carries out `code`.
///
/// # Errors
/// [`Failure`]
pub async fn run(session: &Session, command: CodeCommand) -> Result<(), Failure> {
    match command {
        CodeCommand::Status(args) => status(session, &args).await,
        CodeCommand::Symbols(args) => symbols(session, args).await,
        CodeCommand::Dependents(args) => dependents(session, &args).await,
    }
}

async fn status(session: &Session, args: &args::CodeStatus) -> Result<(), Failure> {
    let query = WorkTreeQuery {
        scope: session.scope(&args.within)?.to_string(),
    };
    let tree = session.client.work_tree(&query).await?;
    session.output.show(&tree, |style| described(style, &tree))
}

fn described(style: Style, tree: &WorkTreeView) -> String {
    let mut lines = vec![style.name(tree.scope.as_str())];
    if let Some(failed) = &tree.failed {
        let failed = one_line(failed, FAILED_CHARS_MAX);
        lines.push(style.bad(&format!("the last look at it failed: {failed}")));
    }
    if tree.looks == 0 {
        lines.push(style.bad("it was not looked at yet"));
        return lines.join("\n");
    }
    let (files, symbols) = (tree.files, tree.symbols);
    lines.push(format!("{files} source files, {symbols} symbols"));
    if tree.unread > 0 {
        lines.push(format!("{} files could not be read", tree.unread));
    }
    for (what, counts) in [
        ("passed over", &tree.passed),
        ("not told of what was read", &tree.left_out),
    ] {
        let counts = counts.iter().filter(|(_, many)| **many > 0);
        let counts: Vec<String> = counts.map(|(why, many)| format!("{many} {why}")).collect();
        if !counts.is_empty() {
            lines.push(format!("{what}: {}", counts.join(", ")));
        }
    }
    if tree.cut {
        lines.push(style.bad("the look ended at its bound: something is missing"));
    }
    if tree.partial {
        lines.push(style.bad("some folders are not watched: a change there is seen late"));
    }
    lines.join("\n")
}

async fn symbols(session: &Session, args: args::CodeSymbols) -> Result<(), Failure> {
    let query = SymbolsQuery {
        scope: session.scope(&args.within)?.to_string(),
        file: args.file,
        name: args.name,
        limit: args.limit,
    };
    let found = session.client.symbols(&query).await?;
    session.output.show(&found, |style| listed(style, &found))
}

fn listed(style: Style, found: &SymbolsFound) -> String {
    let row = |symbol: &CodeSymbol| {
        let at = format!("{}:{}", symbol.file, symbol.first_line);
        vec![
            one_line(&at, LINE_CHARS_MAX),
            symbol.kind.clone(),
            one_line(&symbol.name, LINE_CHARS_MAX),
            one_line(&symbol.signature, LINE_CHARS_MAX),
        ]
    };
    let rows: Vec<Vec<String>> = found.symbols.iter().map(row).collect();
    let mut lines = vec![table(style, &["where", "kind", "name", "signature"], &rows)];
    if found.more > 0 {
        lines.push(style.dim(&format!("… and {} more (--limit)", found.more)));
    }
    if found.cut {
        lines.push(style.bad("there may be more: too many have the name, or the time was over"));
    }
    lines.join("\n")
}

async fn dependents(session: &Session, args: &args::CodeDependents) -> Result<(), Failure> {
    let query = DependentsQuery {
        scope: session.scope(&args.within)?.to_string(),
        of: args.of.to_string(),
        nodes_max: args.nodes_max,
        depth_max: args.depth_max,
    };
    let found = session.client.dependents(&query).await?;
    session.output.show(&found, |style| reached(style, &found))
}

fn reached(style: Style, found: &CodeDependents) -> String {
    let row = |one: &CodeDependent| {
        let how = match (one.relation, one.certain) {
            (CodeRelation::Imports, true) => "imports",
            (CodeRelation::Imports, false) => "may import",
            (CodeRelation::Calls, true) => "calls",
            (CodeRelation::Calls, false) => "may call",
        };
        vec![
            one.depth.to_string(),
            one_line(&one.node.to_string(), LINE_CHARS_MAX),
            how.to_owned(),
            one_line(&one.from.to_string(), LINE_CHARS_MAX),
        ]
    };
    let rows: Vec<Vec<String>> = found.dependents.iter().map(row).collect();
    let mut lines = vec![table(style, &["steps", "what", "", "of"], &rows)];
    lines.extend(found.cut.iter().map(|cut| style.bad(&missing(cut))));
    lines.join("\n")
}

fn missing(cut: &CodeCut) -> String {
    let why = match cut.reason {
        CodeCutReason::Nodes => "there are more (--nodes-max)",
        CodeCutReason::Depth => "there are more further away (--depth-max)",
        CodeCutReason::Lookups => "there may be more: as much was looked at as may be",
        CodeCutReason::Time => "there may be more: the time was over",
    };
    format!(
        "{why}: what depends on {} of them was not looked for",
        cut.unfollowed
    )
}

#[cfg(test)]
mod tests {
    use sillok_core::decision::Node;
    use sillok_core::scope::Scope;

    use super::*;

    const PLAIN: Style = Style { colour: false };

    #[test]
    fn dependents_say_how_they_depend_and_what_was_not_followed() {
        let file = |path: &str| Node::file(path).unwrap();
        let found = CodeDependents {
            scope: Scope::parse("org/a/project/p").unwrap(),
            of: vec![file("a.py")],
            dependents: vec![
                CodeDependent {
                    node: file("b.py"),
                    depth: 1,
                    from: file("a.py"),
                    relation: CodeRelation::Imports,
                    certain: true,
                },
                CodeDependent {
                    node: Node::symbol("run", Some("c.py")).unwrap(),
                    depth: 2,
                    from: file("b.py"),
                    relation: CodeRelation::Calls,
                    certain: false,
                },
            ],
            cut: vec![CodeCut {
                reason: CodeCutReason::Depth,
                unfollowed: 3,
                first: Vec::new(),
            }],
            data_marked_text: String::new(),
        };
        let shown = reached(PLAIN, &found);
        let lines: Vec<&str> = shown.lines().collect();
        assert!(lines[0].starts_with("steps  what"), "{shown}");
        assert_eq!(
            lines[1].split_whitespace().collect::<Vec<_>>(),
            ["1", "file:b.py", "imports", "file:a.py"]
        );
        assert!(
            lines[2].contains("symbol:run@c.py") && lines[2].contains("may call"),
            "{shown}"
        );
        assert!(
            lines[3].ends_with("what depends on 3 of them was not looked for"),
            "{shown}"
        );
    }

    #[test]
    fn a_work_tree_that_was_not_looked_at_is_not_called_empty() {
        let mut tree = WorkTreeView {
            scope: Scope::parse("org/a/project/p").unwrap(),
            looks: 0,
            failed: Some("it is\ngone".to_owned()),
            files: 0,
            symbols: 0,
            parsed: 0,
            unread: 0,
            left_out: [("errors".to_owned(), 3), ("calls".to_owned(), 0)].into(),
            passed: [("links".to_owned(), 2), ("names".to_owned(), 0)].into(),
            cut: false,
            partial: true,
        };
        assert!(described(PLAIN, &tree).contains("not looked at yet"));
        (tree.looks, tree.files) = (1, 7);
        let shown = described(PLAIN, &tree);
        for words in [
            "the last look at it failed: it is gone",
            "7 source files",
            "passed over: 2 links",
            "not told of what was read: 3 errors",
            "not watched",
        ] {
            assert!(shown.contains(words), "{shown}");
        }
        for words in ["names", "calls"] {
            assert!(!shown.contains(words), "{shown}");
        }
    }
}
