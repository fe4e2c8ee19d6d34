//! Installing into sample configurations of each client, and removing again: all else stays byte for byte.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;

mod samples;

fn programs() -> Programs {
    Programs {
        hook: "/opt/my tools/sillok-hook".to_owned(),
        sillok: "/opt/my tools/sillok".to_owned(),
        scope: Some("org/acme/project/api".to_owned()),
    }
}

/// What a JSON configuration means, whatever its comments.
fn meaning(text: &str) -> Value {
    fn of(text: &str, value: &json::Value) -> Value {
        match &value.is {
            json::Is::Object(members) => {
                let pairs = members
                    .iter()
                    .map(|member| (member.key.clone(), of(text, &member.value)));
                Value::Object(pairs.collect())
            }
            json::Is::Array(items) => items.iter().map(|item| of(text, item)).collect(),
            json::Is::Text(inner) => Value::from(inner.as_str()),
            json::Is::Plain => serde_json::from_str(&text[value.span.clone()]).unwrap(),
        }
    }
    of(text, &json::read(text).unwrap())
}

type Edit = fn(Client, Option<&str>, Doing) -> Result<made::Edited, String>;

fn hooks(client: Client, before: Option<&str>, doing: Doing) -> Result<made::Edited, String> {
    entries::hooks(client, before, &programs(), doing)
}

fn servers(_: Client, before: Option<&str>, doing: Doing) -> Result<made::Edited, String> {
    entries::servers(before, &programs(), doing)
}

fn section(_: Client, before: Option<&str>, doing: Doing) -> Result<made::Edited, String> {
    section::edited(before, &programs(), doing)
}

/// Installs, installs again, and removes: the text in between. At the end all is as it was.
#[track_caller]
fn there_and_back(edit: Edit, client: Client, before: Option<&str>) -> String {
    let installed = edit(client, before, Doing::Install).unwrap().after.unwrap();
    assert_ne!(Some(installed.as_str()), before);
    let again = edit(client, Some(&installed), Doing::Install)
        .unwrap()
        .after
        .unwrap();
    assert_eq!(again, installed, "installing again changes nothing");
    let removed = edit(client, Some(&installed), Doing::Uninstall)
        .unwrap()
        .after;
    assert_eq!(
        removed.as_deref(),
        before,
        "removing gives what was there:\n{installed}"
    );
    let nothing = edit(client, before, Doing::Uninstall).unwrap().after;
    assert_eq!(
        nothing.as_deref(),
        before,
        "where nothing is, nothing is removed"
    );
    installed
}

#[test]
fn hooks_go_into_every_sample_and_out_again() {
    for client in Client::ALL {
        for before in samples::JSON {
            let installed = there_and_back(hooks, client, *before);
            let meaning = meaning(&installed);
            for (event, _) in entries::events(client) {
                let text = meaning["hooks"][event].to_string();
                let expected = format!(
                    "'/opt/my tools/sillok-hook' {client} {event} --scope org/acme/project/api"
                );
                assert!(text.contains(&expected), "{event}: {text}");
            }
            let kept = before.map(meaning_or_empty).unwrap_or_default();
            assert_kept(&kept, &meaning);
        }
    }
}

#[test]
fn servers_go_into_every_sample_and_out_again() {
    for before in samples::JSON.iter().chain(samples::SERVERS) {
        let installed = there_and_back(servers, Client::Cursor, *before);
        let meaning = meaning(&installed);
        assert_eq!(meaning["mcpServers"]["sillok"], programs().server());
        assert_kept(&before.map(meaning_or_empty).unwrap_or_default(), &meaning);
    }
}

#[test]
fn a_section_goes_into_every_sample_and_out_again() {
    for before in samples::TOML {
        let installed = there_and_back(section, Client::Codex, *before);
        let table: toml::Table = installed.parse().unwrap();
        let server = &table["mcp_servers"]["sillok"];
        assert_eq!(server["command"].as_str(), Some("/opt/my tools/sillok"));
        assert_eq!(server["args"][0].as_str(), Some("mcp"));
        assert_eq!(
            server["env"]["SILLOK_SCOPE"].as_str(),
            Some("org/acme/project/api")
        );
    }
}

