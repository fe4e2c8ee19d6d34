//! The transaction of every engine that shares the committer: reads from a fixed view, merged with
//! its own buffered writes.
//!
//! Must not know how a view is kept, nor how a commit becomes durable.

use std::cmp::Ordering;
use std::collections::btree_map;
use std::future::Future;
use std::iter::{Peekable, Rev};

use bytes::Bytes;

use crate::committer::Request;
use crate::write_set::{ReadSet, Write, WriteSet, check_key, sum};
use crate::{Committed, Error, KeyRange, RangeOptions, Read, Stamp, Txn};

/// The committed pairs as of one moment.
pub trait View: Send + Sync {
    /// The value of `key`.
    ///
    /// # Errors
    /// `TooOld` when the moment is no longer kept, `Unavailable`.
    fn get(&self, key: &[u8]) -> Result<Option<Bytes>, Error>;

    /// Feeds the pairs of `range`, from its end when `reverse`, to `scan` as an iterator.
    ///
    /// # Errors
    /// `TooOld` when the moment is no longer kept, and whatever `scan` answers.
    fn scan<R>(
        &self,
        range: &KeyRange,
        reverse: bool,
        scan: impl FnOnce(&mut dyn Iterator<Item = Result<(Bytes, Bytes), Error>>) -> Result<R, Error>,
    ) -> Result<R, Error>;
}

/// What a buffered transaction needs of its engine.
pub trait Engine: Send + Sync {
    /// The engine's view.
    type View: View;

    /// Hands a transaction with writes to the committer, and waits for its answer.
    ///
    /// # Errors
    /// As [`Txn::commit`].
    fn submit(&self, request: Request) -> impl Future<Output = Result<Committed, Error>> + Send;

    /// The generation of the store's stamps.
    fn generation(&self) -> u32;
}

/// A transaction that keeps its writes to itself until it commits.
pub struct BufferedTxn<E: Engine> {
    engine: E,
    view: E::View,
    read_version: u64,
    reads: ReadSet,
    writes: WriteSet,
}

impl<E: Engine> BufferedTxn<E> {
    /// A transaction over `view`, which holds every commit up to counter `read_version`.
    pub fn new(engine: E, view: E::View, read_version: u64) -> Self {
        Self {
            engine,
            view,
            read_version,
            reads: ReadSet::default(),
            writes: WriteSet::default(),
        }
    }

    fn get_now(&mut self, key: &[u8], read: Read) -> Result<Option<Bytes>, Error> {
        check_key(key)?;
        if read == Read::Conflict {
            self.reads.count(key.len());
        }
        let delta = match self.writes.lookup(key) {
            // The committed value plays no part, so another's write to it is no conflict.
            Some(Write::Set(value)) => return Ok(Some(value.clone())),
            Some(Write::Clear) => return Ok(None),
            Some(Write::Add(delta)) => Some(*delta),
            None => None,
        };
        let base = self.view.get(key)?;
        if read == Read::Conflict {
            self.reads.add_key(key);
        }
        Ok(match delta {
            Some(delta) => Some(sum(base.as_ref(), delta)),
            None => base,
        })
    }

    fn range_now(
        &mut self,
        range: &KeyRange,
        options: RangeOptions,
    ) -> Result<Vec<(Bytes, Bytes)>, Error> {
        let range = range.clamped();
        if range.is_empty() || options.limit == 0 {
            return Ok(Vec::new());
        }
        let writes = &self.writes;
        let pairs = self.view.scan(&range, options.reverse, |base| {
            if writes.is_empty() {
                return base.take(options.limit).collect::<Result<Vec<_>, _>>();
            }
            let own = writes.keys().range::<Bytes, _>(&range.begin..&range.end);
            let own = if options.reverse {
                Own::Backward(own.rev())
            } else {
                Own::Forward(own)
            };
            Merge {
                base: base.peekable(),
                own: own.peekable(),
                writes,
                reverse: options.reverse,
            }
            .take(options.limit)
            .collect::<Result<Vec<_>, _>>()
        })?;
        if options.read == Read::Conflict {
            self.reads.add_range(options.looked_at(&range, &pairs));
        }
        Ok(pairs)
    }
}

