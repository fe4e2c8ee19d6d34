//! Deciding a promotion: what a verification authorised is published in the target, once.

use super::{Context, Decision, Draft, entry, promotion};
use crate::command::{AnswerBody, Publish, VerificationRef};
use crate::entry::Table;
use crate::error::{Error, ErrorCode};
use crate::event::Body;
use crate::limits::PRODUCTS_MAX;
use crate::promotion::{Disposition, NewEntry, Product, PublishReport};
use crate::provenance::Backing;

pub(super) fn publish(context: &Context<'_>, publish: &Publish) -> Result<Decision, Error> {
    let verification = &publish.verification;
    if verification.target != *context.scope() || !context.scope().contains(&publish.source) {
        let why = format!("verification {} names another target", verification.id);
        return Err(Error::new(ErrorCode::InvalidPromotion, why));
    }
    let mark = (publish.source.clone(), verification.id);
    if let Some(Some(report)) = context.facts.marks.get(&mark) {
        return Ok(Decision::of(
            Vec::new(),
            AnswerBody::Published(Box::new(report.clone())),
        ));
    }
    let named = VerificationRef {
        task: publish.source.clone(),
        id: verification.id,
    };
    // In conflict with a drop, which takes the job away: what was given up is never published.
    if context.facts.jobs.get(&named) != Some(&true) {
        let why = format!("promotion {} was dropped", verification.id);
        return Err(promotion::ended(context, why));
    }
    if publish.products.len() > PRODUCTS_MAX {
        return Err(Error::too_large(
            "products",
            PRODUCTS_MAX as u64,
            publish.products.len() as u64,
        ));
    }
    if publish.products.first().map(|product| product.table) != Some(Table::Episodes) {
        return Err(Error::new(
            ErrorCode::InvalidArgument,
            "a promotion's first product is its episode",
        ));
    }
    let mut draft = Draft::new(context);
    let report = Box::new(publish_all(&mut draft, publish));
    draft.push(Body::Published {
        source: publish.source.clone(),
        verification: verification.id,
        report: report.clone(),
    });
    Ok(Decision::of(draft.bodies, AnswerBody::Published(report)))
}

/// Writes the products in order; a skill only where the success repeats that another task had.
fn publish_all(draft: &mut Draft<'_>, publish: &Publish) -> PublishReport {
    let backing = Backing::of_verification(&publish.verification);
    let mut products = publish.products.iter().enumerate();
    let (number, episode) = products.next().expect("a promotion has an episode");
    let written = write(draft, number, episode, &backing, publish);
    let repeats = written.repeats;
    let mut report = PublishReport {
        episode: written.entry,
        products: vec![product(episode, &written)],
        linked_episodes: written.linked,
    };
    for (number, next) in products {
        if next.table == Table::Skills && !repeats {
            report.products.push(Product {
                table: next.table,
                entry: None,
                disposition: Disposition::LeftOut,
            });
        } else {
            let written = write(draft, number, next, &backing, publish);
            report.products.push(product(next, &written));
        }
    }
    report
}

fn product(new: &NewEntry, written: &entry::Written) -> Product {
    Product {
        table: new.table,
        entry: Some(written.entry),
        disposition: written.disposition.clone(),
    }
}

fn write(
    draft: &mut Draft<'_>,
    number: usize,
    product: &NewEntry,
    backing: &Backing,
    publish: &Publish,
) -> entry::Written {
    entry::assert_cited(product.table.kind(), &backing.cite(&product.citations));
    let ordinal = u32::try_from(number).expect("products are bounded");
    let id = entry::derived_id(draft.context, ordinal);
    entry::write(
        draft,
        number,
        id,
        product,
        backing,
        Some(publish.verification.id),
    )
}
