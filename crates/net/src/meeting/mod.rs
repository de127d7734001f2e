//! Which of the connections between two nodes is theirs: both dial, and one connection remains.
//!
//! A dial has a number, which grows within a node's life. A Hello carries the number of its dial, and the last number of
//! the other's that its sender has welcomed. With these two a node can tell what crossed on the way:
//!
//! ```text
//! MEET-1  one connection, or one dial of our own, at a time; whoever has neither may dial
//! MEET-2  a Hello of a life that is over, of a twin, or with a number that was seen before → refuse
//! MEET-3  our dial is welcomed, and a Hello says that its sender had not welcomed it yet → refuse: it was sent
//!         before, and its sender has given it up since
//! MEET-4  our Hello is under way, and a Hello says that its sender has not welcomed it yet → they cross: the node with
//!         the lower number refuses, the other accepts
//! MEET-5  every other Hello → accept; what was there before is given up
//! ```
//!
//! MEET-4 needs only one of the two to be firm. The lower node's dial wins, unless it fails, and then both try again.

#[cfg(test)]
mod model;
#[cfg(test)]
mod tests;

use crate::frame::{Birth, Dial, Header, Hello, Refusal, Welcome};
use quorate_core::{Incarnation, NodeId};

/// One life of a node, and the process that it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Life {
    pub incarnation: Incarnation,
    /// Which process: two that claim the same life are told apart by it.
    pub birth: Birth,
}

/// A connection, by who dialled it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Connection {
    /// We did.
    Ours(Dial),
    /// The peer did, in this life.
    Theirs(Incarnation, Dial),
}

/// What a Hello says that matters here.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Caller {
    pub life: Life,
    pub dial: Dial,
    /// The last dial that it welcomed of our life that it `knows`.
    pub welcomed: Dial,
    /// Our life that it met last.
    pub knows: Option<Incarnation>,
}

/// What our own Hello has to say, at the moment when it is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Greeting {
    pub dial: Dial,
    /// The last dial that we welcomed of the life that we know.
    pub welcomed: Dial,
    /// The peer's life that we met last.
    pub knows: Option<Incarnation>,
}

/// What a Hello is answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// The connection is ours from now on. Say so, and close what is given up for it.
    Welcome {
        connection: Connection,
        /// What was there before: a connection, or a dial of our own that has not been welcomed yet.
        given_up: Option<Connection>,
    },
    /// Say why not, and close it. What we hold is still ours.
    Refuse(Refusal),
}

/// What a Welcome means.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The connection is ours from now on.
    Together(Connection),
    /// The dial was given up in the meantime. Close it.
    GivenUp,
    /// We do not want to speak with this life of the peer. Close it.
    Refuse(Refusal),
}

/// One node's view of its meetings with one peer.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Meeting {
    is_lower: bool,
    life: Incarnation,
    dialled: Dial,
    known: Option<Known>,
    state: State,
}

/// The peer's life that we met last.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Known {
    life: Life,
    /// The last dial that we have judged.
    seen: Dial,
    /// The last dial that we have welcomed.
    welcomed: Dial,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum State {
    Apart,
    /// We dial, and nobody knows of it yet.
    Connecting(Dial),
    /// Our Hello is under way, or its answer is.
    Greeting(Dial),
    /// The connection that we hold to be ours both.
    Together(Connection),
}

impl Meeting {
    /// Two nodes that have not met yet.
    pub fn new(me: NodeId, life: Incarnation, peer: NodeId) -> Self {
        Self { is_lower: me < peer, life, dialled: Dial::NONE, known: None, state: State::Apart }
    }

    /// The connection that is ours, if there is one.
    pub fn connection(&self) -> Option<Connection> {
        match self.state {
            State::Together(connection) => Some(connection),
            State::Apart | State::Connecting(_) | State::Greeting(_) => None,
        }
    }

    /// May we dial? A driver waits for a while before it does, longer each time.
    pub fn may_dial(&self) -> bool {
        self.state == State::Apart
    }

    /// MEET-1. We dial. Nothing if there is a connection or a dial already.
    pub fn dial(&mut self) -> Option<Dial> {
        if !self.may_dial() {
            return None;
        }
        self.dialled = self.dialled.next();
        self.state = State::Connecting(self.dialled);
        Some(self.dialled)
    }

    /// The dial has reached the other side. Tells what our Hello has to say, which must be sent at once, or nothing if
    /// the dial was given up and is to be closed.
    pub fn connected(&mut self, dial: Dial) -> Option<Greeting> {
        if self.state != State::Connecting(dial) {
            return None;
        }
        self.state = State::Greeting(dial);
        let welcomed = self.known.map_or(Dial::NONE, |known| known.welcomed);
        Some(Greeting { dial, welcomed, knows: self.known.map(|known| known.life.incarnation) })
    }