fn meaning_or_empty(text: &str) -> Value {
    let plain = text.trim_start_matches('\u{feff}').trim();
    if plain.is_empty() {
        json!({})
    } else {
        meaning(text)
    }
}

/// All that was there is there, with items of lists among others.
#[track_caller]
fn assert_kept(before: &Value, after: &Value) {
    match (before, after) {
        (Value::Object(before), Value::Object(after)) => {
            for (key, value) in before {
                assert_kept(value, &after[key]);
            }
        }
        (Value::Array(before), Value::Array(after)) => {
            assert!(
                before.iter().all(|item| after.contains(item)),
                "{before:?} in {after:?}"
            );
        }
        (Value::Null, _) => {}
        _ => assert_eq!(before, after),
    }
}

#[test]
fn cursors_file_says_its_version_and_a_person_keeps_what_they_added() {
    let installed = hooks(Client::Cursor, None, Doing::Install)
        .unwrap()
        .after
        .unwrap();
    assert_eq!(meaning(&installed)["version"], 1);
    let added = made::make(
        &installed,
        &[made::Step::Key("hooks")],
        "afterFileEdit",
        ['[', ']'],
        made::Made::Alone,
    )
    .unwrap();
    let way = [made::Step::Key("hooks"), made::Step::Key("afterFileEdit")];
    let added = made::put_item(&added, &way, &json!({ "command": "./format.sh" })).unwrap();
    let removed = hooks(Client::Cursor, Some(&added), Doing::Uninstall)
        .unwrap()
        .after
        .unwrap();
    let expected =
        json!({ "version": 1, "hooks": { "afterFileEdit": [{ "command": "./format.sh" }] } });
    assert_eq!(meaning(&removed), expected);
}

#[test]
fn an_entry_of_another_place_or_another_version_is_replaced() {
    let old = Programs {
        hook: "sillok-hook".to_owned(),
        scope: None,
        ..programs()
    };
    for client in Client::ALL {
        let before = entries::hooks(client, None, &old, Doing::Install)
            .unwrap()
            .after
            .unwrap();
        let after = hooks(client, Some(&before), Doing::Install)
            .unwrap()
            .after
            .unwrap();
        assert_eq!(
            Some(after.as_str()),
            hooks(client, None, Doing::Install)
                .unwrap()
                .after
                .as_deref()
        );
    }
    let before = entries::servers(None, &old, Doing::Install)
        .unwrap()
        .after
        .unwrap();
    let after = servers(Client::Cursor, Some(&before), Doing::Install)
        .unwrap()
        .after
        .unwrap();
    assert_eq!(meaning(&after)["mcpServers"]["sillok"], programs().server());
    let before = section::edited(None, &old, Doing::Install)
        .unwrap()
        .after
        .unwrap();
    let after = section(Client::Codex, Some(&before), Doing::Install)
        .unwrap()
        .after;
    assert_eq!(
        after,
        section(Client::Codex, None, Doing::Install).unwrap().after
    );
    assert_eq!(
        section(Client::Codex, after.as_deref(), Doing::Uninstall)
            .unwrap()
            .after,
        None
    );
}

#[test]
fn hooks_of_another_client_and_of_others_stay() {
    let text = r#"{"hooks": {"Stop": [{"hooks": [
        {"type": "command", "command": "sillok-hook codex Stop"},
        {"type": "command", "command": "say sillok-hook claude-code"},
        {"type": "command", "command": "/a/sillok-hook claude-code Stop"}
    ]}]}}"#;
    let after = hooks(Client::ClaudeCode, Some(text), Doing::Uninstall)
        .unwrap()
        .after
        .unwrap();
    let left = &meaning(&after)["hooks"]["Stop"][0]["hooks"];
    assert_eq!(left.as_array().unwrap().len(), 2);
    assert!(!after.contains("/a/sillok-hook"));
}

