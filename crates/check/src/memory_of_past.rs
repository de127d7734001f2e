//! The memory of properties about the past, stored as words of the state.
//!
//! ```text
//! n words   for each node, the pending requests that it knows, and those that precede its own
//!           request
//! 4 words   one more than the largest fence, in halves, and the same for exclusive entries only
//! 1 word    the number of pairs
//! 2 each    a parcel that a link holds or carries, and the pending requests that it knows;
//!           or, in elections, an epoch and its leader
//! ```
//!
//! If a request happened before another one, the node of the later one knows the earlier one when
//! it makes its request. So each node and each message carries one bit per pending request, and a
//! request that ends is cleared everywhere. A link that holds messages back transfers this
//! knowledge when it delivers a parcel, not when a frame with the parcel arrives.

use crate::system::{LOCALS, Memory, System};
use crate::tables::{PastEvent, StepEvent};
use quorate_core::mutex::Access;
use quorate_core::{NodeId, PayloadId};

/// Packs a parcel between two nodes into one word.
pub(crate) fn pack_parcel(from: NodeId, to: NodeId, parcel: PayloadId) -> u32 {
    let ends = (from.index() as u32 & 0xf) << 28 | (to.index() as u32 & 0xf) << 24;
    ends | (parcel.incarnation.0 as u32 & 0xff) << 16 | (parcel.number as u32 & 0xffff)
}

/// The bits of the pending requests that a node knows. The requests that precede its own, and must
/// be served first, are eight bits further up.
const KNOWN: u32 = 0xff;
const AFTER: u32 = KNOWN << 8;

const FENCES: usize = 4;

/// Set if the node's own pending request is for shared access.
const SHARES: u32 = 1 << 16;

impl System {
    pub(crate) fn memory_at(&self) -> usize {
        LOCALS + self.nodes + self.view_len()
    }

    /// Returns a state with empty memory of the past inserted, if there is a property that needs
    /// it.
    pub(crate) fn with_memory(&self, state: &[u32]) -> Vec<u32> {
        let mut words = state.to_vec();
        if self.memory.is_some() {
            let at = self.memory_at();
            words.splice(at..at, std::iter::repeat_n(0, self.nodes + FENCES + 1));
        }
        words
    }

    fn pairs_at(&self) -> usize {
        self.memory_at() + self.nodes + FENCES
    }

    pub(crate) fn memory_len(&self, state: &[u32]) -> usize {
        match self.memory {
            None => 0,
            Some(_) => self.nodes + FENCES + 1 + 2 * state[self.pairs_at()] as usize,
        }
    }

    /// Updates the memory after a node took an input that carried knowledge of the requests
    /// `known`. Returns the properties that this violates, one bit each.
    pub(crate) fn remember(
        &self,
        memory: Memory,
        node: usize,
        known: u32,
        events: &[StepEvent],
        out: &mut Vec<u32>,
        start: usize,
    ) -> u32 {
        let at = start + self.memory_at();
        let mut broken = 0;
        if memory.order.is_some() {
            out[at + node] |= known;
        }
        for event in events {
            match event {
                StepEvent::Sent(envelope) => {
                    let tag = if memory.order.is_some() { out[at + node] & KNOWN } else { 0 };
                    self.send_knowing(*envelope, tag, out, start);
                }
                StepEvent::Handed(parcel) => out[at + node] |= self.take_parcel(*parcel, out, start),
                StepEvent::Past(PastEvent::Requested(access)) if memory.order.is_some() => {
                    let known = out[at + node] & KNOWN & !(1 << node);
                    let mut knowledge = known | 1 << node | known << 8;
                    if *access == Access::Shared {
                        let sharers = (0..self.nodes).filter(|other| out[at + other] & SHARES != 0);
                        knowledge &= !sharers.fold(0, |bits, other| bits | 1 << (other + 8));
                        knowledge |= SHARES;
                    }
                    out[at + node] = knowledge;
                }
                StepEvent::Past(PastEvent::Requested(_)) => {}
                StepEvent::Past(PastEvent::Entered(fence, access)) => {
                    if let Some(property) = memory.order
                        && out[at + node] & AFTER != 0
                    {
                        broken |= 1 << property;
                    }
                    self.forget(memory, node, out, start);
                    if let Some(property) = memory.fences
                        && !increases(&mut out[at + self.nodes..], *fence, *access)
                    {
                        broken |= 1 << property;
                    }
                }
                StepEvent::Past(PastEvent::Ended) => self.forget(memory, node, out, start),
                StepEvent::Past(PastEvent::Elected { epoch, leader }) => {
                    if let Some(property) = memory.results
                        && !self.is_first_leader(*epoch, *leader, out, start)
                    {
                        broken |= 1 << property;
                    }
                }
            }
        }
        broken
    }

