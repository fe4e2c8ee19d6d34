//! Evidence and anchors: what a request leads to, and what is refused.

use serde_json::{Value, json};
use sillok_core::ErrorCode;
use sillok_core::anchor::Standing;
use sillok_core::brief::Layer;
use sillok_core::decision::Rank;

use super::Server;
use crate::api::{
    Anchor, AnchorDropped, AnchorView, AnchorsAdded, Brief, BriefItem, DecisionSaved, EventView,
    EvidenceHead, EvidenceSaved, EvidenceText, Followed, FollowedItem, Impact, Page, Problem,
};

const ORG: &str = "org/acme";
const PROJECT: &str = "org/acme/project/api";
const WORKTREE: &str = "org/acme/project/api/worktree/main";
const BESIDE: &str = "org/acme/project/web";
/// Nothing has this id.
const NOBODYS: &str = "01900000-0000-7000-8000-000000000000";
const SECRET: &str = "ghp_16C7e42F292c6912E7710c838347Ae178B4a";

impl Server {
    async fn keep(&self, scope: &str, content: &str) -> EvidenceSaved {
        let body = json!({ "scope": scope, "title": "What ran", "source": "logs/run.txt", "content": content });
        self.post(&self.admin, "/v1/evidence", body).await.unwrap()
    }

    async fn decide(&self, scope: &str, rank: &str, relations: Value) -> DecisionSaved {
        let body = json!({ "scope": scope, "rank": rank, "title": rank, "content": "It is so.",
            "relations": relations });
        self.post(&self.admin, "/v1/decisions", body).await.unwrap()
    }

    async fn anchor(&self, scope: &str, fields: &Value) -> Result<AnchorsAdded, Problem> {
        let mut anchor = json!({ "hint": "Where the run is told" });
        for (name, value) in fields.as_object().unwrap() {
            anchor[name] = value.clone();
        }
        let body = json!({ "scope": scope, "anchors": [anchor] });
        self.post(&self.admin, "/v1/anchors", body).await
    }

    async fn text_of(&self, saved: &EvidenceSaved, range: &str) -> Result<EvidenceText, Problem> {
        let path = format!("/v1/evidence/text?scope={PROJECT}&id={}{range}", saved.id);
        self.get(&self.admin, &path).await
    }

    /// All events of a scope.
    async fn told(&self, scope: &str) -> Vec<EventView> {
        let path = format!("/v1/events?scope={scope}&limit=1000");
        let page: Page<EventView> = self.get(&self.admin, &path).await.unwrap();
        page.items
    }
}

fn kept(scope: &str, saved: &EvidenceSaved) -> String {
    format!("evidence:{scope}#{}", saved.id)
}

fn decided(scope: &str, saved: &DecisionSaved) -> String {
    format!("decision:{scope}#{}", saved.root)
}

#[tokio::test]
async fn evidence_is_read_back_whole_and_by_range_with_its_hash_and_without_secrets() {
    let server = Server::start().await;
    // One text lies in its row, the other in chunks.
    for repeated in [1, 40_000] {
        let line = format!("é ran with {SECRET}\n");
        let saved = server.keep(PROJECT, &line.repeat(repeated)).await;
        assert_eq!(saved.masked as usize, repeated);
        let whole = server.text_of(&saved, "").await.unwrap();
        let text = &whole.text;
        assert!(!text.contains(SECRET) && text.starts_with("é ran with "));
        assert_eq!((whole.from, whole.to), (0, text.len() as u64));
        let hash = blake3::hash(text.as_bytes()).to_hex().to_string();
        assert_eq!((&saved.hash, &whole.head.hash), (&hash, &hash));
        let path = format!("/v1/evidence/item?scope={PROJECT}&id={}", saved.id);
        let head: EvidenceHead = server.get(&server.admin, &path).await.unwrap();
        assert_eq!(head, whole.head);
        assert_eq!(head.bytes, text.len() as u64);
        assert_eq!(
            (head.media_type.as_str(), head.seq),
            ("text/plain", saved.seq)
        );
        // A range has whole characters: the first one is two bytes.
        for (range, from, to) in [
            ("&from=0&to=1", 0, 0),
            ("&from=1", 2, text.len()),
            ("&from=1&to=5", 2, 5),
            ("&to=5", 0, 5),
            (&*format!("&from={}", text.len()), text.len(), text.len()),
        ] {
            let part = server.text_of(&saved, range).await.unwrap();
            assert_eq!(part.text, text[from..to], "{range}");
            assert_eq!(part.to - part.from, part.text.len() as u64, "{range}");
            if !part.text.is_empty() {
                assert_eq!(part.from, from as u64, "{range}");
            }
        }
        let behind = format!("&from={}", text.len() + 1);
        for wrong in [behind.as_str(), "&from=5&to=4"] {
            let refused = server.text_of(&saved, wrong).await.unwrap_err();
            assert_eq!(refused.code, ErrorCode::InvalidArgument, "{wrong}");
        }
    }
}

