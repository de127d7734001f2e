//! An exhaustive check of the connection election between two nodes.
//!
//! Each node dials a few times, whenever it may, and once more each time the system is quiescent
//! without a connection, which models a growing backoff. Connections fail before and after they are
//! established. Each end notices a failure at any later time and after receiving any prefix of the
//! packets in transit; sometimes one end notices only by a timeout, or never. A node restarts as
//! its next incarnation, or removes its peer and adds it again as the next generation of its link.
//!
//! Invariants in every state: no Hello that was ever sent, delayed or replayed, displaces a
//! connection that both nodes hold. In a quiescent state, either both nodes hold the same
//! connection, or no node holds a connection that the other has closed, unless a fault hides the
//! close from it. After every node that may dial has dialled once without a fault, the two nodes
//! are connected. So a node that holds a dead connection unknowingly does not prevent a new one.

use super::{
    Connection, ConnectionElection, EndIdentity, HelloReply, IncomingHello, KnownPeer, OutgoingHello, State,
    WelcomeOutcome,
};
use crate::frame::{Dial, LinkEnd, ProcessNonce};
use quorate_core::{Incarnation, NodeId};
use std::collections::{BTreeSet, HashSet};
use std::hash::{DefaultHasher, Hash, Hasher};

/// The two ends of a pipe, as indices of [`Pipe::ends`].
const DIALLER: usize = 0;
const ACCEPTOR: usize = 1;

/// A state of both nodes and the network.
#[derive(Clone, Debug, Hash)]
struct World {
    nodes: [Node; 2],
    pipes: Vec<Pipe>,
    /// Every Hello that was ever sent, with its receiver.
    sent_hellos: BTreeSet<(usize, IncomingHello)>,
    remaining_faults: u8,
    remaining_restarts: u8,
    /// What a restart begins.
    next_end: NextEnd,
    /// Number of times that both backoffs have elapsed since the last fault, restart or timeout.
    elapsed_backoffs: u8,
}

#[derive(Clone, Debug, Hash)]
struct Node {
    election: ConnectionElection,
    identity: EndIdentity,
    /// Number of dials that the node may still make without waiting for its backoff.
    spare_dials: u8,
    /// Whether the backoff has elapsed in a quiescent state since the node's last dial.
    has_backoff_elapsed: bool,
}

/// A connection as the network sees it.
#[derive(Clone, Debug, Hash)]
struct Pipe {
    dialler: usize,
    /// The dialler's end of the link.
    link_end: LinkEnd,
    dial: Dial,
    /// Whether the dial has reached the other node.
    is_up: bool,
    is_cut: bool,
    /// The ends of the dialler and of the acceptor.
    ends: [End; 2],
}

#[derive(Clone, Debug, Hash)]
struct End {
    is_open: bool,
    inbox: Vec<Packet>,
}

#[derive(Clone, Copy, Debug, Hash, PartialEq, Eq)]
enum Packet {
    Hello(IncomingHello),
    Welcome(EndIdentity),
    Refuse,
    Closed,
}

#[derive(Clone, Copy, Debug)]
enum Action {
    /// This node dials.
    Dial(usize),
    /// This pipe's dial reaches the other node.
    Connect(usize),
    /// This pipe's dial fails.
    Unreachable(usize),
    Deliver {
        pipe: usize,
        end: usize,
    },
    /// The connection breaks. Only the first `delivered_packets` of the packets in transit to each
    /// end still arrive. The `unaware_end`, if any, notices the break at most by a timeout.
    Cut {
        pipe: usize,
        delivered_packets: [usize; 2],
        unaware_end: Option<usize>,
    },
    Restart {
        node: usize,
        manner: RestartManner,
    },
    TimeOut {
        pipe: usize,
        end: usize,
    },
    /// The backoffs of both nodes elapse.
    ElapseBackoffs,
}

