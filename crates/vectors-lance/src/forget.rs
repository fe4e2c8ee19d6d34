//! Forgetting: the rows of entries that were archived leave the table.
//!
//! Owns that a search finds none of them from the first moment on, and that files are marked, not written anew: what they
//! held goes when they are compacted. It must not know why an entry was archived.

use std::collections::BTreeMap;
use std::sync::Arc;

use lance::Dataset;
use lance::dataset::CommitBuilder;
use lance::dataset::scanner::RowAddrTreeMap;
use lance::dataset::transaction::{Operation, TransactionBuilder};
use sillok_core::ports::IndexDoc;
use sillok_core::stamp::Stamp;

use crate::commit::properties;
use crate::directory::fragment_of;
use crate::error::Error;
use crate::table::Table;

/// What the history of a table says of such a commit.
const PREDICATE: &str = "archived";

impl Table {
    /// Removes the rows of these archived entries, in one commit with the cursor `through`. Entries of which the table
    /// holds newer states are passed over, so a repeat commits nothing. The caller holds the commits.
    pub(crate) async fn forget(&self, docs: &[IndexDoc], through: Stamp) -> Result<(), Error> {
        if docs.is_empty() {
            return Ok(());
        }
        // They hide the rows until these are gone.
        docs.iter().for_each(|doc| self.offer(doc));
        let mut attempt = 1;
        loop {
            let dataset = self.catch_up().await?;
            let addresses = self.addresses(docs);
            let Some(dataset) = dataset.filter(|_| !addresses.is_empty()) else {
                break;
            };
            match remove(dataset, addresses, through).await {
                Ok(dataset) => {
                    self.refresh(dataset).await?;
                    break;
                }
                Err(error)
                    if error.is_overtaken() && attempt < self.shared.config.commit_attempts_max =>
                {
                    let table = self.directory.display();
                    tracing::debug!(%table, attempt, %error, "a commit was overtaken");
                    attempt += 1;
                }
                Err(error) => return Err(error),
            }
        }
        self.view.write().forget(docs);
        Ok(())
    }

    /// Where the rows of these entries lie, unless they hold newer states.
    fn addresses(&self, docs: &[IndexDoc]) -> Vec<u64> {
        let view = self.view.read();
        let stored = docs.iter().filter_map(|doc| {
            let (address, row) = view.rows.get(&doc.scope, doc.entry)?;
            (row.stamp < doc.stamp).then_some(address)
        });
        stored.collect()
    }
}

/// A version without these rows.
async fn remove(
    dataset: Arc<Dataset>,
    addresses: Vec<u64>,
    through: Stamp,
) -> Result<Dataset, Error> {
    let mut by_file = BTreeMap::<u64, Vec<u32>>::new();
    for address in &addresses {
        let rows = by_file.entry(fragment_of(*address)).or_default();
        rows.push(u32::try_from(address & u64::from(u32::MAX)).expect("the lower half of 64 bits"));
    }
    let (mut updated_fragments, mut deleted_fragment_ids) = (Vec::new(), Vec::new());
    for fragment in dataset.get_fragments() {
        let id = fragment.metadata().id;
        let Some(rows) = by_file.remove(&id) else {
            continue;
        };
        match fragment.extend_deletions(rows).await? {
            Some(left) => updated_fragments.push(left.metadata().clone()),
            None => deleted_fragment_ids.push(id),
        }
    }
    assert!(
        by_file.is_empty(),
        "the directory names files of the version that it was read from"
    );
    let operation = Operation::Delete {
        updated_fragments,
        deleted_fragment_ids,
        predicate: PREDICATE.to_owned(),
    };
    let transaction = TransactionBuilder::new(dataset.version_id(), operation)
        .transaction_properties(Some(Arc::new(properties(through))))
        .build();
    let commit = CommitBuilder::new(dataset)
        .with_skip_auto_cleanup(true)
        .with_affected_rows(RowAddrTreeMap::from_iter(addresses));
    Ok(Box::pin(commit.execute(transaction)).await?)
}