#[tokio::test]
async fn evidence_is_listed_page_by_page_in_its_scope_alone() {
    let server = Server::start().await;
    let mut ids = Vec::new();
    for number in 0..3 {
        ids.push(server.keep(PROJECT, &format!("run {number}")).await.id);
    }
    server.keep(ORG, "above").await;
    ids.sort();
    let (mut found, mut after) = (Vec::new(), String::new());
    loop {
        let path = format!("/v1/evidence?scope={PROJECT}&limit=1{after}");
        let page: Page<EvidenceHead> = server.get(&server.admin, &path).await.unwrap();
        found.extend(page.items.iter().map(|head| head.id));
        let Some(next) = page.next else { break };
        after = format!("&after={next}");
    }
    assert_eq!(found, ids);
}

#[tokio::test]
async fn an_anchor_stands_last_in_a_brief_and_is_followed_to_the_originals_by_rank() {
    let server = Server::start().await;
    let evidence = server.keep(PROJECT, "It ran for 7 s.").await;
    let rests = json!([{ "kind": "RESTS_ON", "to": kept(PROJECT, &evidence) }]);
    let normal = server.decide(PROJECT, "normal", rests).await;
    let axis = server.decide(ORG, "axis", json!([])).await;
    let to = [
        kept(PROJECT, &evidence),
        decided(PROJECT, &normal),
        decided(ORG, &axis),
    ];
    let added = server.anchor(PROJECT, &json!({ "to": to })).await.unwrap();
    let [id] = added.ids[..] else {
        panic!("{added:?}")
    };
    let asked = json!({ "scope": WORKTREE });
    let brief: Brief = server
        .post(&server.admin, "/v1/brief", asked)
        .await
        .unwrap();
    let [
        BriefItem::Decision(first),
        BriefItem::Decision(_),
        BriefItem::Anchor(last),
    ] = &brief.items[..]
    else {
        panic!("{brief:?}")
    };
    assert_eq!(
        (first.layer, last.layer),
        (Layer::GlobalAxis, Layer::Anchor)
    );
    let leads: Vec<String> = last.leads.iter().map(|lead| lead.to.to_string()).collect();
    assert_eq!(leads, [2, 1, 0].map(|at| to[at].clone()));
    assert_eq!(last.leads[0].rank, Some(Rank::Axis));
    assert!(last.data_marked_text.contains("Where the run is told"));
    assert!(!last.data_marked_text.contains("It ran for 7 s."));

    let withdraw =
        json!({ "scope": ORG, "root": axis.root, "expected_version": 1, "reason": "no more" });
    server
        .post::<Value>(&server.admin, "/v1/decisions/deactivate", withdraw)
        .await
        .unwrap();
    let path = format!("/v1/anchor/follow?scope={PROJECT}&id={id}");
    let followed: Followed = server.get(&server.admin, &path).await.unwrap();
    let [
        FollowedItem::Decision(axis),
        FollowedItem::Decision(normal),
        FollowedItem::Evidence(evidence),
    ] = &followed.items[..]
    else {
        panic!("{followed:?}")
    };
    assert_eq!((axis.rank, axis.active), (Rank::Axis, false));
    assert!(axis.data_marked_text.contains("holds no longer"));
    assert_eq!((normal.rank, normal.content()), (Rank::Normal, "It is so."));
    assert_eq!(evidence.content(), Some("It ran for 7 s."));
    let path = format!("/v1/anchor?scope={PROJECT}&id={id}");
    let view: AnchorView = server.get(&server.admin, &path).await.unwrap();
    assert_eq!(view.leads[0].standing, Standing::Withdrawn);
}

