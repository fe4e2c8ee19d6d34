//! Schemas of the rules' own types, which know nothing of OpenAPI.
//!
//! Owns one name for each of them in the document. The values of an enumeration come from the
//! rules themselves, so that the document cannot fall behind.

mod form;

use std::borrow::Cow;

use utoipa::openapi::schema::{ObjectBuilder, Schema, SchemaType, Type};
use utoipa::openapi::{KnownFormat, RefOr, SchemaFormat};
use utoipa::{PartialSchema, ToSchema};

use sillok_actors::maintenance::Part;
use sillok_core as core;
use sillok_core::limits::{
    ANCHOR_HINT_BYTES_MAX, APPROACH_NAME_BYTES_MAX, ERROR_TEXT_BYTES_MAX, MEDIA_TYPE_BYTES_MAX,
    PAGE_ROWS_MAX, PLACE_BYTES_MAX, QUERY_BYTES_MAX, SHORT_TEXT_BYTES_MAX,
    TRAJECTORY_APPROACH_BYTES_MAX, TRAJECTORY_LESSON_BYTES_MAX,
};
use sillok_core::quarantine::REASON_BYTES_MAX;

macro_rules! named {
    ($($(#[$doc:meta])* $name:ident = $build:expr;)*) => {
        $(
            $(#[$doc])*
            #[derive(Debug)]
            pub struct $name;

            impl PartialSchema for $name {
                fn schema() -> RefOr<Schema> {
                    let builder: ObjectBuilder = $build;
                    RefOr::T(Schema::Object(builder.build()))
                }
            }

            impl ToSchema for $name {
                fn name() -> Cow<'static, str> {
                    Cow::Borrowed(stringify!($name))
                }
            }
        )*
    };
}

fn text(description: &str) -> ObjectBuilder {
    ObjectBuilder::new()
        .schema_type(SchemaType::Type(Type::String))
        .description(Some(description))
}

fn uuid(description: &str) -> ObjectBuilder {
    text(description).format(Some(SchemaFormat::Custom("uuid".to_owned())))
}

/// Text of a form.
fn formed(description: &str, pattern: &str) -> ObjectBuilder {
    text(description).pattern(Some(pattern))
}

/// Text that says something, in at most so many bytes: a schema counts characters, of which there are no more.
fn said(description: &str, bytes_max: usize) -> ObjectBuilder {
    formed(description, r"\S").max_length(Some(bytes_max))
}

/// A number from `least` on, of 64 bits and no sign.
fn at_least(least: u64, description: &str) -> ObjectBuilder {
    ObjectBuilder::new()
        .schema_type(SchemaType::Type(Type::Integer))
        .format(Some(SchemaFormat::Custom("uint64".to_owned())))
        .minimum(Some(least))
        .maximum(Some(u64::MAX))
        .description(Some(description))
}

fn number(description: &str) -> ObjectBuilder {
    at_least(0, description)
}

fn one_of<'a>(description: &str, names: impl IntoIterator<Item = &'a str>) -> ObjectBuilder {
    text(description).enum_values(Some(names))
}

named! {
    /// A scope path.
    Scope = formed("A scope: org/NAME[/project/NAME[/worktree/NAME[/task/NAME]]].", &form::SCOPE);
    /// A task's scope path.
    TaskScope = formed("A task's scope: org/NAME/project/NAME/worktree/NAME/task/NAME.", &form::TASK);
    /// The scope path of what several work in.
    SharedScope = formed("The scope of a project or of an organisation: org/NAME[/project/NAME].", &form::SHARED);
    /// The scope path of what lies in a project.
    ScopeInProject = formed("The scope of a project, or of a worktree or task of it: org/NAME/project/NAME[/worktree/NAME[/task/NAME]].", &form::IN_PROJECT);
    /// What a token covers.
    ScopePrefix = formed("A scope with all that lies inside it, or * for everything.", &form::PREFIX);
    /// Where a record stands.
    RecordId = formed("Where a record stands: SCOPE#SEQ.", &form::RECORD);
    /// A command's id.
    CommandId = uuid("A command's id. One of version 7 was made by who gave the command, any other one by the server.");
    /// A command's id, as its caller makes it.
    IdempotencyKey = uuid("A command's id, as its caller makes it: a UUID of version 7, of now, the same on every retry.")
        .pattern(Some(form::UUID_V7));
    /// An entry's id.
    EntryId = uuid("An entry's id.");
    /// A verification's id.
    VerificationId = uuid("A verification's id, and that of its promotion.");
    /// A review's id.
    ReviewId = uuid("The id of a question for a person.");
    /// A decision's root.
    DecisionId = uuid("A decision's root: its id through all its versions.");
    /// Evidence's id.
    EvidenceId = uuid("The id of evidence.");
    /// An anchor's id.
    AnchorId = uuid("An anchor's id.");
    /// A token's public id.
    TokenId = uuid("A token's public id.");
    /// Where a listing goes on.
    Cursor = text("Where a listing goes on: what a page gave as `next`, or a tail as `id`. Its form is the server's own.");
    /// How many items a page has.
    PageRows = at_least(1, "How many items a page has at most.").maximum(Some(PAGE_ROWS_MAX));
    /// How many.
    Count = at_least(1, "How many, 1 at least.");
    /// A version.
    Version = number("A version, from 1 on.");
    /// A node's run.
    Incarnation = number("The number of a node's run.");
    /// A text that says something.
    Said = formed("A text that says something.", r"\S");
    /// A short text that says something.
    Line = said("A text that says something, 4 KiB at most.", SHORT_TEXT_BYTES_MAX);
    /// A short text.
    Short = text("A text of 4 KiB at most.").max_length(Some(SHORT_TEXT_BYTES_MAX));
    /// A hint.
    Hint = said("What is found somewhere, in a line of 1 KiB at most.", ANCHOR_HINT_BYTES_MAX);
    /// What is looked for.
    QueryText = said("What is asked for, in words: 8 KiB at most.", QUERY_BYTES_MAX);
    /// What is tried.
    ApproachText = said("What is tried, in words: 32 KiB at most.", ERROR_TEXT_BYTES_MAX);
    /// What was done in a task.
    TrajectoryText = said("What was done, in words: 16 KiB at most, the files and symbols that it touched included.", TRAJECTORY_APPROACH_BYTES_MAX);
    /// What is to be known of what was done in a task.
    Lesson = text("Why something failed, or what made it work: 2 KiB at most.").max_length(Some(TRAJECTORY_LESSON_BYTES_MAX));
    /// What an approach touches.
    PlaceName = said("The name of a file or of a symbol, 512 bytes at most.", APPROACH_NAME_BYTES_MAX);
    /// A file or a directory.
    PathPrefix = formed("The path of a file, or of a directory with a / behind it, from the root of the work tree.", &form::PATH_PREFIX)
        .max_length(Some(SHORT_TEXT_BYTES_MAX));
    /// A folder of the work tree.
    Folder = formed("The path of a folder from the root of the work tree; all of it when empty, or a point.", &form::FOLDER)
        .max_length(Some(PLACE_BYTES_MAX));
    /// A file of the work tree.
    FilePath = formed("The path of a file from the root of the work tree, with / between its parts.", &form::PATH)
        .max_length(Some(PLACE_BYTES_MAX));
    /// A symbol's name.
    SymbolName = formed("The name of a symbol, without an @.", &form::SYMBOL).max_length(Some(PLACE_BYTES_MAX));
    /// A commit's hash.
    CommitHash = formed("A commit's hash: 7 to 64 hexadecimal digits.", form::COMMIT);
    /// A principal's id.
    PrincipalId = formed("A principal's id: 1 to 128 of A-Z a-z 0-9 . _ @ -.", &form::PRINCIPAL);
    /// Why a scope is quarantined.
    QuarantineReason = formed("One line of 1,000 bytes at most.", form::LINE).max_length(Some(REASON_BYTES_MAX));
    /// A language.
    Language = one_of("The language of what is told to an agent.", core::circular::Language::ALL.iter().map(|language| language.as_str()));
    /// A part of maintenance.
    MaintenancePart = one_of("A part of maintenance.", Part::ALL.iter().map(|part| part.as_str()));
    /// Bytes.
    Bytes = text("Bytes.").format(Some(SchemaFormat::KnownFormat(KnownFormat::Binary)));
    /// A point in time.
    Timestamp = number("Milliseconds since the Unix epoch, UTC.");
    /// A position in a scope.
    Seq = number("Position in a scope's events, from 1 on without gaps.");
    /// A code of the closed set.
    ErrorCode = one_of("Why a request was not carried out.", core::ErrorCode::ALL.iter().map(|code| code.as_str()));
    /// A principal's kind.
    PrincipalKind = one_of("A kind of principal.", core::principal::PrincipalKind::ALL.iter().map(|kind| kind.as_str()));
    /// A record's level.
    LogLevel = one_of("How loud a log record is.", core::staging::LogLevel::ALL.iter().map(|level| level.as_str()));
    /// Why a snapshot was taken.
    Trigger = one_of("Why a terminal snapshot was taken.", ["error", "manual"]);
    /// A task's status.
    TaskStatus = one_of("Where a task stands.", core::task::TaskStatus::ALL.iter().map(|status| status.as_str()));
    /// How a task ends.
    Closing = one_of("How a task ends.", ["done", "failed"]);
    /// How a verification ended.
    Outcome = one_of("How a verification ended.", ["passed", "failed"]);
    /// What an agent may do.
    Verdict = one_of("What an agent may do.", core::circular::Verdict::ALL.iter().map(|verdict| verdict.as_str()));
    /// How far an approach is another one.
    Likeness = one_of(
        "How far what failed is what is proposed: one is that, in whatever words; near is that but for a word or two.",
        core::circular::Likeness::ALL.iter().map(|likeness| likeness.as_str()),
    );
    /// Why an error is judged as it is.
    ErrorReason = one_of("Why an error is judged as it is.", core::circular::ErrorReason::ALL.iter().map(|reason| reason.as_str()));
    /// What a trajectory came to.
    Ended = one_of("What a trajectory came to.", core::bank::Ended::ALL.iter().map(|ended| ended.as_str()));
    /// What sort of task it was.
    TaskKind = formed("What sort of task it was: 1 to 64 of a-z 0-9 . _ -. One that holds a secret is refused.", &form::TASK_KIND);
    /// Where a verification comes from.
    VerificationSource = one_of(
        "Where a verification comes from.",
        core::verification::VerificationSource::ALL.iter().map(|source| source.as_str()),
    );
    /// How a test ended.
    TestOutcome = one_of("How a test ended.", ["pass", "fail"]);
    /// What an entry was to a task.
    ReuseOutcome = one_of("What an entry was to a task.", core::reuse::ReuseOutcome::ALL.iter().map(|outcome| outcome.as_str()));
    /// An entry's table.
    Table = one_of("The table of an entry.", core::entry::Table::ALL.iter().map(|table| table.as_str()));
    /// An entry's kind.
    Kind = one_of("How an entry ages.", core::entry::Kind::ALL.iter().map(|kind| kind.as_str()));
    /// An entry's status.
    Status = one_of(
        "How far an entry is trusted to be what it says.",
        ["hypothesis", "verified", "published", "deprecated", "archived"],
    );
    /// Whether one commit lies before another.
    Ancestry = one_of("Whether a commit is another one, or an ancestor of it.", ["yes", "no", "unknown"]);
    /// Whether an entry holds at a commit.
    Validity = one_of("Whether an entry holds at a commit.", ["always", "holds", "unknown"]);
    /// What the cognitive gate says.
    GateVerdict = one_of(
        "What the cognitive gate says: what it rests on is as it was, lies elsewhere by now, cannot be checked, is gone.",
        core::gate::Verdict::ALL.map(core::gate::Verdict::as_str),
    );
    /// How confidence fades.
    DecayPolicy = one_of("How confidence fades.", ["recency_bias", "stable", "manual_only"]);
    /// How two entries are related.
    LinkKind = one_of("How two entries are related.", ["similar", "causal", "contradicts"]);
    /// How strong a decision is.
    Rank = one_of(
        "How strong a decision is, the first to be loaded first.",
        core::decision::Rank::ALL.iter().map(|rank| rank.as_str()),
    );
    /// Where a decision applies.
    Domain = formed("Where a decision applies: global, which is everywhere, or a name of 1 to 64 of a-z 0-9 . _ -. One that holds a secret is refused where it would be stored", &form::NAME);
    /// A phase of work.
    Phase = formed("A phase of work, which filters nothing: 1 to 64 of a-z 0-9 . _ -. One that holds a secret is refused", &form::NAME);
    /// How a decision is related to something.
    RelationKind = formed(
        "How a decision is related to something: DEPENDS_ON, CONSTRAINS, VALIDATES or a declared kind by its name, which lead to decisions; APPLIES_TO, to files and symbols; RESTS_ON, to evidence.",
        &form::RELATION,
    );
    /// A declared kind's name.
    RelationName = formed("The name of a declared kind of relation: 1 to 32 of A-Z 0-9 _, a letter first.", &form::RELATION);
    /// Which way a declared kind carries a change.
    Reach = one_of(
        "Which way a relation of the kind carries a change: forward from the decision to what it is related to, backward from that to the decision, both or neither.",
        core::decision::Reach::ALL.iter().map(|reach| reach.as_str()),
    );
    /// What relations join.
    Node = formed(
        "A decision, a file, a symbol or evidence: decision:SCOPE#ROOT, file:PATH, symbol:NAME@PATH, symbol:NAME or evidence:SCOPE#ID.",
        &form::NODE,
    );
    /// What code consists of.
    Place = formed("A file or a symbol: file:PATH, symbol:NAME@PATH or symbol:NAME.", &form::PLACE);
    /// What an anchor leads to.
    Led = formed("What an anchor leads to: decision:SCOPE#ROOT or evidence:SCOPE#ID.", &form::LED);
    /// A text's sort.
    MediaType = formed("A media type: type/subtype, each of A-Z a-z 0-9 . + -, 128 bytes at most.", form::MEDIA_TYPE)
        .max_length(Some(MEDIA_TYPE_BYTES_MAX));
    /// A text's hash.
    ContentHash = formed("A BLAKE3 hash: 64 hexadecimal digits.", form::HASH);
    /// A name that is made of what it names.
    ShortHash = formed("A hash of 16 bytes: 32 hexadecimal digits.", form::SHORT_HASH);
    /// How something stands that an anchor leads to.
    Standing = one_of(
        "How something stands that an anchor leads to: gone is what was erased, or is not there.",
        core::anchor::Standing::ALL.iter().map(|standing| standing.as_str()),
    );
    /// A layer of a brief.
    Layer = one_of(
        "A layer of a brief, the first to be loaded first.",
        core::brief::Layer::ALL.iter().map(|layer| layer.as_str()),
    );
    /// How a version of a decision came to be.
    Act = one_of("How a version came to be.", ["begun", "changed", "withdrawn", "restored"]);
    /// Kinds of events.
    EventKinds = formed("Kinds of events by their names, with commas between them.", &form::EVENT_KINDS);
    /// An event's kind.
    EventKind = one_of("What sort of event.", core::event::EventKind::ALL.iter().map(|kind| kind.as_str()));
}
