//! Tests of the ground truth of wait-for graphs, and of the properties that compare detectors with
//! it.

use quorate_core::deadlock::edge_chasing::{self, Probe};
use quorate_core::deadlock::{AbortCost, Agent, Command, Event, Need, Report, Shape, Wait, WaitId};
use quorate_core::{NodeId, Time};
use quorate_journal::moment::{MessageId, Moment, ObservedEffect, Observer, Sent};
use quorate_lab::deadlock::run::{ActualWaits, Bound, Properties};

fn process(site: usize) -> Agent {
    Agent::process(NodeId::from_index(site), 0)
}

fn resource(site: usize) -> Agent {
    Agent::resource(NodeId::from_index(site), 0)
}

fn waits(agent: Agent, wait_id: u64, on: &[Agent]) -> Event {
    Event::Waits { agent, wait_id: WaitId(wait_id), need: Need::All(on.to_vec()) }
}

fn releases(agent: Agent, to: Agent, wait_id: u64) -> Event {
    Event::Answers { agent, to, wait_id: WaitId(wait_id) }
}

fn truth_of(events: &[Event]) -> ActualWaits {
    let mut truth = ActualWaits::default();
    events.iter().for_each(|event| truth.record_event(event));
    truth
}

fn cycle(members: &[(Agent, u64)]) -> Report {
    let wait = |(agent, wait_id): &(Agent, u64)| Wait {
        agent: *agent,
        wait_id: WaitId(*wait_id),
        need: Need::All(Vec::new()),
        abort_cost: AbortCost::default(),
    };
    let waits: Vec<_> = members.iter().map(wait).collect();
    Report::cycle(&waits[0].clone(), waits)
}

