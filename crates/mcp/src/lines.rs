//! Messages as lines, each of which has a bound.
//!
//! Owns what becomes of a line that is longer: whoever sent it is told so, by the id that stands in it. What a message says is
//! not read here.

use rmcp::RoleServer;
use rmcp::model::{ErrorData, JsonRpcMessage, RequestId};
use rmcp::service::{RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;
use rmcp::transport::async_rw::AsyncRwTransport;
use tokio::io::{
    AsyncBufReadExt as _, AsyncRead, AsyncWrite, AsyncWriteExt as _, BufReader, DuplexStream,
};
use tokio::sync::mpsc;
use tokio::task::JoinSet;

use crate::limits::MESSAGE_BYTES_MAX;

/// Bytes of lines that were read, and that nobody has parsed yet.
const AHEAD_BYTES: usize = 64 << 10;
/// Lines that were too long, and that nobody was told of yet.
const UNTOLD_MAX: usize = 16;
/// Bytes of an id, as it stands in a message.
const ID_BYTES_MAX: usize = 256;

/// A pair of streams that carries a message a line.
pub(crate) struct Lines<W: AsyncWrite> {
    inner: AsyncRwTransport<RoleServer, DuplexStream, W>,
    too_long: mpsc::Receiver<Option<RequestId>>,
    /// What is being told. It is kept here, since whoever receives may be dropped meanwhile.
    telling: Option<Telling>,
    _reader: JoinSet<()>,
}

type Telling = core::pin::Pin<Box<dyn Future<Output = std::io::Result<()>> + Send>>;

impl<W: AsyncWrite + Send + Unpin + 'static> Lines<W> {
    pub(crate) fn new(read: impl AsyncRead + Send + Unpin + 'static, write: W) -> Self {
        let (ahead, behind) = tokio::io::duplex(AHEAD_BYTES);
        let (untold, too_long) = mpsc::channel(UNTOLD_MAX);
        let mut reader = JoinSet::new();
        reader.spawn(pass_on(read, ahead, untold));
        let inner = AsyncRwTransport::new_server(behind, write);
        Self {
            inner: inner.with_max_line_length(MESSAGE_BYTES_MAX),
            too_long,
            telling: None,
            _reader: reader,
        }
    }

    fn tell(&mut self, id: Option<RequestId>) {
        let why = format!(
            "too_large: a message has at most {MESSAGE_BYTES_MAX} bytes; say it in parts, or over HTTP"
        );
        let error = ErrorData::invalid_request(why, None);
        let told = self.inner.send(JsonRpcMessage::error(error, id));
        self.telling = Some(Box::pin(told));
    }

    fn tell_last(&mut self) -> Option<()> {
        let id = self.too_long.try_recv().ok()?;
        self.tell(id);
        Some(())
    }
}

impl<W: AsyncWrite + Send + Unpin + 'static> Transport<RoleServer> for Lines<W> {
    type Error = std::io::Error;

    fn send(
        &mut self,
        item: TxJsonRpcMessage<RoleServer>,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send + 'static {
        self.inner.send(item)
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleServer>> {
        loop {
            if let Some(telling) = self.telling.as_mut() {
                let told = telling.await;
                self.telling = None;
                told.ok()?;
            }
            tokio::select! {
                biased;
                Some(id) = self.too_long.recv() => self.tell(id),
                message = self.inner.receive() => match message {
                    Some(message) => return Some(message),
                    // The last line may have been one.
                    None => self.tell_last()?,
                },
            }
        }
    }

    async fn close(&mut self) -> Result<(), Self::Error> {
        self.inner.close().await
    }
}

/// Hands lines on whole; of one that is too long, the id alone.
async fn pass_on(
    read: impl AsyncRead + Unpin,
    mut ahead: DuplexStream,
    untold: mpsc::Sender<Option<RequestId>>,
) {
    let mut read = BufReader::new(read);
    let mut line = Vec::new();
    let mut scan: Option<IdScan> = None;
    loop {
        let Ok(came) = read.fill_buf().await else {
            return;
        };
        if came.is_empty() {
            return;
        }
        let end = came.iter().position(|byte| *byte == b'\n');
        let bytes = end.map_or(came.len(), |end| end + 1);
        let piece = &came[..bytes];
        if scan.is_none() && line.len() + bytes > MESSAGE_BYTES_MAX {
            let begun = scan.insert(IdScan::default());
            begun.read(&line);
            line = Vec::new();
        }
        match &mut scan {
            Some(scan) => scan.read(piece),
            None => line.extend_from_slice(piece),
        }
        read.consume(bytes);
        if end.is_none() {
            continue;
        }
        let handed_on = match scan.take() {
            Some(scan) => untold.send(scan.id()).await.is_ok(),
            None => ahead.write_all(&line).await.is_ok(),
        };
        if !handed_on {
            return;
        }
        line.clear();
    }
}

