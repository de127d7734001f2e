//! The bare event loop that the simulator is compared with: a binary heap, a table of counters, and
//! the same random numbers.

use quorate_core::Duration;
use quorate_journal::rng::{SeededRng, Stream};
use quorate_journal::settings::Latency;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// A ring of counters with one token in flight for each counter.
pub(crate) struct BareLoop {
    /// Tokens in flight: arrival time in nanoseconds, serial number as a tie breaker, receiver,
    /// hops.
    heap: BinaryHeap<Reverse<(u64, u64, u32, u32)>>,
    /// Number of tokens that each counter has forwarded.
    forwarded: Vec<u32>,
    rng: SeededRng,
    latency: Latency,
    /// Serial number of the last token sent.
    serial: u64,
}

impl BareLoop {
    pub(crate) fn new(nodes: usize, latency: Latency) -> Self {
        let mut ring = Self {
            heap: BinaryHeap::new(),
            forwarded: vec![0; nodes],
            rng: SeededRng::new(1, Stream::Network),
            latency,
            serial: 0,
        };
        for node in 0..nodes as u32 {
            ring.send(0, node, 0);
        }
        ring
    }

    fn send(&mut self, now: u64, from: u32, hops: u32) {
        let delay: Duration = self.rng.draw_latency(self.latency);
        let to = if from as usize + 1 == self.forwarded.len() { 0 } else { from + 1 };
        self.serial += 1;
        self.heap.push(Reverse((now + delay.nanos(), self.serial, to, hops)));
    }

    /// Handles the next arrival. Returns whether there was one.
    pub(crate) fn advance(&mut self) -> bool {
        let Some(Reverse((now, _, node, hops))) = self.heap.pop() else { return false };
        if let Some(forwarded) = self.forwarded.get_mut(node as usize) {
            *forwarded += 1;
        }
        self.send(now, node, hops + 1);
        true
    }
}