/// Returns the verdicts on a run in which sites emit these events, one per millisecond.
fn verdicts_on(resolves: bool, events: &[Event]) -> Vec<(&'static str, bool)> {
    let mut properties = Properties::new(resolves, Some(Bound { kinds: &["probe"], factor: 1 }));
    for (place, event) in events.iter().enumerate() {
        let time = Time::from_nanos(1_000_000 * place as i64);
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
    let truth = truth_of(&[waits(a, 1, &[b]), waits(b, 1, &[a])]);
    assert_eq!(truth.deadlocked_agents().len(), 2);
    let truth = truth_of(&[waits(a, 1, &[b]), releases(b, a, 1), waits(b, 1, &[a])]);
    assert_eq!(truth.deadlocked_agents().len(), 0, "a does not know it yet, but will continue");
}

#[test]
fn releasing_an_earlier_wait_does_not_release_a_later_one() {
    let (a, b) = (process(0), process(1));
    let gave_up = Event::GaveUp { agent: a, wait_id: WaitId(1) };
    let truth = truth_of(&[waits(a, 1, &[b]), gave_up, waits(a, 2, &[b]), releases(b, a, 1), waits(b, 1, &[a])]);
    assert_eq!(truth.deadlocked_agents().len(), 2);
}

#[test]
fn a_resource_granted_to_a_process_that_gave_up_does_not_wait() {
    let (a, r) = (process(0), resource(1));
    let gave_up = Event::GaveUp { agent: a, wait_id: WaitId(1) };
    let before = [waits(a, 1, &[r]), releases(r, a, 1), waits(r, 1, &[a])];
    assert!(truth_of(&before).waits(r));
    let crossed = [before.to_vec(), vec![gave_up.clone()]].concat();
    assert!(!truth_of(&crossed).waits(r), "the process returns the grant");
    let late = [waits(a, 1, &[r]), gave_up.clone(), releases(r, a, 1), waits(r, 1, &[a])];
    assert!(!truth_of(&late).waits(r));
    let received = Event::Asked { agent: a, by: r, wait_id: WaitId(1) };
    let has = [before.to_vec(), vec![received, gave_up]].concat();
    assert!(truth_of(&has).waits(r), "a received grant is kept until it is released");
}

#[test]
fn a_report_is_true_only_while_all_its_waits_exist() {
    let (a, b, c) = (process(0), process(1), process(2));
    let both = [waits(a, 1, &[b]), waits(b, 1, &[a, c])];
    let report = cycle(&[(a, 1), (b, 1)]);
    assert_eq!(truth_of(&both).objection(&report), None);
    let wrong = [
        cycle(&[(a, 2), (b, 1)]),
        cycle(&[(a, 1), (c, 1)]),
        Report { waits: Vec::new(), ..report.clone() },
        Report { shape: Shape::Knot, waits: vec![report.waits[0].clone()], ..report.clone() },
    ];
    for report in wrong {
        assert!(truth_of(&both).objection(&report).is_some(), "{report}");
    }
}

#[test]
fn phantoms_and_missed_deadlocks_are_detected() {
    let (a, b) = (process(0), process(1));
    let report = cycle(&[(a, 1), (b, 1)]);
    let found = [waits(a, 1, &[b]), waits(b, 1, &[a]), Event::Deadlock(report.clone())];
    let verdicts = verdicts_on(false, &found);
    assert!(holds(&verdicts, "no-phantom") && holds(&verdicts, "all-found") && holds(&verdicts, "deadlock"));
    assert!(!holds(&verdicts_on(false, &found[..2]), "all-found"), "the deadlock was not reported");
    assert!(!holds(&verdicts_on(true, &found), "all-found"), "no victim gave up");
    let phantom = [waits(a, 1, &[b]), releases(b, a, 1), waits(b, 1, &[a]), Event::Deadlock(report.clone())];
    assert!(!holds(&verdicts_on(false, &phantom), "no-phantom"));
    // The deadlock existed when the first victim was chosen, and no longer when the second was.
    let victim = |agent| Event::Victim { agent, report: Report { victim: Some(agent), ..report.clone() } };
    let gave_up = Event::GaveUp { agent: a, wait_id: WaitId(1) };
    let once = [waits(a, 1, &[b]), waits(b, 1, &[a]), victim(a), gave_up.clone()];
    assert!(holds(&verdicts_on(true, &once), "no-phantom") && holds(&verdicts_on(true, &once), "all-found"));
    let twice = [waits(a, 1, &[b]), waits(b, 1, &[a]), victim(a), victim(b), gave_up];
    assert!(!holds(&verdicts_on(true, &twice), "no-phantom"));
}

#[test]
fn a_cycle_through_an_or_wait_is_a_phantom() {
    let (a, b, c) = (process(0), process(1), process(2));
    let any = Event::Waits { agent: a, wait_id: WaitId(1), need: Need::Any(vec![b, c]) };
    let truth = truth_of(&[any, waits(b, 1, &[a])]);
    assert_eq!(truth.deadlocked_agents().len(), 0, "c runs");
    assert!(truth.objection(&cycle(&[(a, 1), (b, 1)])).is_some());
}

#[test]
fn a_cycle_behind_another_deadlock_must_be_reported_too() {
    let [a, b, c, d] = [0, 1, 2, 3].map(process);
    let all = [waits(a, 1, &[c, b]), waits(b, 1, &[a]), waits(c, 1, &[d]), waits(d, 1, &[c])];
    let (first, behind) = (Event::Deadlock(cycle(&[(c, 1), (d, 1)])), Event::Deadlock(cycle(&[(a, 1), (b, 1)])));
    let one = [all.to_vec(), vec![first.clone()]].concat();
    assert!(!holds(&verdicts_on(false, &one), "all-found"));
    let both = [all.to_vec(), vec![first, behind]].concat();
    assert!(holds(&verdicts_on(false, &both), "all-found"));
}

#[test]
fn more_than_one_message_per_wait_is_detected() {
    let (a, b) = (process(0), process(1));
    let spent = |messages: u64| {
        let mut properties = Properties::new(false, Some(Bound { kinds: &["probe"], factor: 1 }));
        let (time, node) = (Time::ZERO, NodeId::from_index(0));
        let mut see = |effect: ObservedEffect<'_, Event>| {
            let moment: Moment<'_, Command, Event> = Moment::Effect { time, node, effect };
            properties.observe(&moment);
        };
        see(ObservedEffect::Emit(&waits(a, 1, &[b])));
        for number in 1..=messages {
            let probe = Probe { check: 1, path: cycle(&[(a, 1), (b, 1)]).waits[..1].to_vec() };
            let message = edge_chasing::Message::Probe(probe);
            let sent = Sent::new(MessageId { sender: node, number }, &message, false);
            see(ObservedEffect::Send { to: NodeId::from_index(1), sent });
        }
        holds(
            &properties.verdicts().iter().map(|one| (one.name, one.holds == Some(true))).collect::<Vec<_>>(),
            "within-bound",
        )
    };
    assert!(spent(1));
    assert!(!spent(2), "there is one wait between two sites");
}
