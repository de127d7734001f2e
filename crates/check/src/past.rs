//! What properties about the past remember, kept as words of the state.
//!
//! ```text
//! n words   for each node the requests under way that it knows of, and those of them that its own came after
//! 4 words   one more than the largest fence, in halves, and the same of those whose entries nobody shared
//! 1 word    how many pairs are listed
//! 2 each    a parcel that a link holds or carries, and the requests under way that it tells of;
//!           or, in elections, an epoch and who was elected in it
//! ```
//!
//! A request that happened before another one is known, directly or by hearsay, where the other one begins. So each node
//! and each message carries one bit for each request under way, and a request that ends is forgotten everywhere. A link
//! that holds messages back tells of requests when it hands a parcel on, not when a frame with it arrives.

use crate::system::{LOCALS, Memory, System};
use crate::tables::{Beat, Past};
use quorate_core::mutex::Access;
use quorate_core::{NodeId, Parcel};

/// A parcel between two nodes, in one word.
pub(crate) fn packed(from: NodeId, to: NodeId, parcel: Parcel) -> u32 {
    let ends = (from.index() as u32 & 0xf) << 28 | (to.index() as u32 & 0xf) << 24;
    ends | (parcel.incarnation.0 as u32 & 0xff) << 16 | (parcel.number as u32 & 0xffff)
}

/// The bits of requests that a node knows of; those that its own came after, and must wait for, are eight further up.
const KNOWN: u32 = 0xff;
const AFTER: u32 = KNOWN << 8;

const FENCES: usize = 4;

/// Set if the node's own request under way shares.
const SHARES: u32 = 1 << 16;

impl System {
    pub(crate) fn memory_at(&self) -> usize {
        LOCALS + self.nodes + self.roll_len()
    }

    /// A state with room for memory of the past, of which there is none yet.
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

    /// A node has taken an input that told of these requests; what it did since is remembered beat by beat. Tells which
    /// properties that breaks, one bit each.
    pub(crate) fn remember(
        &self,
        memory: Memory,
        node: usize,
        told: u32,
        beats: &[Beat],
        out: &mut Vec<u32>,
        start: usize,
    ) -> u32 {
        let at = start + self.memory_at();
        let mut broken = 0;
        if memory.order.is_some() {
            out[at + node] |= told;
        }
        for beat in beats {
            match beat {
                Beat::Sent(envelope) => {
                    let tag = if memory.order.is_some() { out[at + node] & KNOWN } else { 0 };
                    self.send_knowing(*envelope, tag, out, start);
                }
                Beat::Handed(parcel) => out[at + node] |= self.take_parcel(*parcel, out, start),
                Beat::Past(Past::Asks(access)) if memory.order.is_some() => {
                    let known = out[at + node] & KNOWN & !(1 << node);
                    let mut knowledge = known | 1 << node | known << 8;
                    if *access == Access::Shared {
                        let sharers = (0..self.nodes).filter(|other| out[at + other] & SHARES != 0);
                        knowledge &= !sharers.fold(0, |bits, other| bits | 1 << (other + 8));
                        knowledge |= SHARES;
                    }
                    out[at + node] = knowledge;
                }
                Beat::Past(Past::Asks(_)) => {}
                Beat::Past(Past::Enters(fence, access)) => {
                    if let Some(property) = memory.order
                        && out[at + node] & AFTER != 0
                    {
                        broken |= 1 << property;
                    }
                    self.forget(memory, node, out, start);
                    if let Some(property) = memory.fences
                        && !grows(&mut out[at + self.nodes..], *fence, *access)
                    {
                        broken |= 1 << property;
                    }
                }
                Beat::Past(Past::Ends) => self.forget(memory, node, out, start),
                Beat::Past(Past::Elects { epoch, leader }) => {
                    if let Some(property) = memory.results
                        && !self.is_the_one(*epoch, *leader, out, start)
                    {
                        broken |= 1 << property;
                    }
                }
            }
        }
        broken
    }

    /// A message leaves with what its sender knows: on the message itself, or on the parcel that it is a copy of.
    fn send_knowing(&self, envelope: u32, known: u32, out: &mut Vec<u32>, start: usize) {
        let cargo = self.tables.cargo[envelope as usize];
        if !cargo.wrapped {
            return self.send(envelope | known << 24, out, start);
        }
        if let Some(parcel) = cargo.parcel
            && known != 0
        {
            let place = self.pair_place(parcel, out, start);
            self.list(place, [parcel, known], out, start);
        }
        self.send(envelope, out, start);
    }

    /// Where a pair is listed that begins so, or would be.
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

    /// Whether this is the one who was elected in an epoch: the first of whom that is said.
    fn is_the_one(&self, epoch: u32, leader: u32, out: &mut Vec<u32>, start: usize) -> bool {
        let count = start + self.pairs_at();
        let place = self.pair_place(epoch, out, start);
        if place < count + 1 + 2 * out[count] as usize && out[place] == epoch {
            return out[place + 1] == leader;
        }
        self.list(place, [epoch, leader], out, start);
        true
    }

    /// What a parcel that is handed on tells of.
    fn take_parcel(&self, parcel: u32, out: &mut Vec<u32>, start: usize) -> u32 {
        let count = start + self.pairs_at();
        let place = self.pair_place(parcel, out, start);
        if place >= count + 1 + 2 * out[count] as usize || out[place] != parcel {
            return 0;
        }
        let told = out[place + 1];
        out.drain(place..place + 2);
        out[count] -= 1;
        told
    }

    /// A node's request is over: nobody needs to know of it any more. Where no order is judged, nobody knew.
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
        let under_way = &mut out[body..];
        let mut changed = false;
        for word in &mut *under_way {
            let bit = 1 << (24 + node);
            changed |= *word & bit != 0;
            *word &= !bit;
        }
        if changed && !self.fifo {
            under_way.sort_unstable();
        }
    }
}

/// Whether an entry's fence is larger than those of all before that conflict with it: those who share need not have
/// different ones.
fn grows(fences: &mut [u32], fence: u64, access: Access) -> bool {
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

/// Raises the largest fence to this one, or tells that it is not larger. Nothing is smaller than the smallest fence.
fn raise(halves: &mut [u32], fence: u64) -> bool {
    if !is_larger(halves, fence) {
        return false;
    }
    let fence = fence.saturating_add(1);
    halves[0] = (fence >> 32) as u32;
    halves[1] = fence as u32;
    true
}
