//! The `sillok-hook` binary. For an agent it exits with 0 whatever happens.

use std::io::Write;
use std::process::ExitCode;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use sillok_hook::arguments::{self, Flags, Order, USAGE};
use sillok_hook::client::Client;
use sillok_hook::limits::WHOLE_MS;
use sillok_hook::run::{self, Done, Happened};
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
        )) => answered(client, event, document, flags),
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

/// Answers an agent in a bounded time, whatever holds up what is done for it: input without an end, a disk, somebody's lock.
fn answered(client: Client, event: String, document: Option<String>, flags: Flags) -> ExitCode {
    let neutral = reply::of(client, &event, None);
    let (end, heard) = mpsc::channel();
    // Where no thread can be had nobody answers, which is told as well.
    let _ = thread::Builder::new().spawn(move || {
        // Nobody waits for it any more: then the agent has its answer.
        let _ = end.send(led(client, &event, document, &flags));
    });
    let done = heard.recv_timeout(Duration::from_millis(WHOLE_MS));
    let done = done.unwrap_or_else(|_| Done {
        answer: neutral,
        said: vec!["it failed or took too long; what happened may not be written down".to_owned()],
    });
    for line in &done.said {
        say(line);
    }
    print(&done.answer)
}

/// Reads an event where it does not come as an argument, and does all that follows from it.
fn led(client: Client, event: &str, document: Option<String>, flags: &Flags) -> Done {
    let document = match document {
        Some(text) => Ok(text.into_bytes()),
        None => run::read(std::io::stdin().lock()),
    };
    match document {
        Ok(document) => {
            let happened = Happened {
                client,
                name: event,
                document,
            };
            run::event(&happened, flags, &|name| std::env::var_os(name))
        }
        Err(error) => Done {
            answer: reply::of(client, event, None),
            said: vec![run::chain(&error)],
        },
    }
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