#[tokio::test]
async fn a_dropped_anchor_is_listed_no_longer_and_stays_readable() {
    let server = Server::start().await;
    let evidence = server.keep(PROJECT, "It ran for 7 s.").await;
    let to = [kept(PROJECT, &evidence)];
    let added = server.anchor(PROJECT, &json!({ "to": to })).await.unwrap();
    let id = added.ids[0];
    let asked = json!({ "scope": WORKTREE });
    let brief: Brief = server
        .post(&server.admin, "/v1/brief", asked.clone())
        .await
        .unwrap();
    assert_eq!(brief.items.len(), 1, "{brief:?}");
    let path = format!("/v1/anchor?scope={PROJECT}&id={id}");
    let dropped = json!({ "scope": PROJECT, "id": id, "reason": "read" });
    let gone: AnchorDropped = server
        .post(&server.admin, "/v1/anchors/drop", dropped.clone())
        .await
        .unwrap();
    assert_eq!(gone.id, id);
    let again = server.post::<Value>(&server.admin, "/v1/anchors/drop", dropped);
    assert_eq!(again.await.unwrap_err().code, ErrorCode::Conflict);
    let brief: Brief = server
        .post(&server.admin, "/v1/brief", asked)
        .await
        .unwrap();
    assert_eq!(brief.items.len(), 0, "it is listed no longer: {brief:?}");
    let view: AnchorView = server.get(&server.admin, &path).await.unwrap();
    assert!(view.anchor.dropped, "it stays readable");
}

#[tokio::test]
async fn anchors_are_listed_by_domain_and_without_those_dropped() {
    let server = Server::start().await;
    let to = [kept(PROJECT, &server.keep(PROJECT, "x").await)];
    let mut ids = Vec::new();
    for domain in ["ui", "global", "ui"] {
        let fields = json!({ "domain": domain, "to": to });
        ids.extend(server.anchor(PROJECT, &fields).await.unwrap().ids);
    }
    let gone = json!({ "scope": PROJECT, "id": ids[0], "reason": "no more" });
    server
        .post::<Value>(&server.admin, "/v1/anchors/drop", gone)
        .await
        .unwrap();
    for (query, expected) in [
        ("", vec![1, 2]),
        ("&dropped=true", vec![0, 1, 2]),
        ("&domain=ui", vec![2]),
        ("&domain=ui&dropped=true", vec![0, 2]),
        ("&domain=none", vec![]),
    ] {
        let mut expected: Vec<_> = expected.into_iter().map(|at: usize| ids[at]).collect();
        expected.sort();
        let (mut found, mut after) = (Vec::new(), String::new());
        loop {
            let path = format!("/v1/anchors?scope={PROJECT}&limit=1{query}{after}");
            let page: Page<Anchor> = server.get(&server.admin, &path).await.unwrap();
            found.extend(page.items.iter().map(|anchor| anchor.id));
            let Some(next) = page.next else { break };
            after = format!("&after={next}");
        }
        assert_eq!(found, expected, "{query}");
    }
}

#[tokio::test]
async fn a_change_of_evidence_reaches_what_rests_on_it_and_not_the_other_way() {
    let server = Server::start().await;
    let evidence = kept(PROJECT, &server.keep(PROJECT, "x").await);
    let rests = json!([{ "kind": "RESTS_ON", "to": evidence }]);
    let decision = decided(WORKTREE, &server.decide(WORKTREE, "lock", rests).await);
    for (at, reached) in [(&evidence, vec![&decision]), (&decision, vec![])] {
        let body = json!({ "scope": WORKTREE, "at": [at] });
        let found: Impact = server
            .post(&server.admin, "/v1/impact", body)
            .await
            .unwrap();
        let nodes: Vec<String> = found
            .affected
            .iter()
            .map(|one| one.node.to_string())
            .collect();
        assert_eq!(nodes.iter().collect::<Vec<_>>(), reached, "{at}");
    }
}

