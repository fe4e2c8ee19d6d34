//! The log of a process: what goes to standard error, how much of it, and in which form.

use std::backtrace::{Backtrace, BacktraceStatus};
use std::panic::PanicHookInfo;

use tracing::Subscriber;
use tracing_subscriber::EnvFilter;
use tracing_subscriber::fmt::MakeWriter;
use tracing_subscriber::util::SubscriberInitExt as _;

use crate::config::{LogConfig, LogFormat};

/// Sends to standard error what the configuration says. Only the first call of a process does anything.
///
/// # Errors
/// `invalid_argument` where the filter is none.
pub fn start(config: &LogConfig) -> Result<(), sillok_core::Error> {
    let filter = config.env_filter()?;
    let log = subscriber(config.format, filter, std::io::stderr);
    // An error says that the process has a log already.
    if log.try_init().is_ok() && config.format == LogFormat::Json {
        // What the standard library prints of a panic is no JSON. It is printed all the same where the filter
        // lets nothing of it through.
        let former = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            if tracing::enabled!(tracing::Level::ERROR) {
                log_panic(panic);
            } else {
                former(panic);
            }
        }));
    }
    Ok(())
}

/// What writes the log. Times are in UTC.
fn subscriber<W>(
    format: LogFormat,
    filter: EnvFilter,
    writer: W,
) -> Box<dyn Subscriber + Send + Sync>
where
    W: for<'a> MakeWriter<'a> + Send + Sync + 'static,
{
    let log = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(writer)
        .with_target(true);
    match format {
        LogFormat::Text => Box::new(log.finish()),
        // The span that an event lies in is the last one of the list.
        LogFormat::Json => Box::new(log.json().with_current_span(false).finish()),
    }
}

/// Logs a panic, with a backtrace where `RUST_BACKTRACE` asks for one.
fn log_panic(panic: &PanicHookInfo<'_>) {
    let text = panic.payload_as_str().unwrap_or("no text");
    let location = panic.location().map(ToString::to_string);
    let backtrace = Backtrace::capture();
    let backtrace =
        (backtrace.status() == BacktraceStatus::Captured).then(|| backtrace.to_string());
    tracing::error!(panic = text, location, backtrace, "a thread panicked");
}

#[cfg(test)]
mod tests {
    use std::io;
    use std::sync::Arc;

    use parking_lot::Mutex;
    use serde_json::{Value, json};

    use super::*;

    /// What was written.
    #[derive(Clone, Default)]
    struct Written(Arc<Mutex<Vec<u8>>>);

    impl io::Write for Written {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().extend_from_slice(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    /// What is logged meanwhile, line by line.
    fn logged(format: LogFormat, filter: &str, meanwhile: impl FnOnce()) -> Vec<String> {
        let written = Written::default();
        let writer = written.clone();
        let log = subscriber(format, EnvFilter::new(filter), move || writer.clone());
        tracing::subscriber::with_default(log, meanwhile);
        let text = String::from_utf8(written.0.lock().clone()).unwrap();
        text.lines().map(str::to_owned).collect()
    }

    fn json_of(line: &str) -> Value {
        serde_json::from_str(line).unwrap_or_else(|error| panic!("{error} in {line}"))
    }

    #[test]
    fn a_line_of_json_has_time_level_target_message_and_the_fields_of_event_and_spans() {
        let lines = logged(LogFormat::Json, "info", || {
            let _outer = tracing::info_span!("outer", slot = 7).entered();
            let _inner = tracing::info_span!("inner", scope = "org/acme").entered();
            tracing::warn!(target: "sillok_actors::relay", seq = 3, "two\nlines \"and\" quotes");
            tracing::debug!("nobody wants to know");
        });
        let [line] = &lines[..] else {
            panic!("not one line: {lines:?}")
        };
        let mut line = json_of(line);
        let time = line["timestamp"].take();
        let time = time.as_str().unwrap();
        assert!(
            time.len() >= 20 && time.ends_with('Z') && &time[10..11] == "T",
            "{time}"
        );
        let expected = json!({
            "timestamp": null,
            "level": "WARN",
            "target": "sillok_actors::relay",
            "fields": { "message": "two\nlines \"and\" quotes", "seq": 3 },
            "spans": [{ "name": "outer", "slot": 7 }, { "name": "inner", "scope": "org/acme" }],
        });
        assert_eq!(line, expected);
    }

    #[test]
    fn text_is_for_people() {
        let lines = logged(LogFormat::Text, "warn", || {
            tracing::warn!(seq = 3, "it is told again");
            tracing::info!("nobody wants to know");
        });
        let [line] = &lines[..] else {
            panic!("not one line: {lines:?}")
        };
        assert!(line.contains("it is told again"), "{line}");
        assert!(serde_json::from_str::<Value>(line).is_err(), "{line}");
    }

    #[test]
    fn a_panic_is_one_line_of_json_too() {
        let before = std::panic::take_hook();
        std::panic::set_hook(Box::new(log_panic));
        let lines = logged(LogFormat::Json, "warn", || {
            let panicked = std::panic::catch_unwind(|| panic!("the batch of {}", "acme"));
            assert!(panicked.is_err());
        });
        std::panic::set_hook(before);
        let [line] = &lines[..] else {
            panic!("not one line: {lines:?}")
        };
        let line = json_of(line);
        assert_eq!(line["level"], "ERROR");
        assert_eq!(line["fields"]["message"], "a thread panicked");
        assert_eq!(line["fields"]["panic"], "the batch of acme");
        let location = line["fields"]["location"].as_str().unwrap();
        assert!(location.contains("logging.rs:"), "{location}");
    }
}
