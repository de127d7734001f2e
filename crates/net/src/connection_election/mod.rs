//! Elects one connection between two nodes that may both dial at the same time.
//!
//! The node that dialled sends a Hello; the other answers with a Welcome or a refusal. Each dial
//! has a number, which grows within a [`LinkEnd`]: an incarnation of a node, and the generation of
//! its link, which is new after the peer was removed and added again. A Hello carries the number of
//! its dial and the last dial number of the receiver that its sender has welcomed. From these two
//! numbers a node can tell which messages crossed:
//!
//! ```text
//! MEET-1  we have neither a connection nor a dial → we may dial
//! MEET-2  a Hello from an older end of the peer, from another process with the same incarnation,
//!         from a peer that knows a later end of ours, or with a dial number that is not above all
//!         earlier ones of its end → refuse
//! MEET-3  we are connected by our own dial, and a Hello of the same end of the peer says that it
//!         has not welcomed that dial yet → refuse: the peer sent the Hello before it welcomed our
//!         dial, and has abandoned its own dial since
//! MEET-4  our Hello is unanswered, and a Hello says that its sender has not welcomed our dial yet
//!         → the dials cross: the node with the lower node number refuses, the other accepts
//! MEET-5  every other Hello → accept; it replaces our connection or dial
//! ```
//!
//! If the dial that wins in MEET-4 fails, both nodes dial again.

#[cfg(test)]
mod model;
#[cfg(test)]
mod tests;

use crate::frame::{Dial, Header, Hello, LinkEnd, ProcessNonce, Refusal, Welcome};
use quorate_core::NodeId;

/// One end of a link, and the operating-system process that has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EndIdentity {
    pub end: LinkEnd,
    /// Distinguishes two processes that claim the same incarnation.
    pub process_nonce: ProcessNonce,
}

/// A connection, identified by the side that dialled it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Connection {
    /// This node dialled.
    Ours(Dial),
    /// The peer dialled, from this end.
    Theirs(LinkEnd, Dial),
}

/// The parts of a received Hello that matter for the election.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct IncomingHello {
    pub sender: EndIdentity,
    pub dial: Dial,
    /// The last dial from our end `known_end` that the peer welcomed.
    pub last_welcomed_dial: Dial,
    /// Our end that the peer was connected to last.
    pub known_end: Option<LinkEnd>,
}

/// The election's part of the Hello that we send, valid only at this instant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct OutgoingHello {
    pub dial: Dial,
    /// The last dial from the peer's end `known_end` that we welcomed.
    pub last_welcomed_dial: Dial,
    /// The peer's end that we were connected to last.
    pub known_end: Option<LinkEnd>,
}

/// The reply to a received Hello.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HelloReply {
    /// The connection is elected. Send a Welcome and close the replaced connection.
    Welcome {
        connection: Connection,
        /// The earlier connection, or our unanswered dial, that `connection` replaces.
        replaced: Option<Connection>,
    },
    /// Send the refusal and close the connection. Our connection or dial is unaffected.
    Refuse(Refusal),
}

/// The consequence of a received Welcome.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WelcomeOutcome {
    /// The connection is elected.
    Established(Connection),
    /// Another connection replaced the dial in the meantime. Close the dialled one.
    Abandoned,
    /// This end of the peer is not acceptable. Close the connection.
    Refuse(Refusal),
}

/// One node's state of the election with one peer.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ConnectionElection {
    /// Whether our node number is lower than the peer's.
    is_lower: bool,
    /// Our end of the link.
    end: LinkEnd,
    /// The number of our last dial.
    last_dial: Dial,
    known_peer: Option<KnownPeer>,
    state: State,
}

/// The end of the peer that we were connected to last.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct KnownPeer {
    identity: EndIdentity,
    /// The last dial that we have answered with a Welcome or a refusal, since we first connected to
    /// this end.
    last_answered_dial: Dial,
    /// The last dial that we have welcomed.
    last_welcomed_dial: Dial,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum State {
    Disconnected,
    /// We are opening a connection; the peer does not know of it yet.
    Connecting(Dial),
    /// We have sent a Hello and wait for the reply.
    AwaitingReply(Dial),
    Connected(Connection),
}

