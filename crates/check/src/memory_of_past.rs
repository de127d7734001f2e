//! The memory of properties about the past, stored as words of the state.
//!
//! ```text
//! n words   one for each node: the pending requests that it knows, those that precede its own
//!           request, and whether its own request is for shared access
//! 4 words   one more than the largest fence, as its upper and lower half, and the same for
//!           exclusive entries only
//! 1 word    the number of pairs
//! 2 each    a payload that a link holds or carries, and the pending requests that its sender knew;
//!           or, in elections, an epoch and its leader
//! ```
//!
//! If a request happened before another one, the node of the later one knows the earlier one when
//! it makes its request. So each node and each message carries one bit per pending request, and a
//! request that ends is cleared everywhere. A reliable link carries a message of the algorithm as a
//! payload in frames of its own, and may hold the payload back. So the receiver gains the sender's
//! knowledge when the link delivers the payload, not when a frame arrives.
//!
//! Methods with the parameters `out` and `start` change the state in `out[start..]`.

use crate::system::{KNOWN_REQUESTS_SHIFT, LOCALS, PastProperties, System};
use crate::tables::{PastEvent, StepEvent};
use quorate_core::mutex::Access;
use quorate_core::{NodeId, PayloadId};

/// Packs the id of a payload between two nodes into one word: 4 bits for each node, 8 for the
/// incarnation and 16 for the number.
pub(crate) fn pack_payload(from: NodeId, to: NodeId, payload: PayloadId) -> u32 {
    let ends = (from.index() as u32 & 0xf) << 28 | (to.index() as u32 & 0xf) << 24;
    ends | (payload.incarnation.0 as u32 & 0xff) << 16 | (payload.number as u32 & 0xffff)
}

/// In a node's word, the bits of the pending requests that the node knows, one per node: requests
/// are tracked only in groups of at most 8 nodes.
const KNOWN: u32 = 0xff;
/// First bit, in a node's word, of the requests that precede its own and must be served first.
const PRECEDING_SHIFT: u32 = 8;
const PRECEDING: u32 = KNOWN << PRECEDING_SHIFT;

/// Number of words that hold the largest fences.
const FENCE_WORDS: usize = 4;

/// In a node's word, the bit that is set if the node's own pending request is for shared access.
const OWN_IS_SHARED: u32 = 1 << 16;

impl System {
    pub(crate) fn memory_offset(&self) -> usize {
        LOCALS + self.nodes + self.view_len()
    }

    /// Returns a state with empty memory of the past inserted, if there is a property that needs
    /// it.
    pub(crate) fn with_memory(&self, state: &[u32]) -> Vec<u32> {
        let mut words = state.to_vec();
        if self.past_properties.is_some() {
            let memory_start = self.memory_offset();
            words.splice(memory_start..memory_start, std::iter::repeat_n(0, self.nodes + FENCE_WORDS + 1));
        }
        words
    }

    fn pair_count_offset(&self) -> usize {
        self.memory_offset() + self.nodes + FENCE_WORDS
    }

    /// Number of words of the memory in this state.
    pub(crate) fn memory_len(&self, state: &[u32]) -> usize {
        match self.past_properties {
            None => 0,
            Some(_) => self.nodes + FENCE_WORDS + 1 + 2 * state[self.pair_count_offset()] as usize,
        }
    }

    /// Updates the memory after a node took an input that carried knowledge of `known_requests`.
    /// Returns the properties that this violates, one bit each.
    pub(crate) fn remember(
        &self,
        properties: PastProperties,
        node: usize,
        known_requests: u32,
        events: &[StepEvent],
        out: &mut Vec<u32>,
        start: usize,
    ) -> u32 {
        let memory_start = start + self.memory_offset();
        let mut violated_bits = 0;
        if properties.order.is_some() {
            out[memory_start + node] |= known_requests;
        }
        for event in events {
            match event {
                StepEvent::Sent(envelope) => {
                    let attached_requests =
                        if properties.order.is_some() { out[memory_start + node] & KNOWN } else { 0 };
                    self.send_with_knowledge(*envelope, attached_requests, out, start);
                }
                StepEvent::PayloadDelivered(payload) => {
                    out[memory_start + node] |= self.take_payload(*payload, out, start);
                }
                StepEvent::Past(PastEvent::Requested(access)) if properties.order.is_some() => {
                    let known_others = out[memory_start + node] & KNOWN & !(1 << node);
                    // Every request that the node knows precedes its new one.
                    let mut knowledge = known_others | 1 << node | known_others << PRECEDING_SHIFT;
                    // A request for shared access need not wait for others of its kind.
                    if *access == Access::Shared {
                        let sharers = (0..self.nodes).filter(|other| out[memory_start + other] & OWN_IS_SHARED != 0);
                        knowledge &= !sharers.fold(0, |bits, other| bits | 1 << (other + PRECEDING_SHIFT as usize));
                        knowledge |= OWN_IS_SHARED;
                    }
                    out[memory_start + node] = knowledge;
                }
                StepEvent::Past(PastEvent::Requested(_)) => {}
                StepEvent::Past(PastEvent::Entered(fence, access)) => {
                    if let Some(property) = properties.order
                        && out[memory_start + node] & PRECEDING != 0
                    {
                        violated_bits |= 1 << property;
                    }
                    self.clear_request(properties, node, out, start);
                    if let Some(property) = properties.fences
                        && !record_fence(&mut out[memory_start + self.nodes..], *fence, *access)
                    {
                        violated_bits |= 1 << property;
                    }
                }
                StepEvent::Past(PastEvent::RequestEnded) => self.clear_request(properties, node, out, start),
                StepEvent::Past(PastEvent::Elected { epoch, leader }) => {
                    if let Some(property) = properties.results
                        && !self.record_leader(*epoch, *leader, out, start)
                    {
                        violated_bits |= 1 << property;
                    }
                }
            }
        }
        violated_bits
    }

