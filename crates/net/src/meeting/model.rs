//! Two nodes that meet, in every order in which anything can happen to them.
//!
//! Each node dials a few times whenever it may, and once more each time everything has come to rest without a connection:
//! that is what pauses between dials that grow amount to. Connections fail before and after they are made; each end
//! learns of it in its own time and after any part of what was on the way, and sometimes one end never does. A node
//! starts again as its next life.
//!
//! What is held in every state: no Hello that was ever sent, be it late or repeated by somebody else, displaces a
//! connection that both nodes hold. And whenever all has come to rest, both hold the same connection, or none holds one
//! that the other has given up; the latter only until those who may have dialled once without a fault. So who holds a
//! dead connection and does not know it is in nobody's way.

use super::{Answer, Caller, Connection, Greeting, Known, Life, Meeting, Outcome, State};
use crate::frame::{Birth, Dial};
use quorate_core::{Incarnation, NodeId};
use std::collections::{BTreeSet, HashSet};
use std::hash::{DefaultHasher, Hash, Hasher};

const DIALLER: usize = 0;
const ACCEPTOR: usize = 1;

#[derive(Clone, Debug, Hash)]
struct World {
    nodes: [Node; 2],
    pipes: Vec<Pipe>,
    said: BTreeSet<(usize, Caller)>,
    cuts_left: u8,
    restarts_left: u8,
    /// How often both were allowed to dial since the last fault.
    rounds: u8,
}

#[derive(Clone, Debug, Hash)]
struct Node {
    meeting: Meeting,
    life: Life,
    /// Dials that it makes whenever it may.
    spare_dials: u8,
    /// Whether its pause has run out since all was at rest.
    is_rested: bool,
}

/// A connection as the network has it.
#[derive(Clone, Debug, Hash)]
struct Pipe {
    dialler: usize,
    life: Incarnation,
    dial: Dial,
    is_up: bool,
    is_cut: bool,
    /// The dialler's and the acceptor's.
    ends: [End; 2],
}

#[derive(Clone, Debug, Hash)]
struct End {
    is_open: bool,
    inbox: Vec<Packet>,
}

#[derive(Clone, Copy, Debug, Hash, PartialEq, Eq)]
enum Packet {
    Hello(Caller),
    Welcome(Life),
    Refuse,
    Closed,
}

/// After a cut so many packets still reach each end, and one end may never hear of it. At a rest both pauses run out.
#[derive(Clone, Copy, Debug)]
enum Action {
    Dial(usize),
    Connect(usize),
    Unreachable(usize),
    Deliver { pipe: usize, end: usize },
    Cut { pipe: usize, kept: [usize; 2], deaf: Option<usize> },
    Restart { node: usize, manner: Manner },
    TimeOut { pipe: usize, end: usize },
    Rest,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Manner {
    /// What it has sent arrives, and then the end of the connection.
    Orderly,
    /// What it has sent is lost.
    Lossy,
    /// The machine is gone, and nobody is told.
    Silent,
}

impl World {
    fn new(spare_dials: u8, cuts_left: u8, restarts_left: u8) -> Self {
        let life = Life { incarnation: Incarnation::FIRST, birth: Birth(0) };
        let node = |node| Node { meeting: fresh(node, life), life, spare_dials, is_rested: false };
        let nodes = [node(0), node(1)];
        Self { nodes, pipes: Vec::new(), said: BTreeSet::new(), cuts_left, restarts_left, rounds: 0 }
    }

    fn is_at_rest(&self) -> bool {
        self.pipes.iter().all(|pipe| pipe.is_up && pipe.ends.iter().all(|end| end.inbox.is_empty()))
    }

    fn shared(&self) -> Option<&Pipe> {
        let holds = |pipe: &Pipe, end: usize| {
            self.nodes[pipe.node(end)].meeting.connection() == Some(pipe.name(end)) && pipe.ends[end].is_open
        };
        self.pipes.iter().find(|pipe| !pipe.is_cut && holds(pipe, DIALLER) && holds(pipe, ACCEPTOR))
    }

