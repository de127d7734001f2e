//! The users of the multicast family: each of some has so many messages to send, one after the other, whenever it likes.
//!
//! Nobody need send. What a user has sent and was told, it remembers in order, and shows; every property is judged by what
//! all users show. The dead show what they had been told: where delivery is uniform, that binds the survivors.

use super::judges;
use super::memoir::{self, MOST_MESSAGES, MOST_ROOM, Memoir, Said};
use crate::multicast::run::{Promises, Property as Promised};
use quorate_check::{CheckError, Judge, Judged, News, Offer, Property, Story, Users};
use quorate_core::multicast::{Board, Command, Event, MessageId, Payload, State};
use quorate_core::{Epoch, Group, NodeId, View};

#[derive(Clone, Debug)]
pub struct Senders {
    senders: Group,
    messages: u8,
    promises: Promises,
}

impl Senders {
    /// These users have so many messages together, the first ones one more if they cannot be shared out evenly; and so much is
    /// promised of them. The members keep a [`Board`] together.
    pub fn new(senders: Group, messages: u8, promises: Promises) -> Result<Self, CheckError> {
        let all = usize::from(messages);
        let most_of_one = all.div_ceil(senders.len().max(1));
        if all > MOST_MESSAGES || all + most_of_one > MOST_ROOM {
            return Err(CheckError::TooManyMessages { most: MOST_MESSAGES, of_one: MOST_ROOM / 2 });
        }
        Ok(Self { senders, messages, promises })
    }

    fn share(&self, node: NodeId) -> u8 {
        let Some(place) = self.senders.iter().position(|sender| sender == node) else { return 0 };
        let count = self.senders.len();
        let (each, rest) = (usize::from(self.messages) / count, usize::from(self.messages) % count);
        (each + usize::from(place < rest)) as u8
    }

    fn before(&self, node: NodeId) -> u8 {
        self.senders.iter().filter(|sender| *sender < node).map(|sender| self.share(sender)).sum()
    }

    /// What a sender says: its number, and a letter that says which of its messages it is.
    fn payload(node: NodeId, place: u8) -> Payload {
        Payload::from(format!("{node}{}", char::from(b'a'.saturating_add(place))))
    }

    /// Which of all messages this is, if any user would send it, from 1.
    fn number(&self, id: MessageId, payload: &Payload) -> Option<u8> {
        let place = (0..self.share(id.sender)).find(|place| Self::payload(id.sender, *place) == *payload)?;
        Some(self.before(id.sender) + place + 1)
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Sender {
    node: NodeId,
    standing: Standing,
    /// How many messages it has in all, and how many of them it has sent.
    messages: u8,
    sent: u8,
    view: Epoch,
    board: Board,
    memoir: Memoir,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Standing {
    Free,
    Asked,
    Waiting,
    Silent,
    Gone,
}

impl Sender {
    fn is_told(&mut self, event: &Event, users: &Senders) {
        match event {
            Event::Sent { .. } => {
                self.sent += 1;
                self.standing = Standing::Free;
                self.memoir.add(Said::Sends);
            }
            Event::Wait { .. } => self.standing = Standing::Waiting,
            Event::Ready { .. } => self.may_ask(),
            Event::Delivered { id, payload } => {
                // What is delivered in a view was sent in it.
                if id.view != self.view {
                    self.memoir.add(Said::Astray);
                }
                self.board.apply(*id, payload);
                self.memoir.add(users.number(*id, payload).map_or(Said::Foreign, Said::Delivers));
            }
            Event::View { view, state, .. } => {
                // What members keep together is what they were told: in this group nobody comes in later.
                if view.epoch() <= self.view || *state != self.board.digest() || !view.members().contains(self.node) {
                    self.memoir.add(Said::Astray);
                }
                self.view = view.epoch();
                self.memoir.begin(view.epoch());
                self.may_ask();
            }
            Event::Out { .. } => self.standing = Standing::Gone,
            Event::Left { .. } | Event::Refused(_) => self.standing = Standing::Silent,
        }
    }

    fn may_ask(&mut self) {
        if self.standing == Standing::Waiting {
            self.standing = Standing::Free;
        }
    }
}

impl Users for Senders {
    type Command = Command;
    type Event = Event;
    type User = Sender;

    fn begin(&self, node: NodeId) -> Sender {
        Sender {
            node,
            standing: Standing::Free,
            messages: self.share(node),
            sent: 0,
            view: if self.promises.views { Epoch(0) } else { View::FIRST },
            board: Board::default(),
            memoir: Memoir::default(),
        }
    }

    fn offers(&self, user: &Sender) -> Vec<Offer<Command>> {
        match user.standing {
            Standing::Free if user.sent < user.messages => {
                let command = Command::send(Self::payload(user.node, user.sent));
                vec![Offer { command, obliged: false }]
            }
            Standing::Free | Standing::Asked | Standing::Waiting | Standing::Silent | Standing::Gone => Vec::new(),
        }
    }

    fn hear(&self, user: &mut Sender, news: News<'_, Command, Event>, _story: &mut Story) {
        match news {
            News::Commands(_) => user.standing = Standing::Asked,
            News::Told(event) => user.is_told(event, self),
            News::Crashed => {
                user.standing = Standing::Gone;
                // Nothing more is compared with it.
                user.board = Board::default();
            }
            // Nobody is taken back, and what it asked would be refused.
            News::Restarted | News::Gone(_) | News::Back(_) => {}
        }
    }

    fn waits(&self, user: &Sender) -> bool {
        matches!(user.standing, Standing::Asked | Standing::Waiting)
    }

    fn facet(&self, user: &Sender, acts: bool) -> u64 {
        let is_gone = !acts || user.standing == Standing::Gone;
        user.memoir.shown(user.messages, is_gone, self.promises.views)
    }

    fn accord(&self) -> Option<Judge> {
        self.promises.delivered.then_some(judges::delivered)
    }

    fn most_changes(&self) -> Option<u8> {
        Some(memoir::MOST_CHANGES)
    }

    fn properties(&self) -> Vec<Property> {
        let total = if self.promises.uniform { judges::total_of_all } else { judges::total_of_survivors };
        let judged = |promised| match promised {
            Promised::Integrity => Judged::ByState(judges::integrity),
            Promised::Agreement => Judged::ByEnds(judges::agreement),
            Promised::Validity => Judged::ByEnds(judges::validity),
            Promised::Fifo => Judged::ByState(judges::fifo),
            Promised::Causal => Judged::ByState(judges::causal),
            Promised::Total => Judged::ByState(total),
            Promised::Uniform => Judged::ByEnds(judges::uniform),
            Promised::ViewSynchrony => Judged::ByState(judges::view_synchrony),
            Promised::Delivered => Judged::ByFairRuns,
        };
        let promised = Promised::ALL.into_iter().filter(|promised| self.promises.has(*promised));
        promised.map(|promised| Property { name: promised.name(), judged: judged(promised) }).collect()
    }
}
