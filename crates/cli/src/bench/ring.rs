//! A minimal protocol for the benchmark: a ring on which every node forwards tokens.

use quorate_core::{Describe, Effects, Group, Input, Never, NodeId, Protocol, Time};
use quorate_journal::metrics::MessageCounts;
use quorate_journal::settings::{Chance, Latency};
use quorate_sim::{LinkDefaults, Setup, World};
use serde::Serialize;

/// A node that sends one token at the start and forwards every token it receives.
pub(crate) struct RingNode {
    next: NodeId,
    /// Number of tokens that the node has forwarded.
    forwarded: u32,
}

#[derive(Clone, Copy, Debug, Serialize)]
pub(crate) struct Token {
    hops: u32,
}

impl Describe for Token {
    fn kind(&self) -> &'static str {
        "token"
    }
}

impl Protocol for RingNode {
    type Command = Never;
    type Message = Token;
    type Timer = Never;
    type Event = Never;
    type Durable = ();

    fn step(&mut self, _now: Time, input: Input<Self>, out: &mut Effects<'_, Self>) {
        match input {
            Input::Start { .. } => out.send(self.next, Token { hops: 0 }),
            Input::Message { message: Token { hops }, .. } => {
                self.forwarded += 1;
                out.send(self.next, Token { hops: hops + 1 });
            }
            Input::Command(never) | Input::Timer(never) => match never {},
            Input::Saved(_)
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

/// Starts the simulation of a ring with one token in flight per node. It counts messages and writes
/// no journal.
pub(crate) fn start_world(nodes: usize, latency: Latency) -> World<RingNode, MessageCounts> {
    let never = Chance::default();
    let setup = Setup {
        nodes,
        seed: 1,
        link_defaults: LinkDefaults { latency, loss: never, duplicate: never, is_fifo: false },
        processing: Latency::Fixed(quorate_core::Duration::ZERO),
        sync: Latency::Fixed(quorate_core::Duration::ZERO),
    };
    let group = Group::of_size(nodes);
    let make_node = move |me| RingNode { next: group.successor(me).unwrap_or(me), forwarded: 0 };
    let mut world = World::new(&setup, make_node, MessageCounts::new(nodes));
    world.start();
    world
}
