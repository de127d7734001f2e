//! Tests of the actual waits, the ground truth of wait-for graphs, and of the properties that
//! compare detectors with it.

use quorate_core::deadlock::edge_chasing::{self, Probe};
use quorate_core::deadlock::{AbortCost, Agent, Command, Event, Need, Report, Shape, Wait, WaitId};
use quorate_core::{NodeId, Time};
use quorate_journal::moment::{MessageId, Moment, ObservedEffect, Observer, Sent};
use quorate_lab::deadlock::run::{ActualWaits, MessageBound, Properties};

fn process(site: usize) -> Agent {
    Agent::process(NodeId::from_index(site), 0)
}

fn resource(site: usize) -> Agent {
    Agent::resource(NodeId::from_index(site), 0)
}

fn wait_event(agent: Agent, wait_id: u64, on: &[Agent]) -> Event {
    Event::Waits { agent, wait_id: WaitId(wait_id), need: Need::All(on.to_vec()) }
}

fn release_event(agent: Agent, to: Agent, wait_id: u64) -> Event {
    Event::Answers { agent, to, wait_id: WaitId(wait_id) }
}

fn actual_waits_after(events: &[Event]) -> ActualWaits {
    let mut actual_waits = ActualWaits::default();
    events.iter().for_each(|event| actual_waits.record_event(event));
    actual_waits
}

fn cycle_report(members: &[(Agent, u64)]) -> Report {
    let wait = |(agent, wait_id): &(Agent, u64)| Wait {
        agent: *agent,
        wait_id: WaitId(*wait_id),
        need: Need::All(Vec::new()),
        abort_cost: AbortCost::default(),
    };
    let waits: Vec<_> = members.iter().map(wait).collect();
    Report::cycle(&waits[0].clone(), waits)
}

/// Returns the verdicts on a run without victims, in which one site emits these events, one per
/// millisecond: each property's name, and whether it holds.
fn verdicts_without_victims(events: &[Event]) -> Vec<(&'static str, bool)> {
    verdicts_on(false, events)
}

/// Like [`verdicts_without_victims`], for a run in which a victim must resolve every deadlock.
fn verdicts_with_victims(events: &[Event]) -> Vec<(&'static str, bool)> {
    verdicts_on(true, events)
}

fn verdicts_on(has_victims: bool, events: &[Event]) -> Vec<(&'static str, bool)> {
    let mut properties = Properties::new(has_victims, Some(MessageBound { kinds: &["probe"], messages_per_wait: 1 }));
    for (index, event) in events.iter().enumerate() {
        let time = Time::from_nanos(1_000_000 * index as i64);
        let moment: Moment<'_, Command, Event> =
            Moment::Effect { time, node: NodeId::from_index(0), effect: ObservedEffect::Emit(event) };
        properties.observe(&moment);
    }
    properties.verdicts().iter().map(|verdict| (verdict.name, verdict.holds == Some(true))).collect()
}

fn holds(verdicts: &[(&str, bool)], name: &str) -> bool {
    verdicts.iter().any(|(known, holds)| *known == name && *holds)
}

#[test]
fn a_wait_ends_with_the_release_and_not_with_its_receipt() {
    let (a, b) = (process(0), process(1));
    let actual_waits = actual_waits_after(&[wait_event(a, 1, &[b]), wait_event(b, 1, &[a])]);
    assert_eq!(actual_waits.deadlocked_agents().len(), 2);
    let actual_waits = actual_waits_after(&[wait_event(a, 1, &[b]), release_event(b, a, 1), wait_event(b, 1, &[a])]);
    assert_eq!(actual_waits.deadlocked_agents().len(), 0, "a has not received the release yet, but will continue");
}

#[test]
fn releasing_an_earlier_wait_does_not_release_a_later_one() {
    let (a, b) = (process(0), process(1));
    let cancelled = Event::Cancelled { agent: a, wait_id: WaitId(1) };
    let actual_waits = actual_waits_after(&[
        wait_event(a, 1, &[b]),
        cancelled,
        wait_event(a, 2, &[b]),
        release_event(b, a, 1),
        wait_event(b, 1, &[a]),
    ]);
    assert_eq!(actual_waits.deadlocked_agents().len(), 2);
}

#[test]
fn a_resource_waits_for_a_process_that_cancelled_only_if_it_received_the_grant() {
    let (a, r) = (process(0), resource(1));
    let cancelled = Event::Cancelled { agent: a, wait_id: WaitId(1) };
    let before = [wait_event(a, 1, &[r]), release_event(r, a, 1), wait_event(r, 1, &[a])];
    assert!(actual_waits_after(&before).is_waiting(r));
    let cancelled_during_grant = [before.to_vec(), vec![cancelled.clone()]].concat();
    assert!(!actual_waits_after(&cancelled_during_grant).is_waiting(r), "the process returns the grant");
    let granted_after_cancelling =
        [wait_event(a, 1, &[r]), cancelled.clone(), release_event(r, a, 1), wait_event(r, 1, &[a])];
    assert!(!actual_waits_after(&granted_after_cancelling).is_waiting(r));
    // The process receives the grant, and so learns that the resource waits for its release.
    let received = Event::Asked { agent: a, by: r, wait_id: WaitId(1) };
    let cancelled_after_receipt = [before.to_vec(), vec![received, cancelled]].concat();
    assert!(
        actual_waits_after(&cancelled_after_receipt).is_waiting(r),
        "a received grant is kept until it is released"
    );
}

