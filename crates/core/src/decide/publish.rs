//! Deciding a promotion: what a verification authorised is published in the target, once.

use super::{Context, Decision, Draft, entry};
use crate::command::{AnswerBody, Publish};
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
    let backing = Backing::of_verification(verification);
    let mut draft = Draft::new(context);
    let mut report: Option<PublishReport> = None;
    for (number, product) in publish.products.iter().enumerate() {
        entry::assert_cited(product.table.kind(), &backing.cite(&product.citations));
        let success_repeats = report
            .as_ref()
            .is_some_and(|report| !report.linked_episodes.is_empty());
        if product.table == Table::Skills && !success_repeats {
            let left_out = Product {
                table: product.table,
                entry: None,
                disposition: Disposition::LeftOut,
            };
            report
                .as_mut()
                .expect("the episode came first")
                .products
                .push(left_out);
            continue;
        }
        let written = write(&mut draft, number, product, &backing, publish);
        let done = Product {
            table: product.table,
            entry: Some(written.entry),
            disposition: written.disposition,
        };
        match &mut report {
            Some(report) => report.products.push(done),
            None => {
                report = Some(PublishReport {
                    episode: written.entry,
                    products: vec![done],
                    linked_episodes: written.linked,
                });
            }
        }
    }
    let report = Box::new(report.expect("a promotion has an episode"));
    draft.push(Body::Published {
        source: publish.source.clone(),
        verification: verification.id,
        report: report.clone(),
    });
    Ok(Decision::of(draft.bodies, AnswerBody::Published(report)))
}

fn write(
    draft: &mut Draft<'_>,
    number: usize,
    product: &NewEntry,
    backing: &Backing,
    publish: &Publish,
) -> entry::Written {
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