impl ConnectionElection {
    /// The state of a node that has not been connected to the peer yet.
    pub fn new(me: NodeId, end: LinkEnd, peer: NodeId) -> Self {
        Self { is_lower: me < peer, end, last_dial: Dial::NONE, known_peer: None, state: State::Disconnected }
    }

    /// The elected connection, if there is one.
    pub fn connection(&self) -> Option<Connection> {
        match self.state {
            State::Connected(connection) => Some(connection),
            State::Disconnected | State::Connecting(_) | State::AwaitingReply(_) => None,
        }
    }

    /// Whether the node may dial. Before it does, the caller waits, with a growing backoff.
    pub fn may_dial(&self) -> bool {
        self.state == State::Disconnected
    }

    /// MEET-1. Starts a dial, and returns its number. Returns `None` if there is a connection or a
    /// dial already.
    pub fn start_dial(&mut self) -> Option<Dial> {
        if !self.may_dial() {
            return None;
        }
        self.last_dial = self.last_dial.next();
        self.state = State::Connecting(self.last_dial);
        Some(self.last_dial)
    }

    /// Handles that the dial's connection is open. Returns the contents of our Hello, which the
    /// caller must send immediately, or `None` if another connection replaced the dial and the
    /// caller must close the dialled one.
    pub fn handle_open_connection(&mut self, dial: Dial) -> Option<OutgoingHello> {
        if self.state != State::Connecting(dial) {
            return None;
        }
        self.state = State::AwaitingReply(dial);
        let last_welcomed_dial = self.known_peer.map_or(Dial::NONE, |known| known.last_welcomed_dial);
        let known_end = self.known_peer.map(|known| known.identity.end);
        Some(OutgoingHello { dial, last_welcomed_dial, known_end })
    }

    /// Handles the Welcome with which the peer answered our dial.
    pub fn handle_welcome(&mut self, dial: Dial, identity: EndIdentity) -> WelcomeOutcome {
        if self.state != State::AwaitingReply(dial) {
            return WelcomeOutcome::Abandoned;
        }
        if let Err(refusal) = self.check_identity(identity) {
            self.state = State::Disconnected;
            return WelcomeOutcome::Refuse(refusal);
        }
        if self.known_peer.is_none_or(|known| known.identity != identity) {
            self.known_peer =
                Some(KnownPeer { identity, last_answered_dial: Dial::NONE, last_welcomed_dial: Dial::NONE });
        }
        self.state = State::Connected(Connection::Ours(dial));
        WelcomeOutcome::Established(Connection::Ours(dial))
    }

    /// Handles that the peer refused our dial, or that the dial failed without a reply. Returns
    /// `false` and changes nothing if the dial had been replaced.
    pub fn handle_failed_dial(&mut self, dial: Dial) -> bool {
        let is_current = matches!(self.state, State::Connecting(ours) | State::AwaitingReply(ours) if ours == dial);
        if is_current {
            self.state = State::Disconnected;
        }
        is_current
    }

    /// Handles the end of a connection. Returns `false` and changes nothing if it had been
    /// replaced.
    pub fn handle_lost_connection(&mut self, connection: Connection) -> bool {
        let is_current = self.state == State::Connected(connection);
        if is_current {
            self.state = State::Disconnected;
        }
        is_current
    }

    /// Decides how to answer a Hello on a connection that the peer dialled.
    pub fn handle_hello(&mut self, hello: &IncomingHello) -> HelloReply {
        match self.check_hello(hello) {
            Ok(()) => self.welcome(hello),
            Err(refusal) => HelloReply::Refuse(refusal),
        }
    }