#[test]
fn a_server_of_that_name_that_is_none_of_ours_is_left() {
    for text in [
        r#"{"mcpServers": {"sillok": {"command": "docker", "args": ["run"]}}}"#,
        r#"{"mcpServers": {"sillok": {"command": "sillok", "args": ["mcp", "--token-file", "t"]}}}"#,
        r#"{"mcpServers": {"sillok": {"command": "sillok", "args": ["mcp"], "env": {"SILLOK_URL": "http://box"}}}}"#,
        r#"{"mcpServers": {"sillok": {"type": "http", "url": "http://127.0.0.1:7411/mcp"}}}"#,
    ] {
        for doing in [Doing::Install, Doing::Uninstall] {
            let edited = servers(Client::Cursor, Some(text), doing).unwrap();
            assert_eq!(
                (edited.after.as_deref(), edited.said.len()),
                (Some(text), 1)
            );
        }
    }
    let text = "[mcp_servers.sillok]\nurl = \"http://box\"\n";
    let edited = section(Client::Codex, Some(text), Doing::Install).unwrap();
    assert_eq!(
        (edited.after.as_deref(), edited.said.len()),
        (Some(text), 1)
    );
}

#[test]
fn what_was_written_behind_a_section_since_stays_on_lines_of_its_own() {
    for before in ["a = 1", "a = 1\n"] {
        let mut text = section(Client::Codex, Some(before), Doing::Install)
            .unwrap()
            .after
            .unwrap();
        text.push_str("[other]\nb = 2\n");
        let removed = section(Client::Codex, Some(&text), Doing::Uninstall)
            .unwrap()
            .after
            .unwrap();
        assert_eq!(removed, "a = 1\n[other]\nb = 2\n");
    }
}

#[test]
fn a_configuration_that_is_malformed_is_refused_with_every_other_file() {
    for client in Client::ALL {
        for (part, wrong) in samples::MALFORMED {
            let folder = tempfile::tempdir().unwrap();
            let place = Where::Project {
                root: folder.path().to_owned(),
            };
            let paths = files::of(client, &place);
            let Some((_, path)) = paths.iter().find(|(other, _)| other == part) else {
                continue;
            };
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, wrong).unwrap();
            let refused = plan(client, &place, &programs(), Doing::Install).unwrap_err();
            let Error::Form { path: named, why } = &refused else {
                panic!("{refused}")
            };
            assert_eq!(named, path, "{why}");
            assert_eq!(fs::read(path).unwrap(), *wrong);
        }
    }
}

#[test]
fn files_are_made_changed_and_taken_away_as_a_whole() {
    for client in Client::ALL {
        let folder = tempfile::tempdir().unwrap();
        let place = Where::User {
            home: folder.path().to_owned(),
            moved: None,
        };
        let kept = files::of(client, &place)[0].1.clone();
        fs::create_dir_all(kept.parent().unwrap()).unwrap();
        fs::write(folder.path().join("dotfile"), "{\n  \"own\": true\n}\n").unwrap();
        fs::set_permissions(
            folder.path().join("dotfile"),
            fs::Permissions::from_mode(0o600),
        )
        .unwrap();
        symlink("../dotfile", &kept).unwrap();
        let changes = plan(client, &place, &programs(), Doing::Install).unwrap();
        assert!(changes.iter().all(Change::changes));
        assert!(
            changes
                .iter()
                .all(|change| change.shown().iter().all(|line| line.starts_with("+ ")))
        );
        assert!(!changes[1].path.exists(), "a plan changes nothing");
        apply(&changes).unwrap();
        assert!(
            fs::symlink_metadata(&kept).unwrap().is_symlink(),
            "a link stays a link"
        );
        let mode = fs::metadata(&kept).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        let nothing = plan(client, &place, &programs(), Doing::Install).unwrap();
        assert!(!nothing.iter().any(Change::changes));
        apply(&plan(client, &place, &programs(), Doing::Uninstall).unwrap()).unwrap();
        assert_eq!(
            fs::read_to_string(&kept).unwrap(),
            "{\n  \"own\": true\n}\n"
        );
        assert!(!changes[1].path.exists());
        let left: Vec<_> = fs::read_dir(kept.parent().unwrap()).unwrap().collect();
        assert_eq!(left.len(), 1, "no draft is left: {left:?}");
    }
}