    fn actions(&self) -> Vec<Action> {
        let mut actions = Vec::new();
        for (place, node) in self.nodes.iter().enumerate() {
            if node.meeting.may_dial() && (node.is_rested || node.spare_dials > 0) {
                actions.push(Action::Dial(place));
            }
            if self.restarts_left > 0 {
                let manners = [Manner::Orderly, Manner::Lossy, Manner::Silent];
                actions.extend(manners.map(|manner| Action::Restart { node: place, manner }));
            }
        }
        for (place, pipe) in self.pipes.iter().enumerate() {
            pipe.actions(place, self.cuts_left > 0, &mut actions);
        }
        if self.is_at_rest() && self.shared().is_none() {
            actions.extend(self.silences().map(|(pipe, end)| Action::TimeOut { pipe, end }));
            actions.extend((!self.is_anyone_busy()).then_some(Action::Rest));
        }
        actions
    }

    /// Will somebody do something by itself, though all is at rest?
    fn is_anyone_busy(&self) -> bool {
        self.nodes.iter().any(|node| node.is_rested && node.meeting.may_dial()) || self.silences().next().is_some()
    }

    /// The dead ends where somebody waits in vain: for an answer to a Hello that did not arrive, or, if neither can dial,
    /// for anything at all. While one of the two can dial and knows what is dead, it should not have to wait until the
    /// other notices it too.
    fn silences(&self) -> impl Iterator<Item = (usize, usize)> + '_ {
        let do_both_hold = self.nodes.iter().all(|node| node.meeting.connection().is_some());
        let can_any_dial = self.nodes.iter().any(|node| node.meeting.may_dial());
        let is_silent = move |(place, end): &(usize, usize)| {
            let pipe = &self.pipes[*place];
            let state = self.nodes[pipe.node(*end)].meeting.state;
            let is_welcomed = self.nodes[pipe.node(1 - *end)].has_welcomed(pipe);
            let is_asking = *end == DIALLER && state == State::Greeting(pipe.dial) && !(can_any_dial && is_welcomed);
            let is_holding = do_both_hold && state == State::Together(pipe.name(*end));
            pipe.is_cut && pipe.ends[*end].is_open && (is_asking || is_holding)
        };
        (0..self.pipes.len()).flat_map(|place| [(place, DIALLER), (place, ACCEPTOR)]).filter(is_silent)
    }

    /// Does the node hold a connection whose other end is closed, and will it hear of that some day?
    fn holds_in_vain(&self, place: usize) -> bool {
        let Some(connection) = self.nodes[place].meeting.connection() else { return false };
        let is_dead = |pipe: &Pipe| pipe.is_cut && pipe.name(pipe.end(place)) == connection;
        !self.pipes.iter().any(is_dead)
    }

    fn after(&self, action: Action) -> Self {
        let mut world = self.clone();
        match action {
            Action::Dial(node) => world.dial(node),
            Action::Connect(pipe) => world.connect(pipe),
            Action::Unreachable(pipe) => world.unreachable(pipe),
            Action::Deliver { pipe, end } => world.deliver(pipe, end),
            Action::Cut { pipe, kept, deaf } => world.cut(pipe, kept, deaf),
            Action::Restart { node, manner } => world.restart(node, manner),
            Action::TimeOut { pipe, end } => world.time_out(pipe, end),
            Action::Rest => {
                world.rounds += 1;
                world.nodes.iter_mut().for_each(|node| node.is_rested = true);
            }
        }
        world.pipes.retain(|pipe| pipe.ends.iter().any(|end| end.is_open));
        world
    }

    fn dial(&mut self, place: usize) {
        let node = &mut self.nodes[place];
        let dial = node.meeting.dial().expect("it may dial");
        if node.is_rested {
            node.is_rested = false;
        } else {
            node.spare_dials -= 1;
        }
        let end = || End { is_open: true, inbox: Vec::new() };
        let ends = [end(), end()];
        let life = node.life.incarnation;
        self.pipes.push(Pipe { dialler: place, life, dial, is_up: false, is_cut: false, ends });
    }

    fn connect(&mut self, place: usize) {
        let pipe = &mut self.pipes[place];
        let node = &mut self.nodes[pipe.dialler];
        let Some(greeting) = node.meeting.connected(pipe.dial) else {
            pipe.ends.iter_mut().for_each(|end| end.is_open = false);
            return;
        };
        pipe.is_up = true;
        let Greeting { dial, welcomed, knows } = greeting;
        let caller = Caller { life: node.life, dial, welcomed, knows };
        pipe.send(ACCEPTOR, Packet::Hello(caller));
        self.said.insert((1 - pipe.dialler, caller));
    }

