//! Hand-written election runs, faulty elections, and the check of agreement.

mod agreement;
mod leases;
mod scripted;
mod toys;

use quorate_core::election::{Command, Event};
use quorate_core::{Incarnation, NodeId, Time};
use quorate_journal::moment::{Moment, ObservedEffect, ObservedInput, Observer, WorldEvent};

/// Whether properties expect several starters, and judge whether they contended.
const SEVERAL_STARTERS: bool = true;
const ONE_STARTER: bool = false;

fn node(number: u32) -> NodeId {
    NodeId::new(number).expect("nodes are numbered from 1")
}

fn ms(millis: i64) -> Time {
    Time::from_nanos(millis * 1_000_000)
}

/// Passes the moments of a hand-written run to an observer. Each method is one action, mostly of
/// the node with this number, at a time in milliseconds.
struct HandWrittenRun<O>(O);

impl<O: Observer<Command, Event>> HandWrittenRun<O> {
    fn input(mut self, millis: i64, number: u32, input: ObservedInput<'_, Command>) -> Self {
        self.0.observe(&Moment::Input { time: ms(millis), now: ms(millis), node: node(number), input });
        self
    }

    fn effect(mut self, millis: i64, number: u32, effect: ObservedEffect<'_, Event>) -> Self {
        self.0.observe(&Moment::Effect { time: ms(millis), node: node(number), effect });
        self
    }

    fn world(mut self, millis: i64, event: WorldEvent<'_>) -> Self {
        self.0.observe(&Moment::World { time: ms(millis), event });
        self
    }

    fn emits(self, millis: i64, number: u32, event: Event) -> Self {
        self.effect(millis, number, ObservedEffect::Emit(&event))
    }

    /// The node starts. The observers under test treat all incarnations alike.
    fn starts(self, millis: i64, number: u32) -> Self {
        self.input(millis, number, ObservedInput::Start { incarnation: Incarnation(1), is_disk_blank: false })
    }

    fn crashes(self, millis: i64, number: u32) -> Self {
        self.world(millis, WorldEvent::Crashed { node: node(number), lost_writes: 0 })
    }
}
