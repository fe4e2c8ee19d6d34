//! Offers while the embedder is away, or refuses a text: what is asked when, and what an approved one is compared with.

use parking_lot::Mutex;
use sillok_builtin::HashEmbedder;
use sillok_core::command::{AmendEntry, AnswerReview};
use sillok_core::entry::{Embedding, SpaceId};
use sillok_core::erasure::Erase;
use sillok_core::ports::{Embedder, PortError, SpaceThresholds};
use sillok_core::review::{Offer, Question, Review};

use super::*;
use crate::tests::harness::principal;

const ORG: &str = "org/acme";

/// How an embedder is.
#[derive(Clone, Copy)]
enum Mood {
    Answers,
    IsAway,
    /// It takes no text that has this word.
    Refuses(&'static str),
    /// It fails over each text that has this word, and may answer later.
    FailsOver(&'static str),
    /// The same of each text that is to find something, but for those that have this word.
    FindsOnly(&'static str),
}

/// The built-in embedder, in a mood, and how often it was asked.
struct Moody(Mutex<Mood>, AtomicU64);

impl Embedder for Moody {
    fn space(&self) -> SpaceId {
        HashEmbedder.space()
    }

    fn dimensions(&self) -> usize {
        HashEmbedder.dimensions()
    }

    fn thresholds(&self) -> SpaceThresholds {
        HashEmbedder.thresholds()
    }

    fn embed<'a>(
        &'a self,
        texts: &'a [&'a str],
    ) -> BoxFuture<'a, Result<Vec<Embedding>, PortError>> {
        self.1.fetch_add(1, Ordering::Relaxed);
        let mood = *self.0.lock();
        let error = match mood {
            Mood::IsAway => PortError::Unavailable("nobody listens".into()),
            Mood::Refuses(word) if texts.iter().any(|text| text.contains(word)) => {
                PortError::Unusable("it cannot be said".into())
            }
            Mood::FailsOver(word) if texts.iter().any(|text| text.contains(word)) => {
                PortError::Unavailable("status 500".into())
            }
            Mood::FindsOnly(word) if texts.iter().any(|text| is_other_search(text, word)) => {
                PortError::Unavailable("status 500".into())
            }
            Mood::Answers | Mood::Refuses(_) | Mood::FailsOver(_) | Mood::FindsOnly(_) => {
                return HashEmbedder.embed(texts);
            }
        };
        Box::pin(async move { Err(error) })
    }
}

fn is_other_search(text: &str, word: &str) -> bool {
    text.contains("find") && !text.contains(word)
}

/// A stage without any skill, and its embedder.
async fn without_skills(mood: Mood) -> (Stage, Arc<Moody>) {
    let embedder = Arc::new(Moody(Mutex::new(mood), AtomicU64::new(0)));
    let ports = Ports {
        embedder: Arc::clone(&embedder) as Arc<dyn Embedder>,
        ..ports()
    };
    (Stage::over(ports).await, embedder)
}

/// A stage with a skill that proved itself, and its embedder.
async fn set(mood: Mood) -> (Stage, Arc<Moody>) {
    let (mut stage, embedder) = without_skills(mood).await;
    proven(&mut stage).await;
    (stage, embedder)
}

/// How many skills a run offers, and how many not.
async fn offered(stage: &Stage) -> (u64, u64) {
    let run = stage.maintain(false, false).await.unwrap();
    (run.offered, run.not_offered)
}

/// The organisation's questions that wait.
async fn waiting(stage: &Stage) -> Vec<Review> {
    let org = scope(ORG);
    let reviews = stage.node.reader().reviews(&org, false, None, 10);
    reviews.await.unwrap().items
}

/// What the one question that waits offers.
async fn offer(stage: &Stage) -> Offer {
    match waiting(stage).await.remove(0).question {
        Question::Offer(offer) => *offer,
        other => panic!("{other:?}"),
    }
}

/// The answer of a person to the one question that waits.
async fn answer(stage: &mut Stage, approve: bool) -> Result<AnswerBody, Error> {
    let command = Command::AnswerReview(Box::new(AnswerReview {
        review: waiting(stage).await.remove(0).id,
        approve,
        keep: None,
        reason: "we looked at it".into(),
    }));
    let submission = stage.made(PrincipalKind::Human, ORG, command);
    let answered = stage.node.submit(submission).await;
    answered.map(|answer| answer.result)
}

