//! Tests of what becomes of a command that another node was given before this one.

use sillok_core::id::Epoch;
use sillok_core::ports::{BoxFuture, PeerError, Peers};
use sillok_core::principal::PrincipalKind;
use sillok_store::MemoryStore;

use super::*;
use crate::NodeConfig;
use crate::protocol::Correct;
use crate::tests::harness::{TASK, open_task, ports, scope, store, submission};

/// The other nodes: whoever is asked lets the slot go, as far as this node knows.
struct Leaving {
    answer: PeerError,
    here: Mutex<Option<Arc<Shared<MemoryStore, Correct>>>>,
}

impl Peers for Leaving {
    fn forward<'a>(
        &'a self,
        _: &'a str,
        _: Arc<Submission>,
    ) -> BoxFuture<'a, Result<Forwarded, PeerError>> {
        let here = self.here.lock();
        let ownership = &here.as_ref().unwrap().ownership;
        ownership.take(Slot::of(&scope(TASK)), Epoch(1), ownership.incarnation());
        Box::pin(core::future::ready(Err(self.answer)))
    }

    fn announce<'a>(&'a self, _: &'a [Slot]) -> BoxFuture<'a, ()> {
        Box::pin(core::future::ready(()))
    }
}

/// What a caller hears of a command that comes here, where there is no room, after another node was
/// asked.
async fn turned_away_after(answer: PeerError) -> ErrorCode {
    let peers = Arc::new(Leaving {
        answer,
        here: Mutex::default(),
    });
    let mut ports = ports();
    ports.peers = Some(Arc::clone(&peers) as Arc<dyn Peers>);
    let mut config = NodeConfig {
        name: "ada".to_owned(),
        ..NodeConfig::default()
    };
    config.admission.node_bytes = 1;
    let shared = Arc::new(Shared::new(store(), ports, config, Correct));
    *peers.here.lock() = Some(Arc::clone(&shared));
    let router = Router::new(Arc::clone(&shared));
    router.expect_at(Slot::of(&scope(TASK)), "bob");
    let _all_there_is = router.admission.admit(&Arc::default(), 1).unwrap();
    let open = submission(0, PrincipalKind::Agent, TASK, open_task());
    let refused = router.submit(open).await.unwrap_err();
    // Each holds the other.
    *peers.here.lock() = None;
    refused.code
}

#[tokio::test]
async fn a_node_without_room_says_nothing_of_a_command_that_another_was_sent() {
    let silent = turned_away_after(PeerError::Silent).await;
    assert_eq!(silent, ErrorCode::OutcomeUnknown);
    let nobody = turned_away_after(PeerError::NoResponders).await;
    assert_eq!(nobody, ErrorCode::Busy);
}
