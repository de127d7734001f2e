//! Tests of multicast clients: the messages of a client that must wait, was refused or was removed
//! are sent later.
//!
//! `id(1, 2)` is the id of node 1's second message in view 1, and `in_view(2, 1, 1)` that of its
//! first message in view 2. `view(2, [(1, 1)])` is view 2, with node 1 as a member since view 1.

use super::{id, in_view, node, view};
use quorate_core::multicast::{Command, Event, GroupId, MessageId, Payload, Refusal};
use quorate_core::{Duration, Group, Time};
use quorate_journal::settings::Latency;
use quorate_journal::workload::{ClientEvent, Plan, PlannedAction, Workload};
use quorate_lab::multicast::run::{Demand, Senders, Traffic};

/// The clients of a group of two, in which only node 1 sends by default. Payloads such as `1:2`
/// name the sender and the number of its message.
struct ClientTest {
    clients: Senders,
    plan: Plan<Command>,
}

/// Two messages of node 1, each as soon as the one before it is sent.
fn demand() -> Demand {
    Demand {
        traffic: Traffic::Flood,
        messages: 2,
        senders: vec![node(1)],
        payload: 0, // minimum length in bytes
        interval: Latency::Fixed(Duration::ZERO),
        groups: Vec::new(),
        leaves: 0,
        has_views: true,
        requires_agreement: true,
    }
}

impl ClientTest {
    fn new(demand: Demand) -> Self {
        let mut test = Self { clients: Senders::new(2, SEED, demand), plan: Plan::new() };
        for number in [1, 2] {
            test.clients.on_event(Time::ZERO, node(number), &ClientEvent::Emitted(view_event(1)), &mut test.plan);
        }
        test.clients.begin(&mut test.plan);
        test
    }

    /// Notifies the client of node 1. Returns the commands that it plans then.
    fn notify(&mut self, event: ClientEvent<Event>) -> Vec<String> {
        self.notify_node(1, event)
    }

    fn notify_node(&mut self, number: u32, event: ClientEvent<Event>) -> Vec<String> {
        self.clients.on_event(Time::ZERO, node(number), &event, &mut self.plan);
        self.take_commands()
    }

    /// Takes the commands that the clients have planned.
    fn take_commands(&mut self) -> Vec<String> {
        let text = |action| match action {
            PlannedAction::CommandThisIncarnation { command, .. }
            | PlannedAction::CommandAnyIncarnation { command, .. } => format!("{command}"),
            PlannedAction::Alarm { .. } => "alarm".to_owned(),
            PlannedAction::Depart { .. } => "depart".to_owned(),
            PlannedAction::Fault { fault, .. } => format!("{fault}"),
        };
        self.plan.drain().map(|planned| text(planned.action)).collect()
    }
}

fn view_event(epoch: u64) -> Event {
    Event::View { group: GroupId::ONLY, view: view(epoch, [(1, 1), (2, 1)]), state: 0 }
}

fn emitted(event: Event) -> ClientEvent<Event> {
    ClientEvent::Emitted(event)
}

fn delivered(id: MessageId) -> ClientEvent<Event> {
    emitted(Event::Delivered { id, payload: Payload::from("m") })
}

fn wait_event() -> ClientEvent<Event> {
    emitted(Event::Wait { group: GroupId::ONLY, slow: Group::of_size(2) })
}

/// The seed of the clients' random choices.
const SEED: u64 = 1;

const NO_COMMANDS: [&str; 0] = [];

#[test]
fn a_client_that_must_wait_repeats_its_request() {
    let mut test = ClientTest::new(demand());
    assert_eq!(test.take_commands(), ["send \"1:1\""]);
    assert_eq!(test.notify(wait_event()), NO_COMMANDS);
    assert_eq!(test.notify(emitted(Event::Ready { group: GroupId::ONLY })), ["send \"1:1\""]);
    // A second `Ready` has no effect.
    assert_eq!(test.notify(emitted(Event::Ready { group: GroupId::ONLY })), NO_COMMANDS);
    assert_eq!(test.notify(wait_event()), NO_COMMANDS);
    assert_eq!(test.notify(emitted(view_event(2))), ["send \"1:1\""]);
    assert_eq!(test.notify(emitted(Event::Sent { id: in_view(2, 1, 1) })), ["send \"1:2\""]);
}