/// What no evidence says, and the code of its refusal.
fn wrong_evidence() -> Vec<(Value, ErrorCode)> {
    let with = |field: &str, value: &str| {
        let mut body = json!({ "scope": PROJECT, "title": "t", "content": "c" });
        body[field] = json!(value);
        body
    };
    let long = "x".repeat(4_097);
    vec![
        (with("title", " "), ErrorCode::InvalidArgument),
        (with("title", &long), ErrorCode::TooLarge),
        (with("content", ""), ErrorCode::InvalidArgument),
        (with("media_type", "text"), ErrorCode::InvalidArgument),
        (with("media_type", "text/a b"), ErrorCode::InvalidArgument),
        (with("source", &long), ErrorCode::TooLarge),
        (with("hash", "00"), ErrorCode::InvalidRequest),
        (with("scope", "acme"), ErrorCode::InvalidScope),
    ]
}

/// What no anchor says or leads to, and the code of its refusal.
fn wrong_anchors(known: &str, hidden: &str) -> Vec<(Value, ErrorCode)> {
    let with = |hint: &str, to: &[&str]| json!([{ "hint": hint, "to": to }]);
    let of = |sort: &str, scope: &str| format!("{sort}:{scope}#{NOBODYS}");
    let [own, above, beside] = [
        of("evidence", PROJECT),
        of("decision", ORG),
        of("evidence", BESIDE),
    ];
    let domain = json!([{ "hint": "h", "domain": "UI", "to": [known] }]);
    let long = "x".repeat(1_025);
    let many: Vec<String> = (0..17).map(|number| format!("file:{number}")).collect();
    let many: Vec<&str> = many.iter().map(String::as_str).collect();
    let one = with("h", &[known])[0].clone();
    vec![
        (json!([]), ErrorCode::InvalidArgument),
        (json!(vec![one; 65]), ErrorCode::TooLarge),
        (domain, ErrorCode::InvalidArgument),
        (with(" ", &[known]), ErrorCode::InvalidArgument),
        (with(&long, &[known]), ErrorCode::TooLarge),
        (with("h", &[]), ErrorCode::InvalidArgument),
        (with("h", &many), ErrorCode::TooLarge),
        (with("h", &[known, known]), ErrorCode::InvalidArgument),
        (with("h", &["file:a"]), ErrorCode::InvalidArgument),
        (with("h", &["evidence:org/a#7"]), ErrorCode::InvalidId),
        (with("h", &[&own]), ErrorCode::NotFound),
        (with("h", &[&above]), ErrorCode::NotFound),
        // What is not visible is not told apart from what is not there.
        (with("h", &[&beside]), ErrorCode::NotFound),
        (with("h", &[hidden]), ErrorCode::NotFound),
    ]
}

/// Relations that no decision has, and the code of their refusal.
fn wrongly_related(decision: &str, evidence: &str, hidden: &str) -> Vec<(Value, ErrorCode)> {
    let one = |kind: &str, to: &str| json!([{ "kind": kind, "to": to }]);
    let own = format!("evidence:{PROJECT}#{NOBODYS}");
    vec![
        (one("RESTS_ON", decision), ErrorCode::InvalidArgument),
        (one("RESTS_ON", "file:a"), ErrorCode::InvalidArgument),
        (one("DEPENDS_ON", evidence), ErrorCode::InvalidArgument),
        (one("APPLIES_TO", evidence), ErrorCode::InvalidArgument),
        (one("RESTS_ON", &own), ErrorCode::NotFound),
        (one("RESTS_ON", hidden), ErrorCode::NotFound),
    ]
}

#[tokio::test]
async fn what_is_wrong_is_refused_by_its_code_and_nothing_of_it_is_stored() {
    let server = Server::start().await;
    let evidence = kept(PROJECT, &server.keep(PROJECT, "x").await);
    let decision = decided(PROJECT, &server.decide(PROJECT, "lock", json!([])).await);
    let hidden = kept(BESIDE, &server.keep(BESIDE, "x").await);
    let before = server.told(PROJECT).await.len();
    let mut all: Vec<(&str, Value, ErrorCode)> = Vec::new();
    let evidenced = wrong_evidence().into_iter();
    all.extend(evidenced.map(|(body, code)| ("/v1/evidence", body, code)));
    for (anchors, code) in wrong_anchors(&evidence, &hidden) {
        let body = json!({ "scope": PROJECT, "anchors": anchors });
        all.push(("/v1/anchors", body, code));
    }
    let drop = json!({ "scope": PROJECT, "id": NOBODYS, "reason": "r" });
    all.push(("/v1/anchors/drop", drop, ErrorCode::NotFound));
    for (path, body, code) in all {
        let refused = server.post::<Value>(&server.admin, path, body.clone());
        let refused = refused.await.unwrap_err();
        assert_eq!(refused.code, code, "{path} {body}: {}", refused.detail);
    }
    for (relations, code) in wrongly_related(&decision, &evidence, &hidden) {
        let body =
            json!({ "scope": PROJECT, "title": "t", "content": "c", "relations": relations });
        let refused = server.post::<Value>(&server.admin, "/v1/decisions", body.clone());
        assert_eq!(refused.await.unwrap_err().code, code, "{body}");
    }
    // One anchor that is wrong takes the others with it.
    let anchors = json!([{ "hint": "h", "to": [evidence] }, { "hint": "h", "to": [hidden] }]);
    let body = json!({ "scope": PROJECT, "anchors": anchors });
    let refused = server.post::<Value>(&server.admin, "/v1/anchors", body);
    assert_eq!(refused.await.unwrap_err().code, ErrorCode::NotFound);
    assert_eq!(server.told(PROJECT).await.len(), before);
}

