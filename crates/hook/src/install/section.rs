//! Sillok's section in Codex' TOML: its MCP server.
//!
//! Owns the lines that it begins and ends with. It stands at the end of the file, so that no key of another table falls into
//! it; all before and behind it stays byte for byte.

use super::Doing;
use super::entries::Programs;
use super::made::Edited;

/// What it begins with: where the line before had its end, and where it had none.
const BEGIN: &str = "# >>> sillok install: what stands here is put in and taken out by sillok\n";
const BEGIN_ON_OWN_LINE: &str = "\n# >>> sillok install: what stands here is put in and taken out by sillok,\n# with the line break before it\n";
/// What it ends with.
const END: &str = "# <<< sillok install\n";
/// Its table among the servers.
const SERVERS: &str = "mcp_servers";
const SERVER: &str = "sillok";

/// Edits the section.
///
/// # Errors
/// What is wrong with the file.
pub fn edited(before: Option<&str>, programs: &Programs, doing: Doing) -> Result<Edited, String> {
    let text = before.unwrap_or_default();
    let table = read(text)?;
    let own = span(text)?;
    let unchanged = |said: Vec<String>| Edited {
        after: before.map(str::to_owned),
        said,
    };
    let without = own
        .as_ref()
        .map_or_else(|| text.to_owned(), |span| taken(text, span));
    if doing == Doing::Uninstall {
        if own.is_none() {
            return Ok(unchanged(Vec::new()));
        }
        read(&without)?;
        let is_made = without.is_empty() && own.is_some_and(|span| text[span].starts_with(BEGIN));
        let after = (!is_made).then_some(without);
        return Ok(Edited {
            after,
            said: Vec::new(),
        });
    }
    let has = |table: &toml::Table| {
        table
            .get(SERVERS)
            .is_some_and(|servers| servers.get(SERVER).is_some())
    };
    if own.is_none() && has(&table) {
        let said = format!("a server is called {SERVER} already; it is left as it is");
        return Ok(unchanged(vec![said]));
    }
    let made = own
        .as_ref()
        .is_some_and(|span| text[span.clone()].starts_with(BEGIN));
    let was_there = before.is_some() && !(made && without.is_empty());
    let section = section(was_there.then_some(without.as_str()), programs);
    let after = format!("{without}{section}");
    if own.is_some_and(|span| span.end == text.len()) && after == text {
        return Ok(unchanged(Vec::new()));
    }
    // A table that is written inline cannot be added to from outside.
    read(&after).map_err(|why| format!("the server cannot be added to it: {why}"))?;
    Ok(Edited {
        after: Some(after),
        said: Vec::new(),
    })
}

fn read(text: &str) -> Result<toml::Table, String> {
    let parsed = text.parse::<toml::Table>();
    parsed.map_err(|error| format!("it is not TOML: {}", error.message()))
}

/// Where the section stands.
fn span(text: &str) -> Result<Option<std::ops::Range<usize>>, String> {
    let plain = text.match_indices(BEGIN).map(|(at, _)| at);
    let own = text.match_indices(BEGIN_ON_OWN_LINE).map(|(at, _)| at);
    let mut begins = plain
        .filter(|at| *at == 0 || text[..*at].ends_with('\n'))
        .chain(own);
    let Some(start) = begins.next() else {
        return Ok(None);
    };
    if begins.next().is_some() {
        return Err("Sillok's section stands in it twice".to_owned());
    }
    let end = text[start..]
        .find(END)
        .ok_or("Sillok's section has no end")?;
    Ok(Some(start..start + end + END.len()))
}

/// A text without its section.
fn taken(text: &str, span: &std::ops::Range<usize>) -> String {
    let behind = &text[span.end..];
    // What was written behind it since stays on a line of its own.
    let own_line = text[span.start..].starts_with(BEGIN_ON_OWN_LINE) && !behind.is_empty();
    let line = if own_line { "\n" } else { "" };
    format!("{}{line}{behind}", &text[..span.start])
}

fn section(before: Option<&str>, programs: &Programs) -> String {
    // An empty file that was there is told from one that was not by how its section begins.
    let begin = match before {
        Some(text) if !text.ends_with('\n') => BEGIN_ON_OWN_LINE,
        _ => BEGIN,
    };
    let quoted = |text: &str| toml::Value::from(text).to_string();
    let mut lines = format!(
        "[{SERVERS}.{SERVER}]\ncommand = {}\nargs = [\"mcp\"]\n",
        quoted(&programs.sillok)
    );
    if let Some(scope) = &programs.scope {
        lines.push_str(&format!("env = {{ SILLOK_SCOPE = {} }}\n", quoted(scope)));
    }
    format!("{begin}{lines}{END}")
}
