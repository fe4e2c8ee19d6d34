//! What the cluster's errors mean to a caller.
//!
//! Owns the one question that matters of a failed commit: whether it may have happened.

use foundationdb::FdbError;
use sillok_store::Error;
use sillok_store::limits::TXN_BYTES_MAX;

/// Why an installation was not opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The cluster file is missing, cannot be read or written, or says something else.
    #[error("it names no cluster")]
    ClusterFile(#[source] FdbError),
    /// The client library that was found is too old for the API that this was built with.
    #[error("the client library libfdb_c is older than 7.3")]
    Library(#[source] FdbError),
    /// What the cluster answered.
    #[error(transparent)]
    Store(#[from] Error),
}

// From FoundationDB's `error_definitions.h`.
/// A file that is not found, cannot be read or written, is none where one is looked for, or is too large.
const FILES: [i32; 5] = [1511, 1513, 1514, 1515, 1516];
const CONNECTION_STRING_INVALID: i32 = 2104;
const API_VERSION_NOT_SUPPORTED: i32 = 2203;
const TRANSACTION_TOO_OLD: i32 = 1007;
const TIMED_OUT: i32 = 1031;
const NOT_COMMITTED: i32 = 1020;
const COMMIT_UNKNOWN_RESULT: i32 = 1021;
const TRANSACTION_TOO_LARGE: i32 = 2101;
/// Errors of the client itself: what was asked for was never sent.
const CLIENT_ERRORS: std::ops::Range<i32> = 2000..2300;

/// What a failed start of the library, or opening of the cluster, is.
pub(crate) fn of_open(error: FdbError) -> OpenError {
    match error.code() {
        API_VERSION_NOT_SUPPORTED => OpenError::Library(error),
        CONNECTION_STRING_INVALID => OpenError::ClusterFile(error),
        code if FILES.contains(&code) => OpenError::ClusterFile(error),
        _ => Error::unavailable("opening the cluster", error).into(),
    }
}

/// What a failed begin is.
pub(crate) fn of_begin(error: FdbError) -> Error {
    Error::unavailable("beginning a transaction", error)
}

/// What a failed read is. The time of a transaction ends after the window of the cluster: it is too old, or the
/// next begin says that nobody answers.
pub(crate) fn of_read(doing: &'static str, error: FdbError) -> Error {
    match error.code() {
        TRANSACTION_TOO_OLD | TIMED_OUT => Error::TooOld,
        _ => Error::unavailable(doing, error),
    }
}

/// What a failed commit is, of a transaction that has so many bytes as they are counted here. Of what is
/// not known for certain the outcome is unknown: a time-out, above all, says nothing.
pub(crate) fn of_commit(error: FdbError, txn_bytes: usize) -> Error {
    match error.code() {
        NOT_COMMITTED => Error::Conflict,
        TRANSACTION_TOO_OLD => Error::TooOld,
        COMMIT_UNKNOWN_RESULT => Error::OutcomeUnknown,
        TRANSACTION_TOO_LARGE => Error::TooLarge {
            what: "transaction",
            limit: TXN_BYTES_MAX,
            got: txn_bytes,
        },
        code if CLIENT_ERRORS.contains(&code) => Error::unavailable("committing", error),
        _ if error.is_retryable_not_committed() => Error::unavailable("committing", error),
        _ => Error::OutcomeUnknown,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CLUSTER_VERSION_CHANGED: i32 = 1039;
    const CANCELLED: i32 = 1025;
    const PROXY_MEMORY_LIMIT: i32 = 1042;
    const KEY_TOO_LARGE: i32 = 2102;

    fn committing(code: i32) -> Error {
        of_commit(FdbError::from_code(code), 7)
    }

    #[test]
    fn what_may_have_happened_is_unknown() {
        for code in [
            COMMIT_UNKNOWN_RESULT,
            TIMED_OUT,
            CLUSTER_VERSION_CHANGED,
            CANCELLED,
        ] {
            assert!(matches!(committing(code), Error::OutcomeUnknown), "{code}");
        }
    }

    #[test]
    fn what_cannot_have_happened_is_known() {
        assert!(matches!(committing(NOT_COMMITTED), Error::Conflict));
        assert!(matches!(committing(TRANSACTION_TOO_OLD), Error::TooOld));
        let too_large = committing(TRANSACTION_TOO_LARGE);
        assert!(matches!(too_large, Error::TooLarge { got: 7, .. }));
        for code in [KEY_TOO_LARGE, PROXY_MEMORY_LIMIT] {
            let refused = committing(code);
            assert!(matches!(refused, Error::Unavailable { .. }), "{code}");
        }
    }

    #[test]
    fn what_is_wrong_with_a_machine_is_no_outage() {
        let opening = |code| of_open(FdbError::from_code(code));
        for code in FILES.into_iter().chain([CONNECTION_STRING_INVALID]) {
            assert!(matches!(opening(code), OpenError::ClusterFile(_)), "{code}");
        }
        let library = opening(API_VERSION_NOT_SUPPORTED);
        assert!(matches!(library, OpenError::Library(_)));
        let store = opening(TIMED_OUT);
        assert!(matches!(store, OpenError::Store(Error::Unavailable { .. })));
    }

    #[test]
    fn a_read_that_came_too_late_is_no_outage() {
        let reading = |code| of_read("reading", FdbError::from_code(code));
        assert!(matches!(reading(TRANSACTION_TOO_OLD), Error::TooOld));
        assert!(matches!(reading(TIMED_OUT), Error::TooOld));
        assert!(matches!(
            reading(PROXY_MEMORY_LIMIT),
            Error::Unavailable { .. }
        ));
        let beginning = of_begin(FdbError::from_code(TIMED_OUT));
        assert!(matches!(beginning, Error::Unavailable { .. }));
    }
}