    /// Sends a message with its sender's knowledge: attached to the message itself or, if this is
    /// the first transmission of a wrapped payload, to that payload.
    fn send_with_knowledge(&self, envelope: u32, known_requests: u32, out: &mut Vec<u32>, start: usize) {
        let payload_info = self.tables.payloads[envelope as usize];
        if !payload_info.is_wrapped {
            return self.send(envelope | known_requests << KNOWN_REQUESTS_SHIFT, out, start);
        }
        if let Some(payload) = payload_info.payload
            && known_requests != 0
        {
            let index = self.pair_index(payload, out, start);
            self.insert_pair(index, [payload, known_requests], out, start);
        }
        self.send(envelope, out, start);
    }

    /// Returns the index of the pair that begins with `first`, or the index where it belongs.
    fn pair_index(&self, first: u32, out: &[u32], start: usize) -> usize {
        let count_index = start + self.pair_count_offset();
        let mut index = count_index + 1;
        let end = index + 2 * out[count_index] as usize;
        while index < end && out[index] < first {
            index += 2;
        }
        index
    }

    /// Inserts a pair at an index of `out`, and counts it.
    fn insert_pair(&self, index: usize, pair: [u32; 2], out: &mut Vec<u32>, start: usize) {
        out.splice(index..index, pair);
        out[start + self.pair_count_offset()] += 1;
    }

    /// Records the leader that a node reported for an epoch. Returns false if another leader was
    /// reported for that epoch before.
    fn record_leader(&self, epoch: u32, leader: u32, out: &mut Vec<u32>, start: usize) -> bool {
        let count_index = start + self.pair_count_offset();
        let index = self.pair_index(epoch, out, start);
        if index < count_index + 1 + 2 * out[count_index] as usize && out[index] == epoch {
            return out[index + 1] == leader;
        }
        self.insert_pair(index, [epoch, leader], out, start);
        true
    }

    /// Removes a delivered payload, and returns the requests that its sender knew; 0 if the sender
    /// knew none.
    fn take_payload(&self, payload: u32, out: &mut Vec<u32>, start: usize) -> u32 {
        let count_index = start + self.pair_count_offset();
        let index = self.pair_index(payload, out, start);
        if index >= count_index + 1 + 2 * out[count_index] as usize || out[index] != payload {
            return 0;
        }
        let known_requests = out[index + 1];
        out.drain(index..index + 2);
        out[count_index] -= 1;
        known_requests
    }

    /// Clears a node's request, which has ended, everywhere. There is nothing to clear if no order
    /// is judged.
    fn clear_request(&self, properties: PastProperties, node: usize, out: &mut Vec<u32>, start: usize) {
        if properties.order.is_none() {
            return;
        }
        let memory_start = start + self.memory_offset();
        for knowledge in &mut out[memory_start..memory_start + self.nodes] {
            *knowledge &= !(1 << node | 1 << (node + PRECEDING_SHIFT as usize));
        }
        out[memory_start + node] &= KNOWN;
        let count_index = start + self.pair_count_offset();
        let mut index = count_index + 1;
        while index < count_index + 1 + 2 * out[count_index] as usize {
            out[index + 1] &= !(1 << node);
            if out[index + 1] == 0 {
                out.drain(index..index + 2);
                out[count_index] -= 1;
            } else {
                index += 2;
            }
        }
        let in_flight_start = start + self.in_flight_start(&out[start..]);
        let in_flight = &mut out[in_flight_start..];
        let mut has_changed = false;
        for word in &mut *in_flight {
            let bit = 1 << (KNOWN_REQUESTS_SHIFT as usize + node);
            has_changed |= *word & bit != 0;
            *word &= !bit;
        }
        // Without FIFO links, the messages in flight are sorted by their words.
        if has_changed && !self.has_fifo_links {
            in_flight.sort_unstable();
        }
    }
}

/// Records an entry's fence. Returns whether it is larger than the fences of all earlier entries
/// that conflict with it; two shared entries do not conflict.
fn record_fence(fences: &mut [u32], fence: u64, access: Access) -> bool {
    let (all, exclusive) = fences.split_at_mut(FENCE_WORDS / 2);
    match access {
        Access::Exclusive => {
            raise_fence(exclusive, fence);
            raise_fence(all, fence)
        }
        Access::Shared => {
            raise_fence(all, fence);
            exceeds(exclusive, fence)
        }
    }
}

/// Whether a fence is larger than the stored one. The stored value is one more than the fence, so
/// that zero means none.
fn exceeds(halves: &[u32], fence: u64) -> bool {
    fence.saturating_add(1) > (u64::from(halves[0]) << 32 | u64::from(halves[1]))
}

/// Raises the stored fence to this one and returns true; returns false if this one is not larger.
fn raise_fence(halves: &mut [u32], fence: u64) -> bool {
    if !exceeds(halves, fence) {
        return false;
    }
    let fence = fence.saturating_add(1);
    halves[0] = (fence >> 32) as u32;
    halves[1] = fence as u32;
    true
}
