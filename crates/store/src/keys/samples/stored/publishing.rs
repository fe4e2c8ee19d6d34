//! Events of promotions and of what people are asked.

use sillok_core::entry::{Embedding, SpaceId, Table};
use sillok_core::event::Body;
use sillok_core::id::{ReviewId, Seq};
use sillok_core::promotion::{Disposition, NewEntry, Product, PublishReport};
use sillok_core::review::{Offer, Question};
use sillok_core::task::TaskStatus;

use super::entries::{details, tables};
use super::tasks::statuses;
use super::{
    Sample, binding, citations, claim, entry, metadata, only, scope_at, verification, with_each,
};

pub(super) fn bodies() -> Vec<Sample<Body>> {
    let mut all = vec![
        only(Body::Published {
            source: scope_at("org/gold/project/p/worktree/w/task/source"),
            verification: verification(61),
            report: Box::new(report(Table::Skills, Disposition::Created)),
        }),
        only(Body::PromotionUndone {
            source: scope_at("org/gold/project/p/worktree/w/task/undone"),
            verification: verification(62),
            reason: "why it was taken back".to_owned(),
        }),
        only(Body::ReviewAnswered {
            id: ReviewId::from_bytes([63; 16]),
            approved: true,
            reason: "why it is so".to_owned(),
        }),
    ];
    let promoted = |table, disposition| Body::Promoted {
        verification: verification(64),
        target: scope_at("org/gold/project/target"),
        status: TaskStatus::Failed,
        report: Box::new(report(table, disposition)),
    };
    all.extend(with_each("table", tables(), |table| {
        promoted(table, Disposition::LeftOut)
    }));
    all.extend(with_each("disposition", dispositions(), |disposition| {
        promoted(Table::Gotchas, disposition)
    }));
    all.extend(with_each("status", statuses(), |status| {
        Body::PromotionDropped {
            verification: verification(65),
            reason: "why it was given up".to_owned(),
            status,
            verified_through: Seq::new(660),
        }
    }));
    all.extend(with_each("question", questions(), |question| {
        Body::ReviewRaised {
            id: ReviewId::from_bytes([67; 16]),
            question: Box::new(question),
        }
    }));
    all
}

pub(super) fn dispositions() -> Vec<(&'static str, Disposition)> {
    each!(Disposition {
        Created,
        Merged { cosine: 0.9375 },
        Contradicts { other: entry(71) },
        LeftOut,
    })
}

pub(super) fn report(table: Table, disposition: Disposition) -> PublishReport {
    PublishReport {
        episode: entry(72),
        products: vec![Product {
            table,
            entry: Some(entry(73)),
            disposition,
        }],
        linked_episodes: vec![entry(74), entry(75)],
    }
}

fn questions() -> Vec<(&'static str, Question)> {
    let (_, skill) = details().pop().unwrap();
    each!(Question {
        Merge { new: entry(81), known: entry(82), cosine: 0.875 },
        Contradiction { new: entry(83), known: entry(84), why: "both cannot hold".to_owned() },
        Wrong { entry: entry(85), tasks: 860 },
        Offer(Box::new(Offer {
            scope: scope_at("org/gold/project/offers"),
            entry: entry(87),
            version: 880,
            product: NewEntry {
                table: Table::Skills,
                content: "what is offered".to_owned(),
                detail: skill,
                metadata: metadata("offer"),
                claim: Some(claim()),
                citations: citations(),
                failure: true,
                binding: binding(),
                embedding: Some(Embedding {
                    space: SpaceId("provider/model/2".to_owned()),
                    values: vec![0.6, -0.8],
                }),
            },
        })),
    })
}
