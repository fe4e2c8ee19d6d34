//! Flags of `decision` and `policy`, and the short forms of relations and nodes.

use std::str::FromStr;

use clap::{Args, Subcommand, ValueEnum};
use sillok_core::decision::{Domain, Node, Phase, Rank};
use sillok_core::id::DecisionId;
use sillok_core::scope::Scope;
use sillok_server::api::KindName;

use super::entry::claim;
use super::{KindDeclare, KindList, Paging, Within};

/// `decision`
#[derive(Debug, Subcommand)]
pub enum DecisionCommand {
    /// Say what a decision, or a change of one, would affect, guard and contradict; store nothing
    Propose(DecisionPropose),
    /// Save a decision: it begins a chain of versions, and holds from now on
    Save(DecisionSave),
    /// Give a decision a new version. What is not said stays as it was
    Change(DecisionChange),
    /// Withdraw a decision: it holds no longer, and stays readable
    Deactivate(Seen),
    /// Let what a version of a withdrawn decision said hold again
    Restore(DecisionRestore),
    /// List the decisions of a scope
    List(DecisionList),
    /// Print a decision
    Show(DecisionNamed),
    /// Print every version of a decision
    History(DecisionHistory),
    /// Print what a change of decisions, files, symbols or evidence affects
    Impact(DecisionImpact),
    /// Declare a kind of relation between decisions, for a project or organisation and for good
    Declare(KindDeclare),
    /// List the declared kinds of relations that count in a scope
    Kinds(KindList),
}

/// `policy`
#[derive(Debug, Subcommand)]
pub enum PolicyCommand {
    /// Set a policy: begin one, or change the one that --root names. Only a person may
    Set(PolicySet),
    /// Withdraw a policy: no brief begins with it any longer, and it stays readable. Only a person may
    Withdraw(Seen),
    /// List the policies of a scope
    List(PolicyList),
    /// Print a policy
    Show(DecisionNamed),
    /// Print every version of a policy
    History(DecisionHistory),
}

/// What a command declares of a decision beside its text.
#[derive(Clone, Debug, Args)]
pub struct Declared {
    /// How strong it is: normal, lock or axis. A new one is normal unless it is said
    #[arg(long, value_name = "RANK", value_parser = rank)]
    pub rank: Option<Rank>,
    /// What it is about: global (everything), or a name such as runtime or ui. A new one is global
    /// unless it is said
    #[arg(long, value_name = "DOMAIN")]
    pub domain: Option<Domain>,
    /// The phase of work that it belongs to, such as design; filters nothing
    #[arg(long, value_name = "PHASE")]
    pub phase: Option<Phase>,
    /// What it claims: KEY=VALUE
    #[arg(long, value_name = "KEY=VALUE", value_parser = claim)]
    pub claim: Option<(String, String)>,
    /// What it has to do with something else, in place of all that was there: KIND=NODE, such as
    /// DEPENDS_ON=DECISION, CONSTRAINS=DECISION, VALIDATES=DECISION, APPLIES_TO=file:src/main.rs,
    /// RESTS_ON=evidence:SCOPE#EVIDENCE or a declared kind (`sillok decision kinds`). May be repeated
    #[arg(long = "relates", value_name = "KIND=NODE")]
    pub relations: Vec<Related>,
}

/// What a further version of a decision says otherwise than the one before it.
#[derive(Clone, Debug, Args)]
pub struct Changes {
    /// The text; - reads standard input. Of a decision that is there, it stays as it was unless it is said
    pub content: Option<String>,
    /// What is decided, in a line
    #[arg(long)]
    pub title: Option<String>,
    /// What is declared beside that.
    #[command(flatten)]
    pub declared: Declared,
    /// What it has no more: phase, claim or relations. May be repeated
    #[arg(long, value_enum, value_name = "PART")]
    pub without: Vec<Part>,
}

/// A decision in the version that the caller has seen, and why that is not to be the last one.
#[derive(Clone, Debug, Args)]
pub struct Seen {
    /// The decision
    #[arg(value_name = "DECISION")]
    pub root: DecisionId,
    /// Where it was decided
    #[arg(long, env = "SILLOK_SCOPE", value_name = "SCOPE")]
    pub scope: Scope,
    /// The version that you have seen
    #[arg(long, value_name = "N")]
    pub expected: u64,
    /// Why
    #[arg(long)]
    pub reason: String,
}

/// The decision that gets a further version, where a new one may begin instead.
#[derive(Clone, Debug, Args)]
pub struct Former {
    /// The one that is changed; otherwise a new one begins
    #[arg(long, value_name = "DECISION", requires = "expected")]
    pub root: Option<DecisionId>,
    /// The version of it that you have seen
    #[arg(long, value_name = "N", requires = "root")]
    pub expected: Option<u64>,
}

