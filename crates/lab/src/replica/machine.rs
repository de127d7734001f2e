//! State machines that the lab's clients can use and its judges can check.

use quorate_journal::rng::SeededRng;
use quorate_replica::StateMachine;
use quorate_replica::sessions::Sessions;
use quorate_sim::linear::Object;
use std::fmt;

/// The commands of replicas with this machine and sessions.
pub(super) type CommandOf<M> = quorate_replica::Command<Sessions<M>>;
/// The events of replicas with this machine and sessions.
pub(super) type EventOf<M> = quorate_replica::Event<Sessions<M>>;

/// A state machine that the lab's clients can use and its judges can check.
pub trait TestedMachine: StateMachine {
    /// The sequential specification of one part of the state.
    type Specification: Object<Operation = Operation<Self>, Answer = ObservedAnswer<Self>> + Default;
    /// What a client remembers of the state, to draw useful operations.
    type Knowledge: Default;

    /// Draws an operation. No two changes of a run get the same `unique` number.
    fn draw_operation(knowledge: &Self::Knowledge, keys: u64, unique: u64, rng: &mut SeededRng) -> Operation<Self>;

    /// Records an answer to an operation of the client.
    fn learn(knowledge: &mut Self::Knowledge, operation: &Operation<Self>, answer: &Self::Answer);

    /// The part of the state that an operation is about, because parts are judged separately.
    /// `None` for an operation whose answer says nothing about the state.
    fn part(operation: &Operation<Self>) -> Option<u64>;
}

/// An operation of a client.
pub enum Operation<M: StateMachine> {
    Query(M::Query),
    Change(M::Command),
}

impl<M: StateMachine> Operation<M> {
    pub(super) fn is_change(&self) -> bool {
        matches!(self, Self::Change(_))
    }
}

/// An answer as a history shows it.
pub struct ObservedAnswer<M: StateMachine>(pub(super) M::Answer);

// Derives would require the traits of the machine itself.
impl<M: StateMachine> Clone for Operation<M> {
    fn clone(&self) -> Self {
        match self {
            Self::Query(query) => Self::Query(query.clone()),
            Self::Change(command) => Self::Change(command.clone()),
        }
    }
}

impl<M: StateMachine> PartialEq for Operation<M> {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Query(query), Self::Query(other)) => query == other,
            (Self::Change(command), Self::Change(other)) => command == other,
            (Self::Query(_) | Self::Change(_), _) => false,
        }
    }
}

impl<M: StateMachine> Eq for Operation<M> {}

impl<M: StateMachine> fmt::Display for Operation<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&match self {
            Self::Query(query) => M::describe_query(query),
            Self::Change(command) => M::describe_command(command),
        })
    }
}

impl<M: StateMachine> PartialEq for ObservedAnswer<M> {
    fn eq(&self, other: &Self) -> bool {
        self.0 == other.0
    }
}

impl<M: StateMachine> fmt::Display for ObservedAnswer<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&M::describe_answer(&self.0))
    }
}
