//! The context of a trace, and the port by which spans of it are begun.
//!
//! Owns the form that W3C Trace Context gives it (`traceparent`): what is not of that form is no context,
//! and nobody is refused anything for it. Spans say what was done to whom, in numbers and names; content,
//! tokens and principals never get into one. It must not know who records a span, nor where it is sent.

use core::fmt;
use core::str::FromStr;

use serde::{Deserialize, Serialize};

/// The header, and in lower case the environment variable, that carries a context.
pub const TRACEPARENT: &str = "traceparent";
/// Characters of a context in the version that is written.
const TEXT_LEN: usize = 55;
/// Characters of a context of a later version that are looked at; whatever is longer is none.
const TEXT_LEN_MAX: usize = 256;
/// The flag of a trace that is recorded.
const SAMPLED: u8 = 1;

/// A span within a trace, as one process names it to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "Parts", into = "Parts")]
pub struct TraceContext {
    trace: [u8; 16],
    span: [u8; 8],
    flags: u8,
}

/// The parts of a context: trace, span, flags.
type Parts = ([u8; 16], [u8; 8], u8);

/// Something that is no context.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("it is no trace context")]
pub struct NoContext;

impl TraceContext {
    /// The context of a span. None where trace or span is all zeros, which stands for no span.
    #[must_use]
    pub fn new(trace: [u8; 16], span: [u8; 8], is_sampled: bool) -> Option<Self> {
        Self::try_from((trace, span, u8::from(is_sampled))).ok()
    }

    /// The trace.
    #[must_use]
    pub const fn trace(&self) -> [u8; 16] {
        self.trace
    }

    /// The span.
    #[must_use]
    pub const fn span(&self) -> [u8; 8] {
        self.span
    }

    /// Whether the trace is recorded.
    #[must_use]
    pub const fn is_sampled(&self) -> bool {
        self.flags & SAMPLED != 0
    }
}

impl TryFrom<Parts> for TraceContext {
    type Error = NoContext;

    fn try_from((trace, span, flags): Parts) -> Result<Self, NoContext> {
        if trace == [0; 16] || span == [0; 8] {
            return Err(NoContext);
        }
        // Of the other flags nobody here knows what they ask.
        let flags = flags & SAMPLED;
        Ok(Self { trace, span, flags })
    }
}

impl From<TraceContext> for Parts {
    fn from(context: TraceContext) -> Self {
        (context.trace, context.span, context.flags)
    }
}

impl fmt::Display for TraceContext {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (trace, span) = (hex::encode(self.trace), hex::encode(self.span));
        write!(f, "00-{trace}-{span}-{:02x}", self.flags)
    }
}

impl FromStr for TraceContext {
    type Err = NoContext;

    /// Reads a `traceparent`. One of a later version may be longer, and begins in the same way.
    fn from_str(text: &str) -> Result<Self, NoContext> {
        if text.len() > TEXT_LEN_MAX || !text.is_ascii() {
            return Err(NoContext);
        }
        let (head, rest) = text.split_at_checked(TEXT_LEN).ok_or(NoContext)?;
        let mut fields = head.split('-');
        let mut field = || fields.next().ok_or(NoContext);
        let [version] = bytes::<1>(field()?)?;
        let (trace, span) = (bytes(field()?)?, bytes(field()?)?);
        let [flags] = bytes::<1>(field()?)?;
        let ends = match version {
            0 => rest.is_empty(),
            0xff => false,
            _ => rest.is_empty() || rest.starts_with('-'),
        };
        if !ends || fields.next().is_some() {
            return Err(NoContext);
        }
        Self::try_from((trace, span, flags))
    }
}

/// Bytes that are written in lower-case hexadecimal digits.
fn bytes<const N: usize>(text: &str) -> Result<[u8; N], NoContext> {
    let mut bytes = [0; N];
    let is_lower = !text.bytes().any(|byte| byte.is_ascii_uppercase());
    let is_read = is_lower && hex::decode_to_slice(text, &mut bytes).is_ok();
    is_read.then_some(bytes).ok_or(NoContext)
}

/// What a span is to the one above it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SpanKind {
    /// Work within a process.
    Internal,
    /// Carries out what somebody asked for.
    Server,
    /// Asks somebody else.
    Client,
    /// Tells others, and waits for nobody.
    Producer,
}