impl Former {
    /// What is changed, and the version of it that was seen; none where a new one begins.
    #[must_use]
    pub fn seen(&self) -> Option<(DecisionId, u64)> {
        self.root.zip(self.expected)
    }
}

/// `decision propose`
#[derive(Debug, Args)]
#[command(
    mut_arg("content", |content| content.required_unless_present("root")),
    mut_arg("title", |title| title.required_unless_present("root")),
    mut_arg("without", |without| without.requires("root"))
)]
pub struct DecisionPropose {
    /// What it would say.
    #[command(flatten)]
    pub changes: Changes,
    /// Where
    #[arg(long, env = "SILLOK_SCOPE", value_name = "SCOPE")]
    pub scope: Scope,
    /// What it would change.
    #[command(flatten)]
    pub former: Former,
    /// Why
    #[arg(long, default_value = "")]
    pub reason: String,
}

/// `decision save`
#[derive(Debug, Args)]
pub struct DecisionSave {
    /// The text; - reads standard input
    pub content: String,
    /// Where
    #[arg(long, env = "SILLOK_SCOPE", value_name = "SCOPE")]
    pub scope: Scope,
    /// What is decided, in a line
    #[arg(long)]
    pub title: String,
    /// What is declared beside that.
    #[command(flatten)]
    pub declared: Declared,
    /// Why
    #[arg(long, default_value = "")]
    pub reason: String,
}

/// `decision change`
#[derive(Debug, Args)]
pub struct DecisionChange {
    /// What is changed.
    #[command(flatten)]
    pub seen: Seen,
    /// What it says from now on.
    #[command(flatten)]
    pub changes: Changes,
}

/// A part of a decision that it need not have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Part {
    /// The phase
    Phase,
    /// The claim
    Claim,
    /// All relations
    Relations,
}

/// `decision restore`
#[derive(Debug, Args)]
pub struct DecisionRestore {
    /// What was withdrawn, in the version that withdrew it.
    #[command(flatten)]
    pub seen: Seen,
    /// The version whose text holds again
    #[arg(long, value_name = "N")]
    pub version: u64,
}

/// `decision list`
#[derive(Debug, Args)]
pub struct DecisionList {
    /// Where to look: in this scope alone.
    #[command(flatten)]
    pub within: Within,
    /// Of this rank only: policy, axis, lock or normal
    #[arg(long, value_name = "RANK")]
    pub rank: Option<Rank>,
    /// About this only
    #[arg(long, value_name = "DOMAIN")]
    pub domain: Option<Domain>,
    /// List those that were withdrawn too
    #[arg(long)]
    pub withdrawn: bool,
    /// How many.
    #[command(flatten)]
    pub paging: Paging,
}

/// `decision show` and `policy show`
#[derive(Debug, Args)]
pub struct DecisionNamed {
    /// The decision
    #[arg(value_name = "DECISION")]
    pub root: DecisionId,
    /// Where it was decided.
    #[command(flatten)]
    pub within: Within,
}

/// `decision history` and `policy history`
#[derive(Debug, Args)]
pub struct DecisionHistory {
    /// The decision
    #[arg(value_name = "DECISION")]
    pub root: DecisionId,
    /// Where it was decided.
    #[command(flatten)]
    pub within: Within,
    /// How many, the first ones first.
    #[command(flatten)]
    pub paging: Paging,
}

/// `decision impact`
#[derive(Debug, Args)]
pub struct DecisionImpact {
    /// What would be changed: DECISION, file:PATH, symbol:NAME, symbol:NAME@PATH,
    /// decision:SCOPE#DECISION or evidence:SCOPE#EVIDENCE. May be repeated: a file does not stand for
    /// its symbols, nor a symbol for its file
    #[arg(long = "at", required = true, value_name = "NODE")]
    pub at: Vec<Place>,
    /// What is seen from here: this scope, those above it, and those inside it that the token covers.
    #[command(flatten)]
    pub within: Within,
    /// At most so many nodes
    #[arg(long, value_name = "N")]
    pub nodes_max: Option<usize>,
    /// At most so many steps away
    #[arg(long, value_name = "N")]
    pub depth_max: Option<u32>,
    /// How it is printed
    #[arg(long, value_enum, default_value = "tree", value_name = "FORMAT")]
    pub format: Format,
}

/// How an impact is printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// A tree for a person
    Tree,
    /// A Mermaid flowchart
    Mermaid,
    /// A graph for Graphviz
    Dot,
    /// The answer itself, as with --json
    Json,
}

