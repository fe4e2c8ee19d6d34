//! Serves the embedded store of a folder at a Unix socket: `sillok-test-store FOLDER SOCKET`.

use std::path::PathBuf;
use std::sync::Arc;

use sillok_core::slot::{SLOT_HASH, SLOTS};
use sillok_store::{FjallConfig, FjallStore, Layout};

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut args = std::env::args_os().skip(1).map(PathBuf::from);
    let (Some(folder), Some(socket)) = (args.next(), args.next()) else {
        return Err("sillok-test-store FOLDER SOCKET".into());
    };
    let layout = Layout {
        generation_at_creation: 1,
        slot_count: u32::from(SLOTS),
        slot_hash: SLOT_HASH.to_owned(),
    };
    let fatal = |_: &str| std::process::exit(sillok_server::composition::EXIT_STORE_FAILED);
    let store = FjallStore::open(&FjallConfig::new(folder, layout, Arc::new(fatal)))?;
    // One that ended before may have left its socket behind; the store's lock says that it has ended.
    drop(std::fs::remove_file(&socket));
    sillok_test_cluster::serve(store, &socket).await?;
    Ok(())
}
