//! The written form of what nodes tell one another: a command that one hands to another, what that one
//! makes of it, and word of commits.
//!
//! Owns the form and its seal. Whoever reaches the bus can send anything to a node, so what is not
//! sealed with the cluster's key counts for nothing: the key lies in a file that only nodes have.
//! A seal holds for one call: an answer to another call, or of an earlier time, does not open. A request
//! opens at any time; [`crate::calls`] says whether it is to be begun.
//!
//! ```text
//! request: version 1 · call 16 · seal 32 · body (postcard)
//!          version 2 to 5 · call 16 · seal 32 · body and trace context (postcard)
//! reply:   version 1 · seal 32 · body (postcard)
//! message: version 1 · seal 32 · body (postcard)
//! news:    version 1 · seal 32 · body (postcard)
//! ```
//! The seal is BLAKE3, keyed, over everything else; that of a reply is over the request's seal too. What
//! is larger than a message of the bus goes in parts, each with a seal of its own (see [`crate::parts`]).

use core::fmt;
use std::sync::Arc;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use sillok_core::channel::Channel;
use sillok_core::command::Submission;
use sillok_core::membership::WireVersion;
use sillok_core::ports::Forwarded;
use sillok_core::slot::Slot;
use sillok_core::trace::TraceContext;

use crate::message::Message;

/// The newest version of what nodes tell one another. It is read as well as the versions before it, and
/// is written once all nodes read it.
pub const VERSION: u8 = WireVersion::NEWEST.get();
/// The version of everything that has had one form so far: parts, replies, messages and news.
const FIRST_VERSION: u8 = WireVersion::FIRST.get();
/// Bytes of a call's name.
pub const CALL_BYTES: usize = 16;
/// Bytes of a seal.
pub(crate) const SEAL_BYTES: usize = 32;
/// Bytes before a request's body.
const REQUEST_HEAD_BYTES: usize = 1 + CALL_BYTES + SEAL_BYTES;
/// Bytes before the body of a reply, and of a message.
const HEAD_BYTES: usize = 1 + SEAL_BYTES;

const REQUEST_CONTEXT: &str = "sillok 2026 request between nodes";
const REPLY_CONTEXT: &str = "sillok 2026 reply between nodes";
const MESSAGE_CONTEXT: &str = "sillok 2026 message of a stream";
const LOG_MESSAGE_CONTEXT: &str = "sillok 2026 message of the stream of log records";
const NEWS_CONTEXT: &str = "sillok 2026 news between nodes";
const PART_CONTEXT: &str = "sillok 2026 part of what nodes tell one another";

/// What shows that a node wrote something. It is never printed.
#[derive(Clone, PartialEq, Eq)]
pub struct ClusterKey {
    request: [u8; 32],
    reply: [u8; 32],
    message: [u8; 32],
    log_message: [u8; 32],
    news: [u8; 32],
    part: [u8; 32],
}

impl ClusterKey {
    /// The key with these bytes, which have to be random.
    #[must_use]
    pub fn new(bytes: &[u8; 32]) -> Self {
        Self {
            request: blake3::derive_key(REQUEST_CONTEXT, bytes),
            reply: blake3::derive_key(REPLY_CONTEXT, bytes),
            message: blake3::derive_key(MESSAGE_CONTEXT, bytes),
            log_message: blake3::derive_key(LOG_MESSAGE_CONTEXT, bytes),
            news: blake3::derive_key(NEWS_CONTEXT, bytes),
            part: blake3::derive_key(PART_CONTEXT, bytes),
        }
    }

    /// What seals the messages of a channel: what is played again on another one counts for nothing.
    const fn of(&self, channel: Channel) -> &[u8; 32] {
        match channel {
            Channel::Events => &self.message,
            Channel::Log => &self.log_message,
        }
    }
}

impl fmt::Debug for ClusterKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ClusterKey(..)")
    }
}

/// A call by its name, which its caller draws at random.
pub type Call = [u8; CALL_BYTES];

/// Bytes of the name of a node's run.
pub const RUN_BYTES: usize = 16;

/// A moment of a node's run, by that node's own clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Moment {
    /// The run, which draws its name at random.
    pub run: [u8; RUN_BYTES],
    /// How long it has lasted, in ms.
    pub ms: u64,
}

