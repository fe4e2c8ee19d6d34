//! `doctor`

use serde::Serialize;
use sillok_hook::arguments::Flags;
use sillok_hook::client::Client;
use sillok_hook::doctor::{self, Check, Patient};

use super::install::hook_beside;
use crate::args::{Doctor, Global};
use crate::failure::Failure;
use crate::output::{Output, Style};

/// A check, as JSON.
#[derive(Serialize)]
struct Looked<'a> {
    what: &'a str,
    well: bool,
    said: &'a str,
    mend: Option<&'a str>,
}

/// Carries out `doctor`. Exit status 1 where something is wrong.
///
/// # Errors
/// [`Failure`]
pub fn run(global: &Global, output: Output, args: &Doctor) -> Result<(), Failure> {
    let own = std::env::current_exe();
    let own = own.map_err(Failure::io("this program's own path cannot be read"))?;
    let hook = match &args.hook {
        Some(path) => path.clone(),
        None => hook_beside(&own)?,
    };
    let here = std::env::current_dir();
    let here = here.map_err(Failure::io("the working directory cannot be read"))?;
    let flags = Flags {
        scope: args.within.as_ref().map(ToString::to_string),
        url: global.url.clone(),
        token_file: global.token_file.clone(),
        data: global.data.clone(),
    };
    // What was given as a flag counts for the hook's program as well, which is told of it by its environment.
    let environment = |name: &str| match (name, &global.token) {
        ("SILLOK_TOKEN", Some(token)) => Some(token.into()),
        _ => std::env::var_os(name),
    };
    let checks = doctor::examine(&Patient {
        client: Client::from(args.client),
        hook: &hook,
        directory: &here,
        flags: &flags,
        environment: &environment,
    });
    let shown: Vec<Looked<'_>> = checks.iter().map(looked).collect();
    output.show(&shown, |style| described(style, &checks))?;
    let ill = checks.iter().filter(|check| check.found.is_err()).count();
    if ill == 0 {
        return Ok(());
    }
    Err(Failure::Verdict(format!(
        "{ill} of {} checks failed",
        checks.len()
    )))
}

fn looked(check: &Check) -> Looked<'_> {
    let (said, mend) = match &check.found {
        Ok(said) => (said, None),
        Err(ill) => (&ill.why, Some(ill.mend.as_str())),
    };
    Looked {
        what: check.what,
        well: mend.is_none(),
        said,
        mend,
    }
}

fn described(style: Style, checks: &[Check]) -> String {
    let mut lines = Vec::new();
    for check in checks {
        match &check.found {
            Ok(said) => lines.push(format!("{} {}: {said}", style.good("well"), check.what)),
            Err(ill) => {
                lines.push(format!("{} {}: {}", style.bad("ill "), check.what, ill.why));
                lines.push(format!("     to mend it: {}", ill.mend));
            }
        }
    }
    lines.join("\n")
}
