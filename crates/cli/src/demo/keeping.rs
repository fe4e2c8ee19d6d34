//! What an agent of the demo keeps for the next: an original as evidence, and an anchor that leads there.
//!
//! Owns their texts, and what has to come of them. Each is a real request: that the next agent finds the original is read
//! off what the server answers.

use sillok_core::decision::Node;
use sillok_core::id::AnchorId;
use sillok_core::scope::Scope;
use sillok_server::api::{
    AddAnchors, AnchorQuery, Brief, BriefItem, EvidenceSaved, Followed, FollowedItem, NewAnchor,
    SaveEvidence,
};

use super::report::FollowReport;
use crate::client::Client;
use crate::failure::Failure;

/// What the original is.
const TITLE: &str = "count.sh as it was";
/// Where it was.
const SOURCE: &str = "src/count.sh";
/// What is found behind the anchor.
const HINT: &str = "Why count.sh keeps its loop, and how that was before";

/// What was kept.
#[derive(Clone, Debug)]
pub struct Kept {
    scope: Scope,
    text: String,
    evidence: EvidenceSaved,
}

/// An anchor, and what was kept that it leads to.
#[derive(Clone, Debug)]
pub struct Pointed {
    kept: Kept,
    anchor: AnchorId,
}

impl Kept {
    /// Keeps a text as it is now.
    ///
    /// # Errors
    /// [`Failure`]
    pub async fn keep(client: &Client, scope: &Scope, text: &str) -> Result<Self, Failure> {
        let body = SaveEvidence {
            scope: scope.to_string(),
            title: TITLE.to_owned(),
            source: SOURCE.to_owned(),
            content: text.to_owned(),
            ..SaveEvidence::default()
        };
        Ok(Self {
            scope: scope.clone(),
            text: text.to_owned(),
            evidence: client.save_evidence(&body).await?,
        })
    }

    /// The evidence as relations name it.
    #[must_use]
    pub fn node(&self) -> Node {
        Node::Evidence {
            scope: self.scope.clone(),
            id: self.evidence.id,
        }
    }

    /// Leaves an anchor that leads to a decision, and to what it rests on.
    ///
    /// # Errors
    /// [`Failure`]
    pub async fn point(
        self,
        client: &Client,
        domain: &str,
        decision: &Node,
    ) -> Result<Pointed, Failure> {
        let anchor = NewAnchor {
            hint: HINT.to_owned(),
            domain: Some(domain.to_owned()),
            to: vec![self.node().to_string(), decision.to_string()],
        };
        let body = AddAnchors {
            scope: self.scope.to_string(),
            anchors: vec![anchor],
        };
        let added = client.add_anchors(&body).await?;
        let anchor = added.ids.first().copied();
        Ok(Pointed {
            anchor: anchor.ok_or_else(|| Failure::Verdict("no anchor was added".to_owned()))?,
            kept: self,
        })
    }
}

impl Pointed {
    /// An agent finds the anchor at the end of its brief, and follows it to what was kept.
    ///
    /// # Errors
    /// [`Failure`], and [`Failure::Verdict`] when the brief does not end with the anchor, or it leads elsewhere.
    pub async fn follow(
        &self,
        (agent, client): (&str, &Client),
        brief: &Brief,
    ) -> Result<FollowReport, Failure> {
        let Some(BriefItem::Anchor(found)) = brief.items.last() else {
            let what = format!("the brief of {agent} does not end with an anchor");
            return Err(Failure::Verdict(what));
        };
        if found.id != self.anchor {
            let what = format!("the brief of {agent} ends with another anchor");
            return Err(Failure::Verdict(what));
        }
        let query = AnchorQuery {
            scope: found.scope.to_string(),
            id: found.id.to_string(),
        };
        let followed = client.follow_anchor(&query).await?;
        if !self.is_found(&followed) {
            let what = format!("{agent} followed the anchor, and did not find what was kept");
            return Err(Failure::Verdict(what));
        }
        Ok(FollowReport {
            agent: agent.to_owned(),
            followed,
        })
    }

    /// Whether what was kept is behind the decision that rests on it, word for word.
    fn is_found(&self, followed: &Followed) -> bool {
        let [FollowedItem::Decision(_), FollowedItem::Evidence(original)] = &followed.items[..]
        else {
            return false;
        };
        original.head.hash == self.kept.evidence.hash
            && original.content() == Some(self.kept.text.as_str())
    }
}

/// The command that follows it, as an agent's log has it.
#[must_use]
pub fn command(report: &FollowReport) -> String {
    format!("anchor follow {}", report.followed.anchor.id)
}

/// What was found, by title.
#[must_use]
pub fn titles(report: &FollowReport) -> String {
    let items = report.followed.items.iter();
    let titles: Vec<&str> = items
        .map(|item| match item {
            FollowedItem::Decision(decision) => decision.title.as_str(),
            FollowedItem::Evidence(evidence) => evidence.head.title.as_str(),
            FollowedItem::Gone { .. } => "gone",
        })
        .collect();
    titles.join("\n")
}

/// How many of the originals are found again by their anchor, which leads to the same as before or is taken to lead nowhere.
///
/// # Errors
/// [`Failure`]
pub async fn found_again(client: &Client, report: &FollowReport) -> Result<usize, Failure> {
    let anchor = &report.followed.anchor;
    let query = AnchorQuery {
        scope: anchor.scope.to_string(),
        id: anchor.id.to_string(),
    };
    let is_same = client.follow_anchor(&query).await? == report.followed;
    Ok(if is_same { report.count() } else { 0 })
}
