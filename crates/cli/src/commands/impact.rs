//! `decision impact`

use sillok_server::api::ImpactRequest;

use crate::args::{DecisionImpact, Format};
use crate::diagram;
use crate::failure::Failure;
use crate::output::Output;
use crate::session::Session;

/// Carries out `decision impact`.
///
/// # Errors
/// [`Failure`]
pub async fn run(session: &Session, args: DecisionImpact) -> Result<(), Failure> {
    let scope = session.scope(&args.within)?;
    let at = args.at.iter().map(|place| place.within(&scope).to_string());
    let request = ImpactRequest {
        at: at.collect(),
        scope: scope.to_string(),
        nodes_max: args.nodes_max,
        depth_max: args.depth_max,
    };
    let impact = session.client.impact(&request).await?;
    let output = Output {
        json: session.output.json || args.format == Format::Json,
        ..session.output
    };
    output.show(&impact, |style| match args.format {
        Format::Mermaid => diagram::mermaid(&impact),
        Format::Dot => diagram::dot(&impact),
        Format::Tree | Format::Json => diagram::tree(&impact, style),
    })
}
