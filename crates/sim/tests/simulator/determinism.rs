//! The same setup and seed give the same journal, byte for byte; messages, timers and nodes draw
//! from separate random streams.

use crate::common::{Action, Actions, Scenario, duration, random_scenario, save, send, set};
use quorate_core::{Span, Time};
use quorate_journal::moment::{Moment, ObservedInput, Observer};

/// The journals of seeds 0 to 299 contain all `kinds` of records below.
#[test]
fn the_same_seed_gives_the_same_journal() {
    let mut journals = String::new();
    for seed in 0..300 {
        let journal = random_scenario(seed).journal();
        assert!(journal == random_scenario(seed).journal(), "seed {seed} gives two different journals");
        journals += &journal;
    }
    let kinds = [
        "\"crashed\"",
        "\"blank\":true",
        "\"paused\"",
        "\"resumed\"",
        "\"lost\"",
        "\"why\":\"chance\"",
        "\"why\":\"cut\"",
        "\"why\":\"down\"",
        "\"duplicated\"",
        "\"changed\":\"cut",
        "\"changed\":\"end of cut",
        "\"changed\":\"heal",
        "\"changed\":\"skew",
        "\"changed\":\"drift",
        "\"changed\":\"link",
        "\"clock\":",
        "\"saved\":",
        "\"cancel\":",
    ];
    let missing: Vec<_> = kinds.into_iter().filter(|kind| !journals.contains(kind)).collect();
    assert!(missing.is_empty(), "no seed shows {missing:?}, so this test covers less than it claims");
}

#[test]
fn different_seeds_give_different_journals() {
    let scenario =
        |seed| Scenario::new(2).latency("uniform:1ms..5ms").seed(seed).command("0ms", 1, [send(2), send(2), send(2)]);
    let journals: std::collections::BTreeSet<_> = (0..20).map(|seed| scenario(seed).journal()).collect();
    assert_eq!(journals.len(), 20);
}

#[derive(Default)]
struct Arrivals(Vec<Time>);

impl Observer<Actions, String> for Arrivals {
    fn observe(&mut self, moment: &Moment<'_, Actions, String>) {
        if let Moment::Input { time, input: ObservedInput::Message { .. }, .. } = moment {
            self.0.push(*time);
        }
    }
}

/// Timers and syncs do not draw from the random stream of messages.
#[test]
fn more_timers_do_not_change_the_delays_of_messages() {
    let scenario = |timers: usize| {
        let mut scenario =
            Scenario::new(3).latency("uniform:1ms..9ms").loss("0.2").duplicate("0.2").sync("uniform:0ms..1ms");
        for millis in 0..50 {
            let mut actions = vec![send(2), send(3)];
            let span = Span::between(duration("1ms"), duration("30ms"));
            let set_timer = |timer| Action::Set { timer, span, then: vec![save(1)] };
            actions.extend(('a'..='z').take(timers).map(set_timer));
            scenario = scenario.command(&format!("{millis}ms"), 1, actions);
        }
        scenario
    };
    let arrivals = scenario(0).run_observed(Arrivals::default()).0;
    assert!(arrivals.len() > 50);
    assert_eq!(scenario(7).run_observed(Arrivals::default()).0, arrivals);
}

/// Equal bounds do not give equal values: messages, timers and nodes draw from separate random
/// streams.
#[test]
fn messages_timers_and_nodes_draw_from_different_streams() {
    for seed in 0..20 {
        let bounds = "uniform:1ms..9ms";
        let span = Span::between(duration("1ms"), duration("9ms"));
        let timer = Action::Set { timer: 'a', span, then: vec![] };
        let scenario =
            Scenario::new(2).seed(seed).latency(bounds).sync(bounds).command("0ms", 1, [send(2), timer, save(1)]);
        let trace = scenario.trace();
        let time_of =
            |text: &str| trace.lines().find_map(|line| line.contains(text).then(|| line.split_once(' ').unwrap().0));
        let [message, timer, sync] = ["< ping", "< timer", "< saved"].map(|text| time_of(text).unwrap());
        assert!(message != timer && timer != sync && sync != message, "seed {seed}:\n{trace}");
    }
}

/// The order in which events are scheduled does not matter if no two happen at the same time.
#[test]
fn the_order_of_scheduling_does_not_matter() {
    let early = |scenario: Scenario| scenario.command("1ms", 1, [send(2)]);
    let late = |scenario: Scenario| scenario.command("5ms", 2, [set('a', "1ms", []), send(1)]);
    let scenario = Scenario::new(2).latency("uniform:1ms..3ms");
    assert_eq!(early(late(scenario.clone())).journal(), late(early(scenario)).journal());
}