enum Own<'a> {
    Forward(btree_map::Range<'a, Bytes, Write>),
    Backward(Rev<btree_map::Range<'a, Bytes, Write>>),
}

impl<'a> Iterator for Own<'a> {
    type Item = (&'a Bytes, &'a Write);

    fn next(&mut self) -> Option<Self::Item> {
        match self {
            Self::Forward(range) => range.next(),
            Self::Backward(range) => range.next(),
        }
    }
}

/// The committed pairs with a transaction's own writes laid over them.
struct Merge<'a, B: Iterator<Item = Result<(Bytes, Bytes), Error>>> {
    base: Peekable<B>,
    own: Peekable<Own<'a>>,
    writes: &'a WriteSet,
    reverse: bool,
}

impl<B: Iterator<Item = Result<(Bytes, Bytes), Error>>> Iterator for Merge<'_, B> {
    type Item = Result<(Bytes, Bytes), Error>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let order = match (self.base.peek(), self.own.peek()) {
                (None, None) => return None,
                (Some(Err(_)), _) => return self.base.next(),
                (Some(Ok(_)), None) => Ordering::Less,
                (None, Some(_)) => Ordering::Greater,
                (Some(Ok((base, _))), Some((own, _))) if self.reverse => (*own).cmp(base),
                (Some(Ok((base, _))), Some((own, _))) => base.cmp(own),
            };
            let committed = if order == Ordering::Greater {
                None
            } else {
                self.base.next()
            };
            let own = if order == Ordering::Less {
                None
            } else {
                self.own.next()
            };
            let pair = match (committed, own) {
                (Some(Ok((key, value))), None) if !self.writes.cleared().contains(&key) => {
                    Some((key, value))
                }
                (_, Some((key, Write::Set(value)))) => Some((key.clone(), value.clone())),
                // A pending addition never lies in a cleared range: there it became a `Set`.
                (Some(Ok((key, base))), Some((_, Write::Add(delta)))) => {
                    Some((key, sum(Some(&base), *delta)))
                }
                (None, Some((key, Write::Add(delta)))) => Some((key.clone(), sum(None, *delta))),
                _ => None,
            };
            if let Some(pair) = pair {
                return Some(Ok(pair));
            }
        }
    }
}

impl<E: Engine> Txn for BufferedTxn<E> {
    async fn get(&mut self, key: &[u8], read: Read) -> Result<Option<Bytes>, Error> {
        self.get_now(key, read)
    }

    async fn range(
        &mut self,
        range: &KeyRange,
        options: RangeOptions,
    ) -> Result<Vec<(Bytes, Bytes)>, Error> {
        self.range_now(range, options)
    }

    fn set(&mut self, key: impl Into<Bytes>, value: impl Into<Bytes>) {
        self.writes.set(key.into(), value.into());
    }

    fn clear(&mut self, key: impl Into<Bytes>) {
        self.writes.clear(key.into());
    }

    fn clear_range(&mut self, range: &KeyRange) {
        self.writes.clear_range(range);
    }

    fn add(&mut self, key: impl Into<Bytes>, delta: i64) {
        self.writes.add(key.into(), delta);
    }

    fn set_stamped(&mut self, prefix: impl Into<Bytes>, value: impl Into<Bytes>) {
        self.writes.set_stamped(prefix.into(), value.into());
    }

    fn conflict_on(&mut self, range: &KeyRange) {
        let range = range.clamped();
        debug_assert!(
            range.is_empty() || !self.writes.touches(&range),
            "a conflict is declared before the range is written to"
        );
        self.reads.add_range(range);
    }

    async fn commit(self) -> Result<Committed, Error> {
        let Self {
            engine,
            view,
            read_version,
            reads,
            writes,
        } = self;
        writes.check(&reads)?;
        if writes.is_empty() {
            let generation = engine.generation();
            let stamp = Stamp {
                generation,
                counter: read_version,
                index: 0,
            };
            return Ok(Committed { stamp });
        }
        // Nothing is read any more: what the view holds back may go before the wait.
        drop(view);
        engine
            .submit(Request {
                read_version,
                reads,
                writes,
            })
            .await
    }
}
