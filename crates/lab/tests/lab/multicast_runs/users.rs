//! Users who are told by hand that they must wait, are out, or were refused: what they want to say is not lost.

use super::{id, in_view, node, view};
use quorate_core::multicast::{Command, Event, GroupId, MessageId, Payload, Refusal};
use quorate_core::{Duration, Group, Time};
use quorate_journal::settings::Latency;
use quorate_journal::workload::{News, Plan, What, Workload};
use quorate_lab::multicast::run::{Demand, Pattern, Senders};

/// A user of node 1, in a group of two that has views.
struct Stage {
    users: Senders,
    plan: Plan<Command>,
}

fn demand() -> Demand {
    Demand {
        pattern: Pattern::Flood,
        messages: 2,
        senders: vec![node(1)],
        payload: 0,
        think: Latency::Fixed(Duration::ZERO),
        groups: Vec::new(),
        leaves: 0,
        views: true,
        agreement: true,
    }
}

impl Stage {
    fn new(demand: Demand) -> Self {
        let mut stage = Self { users: Senders::new(2, 1, demand), plan: Plan::new() };
        for number in [1, 2] {
            stage.users.hear(Time::ZERO, node(number), &News::Told(begins(1)), &mut stage.plan);
        }
        stage.users.begin(&mut stage.plan);
        stage
    }

    fn hears(&mut self, news: News<Event>) -> Vec<String> {
        self.node_hears(1, news)
    }

    fn node_hears(&mut self, number: u32, news: News<Event>) -> Vec<String> {
        self.users.hear(Time::ZERO, node(number), &news, &mut self.plan);
        self.asked()
    }

    fn asked(&mut self) -> Vec<String> {
        let said = |what| match what {
            What::CommandThisLife(command) | What::CommandAnyLife(command) => format!("{command}"),
            What::Alarm => "alarm".to_owned(),
            What::Depart => "depart".to_owned(),
        };
        self.plan.drain().map(|planned| said(planned.what)).collect()
    }
}

fn begins(epoch: u64) -> Event {
    Event::View { group: GroupId::ONLY, view: view(epoch, [(1, 1), (2, 1)]), state: 0 }
}

fn told(event: Event) -> News<Event> {
    News::Told(event)
}

fn delivered(id: MessageId) -> News<Event> {
    told(Event::Delivered { id, payload: Payload::from("m") })
}

fn wait() -> News<Event> {
    told(Event::Wait { group: GroupId::ONLY, slow: Group::of_size(2) })
}

const NOTHING: [&str; 0] = [];

#[test]
fn who_must_wait_asks_again_for_the_same() {
    let mut stage = Stage::new(demand());
    assert_eq!(stage.asked(), ["send \"1:1\""]);
    assert_eq!(stage.hears(wait()), NOTHING);
    assert_eq!(stage.hears(told(Event::Ready { group: GroupId::ONLY })), ["send \"1:1\""]);
    // A second word of it changes nothing.
    assert_eq!(stage.hears(told(Event::Ready { group: GroupId::ONLY })), NOTHING);
    assert_eq!(stage.hears(wait()), NOTHING);
    assert_eq!(stage.hears(told(begins(2))), ["send \"1:1\""]);
    assert_eq!(stage.hears(told(Event::Sent { id: in_view(2, 1, 1) })), ["send \"1:2\""]);
}

#[test]
fn all_is_done_when_everyone_has_delivered_all() {
    let mut stage = Stage::new(demand());
    stage.hears(told(Event::Sent { id: id(1, 1) }));
    stage.hears(told(Event::Sent { id: id(1, 2) }));
    for number in [1, 2] {
        stage.node_hears(number, delivered(id(1, 1)));
    }
    stage.hears(delivered(id(1, 2)));
    assert!(!stage.users.is_done());
    stage.node_hears(2, delivered(id(1, 2)));
    assert!(stage.users.is_done());
}

#[test]
fn what_was_refused_is_said_in_the_next_view() {
    let mut stage = Stage::new(demand());
    stage.asked();
    stage.hears(told(Event::Out { group: GroupId::ONLY }));
    assert_eq!(stage.hears(told(Event::Refused(Refusal::NotAMember))), NOTHING);
    assert!(!stage.users.is_done());
    assert_eq!(stage.hears(told(begins(3))), ["send \"1:1\""]);
}

#[test]
fn who_restarts_goes_on_in_the_next_view() {
    let mut stage = Stage::new(demand());
    stage.asked();
    assert_eq!(stage.hears(News::Crashed), NOTHING);
    assert_eq!(stage.hears(News::Restarted), NOTHING);
    assert!(!stage.users.is_done(), "it will be let in again");
    assert_eq!(stage.hears(told(begins(2))), ["send \"1:2\""]);
}

#[test]
fn without_views_nobody_waits_for_one_who_restarts() {
    let mut stage = Stage::new(Demand { views: false, ..demand() });
    stage.hears(News::Crashed);
    stage.hears(News::Restarted);
    assert!(stage.users.is_done());
}

#[test]
fn the_dead_are_honoured_where_one_of_the_living_has_heard_them() {
    for agreement in [false, true] {
        let mut users = Senders::new(3, 1, Demand { messages: 1, views: false, agreement, ..demand() });
        let mut plan = Plan::new();
        users.begin(&mut plan);
        users.hear(Time::ZERO, node(1), &told(Event::Sent { id: id(1, 1) }), &mut plan);
        users.hear(Time::ZERO, node(1), &News::Crashed, &mut plan);
        assert!(users.is_done(), "nobody who lives has heard it");
        users.hear(Time::ZERO, node(2), &delivered(id(1, 1)), &mut plan);
        assert_eq!(users.is_done(), !agreement);
        users.hear(Time::ZERO, node(3), &delivered(id(1, 1)), &mut plan);
        assert!(users.is_done());
    }
}

#[test]
fn payloads_are_as_long_as_asked_for_and_differ() {
    let mut stage = Stage::new(Demand { payload: 8, ..demand() });
    assert_eq!(stage.asked(), ["send \"1:1.....\""]);
    assert_eq!(stage.hears(told(Event::Sent { id: id(1, 1) })), ["send \"1:2.....\""]);
}

#[test]
fn everyone_talks_to_its_own_groups() {
    let groups = vec![(GroupId(1), Group::of_size(1)), (GroupId(2), Group::from(vec![node(2)]))];
    let demand = Demand { groups, views: false, senders: vec![node(1), node(2)], ..demand() };
    let mut stage = Stage { users: Senders::new(2, 1, demand), plan: Plan::new() };
    stage.users.begin(&mut stage.plan);
    assert_eq!(stage.asked(), ["send \"1:1\" to group 1", "send \"2:1\" to group 2"]);
    for (number, group) in [(1, GroupId(1)), (2, GroupId(2))] {
        let id = MessageId { group, ..id(number, 1) };
        stage.node_hears(number, told(Event::Sent { id }));
        assert!(!stage.users.is_done());
        stage.node_hears(number, delivered(id));
    }
    assert!(stage.users.is_done(), "nobody waits for one who is not in the group");
}