/// The end of the link that a node begins with a restart.
#[derive(Clone, Copy, Debug, Hash)]
enum NextEnd {
    Incarnation,
    /// The process runs on. It forgets the link and creates a new one.
    Generation,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum RestartManner {
    /// The packets that the node has sent arrive, followed by the close of the connection.
    Orderly,
    /// The packets that the node has sent are lost, and the peer notices the close.
    Lossy,
    /// The machine vanishes; the peer notices it at most by a timeout.
    Silent,
}

impl World {
    fn new(budget: Budget, next_end: NextEnd) -> Self {
        let Budget { spare_dials, faults: remaining_faults, restarts: remaining_restarts } = budget;
        let identity = EndIdentity { end: LinkEnd::first(Incarnation::FIRST), process_nonce: ProcessNonce(0) };
        let node =
            |node| Node { election: new_election(node, identity), identity, spare_dials, has_backoff_elapsed: false };
        let nodes = [node(0), node(1)];
        Self {
            nodes,
            pipes: Vec::new(),
            sent_hellos: BTreeSet::new(),
            remaining_faults,
            remaining_restarts,
            next_end,
            elapsed_backoffs: 0,
        }
    }

    fn is_quiescent(&self) -> bool {
        self.pipes.iter().all(|pipe| pipe.is_up && pipe.ends.iter().all(|end| end.inbox.is_empty()))
    }

    fn shared_connection(&self) -> Option<&Pipe> {
        let holds = |pipe: &Pipe, end: usize| {
            self.nodes[pipe.node_at(end)].election.connection() == Some(pipe.connection_at(end))
                && pipe.ends[end].is_open
        };
        self.pipes.iter().find(|pipe| !pipe.is_cut && holds(pipe, DIALLER) && holds(pipe, ACCEPTOR))
    }

    fn actions(&self) -> Vec<Action> {
        let mut actions = Vec::new();
        for (index, node) in self.nodes.iter().enumerate() {
            if node.election.may_dial() && (node.has_backoff_elapsed || node.spare_dials > 0) {
                actions.push(Action::Dial(index));
            }
            if self.remaining_restarts > 0 {
                let manners = [RestartManner::Orderly, RestartManner::Lossy, RestartManner::Silent];
                actions.extend(manners.map(|manner| Action::Restart { node: index, manner }));
            }
        }
        for (index, pipe) in self.pipes.iter().enumerate() {
            pipe.actions(index, self.remaining_faults > 0, &mut actions);
        }
        if self.is_quiescent() && self.shared_connection().is_none() {
            actions.extend(self.pending_timeouts().map(|(pipe, end)| Action::TimeOut { pipe, end }));
            actions.extend((!self.can_progress()).then_some(Action::ElapseBackoffs));
        }
        actions
    }

    /// Whether a timeout, or a dial after a backoff, is possible in a quiescent state. Spare dials
    /// do not count.
    fn can_progress(&self) -> bool {
        self.nodes.iter().any(|node| node.has_backoff_elapsed && node.election.may_dial())
            || self.pending_timeouts().next().is_some()
    }

    /// Ends of dead connections where a timeout may fire: the node waits for the reply to its
    /// Hello, or both nodes hold dead connections. If the other node welcomed that Hello and can
    /// dial again, its dial must replace the dead connection without this timeout.
    fn pending_timeouts(&self) -> impl Iterator<Item = (usize, usize)> + '_ {
        let do_both_hold = self.nodes.iter().all(|node| node.election.connection().is_some());
        let can_any_dial = self.nodes.iter().any(|node| node.election.may_dial());
        let is_pending = move |(index, end): &(usize, usize)| {
            let pipe = &self.pipes[*index];
            let state = self.nodes[pipe.node_at(*end)].election.state;
            let is_welcomed = self.nodes[pipe.node_at(1 - *end)].has_welcomed(pipe);
            let is_awaiting_reply =
                *end == DIALLER && state == State::AwaitingReply(pipe.dial) && !(can_any_dial && is_welcomed);
            let holds_dead_connection = do_both_hold && state == State::Connected(pipe.connection_at(*end));
            pipe.is_cut && pipe.ends[*end].is_open && (is_awaiting_reply || holds_dead_connection)
        };
        (0..self.pipes.len()).flat_map(|index| [(index, DIALLER), (index, ACCEPTOR)]).filter(is_pending)
    }

    /// Whether the node holds a connection that the other end has closed, and no failure explains
    /// why it has not noticed. The caller has checked that the state is quiescent and that the
    /// nodes share no connection.
    fn holds_closed_connection(&self, index: usize) -> bool {
        let Some(connection) = self.nodes[index].election.connection() else { return false };
        let is_dead = |pipe: &Pipe| pipe.is_cut && pipe.connection_at(pipe.end_of(index)) == connection;
        !self.pipes.iter().any(is_dead)
    }