    /// Our dial was welcomed.
    pub fn welcomed(&mut self, dial: Dial, life: Life) -> Outcome {
        if self.state != State::Greeting(dial) {
            return Outcome::GivenUp;
        }
        if let Err(refusal) = self.judge_life(life) {
            self.state = State::Apart;
            return Outcome::Refuse(refusal);
        }
        if self.known.is_none_or(|known| known.life != life) {
            self.known = Some(Known { life, seen: Dial::NONE, welcomed: Dial::NONE });
        }
        self.state = State::Together(Connection::Ours(dial));
        Outcome::Together(Connection::Ours(dial))
    }

    /// Our dial was refused, or failed before it was answered. Tells whether that is news: a dial that was given up
    /// changes nothing.
    pub fn failed(&mut self, dial: Dial) -> bool {
        let is_news = matches!(self.state, State::Connecting(own) | State::Greeting(own) if own == dial);
        if is_news {
            self.state = State::Apart;
        }
        is_news
    }

    /// A connection ended. Tells whether it was the one that is ours: the end of one that was given up changes nothing.
    pub fn lost(&mut self, connection: Connection) -> bool {
        let is_news = self.state == State::Together(connection);
        if is_news {
            self.state = State::Apart;
        }
        is_news
    }

    /// Somebody dialled us and said this.
    pub fn accept(&mut self, caller: &Caller) -> Answer {
        match self.judge(caller) {
            Ok(()) => self.welcome(caller),
            Err(refusal) => Answer::Refuse(refusal),
        }
    }

    /// MEET-5.
    fn welcome(&mut self, caller: &Caller) -> Answer {
        let Caller { life, dial, .. } = *caller;
        let given_up = match self.state {
            State::Apart => None,
            State::Connecting(own) | State::Greeting(own) => Some(Connection::Ours(own)),
            State::Together(connection) => Some(connection),
        };
        let connection = Connection::Theirs(life.incarnation, dial);
        self.known = Some(Known { life, seen: dial, welcomed: dial });
        self.state = State::Together(connection);
        Answer::Welcome { connection, given_up }
    }

    fn judge(&mut self, caller: &Caller) -> Result<(), Refusal> {
        if caller.knows > Some(self.life) {
            return Err(Refusal::Outlived { mine: self.life });
        }
        self.judge_life(caller.life)?;
        let is_known = self.notice(caller)?;
        // Dials of an older life of ours say nothing about this one's.
        let welcomed = if caller.knows == Some(self.life) { caller.welcomed } else { Dial::NONE };
        match self.state {
            // MEET-4. The other node gives up its own dial when ours arrives.
            State::Greeting(own) if self.is_lower && welcomed < own => Err(Refusal::Crossed),
            // MEET-3. Unless it is another life that dials: the one that welcomed us is gone.
            State::Together(Connection::Ours(own)) if is_known && welcomed < own => Err(Refusal::Crossed),
            State::Apart | State::Connecting(_) | State::Greeting(_) | State::Together(_) => Ok(()),
        }
    }

    /// MEET-2, for a life.
    fn judge_life(&self, life: Life) -> Result<(), Refusal> {
        let Some(Known { life: known, .. }) = self.known else { return Ok(()) };
        if life.incarnation < known.incarnation {
            Err(Refusal::OldLife { known: known.incarnation })
        } else if life.incarnation == known.incarnation && life.birth != known.birth {
            Err(Refusal::TwinLife { known: known.incarnation })
        } else {
            Ok(())
        }
    }

    /// MEET-2, for a dial: it counts once, whatever it is answered. Tells whether it is of the life that we know.
    fn notice(&mut self, caller: &Caller) -> Result<bool, Refusal> {
        let Some(known) = self.known.as_mut().filter(|known| known.life == caller.life) else {
            return Ok(false);
        };
        if caller.dial <= known.seen {
            return Err(Refusal::Stale);
        }
        known.seen = caller.dial;
        Ok(true)
    }
}

impl Life {
    /// The life that a Hello comes from.
    pub fn of_hello(header: &Header, hello: &Hello) -> Self {
        Self { incarnation: header.incarnation, birth: hello.birth }
    }

    /// The life that a Welcome comes from.
    pub fn of_welcome(header: &Header, welcome: &Welcome) -> Self {
        Self { incarnation: header.incarnation, birth: welcome.birth }
    }
}

impl Caller {
    /// What a Hello says that matters here.
    pub fn new(header: &Header, hello: &Hello) -> Self {
        let Hello { dial, welcomed, knows, .. } = *hello;
        Self { life: Life::of_hello(header, hello), dial, welcomed, knows }
    }
}
