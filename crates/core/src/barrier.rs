//! The order between saves and visible effects: a send or an event waits for the saves before it.

use crate::effects::{Effect, Order};
use crate::protocol::{Protocol, WriteOf};
use alloc::collections::VecDeque;
use core::hash::{Hash, Hasher};

/// Holds sends and events back until all saves before them are durable. Every driver uses one per
/// node.
///
/// ```text
/// save a, send x, save b, send y      x leaves when a is durable, y when a and b are
/// save a, send ahead z                z leaves at once
/// ```
pub struct Barrier<P: Protocol> {
    /// Number of saves that the node requested since it started.
    saves_requested: u64,
    /// Number of saves that are durable.
    saves_durable: u64,
    /// Effects that wait, each with the number of saves that must be durable first. The numbers
    /// never decrease.
    held_effects: VecDeque<(u64, Effect<P>)>,
}

impl<P: Protocol> Default for Barrier<P> {
    fn default() -> Self {
        Self { saves_requested: 0, saves_durable: 0, held_effects: VecDeque::new() }
    }
}

// Written by hand, because a derive would require these traits of the protocol itself. The checker
// needs them.
impl<P: Protocol> Clone for Barrier<P>
where
    P::Event: Clone,
    WriteOf<P>: Clone,
{
    fn clone(&self) -> Self {
        Self {
            saves_requested: self.saves_requested,
            saves_durable: self.saves_durable,
            held_effects: self.held_effects.clone(),
        }
    }
}

impl<P: Protocol> PartialEq for Barrier<P>
where
    Effect<P>: PartialEq,
{
    fn eq(&self, other: &Self) -> bool {
        (self.saves_requested, self.saves_durable, &self.held_effects)
            == (other.saves_requested, other.saves_durable, &other.held_effects)
    }
}

impl<P: Protocol> Eq for Barrier<P> where Effect<P>: Eq {}

impl<P: Protocol> Hash for Barrier<P>
where
    Effect<P>: Hash,
{
    fn hash<H: Hasher>(&self, state: &mut H) {
        (self.saves_requested, self.saves_durable, &self.held_effects).hash(state);
    }
}

impl<P: Protocol> Barrier<P> {
    /// Returns the effect if the driver may execute it now; holds it back and returns `None`
    /// otherwise. Call it once for each effect, in order: it counts the saves.
    pub fn admit(&mut self, effect: Effect<P>) -> Option<Effect<P>> {
        // Saves and timers are invisible outside the node, so they need not wait.
        let order = match &effect {
            Effect::Save(_) => {
                self.saves_requested += 1;
                Order::Ahead
            }
            Effect::SetTimer { .. } | Effect::CancelTimer(_) => Order::Ahead,
            Effect::Send { order, .. } | Effect::Multicast { order, .. } | Effect::Emit { order, .. } => *order,
        };
        match order {
            Order::AfterSaves if self.saves_durable < self.saves_requested => {
                self.held_effects.push_back((self.saves_requested, effect));
                None
            }
            Order::AfterSaves | Order::Ahead => Some(effect),
        }
    }

    /// Number of saves that the node requested since it started.
    pub fn saves_requested(&self) -> u64 {
        self.saves_requested
    }

    /// Number of effects that are held back.
    pub fn held_count(&self) -> usize {
        self.held_effects.len()
    }

    /// Records that the first `count` saves are durable, or all of them if fewer were requested.
    /// Call [`release`](Self::release) afterwards until it returns `None`.
    pub fn mark_durable(&mut self, count: u64) {
        self.saves_durable = self.saves_durable.max(count.min(self.saves_requested));
    }

    /// Returns the next held effect if there is one and the saves before it are durable.
    pub fn release(&mut self) -> Option<Effect<P>> {
        let (saves_needed, _) = self.held_effects.front()?;
        if *saves_needed > self.saves_durable {
            return None;
        }
        self.held_effects.pop_front().map(|(_, effect)| effect)
    }
}

#[cfg(test)]
mod tests {
    use super::Barrier;
    use crate::effects::{Effect, Effects, Order};
    use crate::protocol::{Durable, Input, Never, Protocol};
    use crate::time::Time;
    use alloc::vec::Vec;

    struct Writer;

    #[derive(Default)]
    struct Disk;

    impl Durable for Disk {
        type Write = u8;
        fn apply(&mut self, _write: u8) {}
    }

    impl Protocol for Writer {
        type Command = Never;
        type Message = Never;
        type Timer = Never;
        type Event = &'static str;
        type Durable = Disk;
        fn step(&mut self, _now: Time, _input: Input<Self>, _out: &mut Effects<'_, Self>) {}
    }

    fn emit(event: &'static str, order: Order) -> Effect<Writer> {
        Effect::Emit { event, order }
    }

    fn release_all(barrier: &mut Barrier<Writer>) -> Vec<&'static str> {
        let mut events = Vec::new();
        while let Some(Effect::Emit { event, .. }) = barrier.release() {
            events.push(event);
        }
        events
    }

    #[test]
    fn each_effect_waits_for_the_saves_before_it_and_no_others() {
        let mut barrier = Barrier::default();
        assert!(barrier.admit(emit("before any save", Order::AfterSaves)).is_some());
        assert!(barrier.admit(Effect::Save(1)).is_some());
        assert!(barrier.admit(emit("after one", Order::AfterSaves)).is_none());
        assert!(barrier.admit(emit("ahead", Order::Ahead)).is_some());
        assert!(barrier.admit(Effect::Save(2)).is_some());
        assert!(barrier.admit(emit("after two", Order::AfterSaves)).is_none());
        assert_eq!(release_all(&mut barrier), [""; 0]);
        barrier.mark_durable(1);
        assert_eq!(release_all(&mut barrier), ["after one"]);
        barrier.mark_durable(2);
        assert_eq!(release_all(&mut barrier), ["after two"]);
        assert!(barrier.admit(emit("all is durable", Order::AfterSaves)).is_some());
    }

    #[test]
    fn a_disk_cannot_confirm_saves_that_were_never_requested() {
        let mut barrier = Barrier::<Writer>::default();
        barrier.mark_durable(9);
        assert!(barrier.admit(Effect::Save(1)).is_some());
        assert!(barrier.admit(emit("waits", Order::AfterSaves)).is_none());
    }
}
