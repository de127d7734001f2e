//! What users of a group with views know of it, and what they may hear.

use crate::mutex::prelude::*;
use crate::view::{Stay, View};
use std::format;
use std::string::String;

/// How a user stands, told by commands and events alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum User {
    Outside,
    Waiting(Patience, Access),
    /// Since this stay of its node.
    Inside(Access, Stay),
}

/// A node's user, and what it asked and has no answer to: to give up, or to leave.
#[derive(Clone, Copy, Debug)]
pub(super) struct Account {
    pub(super) user: User,
    asked: Option<Command>,
}

impl Account {
    pub(super) const IDLE: Self = Self { user: User::Outside, asked: None };

    /// What the user asks by this whim: only what makes sense, and nothing while an answer is missing.
    pub(super) const fn whim(&self, pick: usize) -> Option<Command> {
        match (self.user, self.asked, pick % 4) {
            (_, Some(_), _) => None,
            (User::Outside, None, 0 | 1) => Some(Command::Acquire),
            (User::Outside, None, 2) => Some(Command::Try),
            (User::Outside, None, _) => Some(Command::Share),
            (User::Waiting(..), None, 0) => Some(Command::Cancel),
            (User::Inside(..), None, 0) => Some(Command::Release),
            (User::Waiting(..) | User::Inside(..), None, _) => None,
        }
    }

    pub(super) const fn asks(&mut self, command: Command) {
        match command {
            Command::Acquire => self.user = User::Waiting(Patience::Wait, Access::Exclusive),
            Command::Try => self.user = User::Waiting(Patience::Try, Access::Exclusive),
            Command::Share => self.user = User::Waiting(Patience::Wait, Access::Shared),
            Command::Cancel | Command::Release => self.asked = Some(command),
        }
    }

    /// Whether the user is inside and has not asked to leave.
    pub(super) const fn is_at_home(&self) -> bool {
        matches!((self.user, self.asked), (User::Inside(..), None))
    }

    pub(super) const fn is_inside(&self) -> bool {
        matches!(self.user, User::Inside(..))
    }

    pub(super) const fn is_content(&self) -> bool {
        matches!((self.user, self.asked), (User::Outside, None))
    }

    /// The entry is over. That answers one who asked to leave.
    pub(super) const fn lose(&mut self) {
        *self = Self::IDLE;
    }

    /// The user hears of something from a node with this stay and this lease. Tells of an entry.
    pub(super) fn hear(
        &mut self,
        event: Event,
        stay: Option<Stay>,
        lease: Option<Time>,
    ) -> Result<Option<(Access, Fence)>, String> {
        match (self.user, event, self.asked, stay) {
            (User::Waiting(_, access), Event::Entered { fence, until }, _, Some(stay)) if lease == Some(until) => {
                self.user = User::Inside(access, stay);
                return Ok(Some((access, fence)));
            }
            (User::Inside(..), Event::Extended { until }, ..) if lease == Some(until) => {}
            (User::Waiting(Patience::Try, _), Event::Denied, ..) => self.user = User::Outside,
            (User::Waiting(..), Event::Cancelled, Some(Command::Cancel), _)
            | (User::Inside(..), Event::Left, Some(Command::Release), _) => *self = Self::IDLE,
            // Asked to give up while it was still, a node may be inside or denied before it takes that.
            (User::Inside(..), Event::Refused(Refusal::AlreadyInside), Some(Command::Cancel), _)
            | (User::Outside, Event::Refused(Refusal::NotWaiting), Some(Command::Cancel), _) => self.asked = None,
            (user, event, asked, _) => return Err(format!("is {user:?} and asked for {asked:?}, but hears '{event}'")),
        }
        Ok(None)
    }
}

/// How often what a storm is for came about.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Tally {
    /// Entries in later views than the first.
    pub(super) later_entries: u64,
    /// Entries that went on in a view that their holder had not heard of before.
    pub(super) kept: u64,
    pub(super) lost: u64,
    /// Requests that waited when a view came which their node is in, in the same stay.
    pub(super) waited: u64,
    /// The same, in another stay or none.
    pub(super) waited_outside: u64,
    /// Views that somebody heard of without those between.
    pub(super) skipped: u64,
}

impl Tally {
    /// A node, whose user stands like this, hears of a view.
    pub(super) fn news(&mut self, user: User, before: Option<View>, view: &View, id: NodeId) {
        let Some(before) = before else { return };
        let stays = before.stay(id).is_some() && before.stay(id) == view.stay(id);
        self.skipped += u64::from(view.epoch().0 > before.epoch().0 + 1);
        match (user, stays) {
            (User::Outside, _) => {}
            (User::Inside(..), true) => self.kept += 1,
            (User::Inside(..), false) => self.lost += 1,
            (User::Waiting(..), true) => self.waited += 1,
            (User::Waiting(..), false) => self.waited_outside += 1,
        }
    }
}
