//! Layers over layers: what wins, and what is refused.

use super::*;

fn file(text: &str) -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("sillok.toml");
    std::fs::write(&path, text).unwrap();
    (folder, path)
}

fn pairs(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
    pairs
        .iter()
        .map(|(key, value)| ((*key).to_owned(), (*value).to_owned()))
        .collect()
}

#[test]
fn a_later_layer_wins_and_is_named_as_the_origin() {
    let (_folder, path) = file(
        "[recall]\nresults = 3\ncandidates = 20\nrrf_k = 50\n[server]\naddress = '0.0.0.0:1'\n",
    );
    let layers = Layers {
        file: Some(path.clone()),
        environment: pairs(&[
            ("SILLOK__RECALL__RESULTS", "4"),
            ("SILLOK_DATA", "/d"),
            ("PATH", "x"),
        ]),
        flags: pairs(&[("server.address", "127.0.0.1:0")]),
    };
    let Loaded { config, origin } = layers.load().unwrap();
    assert_eq!(
        (
            config.recall.results,
            config.recall.candidates,
            config.recall.rrf_k
        ),
        (4, 20, 50.0)
    );
    assert_eq!(config.server.address.to_string(), "127.0.0.1:0");
    assert_eq!(config.server.data, PathBuf::from("/d"));
    assert_eq!(
        origin["recall.results"],
        Layer::Environment("SILLOK__RECALL__RESULTS".to_owned())
    );
    assert_eq!(origin["recall.candidates"], Layer::File(path));
    assert_eq!(origin["server.address"], Layer::Flag);
    assert_eq!(origin["trust.draft"], Layer::Default);
    assert_eq!(
        origin.keys().collect::<Vec<_>>(),
        config.entries().keys().collect::<Vec<_>>()
    );
}

#[test]
fn a_previous_embedder_is_there_once_something_of_it_is_said() {
    let load = |text: &str, environment: &[(&str, &str)]| {
        let (_folder, path) = file(text);
        let layers = Layers {
            file: Some(path),
            environment: pairs(environment),
            ..Layers::default()
        };
        layers.load()
    };
    let none = load("[embedder]\ntimeout_ms = 200\n", &[]).unwrap();
    assert_eq!(none.config.embedder.previous, None);
    let named = load("[embedder.previous]\n", &[]).unwrap();
    let previous = named.config.embedder.previous.clone();
    assert_eq!(previous.as_deref(), Some(&EmbedderConfig::default()));
    let variable = ("SILLOK__EMBEDDER__PREVIOUS__DIMENSIONS", "7");
    let set = load("[embedder.previous]\ntimeout_ms = 300\n", &[variable]).unwrap();
    let previous = set.config.embedder.previous.clone().unwrap();
    assert_eq!((previous.timeout_ms, previous.dimensions), (300, 7));
    assert!(matches!(
        set.origin["embedder.previous.timeout_ms"],
        Layer::File(_)
    ));
    assert_eq!(
        set.origin.keys().collect::<Vec<_>>(),
        set.config.entries().keys().collect::<Vec<_>>()
    );
    let unknown = load("[embedder.previous]\nnothing = 1\n", &[]).unwrap_err();
    assert!(
        unknown.to_string().contains("embedder.previous.nothing"),
        "{unknown}"
    );
    let nested = load("[embedder.previous.previous]\nmodel = 'x'\n", &[]).unwrap_err();
    assert!(
        nested.to_string().contains("embedder.previous.previous"),
        "{nested}"
    );
    let out_of_range = load("[embedder.previous]\nbatch_texts = 0\n", &[]).unwrap_err();
    assert!(
        out_of_range
            .to_string()
            .contains("embedder.previous.batch_texts"),
        "{out_of_range}"
    );
}

#[test]
fn an_unknown_key_is_refused_with_its_layer() {
    let (_folder, path) = file("[trust]\ndrafty = 0.3\n");
    let error = Layers {
        file: Some(path.clone()),
        ..Layers::default()
    }
    .load()
    .unwrap_err();
    assert_eq!(
        error.to_string(),
        format!(
            "unknown configuration key 'trust.drafty' (file {})",
            path.display()
        )
    );
    let environment = pairs(&[("SILLOK__TRUST__NOTHING", "1")]);
    let error = Layers {
        environment,
        ..Layers::default()
    }
    .load()
    .unwrap_err();
    assert!(
        error
            .to_string()
            .contains("trust.nothing' (environment SILLOK__TRUST__NOTHING)"),
        "{error}"
    );
    let error = Layers {
        flags: pairs(&[("trust", "1")]),
        ..Layers::default()
    }
    .load()
    .unwrap_err();
    assert!(error.to_string().contains("'trust' (flag)"), "{error}");
    let (_folder, path) = file("[weird]\nx = 1\n");
    assert!(
        Layers {
            file: Some(path),
            ..Layers::default()
        }
        .load()
        .is_err()
    );
}

