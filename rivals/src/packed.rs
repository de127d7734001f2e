//! A compact model of Ricart–Agrawala (1981), whose replies name no request, for stateright.
//!
//! RA-1  a node with rounds left requests entry  → advance the clock, send every peer a request
//!                                                 with its value
//! RA-2  a request arrives                       → update the clock; reply, or defer if in the
//!                                                 critical section or if our request is older
//! RA-3  the last missing reply arrives          → enter
//! RA-4  a node releases                         → reply to all deferred requests
//!
//! Messages arrive in any order, each exactly once. A state is `Copy` and owns no heap memory: its
//! network has one slot for a request and one for a reply from each node to each other. This is not
//! a limit of the model: a node requests entry again only after it has entered and released, which
//! needs the reply of every peer, and a peer replies to a request only after it has arrived. So all
//! messages of an earlier round have arrived by then.

use stateright::{Model, Property};
use std::hash::{Hash, Hasher};

/// A group of `NODES` nodes, each of which enters `rounds` times.
#[derive(Clone, Copy, Debug)]
pub struct RicartAgrawala<const NODES: usize> {
    rounds: u8,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct State<const NODES: usize> {
    pub nodes: [Node; NODES],
    /// The clock of the request in flight, by receiver and sender; 0 for none, because no request
    /// has clock 0.
    pub requests: [[u8; NODES]; NODES],
    /// The senders of replies in flight to each node, one bit each.
    pub replies: [u8; NODES],
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Node {
    pub clock: u8,
    pub phase: Phase,
    /// The nodes whose requests are deferred, one bit each.
    pub deferred: u8,
    pub rounds_left: u8,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    Idle,
    Waiting {
        stamp: u8,
        /// The nodes whose replies are missing, one bit each.
        missing: u8,
    },
    Inside {
        stamp: u8,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    Acquire(u8),
    Release(u8),
    Request { from: u8, to: u8 },
    Reply { from: u8, to: u8 },
}

impl<const NODES: usize> RicartAgrawala<NODES> {
    pub const fn new(rounds: u8) -> Self {
        Self { rounds }
    }
}

impl<const NODES: usize> Model for RicartAgrawala<NODES> {
    type State = State<NODES>;
    type Action = Action;

    fn init_states(&self) -> Vec<Self::State> {
        let node = Node { clock: 0, phase: Phase::Idle, deferred: 0, rounds_left: self.rounds };
        vec![State { nodes: [node; NODES], requests: [[0; NODES]; NODES], replies: [0; NODES] }]
    }

    fn actions(&self, state: &Self::State, actions: &mut Vec<Action>) {
        for (index, node) in (0..).zip(&state.nodes) {
            match node.phase {
                Phase::Idle if node.rounds_left > 0 => actions.push(Action::Acquire(index)),
                Phase::Idle | Phase::Waiting { .. } => {}
                Phase::Inside { .. } => actions.push(Action::Release(index)),
            }
        }
        for (to, (requests, replies)) in (0..).zip(state.requests.iter().zip(state.replies)) {
            for (from, clock) in (0..).zip(requests) {
                if *clock != 0 {
                    actions.push(Action::Request { from, to });
                }
                if replies & bit(from) != 0 {
                    actions.push(Action::Reply { from, to });
                }
            }
        }
    }

    fn next_state(&self, state: &Self::State, action: Action) -> Option<Self::State> {
        let mut next = *state;
        match action {
            Action::Acquire(me) => next.acquire(me),
            Action::Release(me) => next.release(me),
            Action::Request { from, to } => next.receive_request(to, from),
            Action::Reply { from, to } => next.receive_reply(to, from),
        }
        Some(next)
    }

    /// Returns a property that must hold: a search ends early once all properties are violated.
    fn properties(&self) -> Vec<Property<Self>> {
        vec![Property::always("exclusion", |_, state: &State<NODES>| {
            state.nodes.iter().filter(|node| matches!(node.phase, Phase::Inside { .. })).count() <= 1
        })]
    }
}

impl<const NODES: usize> State<NODES> {
    /// RA-1.
    fn acquire(&mut self, me: u8) {
        let node = &mut self.nodes[usize::from(me)];
        node.clock += 1;
        node.rounds_left -= 1;
        let stamp = node.clock;
        node.phase = Phase::Waiting { stamp, missing: all_nodes(NODES) & !bit(me) };
        for (to, requests) in (0..).zip(&mut self.requests) {
            if to != me {
                let slot = &mut requests[usize::from(me)];
                debug_assert_eq!(*slot, 0, "a request is already in flight");
                *slot = stamp;
            }
        }
    }

    /// RA-2.
    fn receive_request(&mut self, me: u8, from: u8) {
        let request_clock = std::mem::take(&mut self.requests[usize::from(me)][usize::from(from)]);
        let node = &mut self.nodes[usize::from(me)];
        node.clock = node.clock.max(request_clock) + 1;
        let we_go_first = match node.phase {
            Phase::Idle => false,
            Phase::Waiting { stamp, .. } => (stamp, me) < (request_clock, from),
            Phase::Inside { .. } => true,
        };
        if we_go_first {
            node.deferred |= bit(from);
        } else {
            self.reply(me, from);
        }
    }

    /// RA-3. A reply carries only its sender.
    fn receive_reply(&mut self, me: u8, from: u8) {
        self.replies[usize::from(me)] &= !bit(from);
        let node = &mut self.nodes[usize::from(me)];
        if let Phase::Waiting { stamp, missing } = &mut node.phase {
            *missing &= !bit(from);
            if *missing == 0 {
                node.phase = Phase::Inside { stamp: *stamp };
            }
        }
    }

    /// RA-4.
    fn release(&mut self, me: u8) {
        let node = &mut self.nodes[usize::from(me)];
        node.phase = Phase::Idle;
        let deferred = std::mem::take(&mut node.deferred);
        for to in (0..).take(NODES).filter(|to| deferred & bit(*to) != 0) {
            self.reply(me, to);
        }
    }

    fn reply(&mut self, me: u8, to: u8) {
        let replies = &mut self.replies[usize::from(to)];
        debug_assert_eq!(*replies & bit(me), 0, "a reply is already in flight");
        *replies |= bit(me);
    }
}

/// Hashes a node in one word and all requests to it in another, with far fewer calls to the hasher
/// than a derived hash. At most eight nodes fit.
impl<const NODES: usize> Hash for State<NODES> {
    fn hash<H: Hasher>(&self, hasher: &mut H) {
        for (node, replies) in self.nodes.iter().zip(self.replies) {
            let (phase, stamp, missing) = match node.phase {
                Phase::Idle => (0, 0, 0),
                Phase::Waiting { stamp, missing } => (1, stamp, missing),
                Phase::Inside { stamp } => (2, stamp, 0),
            };
            let bytes = [node.clock, phase, stamp, missing, node.deferred, node.rounds_left, replies, 0];
            hasher.write_u64(u64::from_le_bytes(bytes));
        }
        for requests in &self.requests {
            hasher.write_u64(requests.iter().fold(0, |word, clock| word << 8 | u64::from(*clock)));
        }
    }
}

fn bit(node: u8) -> u8 {
    1 << node
}

fn all_nodes(nodes: usize) -> u8 {
    (0..).take(nodes).map(bit).sum()
}