/// Finds the id of a message in the order of its bytes, and keeps nothing else of it: an id may stand behind all that is long.
#[derive(Default)]
struct IdScan {
    depth: usize,
    place: Place,
    /// The key or the value that is being read, of the message itself.
    token: Vec<u8>,
    is_cut: bool,
    /// Whether the key before it is `id`.
    is_id: bool,
    found: Option<Vec<u8>>,
}

/// Where a byte stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Place {
    #[default]
    Outside,
    InString,
    /// Behind the backslash of a string.
    Escaped,
}

impl IdScan {
    fn read(&mut self, bytes: &[u8]) {
        for byte in bytes {
            match self.place {
                Place::Outside => self.outside(*byte),
                Place::InString | Place::Escaped => self.in_string(*byte),
            }
        }
    }

    fn in_string(&mut self, byte: u8) {
        self.keep(byte);
        self.place = match (self.place, byte) {
            (Place::InString, b'\\') => Place::Escaped,
            (Place::InString, b'"') => Place::Outside,
            _ => Place::InString,
        };
    }

    fn outside(&mut self, byte: u8) {
        match byte {
            b'"' => {
                self.place = Place::InString;
                self.keep(byte);
            }
            b'{' | b'[' => self.depth += 1,
            b'}' | b']' => {
                self.value_ends();
                self.depth = self.depth.saturating_sub(1);
            }
            b',' => self.value_ends(),
            b':' if self.depth == 1 => {
                self.is_id = !self.is_cut && self.token == b"\"id\"";
                self.begin();
            }
            _ if byte.is_ascii_whitespace() => {}
            _ => self.keep(byte),
        }
    }

    fn keep(&mut self, byte: u8) {
        if self.depth != 1 {
            return;
        }
        if self.token.len() < ID_BYTES_MAX {
            self.token.push(byte);
        } else {
            self.is_cut = true;
        }
    }

    fn value_ends(&mut self) {
        if self.depth != 1 {
            return;
        }
        if self.is_id && !self.is_cut {
            self.found = Some(core::mem::take(&mut self.token));
        }
        self.is_id = false;
        self.begin();
    }

    fn begin(&mut self) {
        self.token.clear();
        self.is_cut = false;
    }

    fn id(self) -> Option<RequestId> {
        serde_json::from_slice(&self.found?).ok()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::{Value, json};

    use super::*;

    fn id_in(message: &str) -> Option<RequestId> {
        let mut scan = IdScan::default();
        // However it comes in pieces.
        for piece in message.as_bytes().chunks(3) {
            scan.read(piece);
        }
        scan.id()
    }

    #[test]
    fn the_id_of_a_message_is_found_wherever_it_stands_and_no_other() {
        let text = |id: &str| Some(RequestId::String(id.into()));
        let number = |id: i64| Some(RequestId::Number(id));
        let params = r#""params":{"id":9,"a":["id",{"id":"x"}],"s":"\"id\":5,{[\\"}"#;
        for (message, id) in [
            (format!(r#"{{"id":7,{params}}}"#), number(7)),
            (format!(r#"{{{params},"jsonrpc":"2.0","id":7}}"#), number(7)),
            (
                format!("{{{params} , \"id\" : \"a,}}b\" }}\n"),
                text("a,}b"),
            ),
            (format!(r#"{{{params},"method":"id"}}"#), None),
            (format!(r#"{{{params},"id":null}}"#), None),
            (format!(r#"{{{params},"id":{{"a":1}}}}"#), None),
            (
                format!(r#"{{{params},"id":"{}"}}"#, "x".repeat(ID_BYTES_MAX)),
                None,
            ),
            (r#"[{"id":7}]"#.to_owned(), None),
            ("]]}}{".to_owned(), None),
            (String::new(), None),
        ] {
            assert_eq!(id_in(&message), id, "{message}");
        }
    }

    proptest! {
        #[test]
        fn the_id_is_the_one_that_a_parser_finds(id in any::<i64>(), text in any::<String>(), key in "[a-z\"\\\\:,{}\\[\\]]{0,8}", first in any::<bool>()) {
            let other = json!({ "text": text, key: [text, { "id": 1 }] }).to_string();
            let inner = other.trim_start_matches('{').strip_suffix('}').unwrap();
            let message = if first { format!("{{\"id\":{id},{inner}}}") } else { format!("{{{inner},\"id\":{id}}}") };
            let parsed: Value = serde_json::from_str(&message).unwrap();
            prop_assume!(parsed["id"] == id);
            prop_assert_eq!(id_in(&message), Some(RequestId::Number(id)));
        }

        #[test]
        fn no_bytes_break_it(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
            let mut scan = IdScan::default();
            scan.read(&bytes);
            let _ = scan.id();
        }
    }
}
