//! A builder for hand-written runs of mutual exclusion.

use crate::common::ms;
use quorate_core::mutex::{Command, Event, Refusal};
use quorate_core::{Class, Epoch, Fence, Incarnation, NodeId};
use quorate_journal::moment::{MessageId, Moment, ObservedEffect, ObservedInput, Observer, Sent, WorldEvent};

/// Passes the moments of a hand-written run to an observer. Each method is one action at a time in
/// milliseconds, mostly of node `number`. The run need not begin with the start of nodes.
pub(crate) struct HandWrittenRun<O> {
    pub(crate) observer: O,
    sent: u64,
}

impl<O: Observer<Command, Event>> HandWrittenRun<O> {
    pub(crate) fn new(observer: O) -> Self {
        Self { observer, sent: 0 }
    }

    fn input(mut self, millis: i64, number: u32, input: ObservedInput<'_, Command>) -> Self {
        let time = ms(millis);
        self.observer.observe(&Moment::Input { time, now: time, node: node(number), input });
        self
    }

    fn effect(mut self, millis: i64, number: u32, effect: ObservedEffect<'_, Event>) -> Self {
        self.observer.observe(&Moment::Effect { time: ms(millis), node: node(number), effect });
        self
    }

    pub(crate) fn starts(self, millis: i64, number: u32) -> Self {
        self.input(millis, number, ObservedInput::Start { incarnation: Incarnation(1), is_disk_blank: false })
    }

    pub(crate) fn requests(self, millis: i64, number: u32) -> Self {
        self.input(millis, number, ObservedInput::Command(&Command::Acquire))
    }

    pub(crate) fn tries(self, millis: i64, number: u32) -> Self {
        self.input(millis, number, ObservedInput::Command(&Command::Try))
    }

    /// Enters with a fence of epoch 0 and this counter.
    pub(crate) fn enters(self, millis: i64, number: u32, counter: u64) -> Self {
        let fence = Fence { epoch: Epoch(0), counter };
        self.effect(millis, number, ObservedEffect::Emit(&Event::entered(fence)))
    }

    /// Enters with a fence of epoch 0 and this counter, until `until` milliseconds on the node's
    /// own clock.
    pub(crate) fn enters_until(self, millis: i64, number: u32, counter: u64, until: i64) -> Self {
        let fence = Fence { epoch: Epoch(0), counter };
        self.effect(millis, number, ObservedEffect::Emit(&Event::Entered { fence, until: ms(until) }))
    }

    pub(crate) fn extends_until(self, millis: i64, number: u32, until: i64) -> Self {
        self.effect(millis, number, ObservedEffect::Emit(&Event::Extended { until: ms(until) }))
    }

    pub(crate) fn loses_entry(self, millis: i64, number: u32) -> Self {
        self.effect(millis, number, ObservedEffect::Emit(&Event::Lost))
    }

    /// Applies a clock fault, in the syntax of `--fault`.
    pub(crate) fn changes_clock(mut self, millis: i64, fault: &str) -> Self {
        self.observer.observe(&Moment::World { time: ms(millis), event: WorldEvent::Changed { text: fault } });
        self
    }

    pub(crate) fn releases(self, millis: i64, number: u32) -> Self {
        self.input(millis, number, ObservedInput::Command(&Command::Release)).effect(
            millis,
            number,
            ObservedEffect::Emit(&Event::Left),
        )
    }

    pub(crate) fn cancels(self, millis: i64, number: u32) -> Self {
        self.input(millis, number, ObservedInput::Command(&Command::Cancel)).effect(
            millis,
            number,
            ObservedEffect::Emit(&Event::Cancelled),
        )
    }

    pub(crate) fn gets_denied(self, millis: i64, number: u32) -> Self {
        self.effect(millis, number, ObservedEffect::Emit(&Event::Denied))
    }

    pub(crate) fn gets_refused(self, millis: i64, number: u32) -> Self {
        self.effect(millis, number, ObservedEffect::Emit(&Event::Refused(Refusal::AlreadyWaiting)))
    }

    pub(crate) fn crashes(mut self, millis: i64, number: u32) -> Self {
        let event = WorldEvent::Crashed { node: node(number), lost_writes: 0 };
        self.observer.observe(&Moment::World { time: ms(millis), event });
        self
    }

    /// Sends a message that arrives one millisecond later, so that later requests of the receiver
    /// happen after earlier ones of the sender.
    pub(crate) fn sends_to(mut self, millis: i64, from: u32, to: u32) -> Self {
        self.sent += 1;
        let id = MessageId { sender: node(from), number: self.sent };
        let sent = Sent {
            id,
            kind: "request",
            label: None,
            class: Class::Algorithm,
            on_behalf_of: None,
            bytes: 1,
            payload_id: None,
            is_retransmission: false,
            body: &(),
        };
        self.effect(millis, from, ObservedEffect::Send { to: node(to), sent }).input(
            millis + 1,
            to,
            ObservedInput::Message { id, kind: "request", is_wrapped: false, incarnation: Incarnation::FIRST },
        )
    }
}

pub(crate) fn coordinator(number: u32) -> Option<NodeId> {
    Some(node(number))
}

fn node(number: u32) -> NodeId {
    NodeId::new(number).unwrap()
}