#[test]
fn a_report_is_true_only_while_all_its_waits_exist() {
    let (a, b, c) = (process(0), process(1), process(2));
    let waits = [wait_event(a, 1, &[b]), wait_event(b, 1, &[a, c])];
    let report = cycle_report(&[(a, 1), (b, 1)]);
    assert_eq!(actual_waits_after(&waits).find_objection(&report), None);
    let false_reports = [
        cycle_report(&[(a, 2), (b, 1)]),
        cycle_report(&[(a, 1), (c, 1)]),
        Report { waits: Vec::new(), ..report.clone() },
        Report { shape: Shape::Knot, waits: vec![report.waits[0].clone()], ..report.clone() },
    ];
    for report in false_reports {
        assert!(actual_waits_after(&waits).find_objection(&report).is_some(), "{report}");
    }
}

#[test]
fn phantoms_and_missed_deadlocks_are_detected() {
    let (a, b) = (process(0), process(1));
    let report = cycle_report(&[(a, 1), (b, 1)]);
    let events_with_report = [wait_event(a, 1, &[b]), wait_event(b, 1, &[a]), Event::Deadlock(report.clone())];
    let verdicts = verdicts_without_victims(&events_with_report);
    assert!(holds(&verdicts, "no-phantom") && holds(&verdicts, "all-found") && holds(&verdicts, "deadlock"));
    assert!(!holds(&verdicts_without_victims(&events_with_report[..2]), "all-found"), "the deadlock was not reported");
    assert!(!holds(&verdicts_with_victims(&events_with_report), "all-found"), "no victim cancelled its wait");
    let phantom =
        [wait_event(a, 1, &[b]), release_event(b, a, 1), wait_event(b, 1, &[a]), Event::Deadlock(report.clone())];
    assert!(!holds(&verdicts_without_victims(&phantom), "no-phantom"));
    // One victim is enough. If two are chosen, the deadlock ends when the first cancels its wait,
    // and the second is then the victim of a phantom.
    let victim = |agent| Event::Victim { agent, report: Report { victim: Some(agent), ..report.clone() } };
    let cancelled = Event::Cancelled { agent: a, wait_id: WaitId(1) };
    let one_victim = [wait_event(a, 1, &[b]), wait_event(b, 1, &[a]), victim(a), cancelled.clone()];
    assert!(
        holds(&verdicts_with_victims(&one_victim), "no-phantom")
            && holds(&verdicts_with_victims(&one_victim), "all-found")
    );
    let two_victims = [wait_event(a, 1, &[b]), wait_event(b, 1, &[a]), victim(a), victim(b), cancelled];
    assert!(!holds(&verdicts_with_victims(&two_victims), "no-phantom"));
}

#[test]
fn a_cycle_through_an_or_wait_that_can_end_is_a_phantom() {
    let (a, b, c) = (process(0), process(1), process(2));
    let or_wait = Event::Waits { agent: a, wait_id: WaitId(1), need: Need::Any(vec![b, c]) };
    let actual_waits = actual_waits_after(&[or_wait, wait_event(b, 1, &[a])]);
    assert_eq!(actual_waits.deadlocked_agents().len(), 0, "c runs");
    assert!(actual_waits.find_objection(&cycle_report(&[(a, 1), (b, 1)])).is_some());
}

#[test]
fn a_cycle_behind_another_deadlock_must_be_reported_too() {
    let [a, b, c, d] = [0, 1, 2, 3].map(process);
    let waits = [wait_event(a, 1, &[c, b]), wait_event(b, 1, &[a]), wait_event(c, 1, &[d]), wait_event(d, 1, &[c])];
    let (first, behind) =
        (Event::Deadlock(cycle_report(&[(c, 1), (d, 1)])), Event::Deadlock(cycle_report(&[(a, 1), (b, 1)])));
    let only_first_reported = [waits.to_vec(), vec![first.clone()]].concat();
    assert!(!holds(&verdicts_without_victims(&only_first_reported), "all-found"));
    let both_reported = [waits.to_vec(), vec![first, behind]].concat();
    assert!(holds(&verdicts_without_victims(&both_reported), "all-found"));
}

#[test]
fn more_than_one_message_per_wait_is_detected() {
    let (a, b) = (process(0), process(1));
    let is_within_bound = |messages: u64| {
        let has_victims = false;
        let mut properties =
            Properties::new(has_victims, Some(MessageBound { kinds: &["probe"], messages_per_wait: 1 }));
        let (time, node) = (Time::ZERO, NodeId::from_index(0));
        let mut observe = |effect: ObservedEffect<'_, Event>| {
            let moment: Moment<'_, Command, Event> = Moment::Effect { time, node, effect };
            properties.observe(&moment);
        };
        observe(ObservedEffect::Emit(&wait_event(a, 1, &[b])));
        for number in 1..=messages {
            let probe = Probe { check: 1, path: cycle_report(&[(a, 1), (b, 1)]).waits[..1].to_vec() };
            let message = edge_chasing::Message::Probe(probe);
            let sent = Sent::new(MessageId { sender: node, number }, &message, false);
            observe(ObservedEffect::Send { to: NodeId::from_index(1), sent });
        }
        holds(
            &properties
                .verdicts()
                .iter()
                .map(|verdict| (verdict.name, verdict.holds == Some(true)))
                .collect::<Vec<_>>(),
            "within-bound",
        )
    };
    assert!(is_within_bound(1));
    assert!(!is_within_bound(2), "there is one wait between two sites");
}