/// `policy set`
#[derive(Debug, Args)]
pub struct PolicySet {
    /// The text; - reads standard input
    pub content: String,
    /// Where: a project or an organisation
    #[arg(long, env = "SILLOK_SCOPE", value_name = "SCOPE")]
    pub scope: Scope,
    /// What it is about, in a line
    #[arg(long)]
    pub title: String,
    /// The policy that gets this text.
    #[command(flatten)]
    pub former: Former,
    /// Why; a change needs one
    #[arg(long, default_value = "")]
    pub reason: String,
}

/// `policy list`
#[derive(Debug, Args)]
pub struct PolicyList {
    /// Where to look: in this scope alone.
    #[command(flatten)]
    pub within: Within,
    /// List those that were withdrawn too
    #[arg(long)]
    pub withdrawn: bool,
    /// How many.
    #[command(flatten)]
    pub paging: Paging,
}

/// A node, as a command line names it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// A node in full.
    Node(Node),
    /// A decision of the scope that the command is about, by its root alone.
    Root(DecisionId),
}

impl Place {
    /// The node that is meant in a command about `scope`.
    #[must_use]
    pub fn within(&self, scope: &Scope) -> Node {
        match self {
            Self::Node(node) => node.clone(),
            Self::Root(root) => Node::Decision {
                scope: scope.clone(),
                root: *root,
            },
        }
    }
}

impl FromStr for Place {
    type Err = sillok_core::Error;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text.parse() {
            Ok(root) => Ok(Self::Root(root)),
            Err(_) => text.parse().map(Self::Node),
        }
    }
}

/// A relation, as a command line names it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Related {
    /// What it is.
    pub kind: KindName,
    /// To what.
    pub to: Place,
}

impl FromStr for Related {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (kind, to) = text.split_once('=').ok_or("KIND=NODE is expected")?;
        Ok(Self {
            kind: kind
                .parse()
                .map_err(|error: sillok_core::Error| error.to_string())?,
            to: to
                .parse()
                .map_err(|error: sillok_core::Error| error.to_string())?,
        })
    }
}

/// The rank of a decision that is no policy.
fn rank(text: &str) -> Result<Rank, String> {
    match text.parse() {
        Ok(Rank::Policy) => Err("`sillok policy set` sets policies".to_owned()),
        Ok(rank) => Ok(rank),
        Err(_) => Err("normal, lock or axis is expected".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use sillok_core::decision::RelationKind;

    use super::*;

    const ROOT: &str = "01900000-0000-7000-8000-000000000000";

    #[test]
    fn a_bare_root_is_a_decision_of_the_scope_that_the_command_is_about() {
        let scope = Scope::parse("org/acme/project/api").unwrap();
        let bare: Place = ROOT.parse().unwrap();
        let whole: Place = format!("decision:{scope}#{ROOT}").parse().unwrap();
        assert_eq!(bare.within(&scope), whole.within(&scope));
        let above: Place = format!("decision:org/acme#{ROOT}").parse().unwrap();
        assert_ne!(above.within(&scope), bare.within(&scope));
        let file: Place = "file:src/main.rs".parse().unwrap();
        assert_eq!(file.within(&scope).to_string(), "file:src/main.rs");
    }

    #[test]
    fn a_relation_names_a_kind_and_a_node() {
        let related: Related = "applies_to=symbol:run@src/a=b.rs".parse().unwrap();
        assert_eq!(related.kind, RelationKind::AppliesTo.into());
        let scope = Scope::parse("org/acme").unwrap();
        assert_eq!(
            related.to.within(&scope).to_string(),
            "symbol:run@src/a=b.rs"
        );
        let rests: Related = format!("RESTS_ON=evidence:org/acme#{ROOT}")
            .parse()
            .unwrap();
        assert_eq!(rests.kind, RelationKind::RestsOn.into());
        let declared: Related = format!("causes={ROOT}").parse().unwrap();
        assert_eq!(declared.kind.to_string(), "CAUSES");
        let evidence = format!("evidence:org/acme#{ROOT}");
        assert_eq!(rests.to.within(&scope).to_string(), evidence);
        for wrong in [
            "DEPENDS_ON",
            "_LIKES=file:a",
            "DEPENDS_ON=",
            "APPLIES_TO=file:../a",
        ] {
            assert!(wrong.parse::<Related>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_policy_is_no_rank_that_a_decision_is_given() {
        assert_eq!(rank("lock"), Ok(Rank::Lock));
        assert!(rank("policy").unwrap_err().contains("policy set"));
        assert!(rank("strong").is_err());
    }
}