/// What a node asks of another one.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Request {
    /// Which moment it is there.
    Moment,
    /// To carry out a command.
    Command(Handover),
}

/// A command on its way to the node that may own its slot.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Handover {
    /// The moment at which it was sent, of the node that it is sent to.
    pub at: Moment,
    /// How long the caller waits for an answer, in ms. What is begun later than that is of no use to it.
    pub wait_ms: u32,
    /// The command, and who gives it.
    pub submission: Arc<Submission>,
}

/// What a node answers another one.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Reply {
    /// Which moment it is here.
    pub now: Moment,
    /// What became of the command. None if none came, or none that was sent a short while ago to this run
    /// of the node: nothing was done.
    pub forwarded: Option<Forwarded>,
}

/// A request that a node of this cluster wrote.
#[derive(Clone, Debug, PartialEq)]
pub struct Opened {
    /// The name of the call.
    pub call: Call,
    /// What is asked.
    pub request: Request,
    /// The trace that it belongs to.
    pub trace: Option<TraceContext>,
    /// What seals the answer.
    pub seal: RequestSeal,
}

/// What seals the answer to a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RequestSeal([u8; SEAL_BYTES]);

/// What a node tells all others: where something was committed. It says where to look, and nothing of
/// what is there.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct News {
    /// The run of the node that tells it, which hears its own news too.
    pub run: [u8; RUN_BYTES],
    /// The slots, in order.
    pub slots: Vec<Slot>,
}

/// Why something that came over the bus counts for nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refused {
    /// It is too short, or its body cannot be read.
    #[error("it is malformed")]
    Malformed,
    /// It was written by a later version.
    #[error("it has version {0}, which this node does not read")]
    Version(u8),
    /// No node of this cluster wrote it, or it belongs to another call.
    #[error("its seal is not that of this cluster and call")]
    Seal,
    /// It is larger than anything a node hands over, or too much waits for its rest.
    #[error("it is too large, or too much waits for its rest")]
    TooMuch,
}

/// The sealed form of a request in a version, and what its answer has to be sealed with. The first version
/// has no place for a trace context.
#[must_use]
pub fn seal_request(
    key: &ClusterKey,
    call: &Call,
    request: &Request,
    trace: Option<TraceContext>,
    version: u8,
) -> (Vec<u8>, RequestSeal) {
    assert!(
        (FIRST_VERSION..=VERSION).contains(&version),
        "only known versions are written"
    );
    let body = if version == FIRST_VERSION {
        postcard::to_allocvec(request)
    } else {
        postcard::to_allocvec(&(request, trace))
    };
    let body = body.expect("a request has a written form");
    let seal = seal_of(&key.request, &[&[version], call, &body]);
    let mut bytes = Vec::with_capacity(REQUEST_HEAD_BYTES + body.len());
    bytes.push(version);
    bytes.extend_from_slice(call);
    bytes.extend_from_slice(&seal);
    bytes.extend_from_slice(&body);
    (bytes, RequestSeal(seal))
}

/// A request, if a node of this cluster wrote it, in a version up to `reads`.
///
/// # Errors
/// Why it counts for nothing.
pub fn open_request(key: &ClusterKey, bytes: &[u8], reads: u8) -> Result<Opened, Refused> {
    let (version, rest) = bytes.split_first().ok_or(Refused::Malformed)?;
    check_version(*version, reads.min(VERSION))?;
    let (call, rest) = rest
        .split_first_chunk::<CALL_BYTES>()
        .ok_or(Refused::Malformed)?;
    let (seal, body) = rest
        .split_first_chunk::<SEAL_BYTES>()
        .ok_or(Refused::Malformed)?;
    let expected = seal_of(&key.request, &[&[*version], call, body]);
    check_seal(&expected, seal)?;
    let read = if *version == FIRST_VERSION {
        postcard::from_bytes(body).map(|request| (request, None))
    } else {
        postcard::from_bytes(body)
    };
    let (request, trace) = read.map_err(|_| Refused::Malformed)?;
    Ok(Opened {
        call: *call,
        request,
        trace,
        seal: RequestSeal(*seal),
    })
}

