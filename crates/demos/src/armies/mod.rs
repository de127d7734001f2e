//! The two armies, which must agree on the leader of the attack and on the time of the attack.
//!
//! Two armies are on either side of an enemy, and win only together. They can only send messengers,
//! who always arrive, some sooner and some later. It is easy to agree on the leader: each army
//! sends its strength to the other, and the stronger one leads, however long the messengers take.
//! The time of the attack is harder: the leader sends an order and attacks, and the other army
//! attacks when the order arrives. If the delay is unbounded, so is the time for which the leader
//! fights alone. If the delay is at least min and at most max, the leader waits for min, and then
//! the other army attacks at most max − min later.
//!
//! ```text
//! AR-1  an army starts                  → send its strength to the other one
//! AR-2  a strength arrives              → the stronger one leads; the first one if both are equally strong
//! AR-3  an army is ordered to attack and
//!       knows that it leads             → send the order, and wait for the minimum delay of a
//!                                         message
//! AR-4  the leader has waited           → attack
//! AR-5  the order arrives               → attack, even if it arrives before its sender's strength
//! ```
//!
//! Cost: 3 messages: two strengths and the order.
//!
//! Assumes: every message arrives, once, in any order. To agree on the leader, nothing else. To
//! agree on the time, a message takes at least min and at most max, a step takes no time, and the
//! leader's clock is accurate: with a clock whose rate is off by r it waits for min/(1+r) to
//! min/(1−r).
//!
//! When it fails: if the order takes longer than max, the leader fights alone for longer than
//! max − min, and no army can detect that. If the order takes less than min, the other army
//! attacks first. If the order is lost, the leader attacks alone, and no number of confirmations
//! helps: the sender of the last one does not know whether it arrived. If the strength of the other
//! army is lost, the leader does not know that it leads, and no army attacks.

mod commanders;
mod message;
mod scenario;
#[cfg(test)]
mod tests;
mod timeline;

pub use message::{Command, Event, Message, Strength, Timer};
pub use scenario::{ArmiesError, Outcome, PropertyVerdict, Scenario, Violation, check, simulate};
pub use timeline::{Occurrence, OccurrenceKind, Timeline};

use quorate_core::about::Profile;
use quorate_core::{Duration, Effects, Fixed, Input, NodeId, Protocol, Span, Time};

/// The demonstration's name, and the source of its explanation.
pub const PROFILE: Profile = Profile {
    name: "armies",
    class: "two armies",
    summary: "two armies agree on who leads the attack and, if delays are bounded, on when to attack",
    source: include_str!("mod.rs"),
    flaw: None,
    is_checkable: true,
};

pub const ARMIES: [NodeId; 2] = [NodeId::from_index(0), NodeId::from_index(1)];

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Army {
    config: Fixed<Config>,
    /// The leader, once it is known.
    leader: Option<NodeId>,
    /// Whether its commander has ordered the attack.
    is_commanded: bool,
    phase: Phase,
}

/// The parts of the state that never change.
#[derive(Debug)]
struct Config {
    me: NodeId,
    strength: Strength,
    /// A lower bound on the delay of a message; zero if the army knows none.
    min_delay: Duration,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Phase {
    Idle,
    OrderSent,
    Attacking,
}

impl Army {
    /// One of the two armies, with this strength. `min_delay` is a lower bound on the delay of a
    /// message; zero if the army knows none.
    pub fn new(me: NodeId, strength: Strength, min_delay: Duration) -> Self {
        let config = Fixed::new(Config { me, strength, min_delay });
        Self { config, leader: None, is_commanded: false, phase: Phase::Idle }
    }

    fn me(&self) -> NodeId {
        self.config.me
    }

    fn other(&self) -> NodeId {
        let [first, second] = ARMIES;
        if self.me() == first { second } else { first }
    }

    /// AR-1. The strength never changes, so it does not matter when it arrives.
    fn send_strength(&self, out: &mut Effects<'_, Self>) {
        let Config { strength, .. } = &*self.config;
        out.note("AR-1", format_args!("sends its strength, {strength}"));
        out.send(self.other(), Message::Strength(*strength));
    }

    /// AR-2. Both armies compare the same two numbers, so both come to the same result.
    fn decide_leader(&mut self, theirs: Strength, out: &mut Effects<'_, Self>) {
        let ours = self.config.strength;
        let leader = if ours == theirs {
            ARMIES[0]
        } else if ours > theirs {
            self.me()
        } else {
            self.other()
        };
        if self.leader.is_some() {
            return;
        }
        self.leader = Some(leader);
        out.note("AR-2", format_args!("compares its strength {ours} with {theirs}"));
        out.emit(Event::Leads { army: leader });
        self.send_order(out);
    }

    /// AR-3. Only the leader sends the order, and only once its commander has ordered the attack.
    fn send_order(&mut self, out: &mut Effects<'_, Self>) {
        let is_leader = self.leader == Some(self.me());
        if !(is_leader && self.is_commanded && self.phase == Phase::Idle) {
            return;
        }
        let min_delay = self.config.min_delay;
        self.phase = Phase::OrderSent;
        out.note("AR-3", format_args!("sends the order and waits for {min_delay}"));
        out.send(self.other(), Message::Attack);
        out.set_timer(Timer::MinimumDelay, Span::exactly(min_delay));
    }

    /// AR-4. The timer of AR-3 has fired: the other army cannot have received the order earlier.
    fn attack_as_leader(&mut self, now: Time, out: &mut Effects<'_, Self>) {
        if self.phase == Phase::OrderSent {
            out.note("AR-4", format_args!("has waited and attacks"));
            self.attack(now, out);
        }
    }

    /// AR-5. The sender of the order is the leader, whatever messages are still in flight.
    fn attack_as_follower(&mut self, now: Time, out: &mut Effects<'_, Self>) {
        if self.phase == Phase::Idle {
            out.note("AR-5", format_args!("has received the order and attacks"));
            self.attack(now, out);
        }
    }

    fn attack(&mut self, now: Time, out: &mut Effects<'_, Self>) {
        self.phase = Phase::Attacking;
        out.emit(Event::Attacks { at: now });
    }
}

impl Protocol for Army {
    type Command = Command;
    type Message = Message;
    type Timer = Timer;
    type Event = Event;
    type Durable = ();

    fn step(&mut self, now: Time, input: Input<Self>, out: &mut Effects<'_, Self>) {
        match input {
            Input::Start { .. } => self.send_strength(out),
            Input::Command(Command::Attack) => {
                self.is_commanded = true;
                self.send_order(out);
            }
            Input::Message { from, message } if from == self.other() => match message {
                Message::Strength(theirs) => self.decide_leader(theirs, out),
                Message::Attack => self.attack_as_follower(now, out),
            },
            Input::Timer(Timer::MinimumDelay) => self.attack_as_leader(now, out),
            // There are no other nodes, and armies save nothing.
            Input::Message { .. }
            | Input::Saved(_)
            | Input::Suspect(_)
            | Input::Trust(_)
            | Input::DiskFull
            | Input::DiskFree
            | Input::EndOfTurn
            | Input::View(_)
            | Input::Lease(_) => {}
        }
    }
}
