//! An agent: a client with what it remembers, and what it shares with the other agents.
//!
//! Owns memory, typed by whoever remembers. It must not know what the workloads do.

use std::any::{Any, TypeId};
use std::collections::BTreeMap;
use std::sync::Arc;

use parking_lot::Mutex;
use sillok_core::Error;
use sillok_core::command::{Answer, Command};
use sillok_core::principal::PrincipalKind;
use sillok_core::scope::Scope;

use crate::client::{Client, Sent};
use crate::workload::material::{PROJECTS, project_path, scope};

/// One value of each type. It is looked up and never walked, since the order of types is the
/// compiler's.
#[derive(Default)]
struct Memory(BTreeMap<TypeId, Box<dyn Any + Send>>);

impl Memory {
    fn of<T: Any + Default + Send>(&mut self) -> &mut T {
        let value = self.0.entry(TypeId::of::<T>());
        let value = value.or_insert_with(|| Box::new(T::default()));
        value
            .downcast_mut()
            .expect("each value lies under its own type")
    }
}

/// What all agents of a world share.
#[derive(Clone, Default)]
pub(crate) struct Commons(Arc<Mutex<Memory>>);

/// One agent.
pub struct Agent {
    client: Client,
    commons: Commons,
    memory: Memory,
    tasks: u32,
    sent: Vec<(Sent, Option<Answer>)>,
}

impl Agent {
    pub(crate) fn new(client: Client, commons: Commons) -> Self {
        Self {
            client,
            commons,
            memory: Memory::default(),
            tasks: 0,
            sent: Vec::new(),
        }
    }

    /// Its number among the agents.
    #[must_use]
    pub fn number(&self) -> usize {
        self.client.number
    }

    /// What it speaks through.
    pub fn client(&mut self) -> &mut Client {
        &mut self.client
    }

    /// What this agent remembers under a type; the type's default at first.
    pub fn memory<T: Any + Default + Send>(&mut self) -> &mut T {
        self.memory.of()
    }

    /// What all agents of the world share under a type; the type's default at first.
    pub fn shared<T: Any + Default + Send, R>(&self, use_it: impl FnOnce(&mut T) -> R) -> R {
        use_it(self.commons.0.lock().of())
    }

    /// Its newest task, in a worktree of its own.
    #[must_use]
    pub fn task(&self) -> Scope {
        self.earlier_task(0)
    }

    /// The task that it turned to so many tasks before its newest one, or its first.
    #[must_use]
    pub fn earlier_task(&self, back: u8) -> Scope {
        let number = self.number();
        // As many as every world has.
        let project = u8::try_from(number % usize::from(PROJECTS.0)).expect("few projects");
        let home = project_path(project);
        let task = self.tasks.saturating_sub(u32::from(back));
        let task = task.max(self.tasks.min(1));
        scope(&format!("{home}/worktree/w{number}/task/t{task}"))
    }

    /// A task of a name that is none of those it turns to, in its own worktree.
    #[must_use]
    pub fn task_apart(&self, name: &str) -> Scope {
        let task = self.task();
        let (worktree, _) = task
            .as_str()
            .rsplit_once('/')
            .expect("a task lies in a worktree");
        scope(&format!("{worktree}/{name}"))
    }

    /// Turns to a new task, which is not open yet.
    pub fn next_task(&mut self) -> Scope {
        self.tasks += 1;
        self.task()
    }

    /// Gives a command as a principal of the whole organisation and waits until it is known how it
    /// ended: the answer, or none if it was refused.
    pub async fn give(
        &mut self,
        kind: PrincipalKind,
        scope: &Scope,
        command: Command,
    ) -> Option<Answer> {
        self.attempt(kind, scope, command).await.ok()
    }

    /// As [`give`](Self::give), where it matters why it was refused.
    ///
    /// # Errors
    /// The refusal.
    pub async fn attempt(
        &mut self,
        kind: PrincipalKind,
        scope: &Scope,
        command: Command,
    ) -> Result<Answer, Error> {
        let principal = self.client.principal(kind, "org/sim");
        let (result, sent) = self.client.give(principal, scope, command).await;
        self.sent.push((sent, result.as_ref().ok().cloned()));
        result
    }

    /// How many commands it has given.
    #[must_use]
    pub fn sent_count(&self) -> usize {
        self.sent.len()
    }

    /// A command that it gave, counted from the first, with its answer, if it got one.
    #[must_use]
    pub fn answered(&self, number: usize) -> Option<(Sent, Answer)> {
        let (sent, answer) = self.sent.get(number)?;
        Some((sent.clone(), answer.clone()?))
    }

    /// Notes something in the history, for a check at the end.
    pub fn note(&self, kind: &'static str, value: serde_json::Value) {
        self.client.note(kind, value);
    }
}
