//! Planted bug: columns that are ranked the wrong way round, so that the worst of each task stay.
//!
//! Owns the turning. What is due is left as it is.

use std::sync::Arc;

use sillok_core::ports::{BoxFuture, EntryColumns, PortError, VectorIndex};
use sillok_core::retention::plan::{AgeColumns, WorthColumns};

/// The columns of an index, of which what is worth most is worth least.
pub(super) struct Worst(pub(super) Arc<dyn VectorIndex>);

impl EntryColumns for Worst {
    fn ages<'a>(
        &'a self,
        each: &'a mut (dyn FnMut(&AgeColumns<'_>) + Send),
    ) -> BoxFuture<'a, Result<(), PortError>> {
        self.0.ages(each)
    }

    fn worths<'a>(
        &'a self,
        each: &'a mut (dyn FnMut(&WorthColumns<'_>) + Send),
    ) -> BoxFuture<'a, Result<(), PortError>> {
        Box::pin(async move {
            let mut turned = move |columns: &WorthColumns<'_>| {
                let value: Vec<f64> = columns.value.iter().map(|value| -value).collect();
                each(&WorthColumns {
                    value: &value,
                    ..*columns
                });
            };
            self.0.worths(&mut turned).await
        })
    }
}
