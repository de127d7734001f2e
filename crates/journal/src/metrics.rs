//! Message counts, by the conventions of the literature on these algorithms.
//!
//! A message is a send from one node to another node. A send to a node that is down counts; a send
//! to the node itself does not. Control messages, such as acknowledgements, retransmissions and
//! heartbeats, are counted separately. On a multicast or broadcast medium, a multicast counts as
//! one message.

use crate::moment::{Moment, ObservedEffect, Observer, Sent};
use quorate_core::{Class, Medium, NodeId};
use serde::Serialize;

/// Counts the messages of a run.
#[derive(Clone, Debug)]
pub struct MessageCounts {
    medium: Medium,
    /// Number of messages without control messages.
    total: u64,
    /// Number of control messages.
    control: u64,
    bytes: u64,
    control_bytes: u64,
    by_kind: Vec<(String, u64)>,
    /// For each node, how many of the `total` messages it sent or received.
    handled_by_node: Vec<u64>,
    /// For each node, how many of the `total` messages served its requests.
    caused_by_node: Vec<u64>,
}

impl MessageCounts {
    /// Creates counts for a group of this size on a unicast network.
    pub fn new(nodes: usize) -> Self {
        Self::with_medium(Medium::Unicast, nodes)
    }

    /// Creates counts for a group of this size whose multicasts this medium carries.
    pub fn with_medium(medium: Medium, nodes: usize) -> Self {
        Self {
            medium,
            total: 0,
            control: 0,
            bytes: 0,
            control_bytes: 0,
            by_kind: Vec::new(),
            handled_by_node: vec![0; nodes],
            caused_by_node: vec![0; nodes],
        }
    }

    /// Number of messages, without control messages, as formulas in the literature count them.
    pub fn total(&self) -> u64 {
        self.total
    }

    /// Number of messages that served this node's requests, without control messages.
    pub fn caused_by(&self, node: NodeId) -> u64 {
        self.caused_by_node.get(node.index()).copied().unwrap_or(0)
    }

    /// The share of the `total` messages that the busiest node sent or received: 1 if every message
    /// passes through one node.
    pub fn busiest_share(&self) -> f64 {
        let busiest = self.handled_by_node.iter().copied().max().unwrap_or(0);
        if self.total == 0 { 0.0 } else { busiest as f64 / self.total as f64 }
    }

    /// Returns the counts as a serializable summary.
    pub fn summary(&self) -> MessageSummary {
        let mut by_kind = self.by_kind.clone();
        by_kind.sort();
        MessageSummary {
            total: self.total,
            by_kind: by_kind.into_iter().collect(),
            control: self.control,
            bytes: self.bytes,
            control_bytes: self.control_bytes,
            busiest_share: self.busiest_share(),
        }
    }

    /// Counts one transmission to each receiver but the sender, or one for all if the medium is not
    /// unicast.
    #[inline]
    fn count_copies(&mut self, from: NodeId, receivers: impl Iterator<Item = NodeId>, sent: &Sent<'_>) {
        let mut copies = 0;
        let is_control = sent.class == Class::Control;
        for to in receivers.filter(|to| *to != from) {
            copies += 1;
            if !is_control && let Some(handled) = self.handled_by_node.get_mut(to.index()) {
                *handled += 1;
            }
        }
        if self.medium != Medium::Unicast {
            copies = copies.min(1);
        }
        // A journal may contain any size, so sums saturate.
        let bytes = (sent.bytes as u64).saturating_mul(copies);
        if is_control {
            self.control += copies;
            self.control_bytes = self.control_bytes.saturating_add(bytes);
            return;
        }
        if copies == 0 {
            return;
        }
        self.total += copies;
        self.bytes = self.bytes.saturating_add(bytes);
        if let Some(handled) = self.handled_by_node.get_mut(from.index()) {
            *handled += copies;
        }
        if let Some(node) = sent.on_behalf_of
            && let Some(caused) = self.caused_by_node.get_mut(node.index())
        {
            *caused += copies;
        }
        match self.by_kind.iter_mut().find(|(kind, _)| kind == sent.kind) {
            Some((_, count)) => *count += copies,
            None => self.by_kind.push((sent.kind.to_owned(), copies)),
        }
    }
}

impl<C, E> Observer<C, E> for MessageCounts {
    fn reads_sizes(&self) -> bool {
        true
    }

    #[inline]
    fn prefetch(&self, node: NodeId) {
        if let Some(handled) = self.handled_by_node.get(node.index()) {
            // Reading the counter brings it into the processor's cache.
            std::hint::black_box(*handled);
        }
    }

    #[inline]
    fn observe(&mut self, moment: &Moment<'_, C, E>) {
        let Moment::Effect { node, effect, .. } = moment else { return };
        match effect {
            ObservedEffect::Send { to, sent } => self.count_copies(*node, std::iter::once(*to), sent),
            ObservedEffect::Multicast { to, sent } => self.count_copies(*node, to.iter(), sent),
            ObservedEffect::Save(_)
            | ObservedEffect::SetTimer { .. }
            | ObservedEffect::CancelTimer(_)
            | ObservedEffect::Emit(_)
            | ObservedEffect::Rule { .. }
            | ObservedEffect::Delivered { .. }
            | ObservedEffect::Membership(_)
            | ObservedEffect::HoldBack { .. } => {}
        }
    }
}

/// Message counts as `--json` prints them.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct MessageSummary {
    /// Number of messages, without control messages.
    pub total: u64,
    /// The same messages by kind.
    pub by_kind: std::collections::BTreeMap<String, u64>,
    /// Number of control messages, such as acknowledgements, retransmissions and heartbeats.
    pub control: u64,
    /// Encoded size of all messages in `total`.
    pub bytes: u64,
    /// Encoded size of all messages in `control`.
    pub control_bytes: u64,
    /// The share of the messages in `total` that the busiest node sent or received.
    pub busiest_share: f64,
}

/// Samples of a delay, reduced to their count, mean and maximum.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct DelaySamples {
    count: u64,
    sum: u128,
    max: u64,
}

impl DelaySamples {
    /// Counts one more delay of this length.
    pub fn add(&mut self, length: quorate_core::Duration) {
        self.count += 1;
        self.sum += u128::from(length.nanos());
        self.max = self.max.max(length.nanos());
    }

    /// Returns the number of delays that were added.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Returns the mean and the maximum as multiples of `unit`, or `None` without samples.
    pub fn in_units_of(&self, unit: quorate_core::Duration) -> Option<Delay> {
        let unit = unit.nanos().max(1) as f64;
        (self.count > 0).then(|| Delay {
            mean: self.sum as f64 / self.count as f64 / unit,
            max: self.max as f64 / unit,
            samples: self.count,
        })
    }
}

/// The mean and the maximum of a delay as `--json` prints them, in a unit that the caller chose.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Delay {
    pub mean: f64,
    pub max: f64,
    pub samples: u64,
}