    /// MEET-5. Elects the connection of this Hello.
    fn welcome(&mut self, hello: &IncomingHello) -> HelloReply {
        let IncomingHello { sender: identity, dial, .. } = *hello;
        let replaced = match self.state {
            State::Disconnected => None,
            State::Connecting(ours) | State::AwaitingReply(ours) => Some(Connection::Ours(ours)),
            State::Connected(connection) => Some(connection),
        };
        let connection = Connection::Theirs(identity.end, dial);
        self.known_peer = Some(KnownPeer { identity, last_answered_dial: dial, last_welcomed_dial: dial });
        self.state = State::Connected(connection);
        HelloReply::Welcome { connection, replaced }
    }

    /// MEET-2, MEET-3 and MEET-4. Fails with the reason to refuse a Hello. Records a new dial of
    /// the known end as answered, even if MEET-3 or MEET-4 refuses the Hello.
    fn check_hello(&mut self, hello: &IncomingHello) -> Result<(), Refusal> {
        if let Some(known_end) = hello.known_end.filter(|known_end| *known_end > self.end) {
            return Err(if known_end.incarnation > self.end.incarnation {
                Refusal::SupersededIncarnation { receiver_incarnation: self.end.incarnation }
            } else {
                // This node has replaced this link since.
                Refusal::NotAPeer
            });
        }
        self.check_identity(hello.sender)?;
        let is_known = self.record_dial(hello)?;
        // The dials of our older ends are not the dials of our current one.
        let welcomed = if hello.known_end == Some(self.end) { hello.last_welcomed_dial } else { Dial::NONE };
        match self.state {
            // MEET-4. The other node abandons its own dial when ours arrives.
            State::AwaitingReply(ours) if self.is_lower && welcomed < ours => Err(Refusal::Crossed),
            // MEET-3. Another end may dial, because the one that welcomed us is gone.
            State::Connected(Connection::Ours(ours)) if is_known && welcomed < ours => Err(Refusal::Crossed),
            State::Disconnected | State::Connecting(_) | State::AwaitingReply(_) | State::Connected(_) => Ok(()),
        }
    }

    /// MEET-2, for the end that sent a Hello or a Welcome.
    fn check_identity(&self, identity: EndIdentity) -> Result<(), Refusal> {
        let Some(KnownPeer { identity: known, .. }) = self.known_peer else { return Ok(()) };
        let (incarnation, known_incarnation) = (identity.end.incarnation, known.end.incarnation);
        if incarnation < known_incarnation {
            Err(Refusal::OlderIncarnation { known_incarnation })
        } else if incarnation == known_incarnation && identity.process_nonce != known.process_nonce {
            Err(Refusal::DuplicateIncarnation { known_incarnation })
        } else if identity.end < known.end {
            // The peer sent it before it removed this node and added it again.
            Err(Refusal::OldDial)
        } else {
            Ok(())
        }
    }

    /// MEET-2, for the dial. Records its number, so that a repeated or earlier dial is refused even
    /// if the recorded one is not welcomed. Returns whether the known end dialled.
    fn record_dial(&mut self, hello: &IncomingHello) -> Result<bool, Refusal> {
        let Some(known) = self.known_peer.as_mut().filter(|known| known.identity == hello.sender) else {
            return Ok(false);
        };
        if hello.dial <= known.last_answered_dial {
            return Err(Refusal::OldDial);
        }
        known.last_answered_dial = hello.dial;
        Ok(true)
    }
}

impl EndIdentity {
    /// The end that sent a Hello.
    pub fn from_hello(header: &Header, hello: &Hello) -> Self {
        let end = LinkEnd { incarnation: header.incarnation, generation: hello.generation };
        Self { end, process_nonce: hello.process_nonce }
    }

    /// The end that sent a Welcome.
    pub fn from_welcome(header: &Header, welcome: &Welcome) -> Self {
        let end = LinkEnd { incarnation: header.incarnation, generation: welcome.generation };
        Self { end, process_nonce: welcome.process_nonce }
    }
}

impl IncomingHello {
    /// Extracts the election's part of a received Hello.
    pub fn new(header: &Header, hello: &Hello) -> Self {
        let Hello { dial, last_welcomed_dial, known_end, .. } = *hello;
        Self { sender: EndIdentity::from_hello(header, hello), dial, last_welcomed_dial, known_end }
    }
}