/// A skill of the organisation that says what is offered in almost the same words.
async fn reworded(stage: &mut Stage) -> EntryId {
    let content = "bisect: find the commit.";
    let embedding = Embedding {
        space: HashEmbedder.space(),
        values: HashEmbedder::vector(content),
    };
    let command = Command::PutEntry {
        entry: Box::new(NewEntry {
            detail: skill("bisect", 1.0),
            embedding: Some(embedding),
            ..crate::tests::world::entry(Table::Skills, content)
        }),
        verification: None,
    };
    match stage.give(PrincipalKind::Human, ORG, command).await {
        AnswerBody::Entry { id, .. } => id,
        other => panic!("{other:?}"),
    }
}

fn kept(answer: AnswerBody) -> Option<EntryId> {
    match answer {
        AnswerBody::Reviewed { kept, .. } => kept,
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn a_skill_is_not_offered_while_the_embedder_is_away_and_is_once_it_is_back() {
    let (mut stage, embedder) = set(Mood::IsAway).await;
    assert_eq!(offered(&stage).await, (0, 1));
    assert!(waiting(&stage).await.is_empty());
    *embedder.0.lock() = Mood::Answers;
    assert_eq!(offered(&stage).await, (1, 0));
    let vector = offer(&stage).await.product.embedding;
    assert!(vector.is_some(), "it was asked about without a vector");
    let known = reworded(&mut stage).await;
    let answered = answer(&mut stage, true).await.unwrap();
    assert_eq!(kept(answered), Some(known), "a duplicate was written");
    assert_eq!(offered(&stage).await, (0, 0));
}

#[tokio::test]
async fn of_several_skills_an_embedder_that_is_away_is_asked_about_the_first_alone() {
    let (mut stage, embedder) = set(Mood::IsAway).await;
    helpful(&mut stage, "profile", "profile: find the slow line").await;
    let before = embedder.1.load(Ordering::Relaxed);
    assert_eq!(offered(&stage).await, (0, 2));
    let asked = embedder.1.load(Ordering::Relaxed) - before;
    assert_eq!(asked, 2, "about the first, and whether it is the text");
    *embedder.0.lock() = Mood::Answers;
    assert_eq!(offered(&stage).await, (2, 0));
}

#[tokio::test]
async fn a_skill_whose_text_alone_the_embedder_fails_over_keeps_no_other_from_being_offered() {
    for (word, other) in [("bisect", "profile"), ("profile", "bisect")] {
        let (mut stage, embedder) = set(Mood::FailsOver(word)).await;
        helpful(&mut stage, "profile", "profile: find the slow line").await;
        assert_eq!(offered(&stage).await, (1, 1), "{word}");
        let content = offer(&stage).await.product.content;
        assert!(content.contains(other), "{content}");
        *embedder.0.lock() = Mood::Answers;
        assert_eq!(offered(&stage).await, (1, 0), "{word}");
    }
}

#[tokio::test]
async fn an_embedder_that_fails_over_one_text_after_the_other_is_not_asked_about_all() {
    let (mut stage, embedder) = set(Mood::FailsOver("find")).await;
    for number in 0..10 {
        let name = format!("search{number}");
        helpful(&mut stage, &name, &format!("{name}: find what is lost")).await;
    }
    let before = embedder.1.load(Ordering::Relaxed);
    assert_eq!(offered(&stage).await, (0, 11));
    let asked = embedder.1.load(Ordering::Relaxed) - before;
    assert_eq!(asked, 8 * 2 + 1);
}

#[tokio::test]
async fn a_skill_behind_nine_that_the_embedder_fails_over_is_offered_by_one_of_a_few_runs() {
    const WORDS: [&str; 10] = [
        "alder", "birch", "cedar", "dogwood", "elm", "fir", "ginkgo", "hazel", "ivy", "juniper",
    ];
    let (mut stage, embedder) = without_skills(Mood::IsAway).await;
    for task in tasks() {
        stage.give(PrincipalKind::Agent, &task, open_task()).await;
    }
    let mut skills = Vec::new();
    for word in WORDS {
        let id = helpful(&mut stage, word, &format!("{word}: find what is lost")).await;
        skills.push((id, word));
    }
    // A plan names them in the order of their ids: all others come before this one.
    let (_, last) = *skills.iter().max().unwrap();
    *embedder.0.lock() = Mood::FindsOnly(last);
    // A run asks about nine of the ten, whichever it begins with: one in ten misses the last.
    let mut runs = 0;
    while offered(&stage).await != (1, 9) {
        runs += 1;
        assert!(runs < 7, "no run asked about {last}");
    }
    assert!(offer(&stage).await.product.content.contains(last));
}

#[tokio::test]
async fn an_offer_without_a_vector_is_not_approved_while_the_embedder_takes_no_text_at_all() {
    let (mut stage, embedder) = set(Mood::Refuses("bisect")).await;
    assert_eq!(offered(&stage).await, (1, 0));
    *embedder.0.lock() = Mood::Refuses("");
    let refused = answer(&mut stage, true).await.unwrap_err();
    assert_eq!(refused.code, ErrorCode::Unavailable, "{refused}");
    *embedder.0.lock() = Mood::Answers;
    assert!(kept(answer(&mut stage, true).await.unwrap()).is_some());
}

#[tokio::test]
async fn an_offer_without_a_vector_is_compared_once_it_is_approved() {
    let (mut stage, embedder) = set(Mood::Refuses("bisect")).await;
    assert_eq!(
        offered(&stage).await,
        (1, 0),
        "a text that is refused holds up no offer"
    );
    assert_eq!(offer(&stage).await.product.embedding, None);
    let known = reworded(&mut stage).await;
    *embedder.0.lock() = Mood::IsAway;
    let refused = answer(&mut stage, true).await.unwrap_err();
    assert_eq!(refused.code, ErrorCode::Unavailable);
    *embedder.0.lock() = Mood::Answers;
    let answered = answer(&mut stage, true).await.unwrap();
    assert_eq!(kept(answered), Some(known), "a duplicate was written");
}

#[tokio::test]
async fn an_offer_whose_text_is_refused_is_published_without_a_vector() {
    let (mut stage, _) = set(Mood::Refuses("bisect")).await;
    assert_eq!(offered(&stage).await, (1, 0));
    let published = kept(answer(&mut stage, true).await.unwrap());
    assert!(stage.status(published.unwrap()).await.is_live());
}

#[tokio::test]
async fn an_offer_without_a_vector_is_turned_down_while_the_embedder_is_away() {
    let (mut stage, embedder) = set(Mood::Refuses("bisect")).await;
    assert_eq!(offered(&stage).await, (1, 0));
    *embedder.0.lock() = Mood::IsAway;
    assert_eq!(kept(answer(&mut stage, false).await.unwrap()), None);
}

#[tokio::test]
async fn a_proven_skill_that_cannot_be_read_is_told_of_by_the_nights_run_as_well() {
    let mut stage = Stage::set().await;
    let skill = proven(&mut stage).await;
    let key = keys::version::key(&ScopeKey::of(&scope(PROJECT)), skill, 1);
    let mut txn = stage.store.begin().await.unwrap();
    txn.set(key, vec![9, 9, 9]);
    txn.commit().await.unwrap();
    let done = stage.maintain(false, false).await.unwrap();
    assert_eq!((done.offered, done.unreadable), (0, 1));
    assert_eq!(done.outcome().refused, 1);
}

#[tokio::test]
async fn an_erasure_names_an_offer_however_often_its_skill_was_amended_since() {
    let (mut stage, _) = set(Mood::Answers).await;
    assert_eq!(offered(&stage).await, (1, 0));
    let entry = offer(&stage).await.entry;
    for version in 1..=70 {
        let amend = Command::AmendEntry(Box::new(AmendEntry {
            entry,
            expected_version: version,
            content: format!("bisect: find the commit, for the time {version}"),
            detail: skill("bisect", 1.0),
            metadata: Metadata::default(),
            claim: None,
            citations: Vec::new(),
            embedding: None,
            verification: None,
        }));
        stage.give(PrincipalKind::Human, PROJECT, amend).await;
    }
    let order = Erase {
        records: Vec::new(),
        entries: vec![entry],
        offers: Vec::new(),
        reason: "it leaked".into(),
    };
    let asker = principal(PrincipalKind::Human, ORG);
    let reader = stage.node.reader();
    let remains = reader.remains(&asker, &scope(PROJECT), &order).await;
    let asked: Vec<_> = waiting(&stage).await.iter().map(|one| one.id).collect();
    assert_eq!(remains.unwrap().offers, asked);
}