#[tokio::test]
async fn what_was_kept_above_is_read_and_what_was_beside_is_not() {
    let server = Server::start().await;
    let agent = server.mint(WORKTREE, "agent").await.token;
    let mut reads = Vec::new();
    for (scope, is_seen) in [(ORG, true), (BESIDE, false)] {
        let saved = server.keep(scope, "It ran for 7 s.").await;
        let fields = json!({ "to": [kept(scope, &saved)] });
        let anchor = server.anchor(scope, &fields).await.unwrap().ids[0];
        for path in [
            format!("/v1/evidence?scope={scope}"),
            format!("/v1/evidence/item?scope={scope}&id={}", saved.id),
            format!("/v1/evidence/text?scope={scope}&id={}", saved.id),
            format!("/v1/anchors?scope={scope}"),
            format!("/v1/anchor?scope={scope}&id={anchor}"),
            format!("/v1/anchor/follow?scope={scope}&id={anchor}"),
        ] {
            reads.push((path, is_seen));
        }
    }
    for (path, is_seen) in reads {
        let read = server.get::<Value>(&agent, &path).await;
        if is_seen {
            read.unwrap();
            continue;
        }
        let denied = read.unwrap_err();
        let rule = denied.rule.as_deref();
        let expected = (ErrorCode::Forbidden, Some("token/scope"));
        assert_eq!((denied.code, rule), expected, "{path}");
    }
    for path in ["evidence/item", "evidence/text", "anchor", "anchor/follow"] {
        let missing = format!("/v1/{path}?scope={ORG}&id={NOBODYS}");
        let missing = server.get::<Value>(&agent, &missing).await.unwrap_err();
        assert_eq!(missing.code, ErrorCode::NotFound, "{path}");
    }
}

#[tokio::test]
async fn events_tell_what_was_kept_and_where_anchors_lead() {
    let server = Server::start().await;
    let large = "x".repeat(100_000);
    let saved = server.keep(PROJECT, "It ran.").await;
    server.keep(PROJECT, &large).await;
    let to = kept(PROJECT, &saved);
    let id = server.anchor(PROJECT, &json!({ "to": [to] })).await;
    let id = id.unwrap().ids[0];
    let drop = json!({ "scope": PROJECT, "id": id, "reason": "read" });
    server
        .post::<Value>(&server.admin, "/v1/anchors/drop", drop)
        .await
        .unwrap();
    let bodies: Vec<(String, Value)> = server
        .told(PROJECT)
        .await
        .into_iter()
        .map(|event| (event.kind.as_str().to_owned(), event.body))
        .collect();
    let short = json!({ "evidence": saved.id, "title": "What ran", "source": "logs/run.txt",
        "media_type": "text/plain", "hash": saved.hash, "masked": 0, "content": "It ran." });
    assert_eq!(bodies[0], ("EVIDENCE_SAVED".to_owned(), short));
    assert_eq!(bodies[1].1["content_bytes"], large.len());
    let added =
        json!({ "anchor": id, "hint": "Where the run is told", "domain": "global", "to": [to] });
    assert_eq!(bodies[2], ("ANCHOR_ADDED".to_owned(), added));
    let dropped = json!({ "anchor": id, "reason": "read" });
    assert_eq!(bodies[3], ("ANCHOR_DROPPED".to_owned(), dropped));
}