/// The sealed form of the answer to a request.
#[must_use]
pub fn seal_reply(key: &ClusterKey, request: &RequestSeal, reply: &Reply) -> Vec<u8> {
    sealed(&key.reply, &request.0, reply)
}

/// The answer to a request, if the node that was asked wrote it.
///
/// # Errors
/// Why it counts for nothing.
pub fn open_reply(key: &ClusterKey, request: &RequestSeal, bytes: &[u8]) -> Result<Reply, Refused> {
    opened(&key.reply, &request.0, bytes)
}

/// The sealed form of word of a commit, on a channel.
#[must_use]
pub fn seal_message(key: &ClusterKey, channel: Channel, message: &Message) -> Vec<u8> {
    sealed(key.of(channel), &[], message)
}

/// Word of a commit, if a node of this cluster wrote it for this channel.
///
/// # Errors
/// Why it counts for nothing.
pub fn open_message(key: &ClusterKey, channel: Channel, bytes: &[u8]) -> Result<Message, Refused> {
    opened(key.of(channel), &[], bytes)
}

/// The sealed form of news. That of all slots fits in one message of the bus.
#[must_use]
pub fn seal_news(key: &ClusterKey, news: &News) -> Vec<u8> {
    sealed(&key.news, &[], news)
}

/// News, if a node of this cluster wrote it.
///
/// # Errors
/// Why it counts for nothing.
pub fn open_news(key: &ClusterKey, bytes: &[u8]) -> Result<News, Refused> {
    opened(&key.news, &[], bytes)
}

/// The seal of a part of what nodes tell one another.
pub(crate) fn seal_part(key: &ClusterKey, head: &[u8], content: &[u8]) -> [u8; SEAL_BYTES] {
    seal_of(&key.part, &[&[FIRST_VERSION], head, content])
}

/// Whether a node of this cluster wrote a part.
pub(crate) fn check_part(
    key: &ClusterKey,
    head: &[u8],
    content: &[u8],
    seal: &[u8; SEAL_BYTES],
) -> Result<(), Refused> {
    check_seal(&seal_part(key, head, content), seal)
}

/// A body behind its head, sealed together with what it belongs to.
fn sealed(key: &[u8; 32], of: &[u8], body: &impl Serialize) -> Vec<u8> {
    let body = postcard::to_allocvec(body).expect("what nodes tell one another has a written form");
    let seal = seal_of(key, &[&[FIRST_VERSION], of, &body]);
    let mut bytes = Vec::with_capacity(HEAD_BYTES + body.len());
    bytes.push(FIRST_VERSION);
    bytes.extend_from_slice(&seal);
    bytes.extend_from_slice(&body);
    bytes
}

fn opened<T: DeserializeOwned>(key: &[u8; 32], of: &[u8], bytes: &[u8]) -> Result<T, Refused> {
    let (version, rest) = bytes.split_first().ok_or(Refused::Malformed)?;
    check_version(*version, FIRST_VERSION)?;
    let (seal, body) = rest
        .split_first_chunk::<SEAL_BYTES>()
        .ok_or(Refused::Malformed)?;
    let expected = seal_of(key, &[&[*version], of, body]);
    check_seal(&expected, seal)?;
    postcard::from_bytes(body).map_err(|_| Refused::Malformed)
}

const fn check_version(version: u8, reads: u8) -> Result<(), Refused> {
    if version == 0 {
        return Err(Refused::Malformed);
    }
    if version > reads {
        return Err(Refused::Version(version));
    }
    Ok(())
}

/// Compares in constant time, which BLAKE3's own type does.
fn check_seal(expected: &[u8; SEAL_BYTES], got: &[u8; SEAL_BYTES]) -> Result<(), Refused> {
    if blake3::Hash::from_bytes(*expected) == blake3::Hash::from_bytes(*got) {
        return Ok(());
    }
    Err(Refused::Seal)
}

fn seal_of(key: &[u8; 32], parts: &[&[u8]]) -> [u8; SEAL_BYTES] {
    let mut hasher = blake3::Hasher::new_keyed(key);
    for part in parts {
        hasher.update(part);
    }
    *hasher.finalize().as_bytes()
}

#[cfg(test)]
mod tests;
