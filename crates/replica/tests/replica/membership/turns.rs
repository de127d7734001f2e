//! A member passes the end of its turns to the protocol inside, once that acts in a view.

use super::group::at_millis;
use crate::setup;
use quorate_core::mutex::{Command, Event};
use quorate_core::wrap::InViews;
use quorate_core::{Describe, Effects, Group, Input, Never, NodeId, Protocol, Time, View};
use quorate_replica::membership::{Member, Plan};
use quorate_sim::World;
use serde::Serialize;
use std::collections::BTreeMap;

/// Answers requests only at the end of a turn: denies all of them.
#[derive(Default)]
struct Denier {
    requests: usize,
}

#[derive(Clone, Serialize)]
enum NoMessage {}

impl Describe for NoMessage {
    fn kind(&self) -> &'static str {
        match *self {}
    }
}

impl Protocol for Denier {
    type Command = Command;
    type Message = NoMessage;
    type Timer = Never;
    type Event = Event;
    type Durable = ();

    fn step(&mut self, _now: Time, input: Input<Self>, out: &mut Effects<'_, Self>) {
        match input {
            Input::Command(_) => self.requests += 1,
            Input::EndOfTurn => (0..std::mem::take(&mut self.requests)).for_each(|_| out.emit(Event::Denied)),
            Input::Message { message, .. } => match message {},
            Input::Timer(never) => match never {},
            Input::Start { .. }
            | Input::Saved(_)
            | Input::Suspect(_)
            | Input::Trust(_)
            | Input::DiskFull
            | Input::DiskFree
            | Input::View(_)
            | Input::Lease(_) => {}
        }
    }

    fn uses_end_of_turn(&self) -> bool {
        true
    }
}

impl InViews for Denier {
    type Report = ();

    fn report(&self) {}

    fn resume(
        &mut self,
        _now: Time,
        _me: NodeId,
        _view: &View,
        _reports: &BTreeMap<NodeId, ()>,
        _out: &mut Effects<'_, Self>,
    ) {
    }

    fn is_holder(&self) -> bool {
        false
    }

    fn forget(&mut self, _me: NodeId, _is_released: bool) {}

    fn lost_event(&self) -> Event {
        Event::Lost
    }
}

/// Node 1 requests entry before the group has a view, and once more later.
#[test]
fn the_inner_protocol_gets_the_end_of_its_turns() {
    let plan = Plan::new(&Group::of_size(3), 1);
    let create = move |me| Member::new(me, Denier::default(), plan.clone());
    let mut world = World::new(&setup(3, 1, "fixed:1ms", ["0", "0"], "fixed:1ms"), create, ());
    world.start();
    for millis in [0, 9_000] {
        world.schedule_command(at_millis(millis), NodeId::from_index(0), Command::Acquire);
    }
    while world.time() < at_millis(10_000) && world.advance() {}
    let denied = std::iter::from_fn(|| world.next_client_event()).count();
    assert_eq!(denied, 2);
}