#[test]
fn the_workload_is_done_when_all_nodes_have_delivered_everything() {
    let mut test = ClientTest::new(demand());
    test.notify(emitted(Event::Sent { id: id(1, 1) }));
    test.notify(emitted(Event::Sent { id: id(1, 2) }));
    for number in [1, 2] {
        test.notify_node(number, delivered(id(1, 1)));
    }
    test.notify(delivered(id(1, 2)));
    assert!(!test.clients.is_done());
    test.notify_node(2, delivered(id(1, 2)));
    assert!(test.clients.is_done());
}

#[test]
fn a_refused_message_is_sent_in_the_next_view() {
    let mut test = ClientTest::new(demand());
    test.take_commands();
    test.notify(emitted(Event::Excluded { group: GroupId::ONLY }));
    assert_eq!(test.notify(emitted(Event::Refused(Refusal::NotAMember))), NO_COMMANDS);
    assert!(!test.clients.is_done());
    assert_eq!(test.notify(emitted(view_event(3))), ["send \"1:1\""]);
}

#[test]
fn a_restarted_node_continues_in_the_next_view() {
    let mut test = ClientTest::new(demand());
    test.take_commands();
    assert_eq!(test.notify(ClientEvent::Crashed), NO_COMMANDS);
    assert_eq!(test.notify(ClientEvent::Restarted), NO_COMMANDS);
    assert!(!test.clients.is_done(), "it will be admitted again");
    // The node may have sent the first message before it crashed, so the client does not repeat it.
    assert_eq!(test.notify(emitted(view_event(2))), ["send \"1:2\""]);
}

#[test]
fn without_views_the_run_does_not_wait_for_a_restarted_node() {
    let mut test = ClientTest::new(Demand { has_views: false, ..demand() });
    test.notify(ClientEvent::Crashed);
    test.notify(ClientEvent::Restarted);
    assert!(test.clients.is_done());
}

#[test]
fn with_agreement_messages_of_a_crashed_node_count_if_a_live_node_delivered_them() {
    for agreement in [false, true] {
        let mut clients =
            Senders::new(3, SEED, Demand { messages: 1, has_views: false, requires_agreement: agreement, ..demand() });
        let mut plan = Plan::new();
        clients.begin(&mut plan);
        clients.on_event(Time::ZERO, node(1), &emitted(Event::Sent { id: id(1, 1) }), &mut plan);
        clients.on_event(Time::ZERO, node(1), &ClientEvent::Crashed, &mut plan);
        assert!(clients.is_done(), "no live node has delivered it");
        clients.on_event(Time::ZERO, node(2), &delivered(id(1, 1)), &mut plan);
        assert_eq!(clients.is_done(), !agreement);
        clients.on_event(Time::ZERO, node(3), &delivered(id(1, 1)), &mut plan);
        assert!(clients.is_done());
    }
}

#[test]
fn payloads_have_the_requested_length_and_differ() {
    let mut test = ClientTest::new(Demand { payload: 8, ..demand() });
    assert_eq!(test.take_commands(), ["send \"1:1.....\""]);
    assert_eq!(test.notify(emitted(Event::Sent { id: id(1, 1) })), ["send \"1:2.....\""]);
}

#[test]
fn each_client_sends_to_its_own_groups() {
    let groups = vec![(GroupId(1), Group::of_size(1)), (GroupId(2), Group::from(vec![node(2)]))];
    let demand = Demand { groups, has_views: false, senders: vec![node(1), node(2)], ..demand() };
    let mut test = ClientTest { clients: Senders::new(2, SEED, demand), plan: Plan::new() };
    test.clients.begin(&mut test.plan);
    assert_eq!(test.take_commands(), ["send \"1:1\" to group 1", "send \"2:1\" to group 2"]);
    for (number, group) in [(1, GroupId(1)), (2, GroupId(2))] {
        let id = MessageId { group, ..id(number, 1) };
        test.notify_node(number, emitted(Event::Sent { id }));
        assert!(!test.clients.is_done());
        test.notify_node(number, delivered(id));
    }
    assert!(test.clients.is_done(), "nodes outside the group do not count");
}
