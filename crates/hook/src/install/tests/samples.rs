//! Sample configurations, as people have them.

use crate::install::Part;

/// JSON that takes hooks and servers. The first is that there is no file.
pub(super) const JSON: &[Option<&str>] = &[
    None,
    Some(""),
    Some("\n\n"),
    Some("\u{feff}"),
    Some("{}"),
    Some("{ }\n"),
    Some("{\n}\n"),
    Some("{\n}"),
    Some("{ \n}\n"),
    Some("{  \n}\n"),
    Some("{\"hooks\": {}}"),
    Some("{\"hooks\"  : {}, \"mcpServers\"  : {}}"),
    Some("{\n  \"hooks\" : { },\n  \"mcpServers\" : {}\n}"),
    Some("{\"hooks\": { \n }, \"mcpServers\": {}}\n"),
    Some("\u{feff}{\r\n\t\"model\": \"opus\"\r\n}\r\n"),
    Some("{\"hooks\":{\"Stop\":[],\"stop\":[ ],\"SessionStart\":[]},\"version\":1}"),
    // Of Claude Code and Codex.
    Some(
        r#"{
    "$schema": "https://json.schemastore.org/claude-code-settings.json",
    "permissions": { "allow": ["Bash(cargo test:*)"], "deny": [] },
    "hooks": {
        "PostToolUse": [
            {
                "matcher": "Edit|Write",
                "hooks": [{ "type": "command", "command": "./format.sh" }]
            }
        ],
        "Stop": [{ "hooks": [{ "type": "command", "command": "notify-send done" }] }]
    },
    "env": { "FOO": "1" }
}
"#,
    ),
    // Of Cursor, commented, with commas behind the last values.
    Some(
        r#"// The team's hooks.
{
  "version": 1, // of the schema
  "hooks": { // by event
    "afterFileEdit": [
      { "command": "./hooks/format.sh", }, // keep this first
    ],
    "stop": [{ "command": "./hooks/audit.sh", "loop_limit": 10 }],
    /* none yet */
    "sessionStart": [ /* soon */ ],
  },
}
"#,
    ),
    Some("{\n  // nothing but a comment\n}"),
    Some("{ \"a\" : {\"hooks\" : {\"Stop\" : []}} }"),
];

/// JSON with servers of others.
pub(super) const SERVERS: &[Option<&str>] = &[
    Some(
        "{\n  \"mcpServers\": {\n    \"other\": { \"command\": \"npx\", \"args\": [\"-y\", \"x\"] }\n  }\n}\n",
    ),
    Some(
        "{\"numStartups\":7,\"projects\":{\"/a\":{\"mcpServers\":{\"sillok\":{\"command\":\"x\"}}}},\"mcpServers\":{}}",
    ),
];

/// TOML of Codex.
pub(super) const TOML: &[Option<&str>] = &[
    None,
    Some(""),
    Some("\n"),
    Some("model = \"gpt-5\""),
    Some("model = \"gpt-5\"\n"),
    Some("# mine\r\nmodel = \"gpt-5\"\r\n\r\n[features]\r\nhooks = true\r\n"),
    Some("[mcp_servers.other]\ncommand = \"npx\"\nargs = [\"-y\"]\n\n# the end"),
    Some("text = \"\"\"\n[mcp_servers.sillok]\n\"\"\"\n[[hooks.Stop]]\n"),
];

/// What is refused, whichever client it is of.
pub(super) const MALFORMED: &[(Part, &[u8])] = &[
    (Part::Hooks, b"{"),
    (Part::Hooks, b"{\"hooks\": }"),
    (Part::Hooks, b"[]x"),
    (Part::Hooks, b"[]"),
    (Part::Hooks, b"{\"hooks\": []}"),
    (Part::Hooks, b"{\"hooks\": {}, \"hooks\": {}}"),
    (Part::Hooks, b"{\"hooks\": {\"Stop\": {}, \"stop\": {}}}"),
    (Part::Hooks, b"{\"a\": 01}"),
    (Part::Hooks, b"{\"a\": \"\n\"}"),
    (Part::Hooks, b"{\"a\": 1} /* no end"),
    (Part::Hooks, b"\xff\xfe{}"),
    (Part::Servers, b"{\"mcpServers\": 1}"),
    (Part::Servers, b"not json"),
    (Part::Section, b"model = "),
    (
        Part::Section,
        b"mcp_servers = { other = { command = \"x\" } }\n",
    ),
    (Part::Section, b"mcp_servers = 1\n"),
];
