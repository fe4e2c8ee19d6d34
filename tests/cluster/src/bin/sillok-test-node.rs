//! A node of a cluster on the shared store: `sillok-test-node SOCKET`, configured by the environment.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::path::PathBuf;
use std::process::ExitCode;

use sillok_server::{Layers, Server};
use sillok_store::AnyStore;
use sillok_test_cluster::SocketStore;
use tokio::signal::unix::{SignalKind, signal};

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

#[tokio::main]
async fn main() -> ExitCode {
    match Box::pin(serve()).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // Nobody is left to tell should this fail too.
            let _ = writeln!(std::io::stderr(), "{error}");
            ExitCode::FAILURE
        }
    }
}

async fn serve() -> Result<(), Box<dyn std::error::Error>> {
    let Some(socket) = std::env::args_os().nth(1).map(PathBuf::from) else {
        return Err("sillok-test-node SOCKET".into());
    };
    let config = Layers::of_process(None, BTreeMap::new()).load()?.config;
    let mut terminate = signal(SignalKind::terminate())?;
    let store = AnyStore::new(SocketStore::connect(&socket).await?);
    let server = Server::start_shared(config, store).await?;
    let stop = async move {
        terminate.recv().await;
    };
    server.run(stop).await?;
    Ok(())
}
