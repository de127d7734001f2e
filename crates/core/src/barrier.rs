//! What others see waits for the disk: the order between saves and everything visible.

use crate::effects::{Effect, Order};
use crate::protocol::{Protocol, WriteOf};
use alloc::collections::VecDeque;
use core::hash::{Hash, Hasher};

/// Holds sends and emits back until all that was saved before them is durable. Every driver uses it, one a node.
///
/// ```text
/// save a, send x, save b, send y      x leaves when a is durable, y when a and b are
/// save a, send ahead z                z leaves at once
/// ```
pub struct Barrier<P: Protocol> {
    /// How many saves the node asked for since it started.
    asked: u64,
    /// How many of them are durable.
    durable: u64,
    /// What waits, each with the number of saves that must be durable first. The numbers never decrease.
    held: VecDeque<(u64, Effect<P>)>,
}

impl<P: Protocol> Default for Barrier<P> {
    fn default() -> Self {
        Self { asked: 0, durable: 0, held: VecDeque::new() }
    }
}

// Written by hand, because a derive would ask these of the protocol itself. They are for the checker.
impl<P: Protocol> Clone for Barrier<P>
where
    P::Event: Clone,
    WriteOf<P>: Clone,
{
    fn clone(&self) -> Self {
        Self { asked: self.asked, durable: self.durable, held: self.held.clone() }
    }
}

impl<P: Protocol> PartialEq for Barrier<P>
where
    Effect<P>: PartialEq,
{
    fn eq(&self, other: &Self) -> bool {
        (self.asked, self.durable, &self.held) == (other.asked, other.durable, &other.held)
    }
}

impl<P: Protocol> Eq for Barrier<P> where Effect<P>: Eq {}

impl<P: Protocol> Hash for Barrier<P>
where
    Effect<P>: Hash,
{
    fn hash<H: Hasher>(&self, state: &mut H) {
        (self.asked, self.durable, &self.held).hash(state);
    }
}

impl<P: Protocol> Barrier<P> {
    /// Takes an effect and gives it back if it may be carried out now.
    pub fn admit(&mut self, effect: Effect<P>) -> Option<Effect<P>> {
        let order = match &effect {
            Effect::Save(_) => {
                self.asked += 1;
                Order::Ahead
            }
            Effect::SetTimer { .. } | Effect::CancelTimer(_) => Order::Ahead,
            Effect::Send { order, .. } | Effect::Multicast { order, .. } | Effect::Emit { order, .. } => *order,
        };
        match order {
            Order::AfterSaves if self.durable < self.asked => {
                self.held.push_back((self.asked, effect));
                None
            }
            Order::AfterSaves | Order::Ahead => Some(effect),
        }
    }

    /// How many saves the node asked for since it started.
    pub fn asked(&self) -> u64 {
        self.asked
    }

    /// How many effects wait.
    pub fn held(&self) -> usize {
        self.held.len()
    }

    /// The first `count` saves are durable. Call [`release`](Self::release) next, until it has nothing more.
    pub fn durable(&mut self, count: u64) {
        self.durable = self.durable.max(count.min(self.asked));
    }

    /// The next effect that need not wait any longer.
    pub fn release(&mut self) -> Option<Effect<P>> {
        let (needs, _) = self.held.front()?;
        if *needs > self.durable {
            return None;
        }
        self.held.pop_front().map(|(_, effect)| effect)
    }
}

#[cfg(test)]
mod tests {
    use super::Barrier;
    use crate::effects::{Effect, Effects, Order};
    use crate::protocol::{Durable, Input, Never, Protocol};
    use crate::time::Time;
    use alloc::vec::Vec;

    struct Clerk;

    #[derive(Default)]
    struct Ledger;

    impl Durable for Ledger {
        type Write = u8;
        fn apply(&mut self, _write: u8) {}
    }

    impl Protocol for Clerk {
        type Command = Never;
        type Message = Never;
        type Timer = Never;
        type Event = &'static str;
        type Durable = Ledger;
        fn step(&mut self, _now: Time, _input: Input<Self>, _out: &mut Effects<'_, Self>) {}
    }

    fn say(event: &'static str, order: Order) -> Effect<Clerk> {
        Effect::Emit { event, order }
    }

    fn released(barrier: &mut Barrier<Clerk>) -> Vec<&'static str> {
        let mut events = Vec::new();
        while let Some(Effect::Emit { event, .. }) = barrier.release() {
            events.push(event);
        }
        events
    }

    #[test]
    fn each_effect_waits_for_the_saves_before_it_and_no_others() {
        let mut barrier = Barrier::default();
        assert!(barrier.admit(say("before any save", Order::AfterSaves)).is_some());
        assert!(barrier.admit(Effect::Save(1)).is_some());
        assert!(barrier.admit(say("after one", Order::AfterSaves)).is_none());
        assert!(barrier.admit(say("ahead", Order::Ahead)).is_some());
        assert!(barrier.admit(Effect::Save(2)).is_some());
        assert!(barrier.admit(say("after two", Order::AfterSaves)).is_none());
        assert_eq!(released(&mut barrier), [""; 0]);
        barrier.durable(1);
        assert_eq!(released(&mut barrier), ["after one"]);
        barrier.durable(2);
        assert_eq!(released(&mut barrier), ["after two"]);
        assert!(barrier.admit(say("all is durable", Order::AfterSaves)).is_some());
    }

    #[test]
    fn a_disk_cannot_confirm_what_was_never_asked() {
        let mut barrier = Barrier::<Clerk>::default();
        barrier.durable(9);
        assert!(barrier.admit(Effect::Save(1)).is_some());
        assert!(barrier.admit(say("waits", Order::AfterSaves)).is_none());
    }
}