#[test]
fn a_client_whose_folder_was_moved_is_found_there() {
    let environment = |name: &str| -> Option<std::ffi::OsString> {
        match name {
            "HOME" => Some("/h".into()),
            "CLAUDE_CONFIG_DIR" => Some("/moved".into()),
            _ => None,
        }
    };
    let place = Where::of_user(Client::ClaudeCode, &environment).unwrap();
    let paths: Vec<PathBuf> = files::of(Client::ClaudeCode, &place)
        .into_iter()
        .map(|(_, path)| path)
        .collect();
    assert_eq!(
        paths,
        [
            Path::new("/moved/settings.json"),
            Path::new("/moved/.claude.json")
        ]
    );
    let place = Where::of_user(Client::Cursor, &environment).unwrap();
    assert_eq!(
        files::of(Client::Cursor, &place)[1].1,
        Path::new("/h/.cursor/mcp.json")
    );
}

/// Configurations of any shape: keys that matter among others, comments and blanks wherever they may stand.
fn document() -> impl Strategy<Value = String> {
    let blank = || {
        prop_oneof![
            Just(""),
            Just(" "),
            Just("\n  "),
            Just(" // c\n"),
            Just("/* c */"),
            Just("\r\n\t")
        ]
    };
    let scalar = prop_oneof![
        Just("1".to_owned()),
        Just("\"x,]}\\\"\"".to_owned()),
        Just("null".to_owned())
    ];
    let value = scalar.prop_recursive(3, 24, 4, move |inner| {
        let keys = prop_oneof![
            Just("hooks"),
            Just("Stop"),
            Just("mcpServers"),
            Just("a"),
            Just("b é")
        ];
        let member = (keys, blank(), blank(), inner.clone(), blank());
        let members = proptest::collection::vec(member, 0..4);
        let items = proptest::collection::vec((blank(), inner, blank()), 0..4);
        let object = (members, blank(), any::<bool>()).prop_map(|(members, end, trailing)| {
            let mut seen = Vec::new();
            let mut texts = Vec::new();
            for (key, one, two, value, three) in members {
                if !seen.contains(&key) {
                    seen.push(key);
                    texts.push(format!("{one}\"{key}\":{two}{value}{three}"));
                }
            }
            let comma = if trailing && !texts.is_empty() {
                ","
            } else {
                ""
            };
            format!("{{{}{comma}{end}}}", texts.join(","))
        });
        let array = (items, blank()).prop_map(|(items, end)| {
            let texts: Vec<String> = items
                .iter()
                .map(|(one, value, two)| format!("{one}{value}{two}"))
                .collect();
            format!("[{}{end}]", texts.join(","))
        });
        prop_oneof![3 => object, 1 => array]
    });
    (blank(), value, blank()).prop_map(|(one, value, two)| format!("{one}{value}{two}"))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn any_configuration_is_refused_or_is_the_same_after_there_and_back(text in document()) {
        for client in Client::ALL {
            for edit in [hooks as Edit, servers as Edit] {
                let Ok(edited) = edit(client, Some(&text), Doing::Install) else {
                    continue;
                };
                let installed = edited.after.unwrap();
                assert_kept(&meaning(&text), &meaning(&installed));
                let removed = edit(client, Some(&installed), Doing::Uninstall).unwrap().after;
                prop_assert_eq!(removed.as_deref(), Some(text.as_str()), "{}", installed);
            }
        }
    }
}