    fn unreachable(&mut self, place: usize) {
        let pipe = &mut self.pipes[place];
        pipe.ends.iter_mut().for_each(|end| end.is_open = false);
        self.nodes[pipe.dialler].meeting.failed(pipe.dial);
        self.fault();
    }

    fn cut(&mut self, place: usize, kept: [usize; 2], deaf: Option<usize>) {
        let pipe = &mut self.pipes[place];
        for (side, end) in pipe.ends.iter_mut().enumerate() {
            end.inbox.truncate(kept[side]);
            if deaf != Some(side) {
                end.inbox.push(Packet::Closed);
            }
        }
        pipe.is_cut = true;
        self.fault();
    }

    fn fault(&mut self) {
        self.cuts_left -= 1;
        self.rounds = 0;
    }

    fn time_out(&mut self, place: usize, end: usize) {
        self.end(place, end);
        self.rounds = 0;
    }

    fn restart(&mut self, place: usize, manner: Manner) {
        let node = &mut self.nodes[place];
        let incarnation = node.life.incarnation.next();
        node.life = Life { incarnation, birth: Birth(incarnation.0) };
        node.meeting = fresh(place, node.life);
        for pipe in &mut self.pipes {
            let end = pipe.end(place);
            match (pipe.is_up, end) {
                (true, _) => {
                    if manner != Manner::Orderly && !pipe.is_cut {
                        pipe.ends[1 - end].inbox.clear();
                    }
                    pipe.is_cut |= manner == Manner::Silent;
                    pipe.close(end);
                }
                (false, DIALLER) => pipe.ends.iter_mut().for_each(|end| end.is_open = false),
                // A dial that has not reached the old process reaches the new one.
                (false, _) => {}
            }
        }
        self.restarts_left -= 1;
        self.rounds = 0;
    }

    fn deliver(&mut self, place: usize, end: usize) {
        let pipe = &mut self.pipes[place];
        let packet = pipe.ends[end].inbox.remove(0);
        let (dial, name, node) = (pipe.dial, pipe.name(end), pipe.node(end));
        let meeting = &mut self.nodes[node].meeting;
        match packet {
            Packet::Hello(caller) => match meeting.accept(&caller) {
                Answer::Welcome { connection, given_up } => {
                    assert_eq!(connection, name);
                    pipe.send(DIALLER, Packet::Welcome(self.nodes[node].life));
                    given_up.into_iter().for_each(|given_up| self.give_up(node, given_up));
                }
                Answer::Refuse(_) => {
                    pipe.send(DIALLER, Packet::Refuse);
                    pipe.close(end);
                }
            },
            Packet::Welcome(life) => match meeting.welcomed(dial, life) {
                Outcome::Together(connection) => assert_eq!(connection, name),
                Outcome::GivenUp | Outcome::Refuse(_) => pipe.close(end),
            },
            Packet::Refuse => {
                meeting.failed(dial);
                pipe.close(end);
            }
            Packet::Closed => self.end(place, end),
        }
    }

    fn end(&mut self, place: usize, end: usize) {
        let pipe = &mut self.pipes[place];
        let meeting = &mut self.nodes[pipe.node(end)].meeting;
        if !meeting.lost(pipe.name(end)) && end == DIALLER {
            meeting.failed(pipe.dial);
        }
        pipe.close(end);
    }

    /// A node closes a connection of its own. A dial that is not through yet goes on, and is closed when it is.
    fn give_up(&mut self, node: usize, connection: Connection) {
        for pipe in self.pipes.iter_mut().filter(|pipe| pipe.is_up) {
            let end = pipe.end(node);
            if pipe.name(end) == connection && pipe.ends[end].is_open {
                pipe.close(end);
            }
        }
    }

    /// What is wrong here, if anything is.
    fn complaint(&self) -> Option<String> {
        if self.shared().is_some() {
            return self.said.iter().find_map(|(to, caller)| match self.nodes[*to].meeting.clone().accept(caller) {
                Answer::Refuse(_) => None,
                Answer::Welcome { .. } => Some(format!("{caller:?} displaces the connection that both hold")),
            });
        }
        if !self.is_at_rest() {
            None
        } else if (0..2).any(|node| self.holds_in_vain(node)) {
            Some("one holds a connection that the other does not, for good".into())
        } else if self.rounds > 0 && !self.is_anyone_busy() {
            Some("those who may dial have done so without a fault, and they have not met".into())
        } else {
            None
        }
    }
}

