//! Deciding: agents and people make decisions in scopes that lie in one another, relate them, change those of others in the
//! version that they have seen, withdraw and restore them, and ask meanwhile what holds, what a change reaches, what was
//! said before, what a save means to others, and what one would mean that they only propose. They declare kinds of
//! relations, keep evidence that decisions rest on, and anchors that point to both.
//!
//! Owns what they do. How a decision is saved is told by `saving`, how evidence and anchors are kept by `keeping`, how kinds
//! are declared by `declaring`, how is asked by `asking`; what must hold of it stands in `view`, `naive`, `judged`, `stored` and `sent`.

mod asked;
mod asking;
mod board;
mod declaring;
mod drawn;
mod judged;
mod keeping;
mod naive;
mod original;
mod saving;
mod sent;
mod stored;
mod view;

use serde::{Deserialize, Serialize};
use sillok_core::scope::{Scope, ScopePrefix};

pub(crate) use self::asked::{
    Against, Asked, Asker, Excerpt, Goal, Guarded, Heard, Hit, Holding, Line, Means, Pointer,
    Reached, Told,
};
pub use self::keeping::Keeping;
use self::saving::Saved;
use crate::agent::Agent;
use crate::workload::material::{project_path, scope};
use crate::workload::{Draw, Workload};

/// Projects that decisions are made in.
const PROJECTS: u8 = 3;
/// Levels of scopes, the organisation first.
const LEVELS: u8 = 4;
/// What decisions are for: the first is everything.
const DOMAINS: [&str; 3] = ["global", "runtime", "ui"];
/// What decisions apply to.
const PLACES: [&str; 4] = [
    "file:src/cart.rs",
    "file:src/parser.rs",
    "symbol:total@src/cart.rs",
    "symbol:parse",
];
/// Keys that decisions declare.
const KEYS: [&str; 2] = ["request.deadline", "request.retries"];
/// Writers that change one decision at the same time, where that is drawn.
const WRITERS: (u8, u8) = (2, 6);
/// The most of them, which a plan names that nobody has drawn.
const WRITERS_MAX: u8 = 50;
/// Decisions of a ring.
const RING: (u8, u8) = (2, 4);
/// Versions of a history that are asked for at once, at most.
const VERSIONS_MAX: u8 = 8;
/// Items that there is room for where a brief is to be cut, at most.
const ITEMS_MAX: u8 = 8;

/// The workload, and what must hold of it.
#[derive(Clone, Copy, Debug)]
pub struct Deciding;

/// Where something is decided, or asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Home {
    /// Which project.
    pub project: u8,
    /// How many names its path has beside that of the organisation.
    pub level: u8,
}

/// What a decision says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Says {
    /// Its rank, by its place among all. A policy that cannot be one is a lock.
    pub rank: u8,
    /// Its domain, by its place. A policy is for everything.
    pub domain: u8,
    /// The key that it declares, by its place.
    pub claim: Option<u8>,
    /// Its relations: the kind by its place, behind those that are built in the names that are declared, and the decision,
    /// file, symbol or evidence by its place. Those that it had before, where none are said.
    pub relations: Option<Vec<(u8, u8)>>,
}

/// The nodes at hand, each by its place among those of its sort that are seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AtHand {
    /// The decision, if there is one.
    pub which: Option<u8>,
    /// The file or symbol, if there is one.
    pub place: Option<u8>,
    /// The evidence, if there is any.
    pub evidence: Option<u8>,
}

/// An action of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Action {
    /// Makes a decision.
    Begin {
        /// Where.
        home: Home,
        /// What it says.
        says: Says,
        /// How wide the token is with which it is asked what that means, if it is asked.
        asks: Option<u8>,
    },
    /// Changes one.
    Change {
        /// Which, by its place among all that are known.
        which: u8,
        /// What it says from then on.
        says: Says,
        /// How wide the token is with which it is asked what that means, if it is asked.
        asks: Option<u8>,
    },
    /// Changes one several times at once, each time in the same version.
    Rush {
        /// Which.
        which: u8,
        /// How often.
        writers: u8,
    },
    /// Withdraws one.
    Withdraw {
        /// Which.
        which: u8,
        /// How wide the token is with which it is asked what that means, if it is asked.
        asks: Option<u8>,
    },
    /// Restores one that was withdrawn.
    Restore {
        /// Which, by its place among those that were.
        which: u8,
        /// Which of the texts that it had.
        text: u8,
        /// How wide the token is with which it is asked what that means, if it is asked.
        asks: Option<u8>,
    },
    /// Proposes a decision, and makes none.
    Propose {
        /// Where.
        home: Home,
        /// Of which one a change, if of one.
        which: Option<u8>,
        /// What it says.
        says: Says,
    },
    /// Makes decisions that are related in a ring, and asks what a change of the first reaches.
    Ring {
        /// Where.
        home: Home,
        /// How many.
        size: u8,
        /// The kind of their relations.
        kind: u8,
    },
    /// Asks for a brief.
    Brief {
        /// Where.
        home: Home,
        /// For which domain.
        domain: u8,
        /// What is at hand.
        at: AtHand,
        /// Room for so many items; for more than there are, if nothing is said.
        items: Option<u8>,
        /// Whether a decision is changed meanwhile.
        beside: bool,
        /// How wide the token is, as the level of a scope.
        width: u8,
    },
    /// Asks what a change reaches, with limits that follow from the rest of it.
    Impact {
        /// Where.
        home: Home,
        /// Of what.
        at: AtHand,
        /// How wide the token is, as the level of a scope.
        width: u8,
    },
    /// Asks for versions of a decision.
    History {
        /// Which.
        which: u8,
        /// Those behind this one; all, if it is 0.
        after: u8,
        /// At most so many.
        limit: u8,
    },
    /// Declares a kind of relation.
    Declare {
        /// Where: in an organisation or a project.
        home: Home,
        /// Its name, by its place.
        name: u8,
        /// Which way it carries a change, by its place.
        reach: u8,
    },
    /// Keeps evidence and anchors, or asks for them.
    Keeping(Keeping),
}

