//! The two armies, which must agree on who leads the attack and on when to attack.
//!
//! Two armies lie on either side of an enemy, and only together do they win. All they have is messengers, who always get through, some
//! sooner and some later. Who leads is easily agreed on: each tells the other how strong it is, and the stronger one leads. It makes no
//! difference how long the messengers take. When to attack is another matter: the one who leads sends word and attacks, and the other one
//! attacks when the word arrives. If nothing bounds how long that takes, nothing bounds how long the first one fights alone. If it takes at
//! least *min* and at most *max*, the leader waits for *min*, and then the other one is at most *max − min* behind.
//!
//! ```text
//! AR-1  an army boots                   → tell the other one how strong it is
//! AR-2  a strength arrives              → the stronger one leads; the first one if both are equally strong
//! AR-3  told to attack, and known to
//!       lead, whichever is later        → send the word, and wait for as long as it takes at least
//! AR-4  the leader has waited           → attack
//! AR-5  the word arrives                → attack, even if the word was faster than the strength of whoever sent it
//! ```
//!
//! Cost: 3 messages: two strengths and the word.
//!
//! Assumes: every message arrives, once, in any order. For *who* nothing else. For *when*, a message takes at least *min* and at most
//! *max*, a step takes no time, and the leader's clock runs right: with one that is off by r it waits for *min*/(1+r) to *min*/(1−r).
//!
//! When it fails: a message that takes longer than *max* lets the leader fight alone for as long as it is late, and nobody can tell. One
//! that takes less than *min* lets the other one begin first. One that is lost is a disaster, and no number of messengers sent back to
//! confirm helps: whoever sent the last one does not know whether it got through.

mod commanders;
mod message;
#[cfg(test)]
mod tests;
mod timeline;
mod war;

pub use message::{Command, Event, Message, Strength, Timer};
pub use timeline::{Entry, Timeline, What};
pub use war::{ArmiesError, Breach, Judged, Outcome, War, check, simulate};

use quorate_core::about::Profile;
use quorate_core::{Duration, Effects, Fixed, Input, NodeId, Protocol, Span, Time};

/// What the scenario is called, and where it is explained.
pub const PROFILE: Profile = Profile {
    name: "armies",
    class: "two armies",
    summary: "two armies agree on who leads the attack, and on when to attack as far as delays are bounded",
    source: include_str!("mod.rs"),
    flaw: None,
    checkable: true,
};

pub const ARMIES: [NodeId; 2] = [NodeId::from_index(0), NodeId::from_index(1)];

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Army {
    place: Fixed<Place>,
    /// Who leads, once that is known.
    leader: Option<NodeId>,
    ordered: bool,
    stance: Stance,
}

/// What never changes.
#[derive(Debug)]
struct Place {
    me: NodeId,
    strength: Strength,
    /// How long a message takes at least, as far as the army knows.
    least: Duration,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Stance {
    Encamped,
    Poised,
    Fighting,
}

impl Army {
    /// One of the two armies, of this strength. As far as it knows, messages take at least so long.
    pub fn new(me: NodeId, strength: Strength, least: Duration) -> Self {
        let place = Fixed::new(Place { me, strength, least });
        Self { place, leader: None, ordered: false, stance: Stance::Encamped }
    }

    fn me(&self) -> NodeId {
        self.place.me
    }

    fn other(&self) -> NodeId {
        let [first, second] = ARMIES;
        if self.me() == first { second } else { first }
    }

    /// AR-1. However late it is heard, it is true.
    fn introduce(&self, out: &mut Effects<'_, Self>) {
        let Place { strength, .. } = &*self.place;
        out.note("AR-1", format_args!("is {strength} strong and says so"));
        out.send(self.other(), Message::Strength(*strength));
    }

    /// AR-2. Both compare the same two numbers, so that both come to the same.
    fn compare(&mut self, theirs: Strength, out: &mut Effects<'_, Self>) {
        let ours = self.place.strength;
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
        out.note("AR-2", format_args!("compares {ours} here with {theirs} there"));
        out.emit(Event::Leads { army: leader });
        self.send_word(out);
    }

    /// AR-3. Only the one who leads, and only if it was told to.
    fn send_word(&mut self, out: &mut Effects<'_, Self>) {
        let leads = self.leader == Some(self.me());
        if !(leads && self.ordered && self.stance == Stance::Encamped) {
            return;
        }
        let least = self.place.least;
        self.stance = Stance::Poised;
        out.note("AR-3", format_args!("sends the word and waits for {least}"));
        out.send(self.other(), Message::Attack);
        out.set_timer(Timer::Word, Span::exactly(least));
    }

    /// AR-4. No sooner than the other one can have heard.
    fn lead(&mut self, now: Time, out: &mut Effects<'_, Self>) {
        if self.stance == Stance::Poised {
            out.note("AR-4", format_args!("has waited and attacks"));
            self.attack(now, out);
        }
    }

    /// AR-5. Who sends the word leads, whatever else is still under way.
    fn follow(&mut self, now: Time, out: &mut Effects<'_, Self>) {
        if self.stance == Stance::Encamped {
            out.note("AR-5", format_args!("has the word and attacks"));
            self.attack(now, out);
        }
    }

    fn attack(&mut self, now: Time, out: &mut Effects<'_, Self>) {
        self.stance = Stance::Fighting;
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
            Input::Start { .. } => self.introduce(out),
            Input::Command(Command::Attack) => {
                self.ordered = true;
                self.send_word(out);
            }
            Input::Message { from, message } if from == self.other() => match message {
                Message::Strength(theirs) => self.compare(theirs, out),
                Message::Attack => self.follow(now, out),
            },
            Input::Timer(Timer::Word) => self.lead(now, out),
            // Nobody else is there, and armies keep nothing on disks.
            Input::Message { .. }
            | Input::Saved(_)
            | Input::Suspect(_)
            | Input::Trust(_)
            | Input::DiskFull
            | Input::DiskFree
            | Input::View(_)
            | Input::Lease(_) => {}
        }
    }
}