    /// Sends a message with its sender's knowledge: attached to the message itself, or to the
    /// parcel of which it is the first copy.
    fn send_knowing(&self, envelope: u32, known: u32, out: &mut Vec<u32>, start: usize) {
        let payloads = self.tables.payloads[envelope as usize];
        if !payloads.wrapped {
            return self.send(envelope | known << 24, out, start);
        }
        if let Some(parcel) = payloads.parcel
            && known != 0
        {
            let place = self.pair_place(parcel, out, start);
            self.list(place, [parcel, known], out, start);
        }
        self.send(envelope, out, start);
    }

    /// Returns the index of the pair that begins with `first`, or the index where it belongs.
    fn pair_place(&self, first: u32, out: &[u32], start: usize) -> usize {
        let count = start + self.pairs_at();
        let mut place = count + 1;
        let end = place + 2 * out[count] as usize;
        while place < end && out[place] < first {
            place += 2;
        }
        place
    }

    fn list(&self, place: usize, pair: [u32; 2], out: &mut Vec<u32>, start: usize) {
        out.splice(place..place, pair);
        out[start + self.pairs_at()] += 1;
    }

    /// Whether this is the leader of an epoch: the first one that any node reported for it.
    fn is_first_leader(&self, epoch: u32, leader: u32, out: &mut Vec<u32>, start: usize) -> bool {
        let count = start + self.pairs_at();
        let place = self.pair_place(epoch, out, start);
        if place < count + 1 + 2 * out[count] as usize && out[place] == epoch {
            return out[place + 1] == leader;
        }
        self.list(place, [epoch, leader], out, start);
        true
    }

    /// Removes a delivered parcel, and returns the requests that it knew.
    fn take_parcel(&self, parcel: u32, out: &mut Vec<u32>, start: usize) -> u32 {
        let count = start + self.pairs_at();
        let place = self.pair_place(parcel, out, start);
        if place >= count + 1 + 2 * out[count] as usize || out[place] != parcel {
            return 0;
        }
        let known = out[place + 1];
        out.drain(place..place + 2);
        out[count] -= 1;
        known
    }

    /// Clears a node's request, which has ended, everywhere. There is nothing to clear if no order
    /// is judged.
    fn forget(&self, memory: Memory, node: usize, out: &mut Vec<u32>, start: usize) {
        if memory.order.is_none() {
            return;
        }
        let at = start + self.memory_at();
        for knowledge in &mut out[at..at + self.nodes] {
            *knowledge &= !(1 << node | 1 << (node + 8));
        }
        out[at + node] &= KNOWN;
        let count = start + self.pairs_at();
        let mut place = count + 1;
        while place < count + 1 + 2 * out[count] as usize {
            out[place + 1] &= !(1 << node);
            if out[place + 1] == 0 {
                out.drain(place..place + 2);
                out[count] -= 1;
            } else {
                place += 2;
            }
        }
        let body = start + self.body(&out[start..]);
        let in_flight = &mut out[body..];
        let mut changed = false;
        for word in &mut *in_flight {
            let bit = 1 << (24 + node);
            changed |= *word & bit != 0;
            *word &= !bit;
        }
        if changed && !self.fifo {
            in_flight.sort_unstable();
        }
    }
}

/// Whether an entry's fence is larger than the fences of all earlier entries that conflict with it.
/// Shared entries may have equal fences.
fn increases(fences: &mut [u32], fence: u64, access: Access) -> bool {
    let (all, exclusive) = fences.split_at_mut(FENCES / 2);
    match access {
        Access::Exclusive => {
            raise(exclusive, fence);
            raise(all, fence)
        }
        Access::Shared => {
            raise(all, fence);
            is_larger(exclusive, fence)
        }
    }
}

fn is_larger(halves: &[u32], fence: u64) -> bool {
    fence.saturating_add(1) > (u64::from(halves[0]) << 32 | u64::from(halves[1]))
}

/// Raises the largest fence to this one and returns true; returns false if it is not larger. The
/// stored value is one more than the fence, so that zero means none.
fn raise(halves: &mut [u32], fence: u64) -> bool {
    if !is_larger(halves, fence) {
        return false;
    }
    let fence = fence.saturating_add(1);
    halves[0] = (fence >> 32) as u32;
    halves[1] = fence as u32;
    true
}
