//! The state of the clients of a group with views, and the events they may receive.

use crate::mutex::prelude::*;
use crate::view::{Stay, View};
use std::format;
use std::string::String;

/// The state of a client, derived from commands and events alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    Idle,
    Waiting(Patience, Access),
    /// In the critical section. The entry began during this stay of its node in the view.
    Inside(Access, Stay),
}

/// A node's client, and its unanswered cancel or release command.
#[derive(Clone, Copy, Debug)]
pub(super) struct Client {
    pub(super) state: State,
    unanswered: Option<Command>,
}

impl Client {
    pub(super) const IDLE: Self = Self { state: State::Idle, unanswered: None };

    /// Returns a valid command, which this random number selects, or `None` if the client gives no
    /// command now. It gives none while its cancel or release command is unanswered.
    pub(super) const fn choose_command(&self, random: usize) -> Option<Command> {
        match (self.state, self.unanswered, random % 4) {
            (_, Some(_), _) => None,
            (State::Idle, None, 0 | 1) => Some(Command::Acquire),
            (State::Idle, None, 2) => Some(Command::Try),
            (State::Idle, None, _) => Some(Command::Share),
            (State::Waiting(..), None, 0) => Some(Command::Cancel),
            (State::Inside(..), None, 0) => Some(Command::Release),
            (State::Waiting(..) | State::Inside(..), None, _) => None,
        }
    }

    /// Records that the client gives its node this command.
    pub(super) const fn record_command(&mut self, command: Command) {
        match command {
            Command::Acquire => self.state = State::Waiting(Patience::Wait, Access::Exclusive),
            Command::Try => self.state = State::Waiting(Patience::Try, Access::Exclusive),
            Command::Share => self.state = State::Waiting(Patience::Wait, Access::Shared),
            Command::Cancel | Command::Release => self.unanswered = Some(command),
        }
    }

    /// Returns whether the client is in the critical section and has no unanswered command.
    pub(super) const fn can_release(&self) -> bool {
        matches!((self.state, self.unanswered), (State::Inside(..), None))
    }

    pub(super) const fn is_inside(&self) -> bool {
        matches!(self.state, State::Inside(..))
    }

    pub(super) const fn is_idle(&self) -> bool {
        matches!((self.state, self.unanswered), (State::Idle, None))
    }

    /// Ends the entry, as `Lost` reports it. This also answers a pending release.
    pub(super) const fn lose_entry(&mut self) {
        *self = Self::IDLE;
    }

    /// Updates the client's state by an event of its node, which has this stay and this end of its
    /// lease. Returns the access and fence if the event is an entry, and an error if the event does
    /// not fit the state.
    pub(super) fn apply_event(
        &mut self,
        event: Event,
        stay: Option<Stay>,
        lease_end: Option<Time>,
    ) -> Result<Option<(Access, Fence)>, String> {
        match (self.state, event, self.unanswered, stay) {
            (State::Waiting(_, access), Event::Entered { fence, until }, _, Some(stay)) if lease_end == Some(until) => {
                self.state = State::Inside(access, stay);
                return Ok(Some((access, fence)));
            }
            (State::Inside(..), Event::Extended { until }, ..) if lease_end == Some(until) => {}
            (State::Waiting(Patience::Try, _), Event::Denied, ..) => self.state = State::Idle,
            (State::Waiting(..), Event::Cancelled, Some(Command::Cancel), _)
            | (State::Inside(..), Event::Left, Some(Command::Release), _) => *self = Self::IDLE,
            // A node without a lease, or without the reports for its view, queues the cancellation.
            // It may enter or be denied when the view begins, before it handles the cancellation.
            (State::Inside(..), Event::Refused(Refusal::AlreadyInside), Some(Command::Cancel), _)
            | (State::Idle, Event::Refused(Refusal::NotWaiting), Some(Command::Cancel), _) => self.unanswered = None,
            (state, event, unanswered, _) => {
                return Err(format!("is {state:?} with the unanswered command {unanswered:?}, but receives '{event}'"));
            }
        }
        Ok(None)
    }
}

/// How often situations occurred that schedules must cover.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Counts {
    /// Entries in any view but the first.
    pub(super) entries_in_later_views: u64,
    /// Entries that continued in a new view.
    pub(super) kept_entries: u64,
    pub(super) lost_entries: u64,
    /// Requests that waited when a view arrived that continues the stay of their node.
    pub(super) kept_requests: u64,
    /// Requests that waited when a view arrived that does not continue the stay of their node.
    pub(super) interrupted_requests: u64,
    /// Views that a node received without the view before.
    pub(super) skipped_views: u64,
}

impl Counts {
    /// Records that a node, whose client has this state, receives a view.
    pub(super) fn record_view(&mut self, state: State, before: Option<View>, view: &View, id: NodeId) {
        let Some(before) = before else { return };
        let is_same_stay = before.stay(id).is_some() && before.stay(id) == view.stay(id);
        self.skipped_views += u64::from(view.epoch().0 > before.epoch().0 + 1);
        match (state, is_same_stay) {
            (State::Idle, _) => {}
            (State::Inside(..), true) => self.kept_entries += 1,
            (State::Inside(..), false) => self.lost_entries += 1,
            (State::Waiting(..), true) => self.kept_requests += 1,
            (State::Waiting(..), false) => self.interrupted_requests += 1,
        }
    }
}
