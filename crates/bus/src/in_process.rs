//! The bus inside one process.
//!
//! Owns the fan-out to listeners. A listener that falls behind is told so, and reads the store for
//! what it missed: a slow listener never holds up a writer.

use sillok_core::slot::Slot;
use tokio::sync::broadcast;

use crate::message::Message;

/// Messages that wait for the slowest listener before it is told that it missed some.
const BACKLOG: usize = 4_096;

/// A bus that reaches the listeners of this process.
#[derive(Clone, Debug)]
pub struct InProcessBus {
    sender: broadcast::Sender<Message>,
}

/// What a listener hears.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Heard {
    /// A message.
    Message(Message),
    /// Some were missed: the store knows which.
    Missed,
    /// The bus is gone.
    Closed,
}

/// One listener to all slots.
#[derive(Debug)]
pub struct Listener {
    receiver: broadcast::Receiver<Message>,
}

impl Default for InProcessBus {
    fn default() -> Self {
        Self {
            sender: broadcast::Sender::new(BACKLOG),
        }
    }
}

impl InProcessBus {
    /// Tells every listener. Without listeners nothing happens.
    pub fn publish(&self, message: Message) {
        debug_assert!(message.previous < message.stamp, "a slot's messages rise");
        // An error only says that nobody listens.
        let _ = self.sender.send(message);
    }

    /// A listener to everything that is published from now on.
    #[must_use]
    pub fn listen(&self) -> Listener {
        Listener {
            receiver: self.sender.subscribe(),
        }
    }

    /// How many listen.
    #[must_use]
    pub fn listeners(&self) -> usize {
        self.sender.receiver_count()
    }
}

impl Listener {
    /// Waits for what is heard next.
    pub async fn next(&mut self) -> Heard {
        match self.receiver.recv().await {
            Ok(message) => Heard::Message(message),
            Err(broadcast::error::RecvError::Lagged(_)) => Heard::Missed,
            Err(broadcast::error::RecvError::Closed) => Heard::Closed,
        }
    }

    /// Waits until something is heard about one of `slots`, or something was missed; false when the
    /// bus is gone.
    pub async fn wake_for(&mut self, concerns: impl Fn(Slot) -> bool) -> bool {
        loop {
            match self.next().await {
                Heard::Message(message) if concerns(message.slot) => return true,
                Heard::Message(_) => {}
                Heard::Missed => return true,
                Heard::Closed => return false,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use sillok_core::id::Seq;
    use sillok_core::scope::Scope;
    use sillok_core::stamp::Stamp;

    use super::*;

    fn message(counter: u64) -> Message {
        let scope = Scope::parse("org/a").unwrap();
        let stamp = |counter| Stamp {
            generation: 1,
            counter,
            index: 0,
        };
        Message {
            slot: Slot::of(&scope),
            stamp: stamp(counter),
            previous: stamp(counter - 1),
            scope,
            first: Seq::new(counter),
            last: Seq::new(counter),
        }
    }

    #[tokio::test]
    async fn listeners_hear_in_order_and_only_from_when_they_listen() {
        let bus = InProcessBus::default();
        bus.publish(message(1));
        let mut listener = bus.listen();
        bus.publish(message(2));
        bus.publish(message(3));
        assert_eq!(listener.next().await, Heard::Message(message(2)));
        assert_eq!(listener.next().await, Heard::Message(message(3)));
    }

    #[tokio::test]
    async fn a_slow_listener_is_told_that_it_missed_some() {
        let bus = InProcessBus::default();
        let mut listener = bus.listen();
        for counter in 1..=(BACKLOG as u64 + 10) {
            bus.publish(message(counter));
        }
        assert_eq!(listener.next().await, Heard::Missed);
        drop(bus);
        assert!(matches!(listener.next().await, Heard::Message(_)));
    }
}
