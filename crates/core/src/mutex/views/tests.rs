//! Tests that reports are combined correctly, and that algorithms begin a view with the combined
//! state.

use super::{ClientState, Report, ViewStart, ViewTransition};
use crate::effects::Effect;
use crate::group::Epoch;
use crate::mutex::maekawa::Form;
use crate::mutex::prelude::*;
use crate::mutex::quorum::Quorums;
use crate::mutex::{
    Lamport, Maekawa, ReadersWriters, RicartAgrawala, RicartAgrawalaRing, RoucairolCarvalho, TokenRing,
};
use crate::node::Incarnation;
use crate::view::{Stay, View};
use crate::wrap::InViews;

fn node(number: u32) -> NodeId {
    NodeId::new(number).expect("nodes are numbered from 1")
}

fn report(client_state: ClientState, clock: u64, counter: u64) -> Report {
    let fence = Fence { epoch: Epoch(3), counter };
    Report { client_state, floor: Floor { clock: Clock(clock), fence }, queue: Vec::new() }
}

const fn waiting(requested_at: u64) -> ClientState {
    ClientState::Waiting { requested_at: Clock(requested_at), patience: Patience::Wait, access: Access::Exclusive }
}

/// View 4 of the nodes 1 to 3, all of which were members before.
fn view() -> View {
    let stay = Stay { incarnation: Incarnation::FIRST, since: Epoch(1) };
    View::new(Epoch(4), Group::of_size(3).iter().map(|node| (node, stay)))
}

/// Node 1 is in the critical section, and node 3 has waited for longer than node 2. The numbers are
/// the clock of a waiting request, the clock of the node and the counter of its fence.
fn reports() -> BTreeMap<NodeId, Report> {
    let inside = ClientState::Inside(Access::Exclusive);
    BTreeMap::from([
        (node(1), report(inside, 6, 2)),
        (node(2), report(waiting(7), 9, 5)),
        (node(3), report(waiting(4), 8, 3)),
    ])
}

/// The waiting nodes in the order of service, each with the clock of its request in the new view.
fn service_order(start: &ViewStart) -> Vec<(u32, Clock)> {
    start.waiters().iter().map(|waiter| (waiter.node.number(), waiter.clock)).collect()
}

#[test]
fn combined_reports_hold_the_maximum_of_all_clocks_and_fences() {
    let start = ViewStart::from_reports(&view(), &reports());
    assert_eq!(start.holder(), Some(node(1)));
    assert_eq!(start.inside_clock(), Clock(9));
    assert_eq!(service_order(&start), [(3, Clock(10)), (2, Clock(11))]);
    // A node's next request has the clock after its floor: for nodes 3 and 2, the clocks above.
    let clocks = [1, 2, 3].map(|number| start.floor_of(node(number)).clock);
    assert_eq!(clocks, [Clock(11), Clock(10), Clock(9)]);
    assert_eq!(start.floor_of(node(1)).fence, Fence { epoch: Epoch(4), counter: 5 });
}

#[test]
fn a_reported_queue_takes_precedence_over_age_and_ignores_nodes_that_do_not_wait() {
    let mut reports = reports();
    reports.insert(node(1), Report { queue: [node(9), node(1), node(2)].into(), ..report(waiting(1), 0, 0) });
    let start = ViewStart::from_reports(&view(), &reports);
    assert_eq!(service_order(&start), [(1, Clock(10)), (2, Clock(11)), (3, Clock(12))]);
    assert_eq!(start.holder(), None);
}

#[test]
fn a_view_without_reports_begins_idle() {
    let start = ViewStart::from_reports(&view(), &BTreeMap::new());
    assert_eq!((start.holder(), start.waiters().len(), start.inside_clock()), (None, 0, Clock(0)));
    assert_eq!(start.floor_of(node(2)).fence, Fence { epoch: Epoch(4), counter: 0 });
}

/// Lets a member of a group of five request entry and then begin [`view`], which has only three
/// members, with [`reports`]. Returns the resulting state of its client.
fn client_state_in_view<P: ViewTransition>(number: u32, new_node: impl Fn(NodeId, Group) -> P) -> ClientState {
    let me = node(number);
    let mut member = new_node(me, Group::of_size(5));
    let mut effects: Vec<Effect<P>> = Vec::new();
    member.step(Time::ZERO, Input::Command(Command::Acquire), &mut Effects::new(&mut effects));
    assert!(matches!(member.client_state(), ClientState::Waiting { .. }), "{me} waits before the view");
    member.resume(Time::ZERO, me, &view(), &reports(), &mut Effects::new(&mut effects));
    member.client_state()
}

#[test]
fn waiting_nodes_repeat_their_requests_in_order_of_age() {
    fn assert_keeps_order<P: ViewTransition>(new_node: fn(NodeId, Group) -> P) {
        assert_eq!(client_state_in_view(3, new_node), waiting(10));
        assert_eq!(client_state_in_view(2, new_node), waiting(11));
    }
    assert_keeps_order(RicartAgrawala::new);
    assert_keeps_order(RicartAgrawalaRing::new);
    assert_keeps_order(RoucairolCarvalho::new);
    assert_keeps_order(ReadersWriters::new);
    assert_keeps_order(Lamport::new);
    assert_keeps_order(|me, group| Maekawa::new(me, group, Form::DeadlockFree, Quorums::Grid));
    assert_keeps_order(|me, group| Maekawa::new(me, group, Form::DeadlockFree, Quorums::Plane));
}

#[test]
fn readers_in_the_critical_section_stay_there_together() {
    let reading = ClientState::Inside(Access::Shared);
    let mut reports = reports();
    reports.insert(node(1), report(reading, 6, 2));
    reports.insert(node(3), report(reading, 6, 2));
    for number in [1, 3] {
        let mut reader = ReadersWriters::new(node(number), Group::of_size(3));
        let mut effects: Vec<Effect<ReadersWriters>> = Vec::new();
        reader.resume(Time::ZERO, node(number), &view(), &reports, &mut Effects::new(&mut effects));
        assert_eq!(reader.client_state(), reading);
        assert!(effects.is_empty());
    }
}

#[test]
fn a_token_in_use_does_not_circulate_and_an_unused_one_does() {
    // Whether the member's token is in use, if it has one; the number of effects: 1 if the member
    // sets the timer after which an unused token moves on.
    let begin_view = |number, reports: &BTreeMap<NodeId, Report>| {
        let bounds = crate::Bounds { message: Duration::from_millis(1), processing: Duration::ZERO };
        let mut member = TokenRing::new(node(number), Group::of_size(3), bounds);
        let mut effects: Vec<Effect<TokenRing>> = Vec::new();
        member.resume(Time::ZERO, node(number), &view(), reports, &mut Effects::new(&mut effects));
        (member.token().map(|token| token.label.began_with_entry), effects.len())
    };
    let mut reports = reports();
    assert_eq!([1, 2, 3].map(|number| begin_view(number, &reports)), [(Some(true), 0), (None, 0), (None, 0)]);
    reports.insert(node(1), report(ClientState::Idle, 0, 0));
    assert_eq!([1, 2, 3].map(|number| begin_view(number, &reports)), [(Some(false), 1), (None, 0), (None, 0)]);
}
