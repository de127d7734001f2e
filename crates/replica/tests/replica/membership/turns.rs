//! A member passes the end of its turns to the protocol inside, once that acts in a view, and
//! leaves the group when that protocol is done.

use super::group::at_millis;
use crate::setup;
use quorate_core::mutex::{Command, Event};
use quorate_core::wrap::InViews;
use quorate_core::{Effects, Group, Input, Never, NodeId, Protocol, Time, View};
use quorate_replica::membership::{Member, Plan};
use quorate_sim::World;
use std::collections::BTreeMap;

/// Answers requests only at the end of a turn: denies all of them. Leaves the group after so many.
struct Denier {
    requests: usize,
    requests_until_done: usize,
}

impl Protocol for Denier {
    type Command = Command;
    type Message = Never;
    type Timer = Never;
    type Event = Event;
    type Durable = ();

    fn step(&mut self, _now: Time, input: Input<Self>, out: &mut Effects<'_, Self>) {
        match input {
            Input::Command(_) => self.requests += 1,
            Input::EndOfTurn => {
                let denied = std::mem::take(&mut self.requests);
                self.requests_until_done = self.requests_until_done.saturating_sub(denied);
                (0..denied).for_each(|_| out.emit(Event::Denied));
            }
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

    fn wants_to_leave(&self) -> bool {
        self.requests_until_done == 0
    }
}

/// Three members. Node 1 requests entry at these times, in milliseconds.
fn started(requests_until_done: usize, request_times: [u64; 2]) -> World<Member<Denier>, ()> {
    let plan = Plan::new(&Group::of_size(3), 1);
    let create = move |me| Member::new(me, Denier { requests: 0, requests_until_done }, plan.clone());
    let mut world = World::new(&setup(3, 1, "fixed:1ms", ["0", "0"], "fixed:1ms"), create, ());
    world.start();
    for millis in request_times {
        world.schedule_command(at_millis(millis), NodeId::from_index(0), Command::Acquire);
    }
    world
}

/// Node 1 requests entry before the group has a view, and once more later.
#[test]
fn the_inner_protocol_gets_the_end_of_its_turns() {
    let mut world = started(3, [0, 9_000]);
    while world.time() < at_millis(10_000) && world.advance() {}
    let denied = std::iter::from_fn(|| world.next_client_event()).count();
    assert_eq!(denied, 2);
}

/// The protocol of node 1 is done after its second request.
#[test]
fn me_10_a_member_whose_inner_protocol_is_done_leaves_at_once_and_for_good() {
    let mut world = started(2, [3_000, 4_100]);
    // Keepalives are 400 ms apart.
    for (millis, members) in [(3_900, 3), (4_200, 2), (10_000, 2)] {
        while world.time() < at_millis(millis) && world.advance() {}
        let view = world.node(NodeId::from_index(1)).unwrap().viewed().view().unwrap();
        assert_eq!(view.members().len(), members, "after {millis} ms");
    }
}