    fn state_after(&self, action: Action) -> Self {
        let mut world = self.clone();
        match action {
            Action::Dial(node) => world.dial(node),
            Action::Connect(pipe) => world.connect(pipe),
            Action::Unreachable(pipe) => world.fail_dial(pipe),
            Action::Deliver { pipe, end } => world.deliver(pipe, end),
            Action::Cut { pipe, delivered_packets, unaware_end } => world.cut(pipe, delivered_packets, unaware_end),
            Action::Restart { node, manner } => world.restart(node, manner),
            Action::TimeOut { pipe, end } => world.time_out(pipe, end),
            Action::ElapseBackoffs => {
                world.elapsed_backoffs += 1;
                world.nodes.iter_mut().for_each(|node| node.has_backoff_elapsed = true);
            }
        }
        world.pipes.retain(|pipe| pipe.ends.iter().any(|end| end.is_open));
        world
    }

    fn dial(&mut self, index: usize) {
        let node = &mut self.nodes[index];
        let dial = node.election.start_dial().expect("it may dial");
        if node.has_backoff_elapsed {
            node.has_backoff_elapsed = false;
        } else {
            node.spare_dials -= 1;
        }
        let end = || End { is_open: true, inbox: Vec::new() };
        let ends = [end(), end()];
        let link_end = node.identity.end;
        self.pipes.push(Pipe { dialler: index, link_end, dial, is_up: false, is_cut: false, ends });
    }

    fn connect(&mut self, index: usize) {
        let pipe = &mut self.pipes[index];
        let node = &mut self.nodes[pipe.dialler];
        let Some(outgoing) = node.election.handle_open_connection(pipe.dial) else {
            pipe.ends.iter_mut().for_each(|end| end.is_open = false);
            return;
        };
        pipe.is_up = true;
        let OutgoingHello { dial, last_welcomed_dial, known_end } = outgoing;
        let hello = IncomingHello { sender: node.identity, dial, last_welcomed_dial, known_end };
        pipe.send(ACCEPTOR, Packet::Hello(hello));
        self.sent_hellos.insert((1 - pipe.dialler, hello));
    }

    fn fail_dial(&mut self, index: usize) {
        let pipe = &mut self.pipes[index];
        pipe.ends.iter_mut().for_each(|end| end.is_open = false);
        self.nodes[pipe.dialler].election.handle_failed_dial(pipe.dial);
        self.count_fault();
    }

    fn cut(&mut self, index: usize, delivered_packets: [usize; 2], unaware_end: Option<usize>) {
        let pipe = &mut self.pipes[index];
        for (side, end) in pipe.ends.iter_mut().enumerate() {
            end.inbox.truncate(delivered_packets[side]);
            if unaware_end != Some(side) {
                end.inbox.push(Packet::Closed);
            }
        }
        pipe.is_cut = true;
        self.count_fault();
    }

    /// Counts a fault. The backoffs must elapse again before the nodes have to be connected.
    fn count_fault(&mut self) {
        self.remaining_faults -= 1;
        self.elapsed_backoffs = 0;
    }

    fn time_out(&mut self, index: usize, end: usize) {
        self.close_end(index, end);
        self.elapsed_backoffs = 0;
    }

    fn restart(&mut self, index: usize, manner: RestartManner) {
        let node = &mut self.nodes[index];
        let LinkEnd { incarnation, generation } = node.identity.end;
        node.identity = match self.next_end {
            NextEnd::Incarnation => {
                let incarnation = incarnation.next();
                EndIdentity { end: LinkEnd::first(incarnation), process_nonce: ProcessNonce(incarnation.0) }
            }
            NextEnd::Generation => {
                EndIdentity { end: LinkEnd { incarnation, generation: generation.next() }, ..node.identity }
            }
        };
        node.election = new_election(index, node.identity);
        for pipe in &mut self.pipes {
            let end = pipe.end_of(index);
            match (pipe.is_up, end) {
                (true, _) => {
                    // A cut has already decided which packets still arrive.
                    if manner != RestartManner::Orderly && !pipe.is_cut {
                        pipe.ends[1 - end].inbox.clear();
                    }
                    pipe.is_cut |= manner == RestartManner::Silent;
                    pipe.close(end);
                }
                (false, DIALLER) => pipe.ends.iter_mut().for_each(|end| end.is_open = false),
                // A dial that has not reached the old process reaches the new one.
                (false, _) => {}
            }
        }
        self.remaining_restarts -= 1;
        self.elapsed_backoffs = 0;
    }