/// What is noted of a span: a number or a name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SpanValue {
    /// A number.
    Number(u64),
    /// A name, never content.
    Name(String),
}

impl From<u64> for SpanValue {
    fn from(number: u64) -> Self {
        Self::Number(number)
    }
}

impl From<&str> for SpanValue {
    fn from(name: &str) -> Self {
        Self::Name(name.to_owned())
    }
}

/// A span that goes on until it is dropped.
pub trait Span: Send + Sync {
    /// What stands for it in another process, or later in this one.
    fn context(&self) -> TraceContext;

    /// Notes something of it.
    fn note(&mut self, key: &'static str, value: SpanValue);

    /// Notes that what it stands for failed, by the code of the refusal.
    fn fail(&mut self, code: &'static str);
}

/// Who records spans. It never waits, and never fails whoever asks.
pub trait Tracer: Send + Sync + 'static {
    /// Begins a span below another one, or as the first of a trace. None where the trace is not recorded.
    fn begin(
        &self,
        name: &str,
        kind: SpanKind,
        parent: Option<TraceContext>,
    ) -> Option<Box<dyn Span>>;
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const TEXT: &str = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

    #[test]
    fn a_context_is_read_as_it_is_written() {
        let context: TraceContext = TEXT.parse().unwrap();
        assert!(context.is_sampled());
        assert_eq!(context.trace()[..2], [0x0a, 0xf7]);
        assert_eq!(context.span()[6..], [0x33, 0x31]);
        assert_eq!(context.to_string(), TEXT);
        let not_sampled: TraceContext = TEXT.replace("-01", "-00").parse().unwrap();
        assert!(!not_sampled.is_sampled());
    }

    #[test]
    fn what_is_not_of_the_form_is_no_context() {
        let zeros = |part: &str| TEXT.replace(part, &"0".repeat(part.len()));
        let bad = [
            String::new(),
            "00".to_owned(),
            TEXT[..54].to_owned(),
            format!("{TEXT}-"),
            format!("{TEXT}0"),
            format!(" {}", &TEXT[1..]),
            TEXT.to_uppercase(),
            TEXT.replace('-', "_"),
            TEXT.replacen("00-", "ff-", 1),
            TEXT.replace("0af7", "0ag7"),
            TEXT.replace("0af7", "0a-7"),
            zeros("0af7651916cd43dd8448eb211c80319c"),
            zeros("b7ad6b7169203331"),
            format!("{}ä", &TEXT[..53]),
            format!("01{}.", &TEXT[2..]),
            format!("01{}-{}", &TEXT[2..], "0".repeat(TEXT_LEN_MAX)),
        ];
        for text in bad {
            assert_eq!(text.parse::<TraceContext>(), Err(NoContext), "{text:?}");
        }
    }

    #[test]
    fn a_later_version_may_be_longer_and_unknown_flags_are_left_out() {
        let later = format!("cc{}3-what-the-future-will-be-like", &TEXT[2..54]);
        let context: TraceContext = later.parse().unwrap();
        assert_eq!(context.to_string(), TEXT);
    }

    #[test]
    fn a_stored_form_without_a_span_is_refused() {
        let context: TraceContext = TEXT.parse().unwrap();
        let bytes = postcard::to_allocvec(&context).unwrap();
        assert_eq!(bytes.len(), 25);
        assert_eq!(
            postcard::from_bytes::<TraceContext>(&bytes).unwrap(),
            context
        );
        let mut zeros = bytes.clone();
        zeros[16..24].fill(0);
        assert!(postcard::from_bytes::<TraceContext>(&zeros).is_err());
    }

    proptest! {
        #[test]
        fn every_context_reads_back(trace in any::<[u8; 16]>(), span in any::<[u8; 8]>(), sampled: bool) {
            let Some(context) = TraceContext::new(trace, span, sampled) else {
                prop_assert!(trace == [0; 16] || span == [0; 8]);
                return Ok(());
            };
            prop_assert_eq!(context.to_string().parse(), Ok(context));
        }

        #[test]
        fn no_text_makes_it_panic(text in "\\PC{0,80}") {
            if let Ok(context) = text.parse::<TraceContext>() {
                prop_assert!(context.to_string().parse::<TraceContext>().is_ok());
            }
        }
    }
}