#[test]
fn a_value_of_another_type_or_out_of_range_is_refused() {
    let flags = |key, value| {
        Layers {
            flags: pairs(&[(key, value)]),
            ..Layers::default()
        }
        .load()
    };
    assert!(matches!(
        flags("recall.results", "many"),
        Err(Error::WrongType { .. })
    ));
    assert!(matches!(
        flags("recall.results", "0"),
        Err(Error::Invalid { .. })
    ));
    assert!(matches!(
        flags("server.address", "nowhere"),
        Err(Error::Invalid { .. })
    ));
    assert!(matches!(
        flags("index.engine", "faiss"),
        Err(Error::Invalid { .. })
    ));
    assert!(matches!(
        flags("server.body_bytes_max", "10"),
        Err(Error::Invalid { .. })
    ));
}

#[test]
fn there_is_a_turn_for_a_query_a_search_and_a_check_at_least_and_never_for_very_many() {
    for key in [
        "server.graph_queries_max",
        "server.graph_queries_per_org_max",
        "server.anchor_searches_max",
        "server.anchor_searches_per_org_max",
        "server.fix_checks_max",
        "server.fix_checks_per_org_max",
    ] {
        let load = |value| {
            Layers {
                flags: pairs(&[(key, value)]),
                ..Layers::default()
            }
            .load()
        };
        for value in ["1", "1024"] {
            assert!(load(value).is_ok(), "{key} of {value}");
        }
        for value in ["0", "1025"] {
            let refused = load(value).unwrap_err().to_string();
            let why = format!("configuration {key} is out of range: 1 to 1024");
            assert!(refused.contains(&why), "{refused}");
        }
    }
}

#[test]
fn a_value_that_is_none_of_those_a_key_takes_is_refused_with_the_key() {
    for (key, value) in [
        ("log.format", "yaml"),
        ("log.filter", "loud"),
        ("index.engine", "faiss"),
        ("server.address", "nowhere"),
    ] {
        let flags = pairs(&[(key, value)]);
        let refused = Layers {
            flags,
            ..Layers::default()
        };
        let error = refused.load().unwrap_err().to_string();
        assert!(error.contains(key) && !error.contains('\n'), "{error}");
    }
}

#[test]
fn the_short_name_of_the_filter_wins_over_a_file_and_the_long_one() {
    let (_folder, path) = file("[log]\nformat = 'json'\nfilter = 'info'\n");
    let mut layers = Layers {
        file: Some(path),
        ..Layers::default()
    };
    assert_eq!(layers.load().unwrap().config.log.filter, "info");
    layers.environment = pairs(&[("SILLOK__LOG__FILTER", "debug")]);
    assert_eq!(layers.load().unwrap().config.log.filter, "debug");
    let both = [("SILLOK__LOG__FILTER", "debug"), ("SILLOK_LOG", "off")];
    layers.environment = pairs(&both);
    let Loaded { config, origin } = layers.load().unwrap();
    assert_eq!(config.log.filter, "off");
    assert_eq!(config.log.format, super::super::LogFormat::Json);
    let layer = Layer::Environment("SILLOK_LOG".to_owned());
    assert_eq!(origin["log.filter"], layer);
}

#[test]
fn quotas_of_organisations_come_from_a_file_or_as_one_line() {
    let quota = |loaded: &Loaded, org| loaded.config.quotas.of(org).writes_per_s;
    let (_folder, path) =
        file("[quotas]\nwrites_per_s = 5\n[quotas.orgs.acme]\nwrites_per_s = 50\n");
    let mut layers = Layers {
        file: Some(path),
        ..Layers::default()
    };
    let loaded = layers.load().unwrap();
    assert_eq!((quota(&loaded, "acme"), quota(&loaded, "other")), (50, 5));
    layers.environment = pairs(&[("SILLOK__QUOTAS__ORGS", "{acme = {writes_per_s = 60}}")]);
    let loaded = layers.load().unwrap();
    assert_eq!((quota(&loaded, "acme"), quota(&loaded, "other")), (60, 5));
    for wrong in ["acme", "{acme = {writes = 1}}", "{acme = 5}"] {
        layers.environment = pairs(&[("SILLOK__QUOTAS__ORGS", wrong)]);
        let refused = layers.load().unwrap_err();
        let is_known = matches!(refused, Error::WrongType { .. } | Error::Invalid { .. });
        assert!(is_known, "{wrong}: {refused}");
    }
}

#[test]
fn every_key_can_be_set_by_its_environment_variable() {
    for (key, value) in Config::default().entries() {
        let name = format!("SILLOK__{}", key.to_ascii_uppercase().replace('.', "__"));
        let text = value
            .as_str()
            .map_or_else(|| value.to_string(), str::to_owned);
        let environment = pairs(&[(name.as_str(), text.as_str())]);
        let loaded = Layers {
            environment,
            ..Layers::default()
        }
        .load()
        .unwrap();
        assert_eq!(loaded.config, Config::default(), "{key}");
        assert_eq!(loaded.origin[&key], Layer::Environment(name));
    }
}
