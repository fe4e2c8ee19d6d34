//! Which flag, variable and file counts.

use std::collections::BTreeMap;
use std::fs;

use super::*;

struct Home {
    folder: tempfile::TempDir,
    variables: BTreeMap<String, OsString>,
}

impl Home {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let home = folder.path().as_os_str().to_owned();
        Self {
            variables: BTreeMap::from([("HOME".to_owned(), home)]),
            folder,
        }
    }

    fn set(&mut self, name: &str, value: impl Into<OsString>) {
        self.variables.insert(name.to_owned(), value.into());
    }

    fn write(&self, path: &str, text: &str) -> PathBuf {
        let path = self.folder.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        path
    }

    fn resolve(&self, flags: &Flags) -> Result<Settings, Error> {
        Settings::resolve(flags, &|name| self.variables.get(name).cloned())
    }
}

#[test]
fn without_anything_there_is_a_directory_and_no_scope() {
    let home = Home::new();
    let settings = home.resolve(&Flags::default()).unwrap();
    assert_eq!(
        settings.data,
        home.folder.path().join(".local/share/sillok")
    );
    assert_eq!((settings.scope.clone(), settings.url()), (None, None));
    assert!(settings.enabled);
    assert_eq!(settings.patience.connect_ms, CONNECT_MS);
}

#[test]
fn a_flag_wins_over_the_environment_which_wins_over_files() {
    let mut home = Home::new();
    home.write(
        ".config/sillok/config.toml",
        "[server]\ndata = \"/from/file\"\n",
    );
    let data = |home: &Home, flags: &Flags| home.resolve(flags).unwrap().data;
    assert_eq!(data(&home, &Flags::default()), Path::new("/from/file"));
    home.set("SILLOK_DATA", "/from/environment");
    assert_eq!(
        data(&home, &Flags::default()),
        Path::new("/from/environment")
    );
    let flags = Flags {
        data: Some("/from/flag".into()),
        ..Flags::default()
    };
    assert_eq!(data(&home, &flags), Path::new("/from/flag"));
}

#[test]
fn the_context_of_the_directory_names_a_scope_and_another_directory() {
    let mut home = Home::new();
    let other = home.write("other/context.json", "{\"scope\": \"org/a/project/b\"}");
    let other = other.parent().unwrap().to_owned();
    let text = serde_json::json!({ "data": other, "scope": "org/z" }).to_string();
    home.write(".local/share/sillok/context.json", &text);
    let settings = home.resolve(&Flags::default()).unwrap();
    assert_eq!(settings.data, other);
    assert_eq!(settings.scope.unwrap().as_str(), "org/a/project/b");
    home.set("SILLOK_SCOPE", "org/c");
    let settings = home.resolve(&Flags::default()).unwrap();
    assert_eq!(settings.scope.unwrap().as_str(), "org/c");
}

#[test]
fn the_administrators_token_is_nobodys_to_speak_with() {
    let mut home = Home::new();
    home.write(".local/share/sillok/admin.token", "slk_admin\n");
    let token = |home: &Home, flags: &Flags, url: &str| {
        let settings = home.resolve(flags).unwrap();
        let soon = Deadline::after_ms(1_000);
        let speaker = settings.speaker(&Address::parse(url).unwrap(), soon);
        speaker.unwrap().token().map(str::to_owned)
    };
    let none = Flags::default();
    // Whose agents would it be?
    assert_eq!(token(&home, &none, "http://127.0.0.1:1"), None);
    home.set("SILLOK_SCOPE", "org/a/project/b");
    assert_eq!(token(&home, &none, "http://box.example"), None);
    home.set("SILLOK_TOKEN", "slk_x");
    assert_eq!(
        token(&home, &none, "http://box.example").as_deref(),
        Some("slk_x")
    );
    let flags = Flags {
        token_file: Some(home.write("t", "slk_file\n")),
        ..Flags::default()
    };
    assert_eq!(
        token(&home, &flags, "http://box.example").as_deref(),
        Some("slk_file")
    );
}

#[test]
fn the_server_is_the_configured_one_or_the_one_that_serves_the_directory() {
    let mut home = Home::new();
    home.write(
        ".local/share/sillok/server.json",
        "{\"url\": \"http://127.0.0.1:9\", \"pid\": 1, \"version\": \"0\"}",
    );
    let url = |home: &Home| home.resolve(&Flags::default()).unwrap().url();
    assert_eq!(url(&home).as_deref(), Some("http://127.0.0.1:9"));
    home.set("SILLOK_URL", "http://box.example");
    assert_eq!(url(&home).as_deref(), Some("http://box.example"));
}

#[test]
fn what_cannot_be_used_is_named() {
    let mut home = Home::new();
    home.set("SILLOK_SCOPE", "acme");
    assert!(matches!(
        home.resolve(&Flags::default()),
        Err(Error::Scope(_))
    ));
    home.set("SILLOK_SCOPE", "org/acme");
    home.write(".config/sillok/config.toml", "[server");
    assert!(matches!(
        home.resolve(&Flags::default()),
        Err(Error::Form { .. })
    ));
}

#[test]
fn hooks_can_be_switched_off() {
    let mut home = Home::new();
    home.set("SILLOK_HOOK", "off");
    assert!(!home.resolve(&Flags::default()).unwrap().enabled);
}

#[test]
fn a_number_that_is_none_and_a_token_that_is_away_cost_no_event() {
    let mut home = Home::new();
    home.set("SILLOK_HOOK_CONNECT_MS", "0");
    home.set("SILLOK_HOOK_ANSWER_MS", "soon");
    home.set("SILLOK_HOOK_TOOL_ANSWER_MS", "20");
    let flags = Flags {
        token_file: Some(home.folder.path().join("token")),
        ..Flags::default()
    };
    let settings = home.resolve(&flags).unwrap();
    let patience = Patience {
        connect_ms: CONNECT_MS,
        answer_ms: ANSWER_MS,
        tool_answer_ms: 20,
    };
    assert_eq!(settings.patience, patience);
    assert_eq!(settings.said.len(), 2, "{:?}", settings.said);
    let speaker = || {
        let address = Address::parse("http://box.example").unwrap();
        settings.speaker(&address, Deadline::after_ms(1_000))
    };
    assert!(matches!(
        speaker(),
        Err(agent::Error::Settings(Error::Form { .. }))
    ));
    home.write("token", "slk_back\n");
    assert_eq!(speaker().unwrap().token(), Some("slk_back"));
}
