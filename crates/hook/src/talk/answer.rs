//! Answers: from the bytes of a connection to a status and a body.
//!
//! Owns HTTP/1.1 as far as an answer needs it. Pure: it is given all that has come so far.

use super::Error;
use crate::limits::{ANSWER_BYTES_MAX, HEADERS_MAX};

/// What a server answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// The status.
    pub status: u16,
    /// The body.
    pub body: Vec<u8>,
    /// Whether the connection serves another request.
    pub stays: bool,
}

/// What can be said of what has come so far.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Read {
    /// More is to come.
    Partial,
    /// An interim answer, of so many bytes, before the one that counts.
    Interim(usize),
    /// All of it.
    Whole(Answer),
}

/// How a body ends.
enum Ends {
    At(usize),
    Chunked,
    WithConnection,
}

/// Reads what has come of an answer. `over` says that nothing more comes.
///
/// # Errors
/// [`Error::Foreign`]
pub fn read(bytes: &[u8], over: bool) -> Result<Read, Error> {
    let mut headers = [httparse::EMPTY_HEADER; HEADERS_MAX];
    let mut head = httparse::Response::new(&mut headers);
    let parsed = head.parse(bytes);
    let parsed = parsed.map_err(|_| Error::Foreign("it is not HTTP/1.1"))?;
    let httparse::Status::Complete(at) = parsed else {
        return partial(bytes, over);
    };
    let status = head.code.unwrap_or_default();
    if (100..200).contains(&status) {
        return Ok(Read::Interim(at));
    }
    let stays = head.version == Some(1) && !says(head.headers, "connection", "close");
    let rest = &bytes[at..];
    let body = match ends(head.headers, status)? {
        Ends::At(length) if length > ANSWER_BYTES_MAX => {
            return Err(Error::Foreign("it is too long"));
        }
        Ends::At(length) => rest.get(..length).map(<[u8]>::to_vec),
        Ends::Chunked => dechunked(rest)?,
        Ends::WithConnection => over.then(|| rest.to_vec()),
    };
    match body {
        Some(body) => Ok(Read::Whole(Answer {
            status,
            body,
            stays,
        })),
        None => partial(bytes, over),
    }
}

fn partial(bytes: &[u8], over: bool) -> Result<Read, Error> {
    if over {
        return Err(Error::Foreign("it ends in the middle"));
    }
    if bytes.len() > ANSWER_BYTES_MAX * 2 {
        return Err(Error::Foreign("it is too long"));
    }
    Ok(Read::Partial)
}

fn ends(headers: &[httparse::Header<'_>], status: u16) -> Result<Ends, Error> {
    if status == 204 || status == 304 {
        return Ok(Ends::At(0));
    }
    if says(headers, "transfer-encoding", "chunked") {
        return Ok(Ends::Chunked);
    }
    let Some(length) = value(headers, "content-length") else {
        return Ok(Ends::WithConnection);
    };
    let length = length.trim().parse();
    length
        .map(Ends::At)
        .map_err(|_| Error::Foreign("its length is no number"))
}

fn value<'a>(headers: &'a [httparse::Header<'_>], name: &str) -> Option<&'a str> {
    let found = headers
        .iter()
        .find(|header| header.name.eq_ignore_ascii_case(name))?;
    std::str::from_utf8(found.value).ok()
}

fn says(headers: &[httparse::Header<'_>], name: &str, word: &str) -> bool {
    value(headers, name).is_some_and(|value| {
        let mut words = value.split(',').map(str::trim);
        words.any(|said| said.eq_ignore_ascii_case(word))
    })
}

/// The body that chunks make up; nothing while more is to come.
fn dechunked(mut rest: &[u8]) -> Result<Option<Vec<u8>>, Error> {
    let mut body = Vec::new();
    // Each turn takes a chunk of at least a byte out of what has come.
    loop {
        let size = httparse::parse_chunk_size(rest);
        let size = size.map_err(|_| Error::Foreign("a chunk has no size"))?;
        let httparse::Status::Complete((at, size)) = size else {
            return Ok(None);
        };
        let size = usize::try_from(size).unwrap_or(usize::MAX);
        if size > ANSWER_BYTES_MAX || body.len() + size > ANSWER_BYTES_MAX {
            return Err(Error::Foreign("it is too long"));
        }
        if size == 0 {
            // Trailers are of no use here, but their end is the answer's.
            let end = rest[at..].windows(2).position(|pair| pair == b"\r\n");
            let whole = rest[at..].starts_with(b"\r\n")
                || rest[at..].windows(4).any(|four| four == b"\r\n\r\n");
            return Ok((end.is_some() && whole).then_some(body));
        }
        let Some(chunk) = rest.get(at..at + size + 2) else {
            return Ok(None);
        };
        let (chunk, line) = chunk.split_at(size);
        if line != b"\r\n" {
            return Err(Error::Foreign("a chunk does not end where it should"));
        }
        body.extend(chunk);
        rest = &rest[at + size + 2..];
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const PLAIN: &[u8] = b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nhello";
    const CHUNKED: &[u8] =
        b"HTTP/1.1 201 Created\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n\
        3\r\nhel\r\n2;x=y\r\nlo\r\n0\r\n\r\n";

    fn whole(bytes: &[u8]) -> Answer {
        match read(bytes, false) {
            Ok(Read::Whole(answer)) => answer,
            other => panic!("it is whole: {other:?}"),
        }
    }

    #[test]
    fn a_body_ends_by_its_length_by_chunks_or_with_the_connection() {
        assert_eq!(whole(PLAIN).body, b"hello");
        assert!(whole(PLAIN).stays);
        let chunked = whole(CHUNKED);
        assert_eq!(
            (chunked.status, chunked.body.as_slice()),
            (201, b"hello".as_slice())
        );
        assert!(!chunked.stays);
        let until_end = b"HTTP/1.0 200 OK\r\n\r\nhel";
        assert_eq!(read(until_end, false).unwrap(), Read::Partial);
        assert!(
            matches!(read(until_end, true).unwrap(), Read::Whole(answer) if answer.body == b"hel")
        );
    }

    #[test]
    fn an_interim_answer_is_told_apart() {
        let head = b"HTTP/1.1 100 Continue\r\n\r\n";
        assert_eq!(read(head, false).unwrap(), Read::Interim(head.len()));
    }

    #[test]
    fn what_is_no_answer_is_refused() {
        for wrong in [
            b"SSH-2.0-OpenSSH_9.6\r\n".as_slice(),
            b"HTTP/1.1 200 OK\r\ncontent-length: many\r\n\r\n",
            b"HTTP/1.1 200 OK\r\ncontent-length: 99999999999\r\n\r\n",
            b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n",
            b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n1\r\nabc",
        ] {
            assert!(matches!(read(wrong, false), Err(Error::Foreign(_))));
        }
    }

    proptest! {
        #[test]
        fn any_beginning_of_an_answer_is_partial_and_never_another_answer(cut in 0..CHUNKED.len()) {
            for full in [PLAIN, CHUNKED] {
                let cut = cut.min(full.len() - 1);
                prop_assert_eq!(read(&full[..cut], false).unwrap(), Read::Partial);
                prop_assert!(read(&full[..cut], true).is_err());
            }
        }

        #[test]
        fn no_bytes_make_it_panic(bytes in proptest::collection::vec(any::<u8>(), 0..256), over: bool) {
            let _ = read(&bytes, over);
            let mut headed = b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n".to_vec();
            headed.extend(bytes);
            let _ = read(&headed, over);
        }
    }
}
