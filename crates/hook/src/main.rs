//! The `sillok-hook` binary. For an agent it exits with 0 whatever happens.

use std::io::Write;
use std::process::ExitCode;

use sillok_hook::arguments::{self, Flags, Order, USAGE};
use sillok_hook::run::{self, Happened};
use sillok_hook::{doctor, reply};

/// What a command line exits with that is none.
const EXIT_USAGE: u8 = 2;

fn main() -> ExitCode {
    match arguments::parse(std::env::args_os().skip(1)) {
        Ok((Order::Version, _)) => print(concat!("sillok-hook ", env!("CARGO_PKG_VERSION"))),
        Ok((Order::Help, _)) => print(USAGE),
        Ok((Order::Flush, flags)) => report(doctor::flush(&flags, &|name| std::env::var_os(name))),
        Ok((Order::Waiting, flags)) => {
            report(doctor::waiting(&flags, &|name| std::env::var_os(name)))
        }
        Ok((
            Order::Event {
                client,
                event,
                document,
            },
            flags,
        )) => {
            let document = match document {
                Some(text) => Ok(text.into_bytes()),
                None => run::read(std::io::stdin().lock()),
            };
            match document {
                Ok(document) => {
                    let happened = Happened {
                        client,
                        name: &event,
                        document,
                    };
                    tell(&happened, &flags)
                }
                Err(error) => {
                    say(&run::chain(&error));
                    print(&reply::of(client, &event, None))
                }
            }
        }
        // A status of 2 would stop the agent: only a person who tries it out is to see one.
        Err(error) if is_person() => {
            say(&error.to_string());
            ExitCode::from(EXIT_USAGE)
        }
        Err(error) => {
            say(&error.to_string());
            ExitCode::SUCCESS
        }
    }
}

fn tell(happened: &Happened<'_>, flags: &Flags) -> ExitCode {
    let done = run::event(happened, flags, &|name| std::env::var_os(name));
    for line in &done.said {
        say(line);
    }
    print(&done.answer)
}

fn report(report: Result<Vec<String>, run::Error>) -> ExitCode {
    match report {
        Ok(lines) => print(&lines.join("\n")),
        Err(error) => {
            say(&run::chain(&error));
            ExitCode::FAILURE
        }
    }
}

fn is_person() -> bool {
    std::io::IsTerminal::is_terminal(&std::io::stdin())
}

/// Prints a document. Nobody may be there to read it any more.
fn print(text: &str) -> ExitCode {
    if !text.is_empty() {
        let _ = writeln!(std::io::stdout(), "{text}");
    }
    ExitCode::SUCCESS
}

fn say(line: &str) {
    let _ = writeln!(std::io::stderr(), "sillok-hook: {line}");
}