    fn deliver(&mut self, index: usize, end: usize) {
        let pipe = &mut self.pipes[index];
        let packet = pipe.ends[end].inbox.remove(0);
        let (dial, expected, node) = (pipe.dial, pipe.connection_at(end), pipe.node_at(end));
        let election = &mut self.nodes[node].election;
        match packet {
            Packet::Hello(hello) => match election.handle_hello(&hello) {
                HelloReply::Welcome { connection, replaced } => {
                    assert_eq!(connection, expected);
                    pipe.send(DIALLER, Packet::Welcome(self.nodes[node].identity));
                    replaced.into_iter().for_each(|replaced| self.close_replaced(node, replaced));
                }
                HelloReply::Refuse(_) => {
                    pipe.send(DIALLER, Packet::Refuse);
                    pipe.close(end);
                }
            },
            Packet::Welcome(identity) => match election.handle_welcome(dial, identity) {
                WelcomeOutcome::Established(connection) => assert_eq!(connection, expected),
                WelcomeOutcome::Abandoned | WelcomeOutcome::Refuse(_) => pipe.close(end),
            },
            Packet::Refuse => {
                election.handle_failed_dial(dial);
                pipe.close(end);
            }
            Packet::Closed => self.close_end(index, end),
        }
    }

    /// Lets the node at this end notice that the connection has ended.
    fn close_end(&mut self, index: usize, end: usize) {
        let pipe = &mut self.pipes[index];
        let election = &mut self.nodes[pipe.node_at(end)].election;
        if !election.handle_lost_connection(pipe.connection_at(end)) && end == DIALLER {
            election.handle_failed_dial(pipe.dial);
        }
        pipe.close(end);
    }

    /// Closes this node's end of a replaced connection. A dial that has not reached the other node
    /// continues, and is closed once it has.
    fn close_replaced(&mut self, node: usize, connection: Connection) {
        for pipe in self.pipes.iter_mut().filter(|pipe| pipe.is_up) {
            let end = pipe.end_of(node);
            if pipe.connection_at(end) == connection && pipe.ends[end].is_open {
                pipe.close(end);
            }
        }
    }

    /// The violated invariant, if any.
    fn violation(&self) -> Option<String> {
        if self.shared_connection().is_some() {
            return self.sent_hellos.iter().find_map(|(to, hello)| {
                match self.nodes[*to].election.clone().handle_hello(hello) {
                    HelloReply::Refuse(_) => None,
                    HelloReply::Welcome { .. } => Some(format!("{hello:?} displaces the connection that both hold")),
                }
            });
        }
        if !self.is_quiescent() {
            None
        } else if (0..2).any(|node| self.holds_closed_connection(node)) {
            Some("one node keeps a connection forever that the other has closed".into())
        } else if self.elapsed_backoffs > 0 && !self.can_progress() {
            Some("every node that may dial has dialled without a fault, and they are not connected".into())
        } else {
            None
        }
    }
}

impl Node {
    /// Whether the node has welcomed this pipe's dial, or a later one of the same end.
    fn has_welcomed(&self, pipe: &Pipe) -> bool {
        let has_welcomed =
            |known: KnownPeer| known.identity.end == pipe.link_end && known.last_welcomed_dial >= pipe.dial;
        self.election.known_peer.is_some_and(has_welcomed)
    }
}

impl Pipe {
    fn end_of(&self, node: usize) -> usize {
        if self.dialler == node { DIALLER } else { ACCEPTOR }
    }

    fn node_at(&self, end: usize) -> usize {
        if end == DIALLER { self.dialler } else { 1 - self.dialler }
    }