impl Node {
    fn has_welcomed(&self, pipe: &Pipe) -> bool {
        let is_same = |known: Known| known.life.incarnation == pipe.life && known.welcomed >= pipe.dial;
        self.meeting.known.is_some_and(is_same)
    }
}

impl Pipe {
    fn end(&self, node: usize) -> usize {
        if self.dialler == node { DIALLER } else { ACCEPTOR }
    }

    fn node(&self, end: usize) -> usize {
        if end == DIALLER { self.dialler } else { 1 - self.dialler }
    }

    fn name(&self, end: usize) -> Connection {
        if end == DIALLER { Connection::Ours(self.dial) } else { Connection::Theirs(self.life, self.dial) }
    }

    fn send(&mut self, to: usize, packet: Packet) {
        if self.ends[to].is_open && !self.is_cut {
            self.ends[to].inbox.push(packet);
        }
    }

    fn close(&mut self, end: usize) {
        self.ends[end] = End { is_open: false, inbox: Vec::new() };
        self.send(1 - end, Packet::Closed);
    }

    fn actions(&self, place: usize, may_fail: bool, actions: &mut Vec<Action>) {
        if !self.is_up {
            actions.push(Action::Connect(place));
            actions.extend(may_fail.then_some(Action::Unreachable(place)));
            return;
        }
        let is_waiting = |end: &usize| !self.ends[*end].inbox.is_empty();
        actions
            .extend([DIALLER, ACCEPTOR].into_iter().filter(is_waiting).map(|end| Action::Deliver { pipe: place, end }));
        if may_fail && !self.is_cut && self.ends.iter().all(|end| end.is_open) {
            for first in 0..=self.ends[0].inbox.len() {
                for second in 0..=self.ends[1].inbox.len() {
                    let cut = |deaf| Action::Cut { pipe: place, kept: [first, second], deaf };
                    actions.extend([None, Some(DIALLER), Some(ACCEPTOR)].map(cut));
                }
            }
        }
    }
}

fn fresh(place: usize, life: Life) -> Meeting {
    Meeting::new(NodeId::from_index(place), life.incarnation, NodeId::from_index(1 - place))
}

/// Goes through every state. Tells how many there are, and in how many all is at rest with a connection.
fn explore(world: World) -> (usize, usize) {
    let (mut seen, mut met) = (HashSet::new(), 0);
    let mut trail: Vec<Action> = Vec::new();
    let mut open = vec![(0, None, world)];
    while let Some((depth, action, world)) = open.pop() {
        trail.truncate(depth);
        trail.extend(action);
        if !seen.insert(fingerprint(&world)) {
            continue;
        }
        if let Some(complaint) = world.complaint() {
            panic!("{complaint}, after {trail:?}, in {world:?}");
        }
        met += usize::from(world.is_at_rest() && world.shared().is_some());
        let depth = trail.len();
        open.extend(world.actions().into_iter().map(|action| (depth, Some(action), world.after(action))));
    }
    (seen.len(), met)
}

fn fingerprint(world: &World) -> (u64, u64) {
    let hash = |salt: u8| {
        let mut hasher = DefaultHasher::new();
        (salt, world).hash(&mut hasher);
        hasher.finish()
    };
    (hash(1), hash(2))
}

fn explore_and_tell(spare_dials: u8, cuts: u8, restarts: u8) -> (usize, usize) {
    let (states, met) = explore(World::new(spare_dials, cuts, restarts));
    println!("{states} states, in {met} of them both hold one connection and all is at rest");
    assert!(met > 0);
    (states, met)
}

#[test]
fn two_nodes_that_dial_at_once_meet_without_any_fault() {
    explore_and_tell(3, 0, 0);
}

#[test]
fn two_nodes_meet_again_however_a_connection_breaks() {
    explore_and_tell(2, 1, 0);
    explore_and_tell(0, 2, 0);
}

#[test]
#[ignore = "long: ./check long"]
fn two_nodes_meet_again_however_their_connections_break() {
    explore_and_tell(2, 2, 0);
}

#[test]
fn a_node_that_starts_again_is_met_again() {
    explore_and_tell(1, 0, 1);
    explore_and_tell(0, 1, 1);
}

#[test]
#[ignore = "long: ./check long"]
fn a_node_that_starts_again_is_met_again_however_a_connection_breaks() {
    explore_and_tell(1, 1, 1);
}