impl Home {
    /// The scope.
    fn scope(self) -> Scope {
        let project = project_path(self.project % PROJECTS);
        scope(&match self.level % LEVELS {
            0 => "org/sim".to_owned(),
            1 => project,
            2 => format!("{project}/worktree/deciding"),
            _ => format!("{project}/worktree/deciding/task/d"),
        })
    }

    /// Where a scope of it lies.
    fn of(scope: &Scope) -> Option<Self> {
        let mut homes =
            (0..PROJECTS).flat_map(|project| (0..LEVELS).map(move |level| Self { project, level }));
        homes.find(|home| home.scope() == *scope)
    }

    /// Refuses one that no world has.
    fn check(self) -> Result<(), String> {
        within("home.project", self.project, (0, PROJECTS - 1))?;
        within("home.level", self.level, (0, LEVELS - 1))
    }

    /// Somebody who asks there with a token that covers a scope around it or inside it: the one of this level.
    fn asker(self, width: u8) -> Asker {
        let covered = Self {
            level: width,
            ..self
        };
        Asker {
            scope: self.scope(),
            prefix: ScopePrefix::Scope(covered.scope()),
        }
    }
}

fn within(field: &str, number: u8, (low, high): (u8, u8)) -> Result<(), String> {
    if (low..=high).contains(&number) {
        Ok(())
    } else {
        Err(format!("{field}: {number} is not from {low} to {high}"))
    }
}

impl Workload for Deciding {
    type Action = Action;

    fn name(&self) -> &'static str {
        "deciding"
    }

    fn share(&self) -> u32 {
        70
    }

    fn draw(&self, draw: &mut Draw<'_>) -> Action {
        drawn::action(draw)
    }

    fn check_action(&self, action: &Action, _nodes: u16) -> Result<(), String> {
        match action {
            Action::Begin { home, .. }
            | Action::Brief { home, .. }
            | Action::Impact { home, .. }
            | Action::Propose { home, .. }
            | Action::Ring { home, .. } => {
                home.check()?;
            }
            Action::Declare { home, .. } => {
                home.check()?;
                within("home.level", home.level, (0, 1))?;
            }
            Action::Keeping(keeping) => keeping.check()?,
            Action::Change { .. }
            | Action::Rush { .. }
            | Action::Withdraw { .. }
            | Action::Restore { .. }
            | Action::History { .. } => {}
        }
        match action {
            Action::Begin {
                asks: Some(asks), ..
            }
            | Action::Change {
                asks: Some(asks), ..
            }
            | Action::Withdraw {
                asks: Some(asks), ..
            }
            | Action::Restore {
                asks: Some(asks), ..
            } => within("asks", *asks, (0, LEVELS - 1)),
            Action::Rush { writers, .. } => within("writers", *writers, (WRITERS.0, WRITERS_MAX)),
            Action::Ring { size, .. } => within("size", *size, RING),
            Action::History { limit, .. } => within("limit", *limit, (1, VERSIONS_MAX)),
            Action::Brief { items, width, .. } => {
                within("items", items.unwrap_or(1), (1, ITEMS_MAX))?;
                within("width", *width, (0, LEVELS - 1))
            }
            Action::Impact { width, .. } => within("width", *width, (0, LEVELS - 1)),
            _ => Ok(()),
        }
    }

    async fn act(&self, agent: &mut Agent, action: Action) {
        match action {
            Action::Begin { home, says, asks } => {
                let begun = saving::begin(agent, &home.scope(), &says).await;
                asking::meaning(agent, begun.map(Saved::from), asks).await;
            }
            Action::Change { which, says, asks } => {
                let changed = saving::change(agent, which, &says).await;
                asking::meaning(agent, changed, asks).await;
            }
            Action::Rush { which, writers } => saving::rush(agent, which, writers).await,
            Action::Withdraw { which, asks } => {
                let withdrawn = saving::withdraw(agent, which).await;
                asking::meaning(agent, withdrawn, asks).await;
            }
            Action::Restore { which, text, asks } => {
                let restored = saving::restore(agent, which, text).await;
                asking::meaning(agent, restored, asks).await;
            }
            Action::Propose { home, which, says } => {
                asking::propose(agent, &home.scope(), which, &says).await;
            }
            Action::Ring { home, size, kind } => {
                let ring = saving::ring(agent, &home.scope(), size, kind).await;
                if let Some(ring) = ring {
                    asking::around(agent, home.asker(0), &ring).await;
                }
            }
            Action::Brief {
                home,
                domain,
                at,
                items,
                beside,
                width,
            } => {
                let at = asking::at_hand(agent, &home.scope(), at);
                let asked = asking::brief(home.asker(width), domain, at, items);
                if beside {
                    asking::beside_a_change(agent, asked).await;
                } else {
                    asking::ask(agent, asked).await;
                }
            }
            Action::Impact { home, at, width } => {
                let start = asking::at_hand(agent, &home.scope(), at);
                if !start.is_empty() {
                    let (by, limits) = (home.asker(width), asking::limits(home, at, width));
                    asking::ask(agent, Asked::Impact { by, start, limits }).await;
                }
            }
            Action::History {
                which,
                after,
                limit,
            } => asking::history(agent, which, after, limit).await,
            Action::Declare { home, name, reach } => {
                declaring::declare(agent, &home.scope(), name, reach).await;
            }
            Action::Keeping(keeping) => keeping::keep(agent, keeping).await,
        }
    }
}
