//! Where nothing goes wrong, the simulated stores are stores like all others.

use super::*;
use crate::heap::pump::Pump;

/// A store with all that makes its time go on.
fn made(store: impl FnOnce(&Sim) -> Storage) -> (SimStore, Pump) {
    let sim = Sim::new(1, false);
    let store = SimStore {
        sim: sim.clone(),
        place: Place(0),
        store: store(&sim),
        is_foreign: true,
    };
    (store, Pump::start(sim))
}

sillok_store::conformance_suite!(shared, async {
    made(|_| Storage::Shared(MemoryStore::new(sillok_store::MemoryConfig::default())))
});

sillok_store::conformance_suite!(disk, async { made(|sim| Storage::Disk(sim.clone())) });
