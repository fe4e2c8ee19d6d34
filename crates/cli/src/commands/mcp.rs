//! `mcp`

use sillok_mcp::limits::CALLS_MAX;
use sillok_mcp::{Handler, stdio};

use super::gate;
use crate::args::{Global, Mcp};
use crate::client::mcp::{Held, RunningServer, Said};
use crate::failure::Failure;
use crate::output::note;

/// Carries out `mcp`: serves one client over standard input and output, until it closes them. Standard output holds nothing else.
///
/// # Errors
/// [`Failure::Foreign`] where what speaks is no client, [`Failure::Usage`] where a work tree is named that there is not.
pub async fn run(global: &Global, args: &Mcp) -> Result<(), Failure> {
    let scope = args.scope.as_ref().map(ToString::to_string);
    let tree = gate::tree(args.work_tree.clone())?;
    let held = Held::against(tree.as_ref(), args.work_tree.is_some());
    let said = Said::around(gate::directory(args.work_tree.clone()));
    let server = RunningServer::new(global, args.scope.clone(), (held, said));
    let handler = Handler::new(server, args.tools, scope, CALLS_MAX);
    let served = stdio::serve(handler, tokio::io::stdin(), tokio::io::stdout()).await;
    match served {
        Ok(()) => Ok(()),
        // A client that goes before it has begun is none that was failed.
        Err(stdio::Error::Begin(why)) => {
            note(&format!("no client began: {why}"));
            Ok(())
        }
        Err(error) => Err(Failure::Foreign {
            url: "standard input".to_owned(),
            what: error.to_string(),
        }),
    }
}