    fn connection_at(&self, end: usize) -> Connection {
        if end == DIALLER { Connection::Ours(self.dial) } else { Connection::Theirs(self.link_end, self.dial) }
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

    fn actions(&self, index: usize, may_fail: bool, actions: &mut Vec<Action>) {
        if !self.is_up {
            actions.push(Action::Connect(index));
            actions.extend(may_fail.then_some(Action::Unreachable(index)));
            return;
        }
        let is_waiting = |end: &usize| !self.ends[*end].inbox.is_empty();
        actions
            .extend([DIALLER, ACCEPTOR].into_iter().filter(is_waiting).map(|end| Action::Deliver { pipe: index, end }));
        if may_fail && !self.is_cut && self.ends.iter().all(|end| end.is_open) {
            for first in 0..=self.ends[0].inbox.len() {
                for second in 0..=self.ends[1].inbox.len() {
                    let delivered_packets = [first, second];
                    let cut = |unaware_end| Action::Cut { pipe: index, delivered_packets, unaware_end };
                    actions.extend([None, Some(DIALLER), Some(ACCEPTOR)].map(cut));
                }
            }
        }
    }
}

fn new_election(index: usize, identity: EndIdentity) -> ConnectionElection {
    ConnectionElection::new(NodeId::from_index(index), identity.end, NodeId::from_index(1 - index))
}

/// Visits every reachable state, and panics at a violated invariant. Returns the number of states,
/// and of quiescent states with a shared connection.
fn explore(world: World) -> (usize, usize) {
    let (mut visited, mut connected_count) = (HashSet::new(), 0);
    let mut path: Vec<Action> = Vec::new();
    let mut frontier = vec![(0, None, world)];
    while let Some((depth, action, world)) = frontier.pop() {
        path.truncate(depth);
        path.extend(action);
        if !visited.insert(fingerprint(&world)) {
            continue;
        }
        if let Some(violation) = world.violation() {
            panic!("{violation}, after {path:?}, in {world:?}");
        }
        connected_count += usize::from(world.is_quiescent() && world.shared_connection().is_some());
        let depth = path.len();
        frontier.extend(world.actions().into_iter().map(|action| (depth, Some(action), world.state_after(action))));
    }
    (visited.len(), connected_count)
}

/// Two independent hashes, which make a collision between states unlikely.
fn fingerprint(world: &World) -> (u64, u64) {
    let hash = |salt: u8| {
        let mut hasher = DefaultHasher::new();
        (salt, world).hash(&mut hasher);
        hasher.finish()
    };
    (hash(1), hash(2))
}

/// The dials without backoff that each node may make in a run, the connection faults (a failed dial
/// or a broken connection) and the restarts.
struct Budget {
    spare_dials: u8,
    faults: u8,
    restarts: u8,
}

fn check_all_states(budget: Budget) {
    check_all_states_with(budget, NextEnd::Incarnation);
}

fn check_all_states_with(budget: Budget, next_end: NextEnd) {
    let (states, connected) = explore(World::new(budget, next_end));
    println!("{states} states, of which {connected} are quiescent with a shared connection");
    assert!(connected > 0, "the nodes must be able to connect");
}

#[test]
fn two_nodes_that_dial_at_once_connect_without_faults() {
    check_all_states(Budget { spare_dials: 3, faults: 0, restarts: 0 });
}

#[test]
fn two_nodes_reconnect_however_one_connection_breaks() {
    check_all_states(Budget { spare_dials: 2, faults: 1, restarts: 0 });
    // Two breaks have few enough states if every dial waits for its backoff.
    check_all_states(Budget { spare_dials: 0, faults: 2, restarts: 0 });
}

#[test]
#[ignore = "long: ./check long"]
fn two_nodes_reconnect_however_two_connections_break() {
    check_all_states(Budget { spare_dials: 2, faults: 2, restarts: 0 });
}

#[test]
fn a_restarted_node_reconnects() {
    check_all_states(Budget { spare_dials: 1, faults: 0, restarts: 1 });
    // An additional break has few enough states if every dial waits for its backoff.
    check_all_states(Budget { spare_dials: 0, faults: 1, restarts: 1 });
}

#[test]
fn a_node_that_adds_its_peer_again_reconnects() {
    check_all_states_with(Budget { spare_dials: 1, faults: 0, restarts: 1 }, NextEnd::Generation);
    check_all_states_with(Budget { spare_dials: 0, faults: 1, restarts: 1 }, NextEnd::Generation);
}

#[test]
#[ignore = "long: ./check long"]
fn a_restarted_node_reconnects_however_a_connection_breaks() {
    for next_end in [NextEnd::Incarnation, NextEnd::Generation] {
        check_all_states_with(Budget { spare_dials: 1, faults: 1, restarts: 1 }, next_end);
    }
}
