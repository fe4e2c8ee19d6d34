//! The files under `plugins/` say what `sillok install` does, and the same to each agent.

#![expect(clippy::unwrap_used, reason = "all of it is a test")]

use std::fs;
use std::path::Path;

use serde_json::Value;
use sillok_hook::client::Client;
use sillok_hook::install::{Doing, Programs, entries};

fn read(path: &str) -> String {
    let plugins = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../plugins");
    fs::read_to_string(plugins.join(path)).unwrap()
}

fn programs() -> Programs {
    Programs {
        hook: "sillok-hook".to_owned(),
        sillok: "sillok".to_owned(),
        scope: None,
    }
}

#[test]
fn plugins_hook_the_events_that_installing_hooks() {
    let installed = entries::hooks(Client::ClaudeCode, None, &programs(), Doing::Install);
    let installed: Value = serde_json::from_str(&installed.unwrap().after.unwrap()).unwrap();
    let plugin: Value = serde_json::from_str(&read("claude-code/hooks/hooks.json")).unwrap();
    assert_eq!(plugin, installed);
    let servers: Value = serde_json::from_str(&read("claude-code/.mcp.json")).unwrap();
    assert_eq!(servers["mcpServers"]["sillok"], programs().server());
    let manifest: Value =
        serde_json::from_str(&read("claude-code/.claude-plugin/plugin.json")).unwrap();
    assert_eq!(manifest["version"], env!("CARGO_PKG_VERSION"));
}

#[test]
fn every_agent_is_told_the_same_of_the_memory() {
    let skill = read("claude-code/skills/sillok-memory/SKILL.md");
    assert_eq!(read("codex/skills/sillok-memory/SKILL.md"), skill);
    let body = |text: &str| text.splitn(3, "---\n").nth(2).unwrap().to_owned();
    assert_eq!(body(&read("cursor/rules/sillok.mdc")), body(&skill));
}
