//! The bully algorithm by name: the book's counts exactly, and thousands of seeds of crashes and recoveries.

use crate::common::{done, election, none_fails, parsed, weather};
use quorate_core::election::{Case, Prefer, Repair, Starting, bully};
use quorate_core::{Duration, NodeId};
use quorate_lab::election::Settings;

use quorate_journal::settings::{Latency, TimedFault};
use quorate_lab::{Election, Spec};

fn bully(nodes: usize, starters: &str) -> Spec<Election> {
    Spec { latency: parsed("fixed:1ms"), ..election("bully", nodes, starters) }
}

fn without_highest(spec: Spec<Election>) -> Spec<Election> {
    Spec { faults: vec![parsed(&format!("crash {}", spec.nodes))], ..spec }
}

fn total(spec: &Spec<Election>) -> u64 {
    let summary = done(spec).summary;
    assert_eq!(summary.rounds, 1, "replay: {}", spec.command("sim"));
    summary.election_messages + summary.announcement_messages
}

/// What the book says of such a run, if it says exactly how many messages it takes.
fn book(live: usize, dead: usize, starting: Starting) -> u64 {
    let book = (bully::FACTS.cost.book)(&Case { live, dead, starting }).expect("the book knows");
    assert_eq!(book.least, book.most);
    book.most.expect("a number") as u64
}

const LATENCIES: [&str; 4] = ["fixed:1ms", "fixed:30us", "uniform:1ms..5ms", "uniform:0ms..9ms"];

#[test]
fn the_next_highest_that_notices_takes_n_minus_2_messages_and_one_message_time() {
    for nodes in 2..=40 {
        let spec = without_highest(bully(nodes, "highest"));
        assert_eq!(total(&spec), nodes as u64 - 2);
        assert_eq!(book(nodes - 1, 1, Starting::Highest), nodes as u64 - 2);
        assert_eq!(done(&spec).summary.time, Some(if nodes == 2 { 0.0 } else { 1.0 }));
    }
}

#[test]
fn the_lowest_that_notices_takes_n_squared_minus_n_minus_1_messages() {
    for (nodes, latency) in (3..=40).flat_map(|nodes| LATENCIES.map(|latency| (nodes, latency))) {
        let spec = Spec { latency: parsed(latency), ..without_highest(bully(nodes, "lowest")) };
        let (n, summary) = (nodes as u64, done(&spec).summary);
        assert_eq!(total(&spec), n * n - n - 1, "{nodes} nodes, {latency}");
        assert_eq!(book(nodes - 1, 1, Starting::Lowest), n * n - n - 1);
        assert_eq!(summary.announcement_messages, n - 2);
        assert_eq!(summary.election_messages, n * (n - 1) / 2 + (n - 1) * (n - 2) / 2);
    }
}

/// The highest gets the question, waits for the dead one's answer, and tells everyone: 1 + 2 + 1.
#[test]
fn the_longest_calm_run_takes_four_message_times() {
    for nodes in 3..=40 {
        assert_eq!(done(&without_highest(bully(nodes, "lowest"))).summary.time, Some(4.0));
    }
}

#[test]
fn a_node_alone_with_a_dead_leader_says_nothing() {
    for starters in ["lowest", "highest", "all"] {
        assert_eq!(total(&without_highest(bully(2, starters))), 0);
    }
    let cases = [Starting::Lowest, Starting::Highest, Starting::All, Starting::One];
    assert!(cases.into_iter().all(|starting| book(1, 1, starting) == 0 && book(1, 0, starting) == 0));
}

#[test]
fn with_everyone_alive_the_same_counting_holds() {
    for nodes in 1..=40 {
        let n = nodes as u64;
        assert_eq!(total(&bully(nodes, "highest")), n - 1);
        assert_eq!(book(nodes, 0, Starting::Highest), n - 1);
        assert_eq!(total(&bully(nodes, "lowest")), n * n - 1);
        for latency in LATENCIES {
            assert_eq!(total(&Spec { latency: parsed(latency), ..bully(nodes, "all") }), n * n - 1);
        }
        assert_eq!(book(nodes, 0, Starting::All), n * n - 1);
    }
}

#[test]
fn when_all_notice_the_highest_of_them_alone_does_not_ask_the_dead_one() {
    for (nodes, latency) in (3..=40).flat_map(|nodes| LATENCIES.map(|latency| (nodes, latency))) {
        let spec = Spec { latency: parsed(latency), ..without_highest(bully(nodes, "all")) };
        let n = nodes as u64;
        assert_eq!(total(&spec), n * n - n - 2);
        assert_eq!(book(nodes - 1, 1, Starting::All), n * n - n - 2);
    }
}

/// Whatever the order in which messages arrive, whoever starts, and however many.
#[test]
fn every_run_stays_within_the_book_and_elects_the_highest() {
    for (nodes, seed) in (2..=9).flat_map(|nodes| (0..40).map(move |seed| (nodes, seed))) {
        for (starters, starting) in [("lowest", Starting::Lowest), ("1-2", Starting::Several(2)), ("2", Starting::One)]
        {
            for dead in [0, 1] {
                let alive = Spec { seed, latency: parsed("uniform:0ms..9ms"), ..bully(nodes, starters) };
                let spec = if dead == 1 && nodes > 2 { without_highest(alive) } else { alive };
                let dead = spec.faults.len();
                let book = (bully::FACTS.cost.book)(&Case { live: nodes - dead, dead, starting }).expect("known");
                let messages = total(&spec) as f64;
                let within =
                    book.least.is_none_or(|least| least <= messages) && messages <= book.most.expect("a bound");
                assert!(within, "{messages} of {book:?}\nreplay: {}", spec.command("sim"));
                assert_eq!(done(&spec).summary.leader, Some(NodeId::from_index(nodes - dead - 1)));
            }
        }
    }
}

#[test]
fn who_starts_does_not_matter_and_attributes_do() {
    for starters in ["lowest", "highest", "all", "2", "1,3", "2-4"] {
        for (attribute, prefer, leader) in [
            ("id", Prefer::Highest, 5),
            ("id", Prefer::Lowest, 1),
            ("7,9,9,1,2", Prefer::Highest, 3),
            ("7,2,9,2,8", Prefer::Lowest, 2),
        ] {
            for (seed, latency) in (0..20).flat_map(|seed| LATENCIES.map(|latency| (seed, latency))) {
                let spec = Spec { seed, latency: parsed(latency), ..bully(5, starters) };
                let settings = Settings { attribute: parsed(attribute), prefer, ..spec.settings.clone() };
                let summary = done(&Spec { settings, ..spec }).summary;
                assert_eq!(summary.leader, NodeId::new(leader), "{starters} {attribute} {prefer:?}");
            }
        }
    }
}

/// Nodes that are busy with others answer late, and are waited for.
#[test]
fn a_busy_node_is_not_taken_for_dead() {
    for (nodes, seed) in [(3, 1), (9, 2), (25, 3)] {
        for processing in ["fixed:1ms", "fixed:20ms", "uniform:0ms..5ms"] {
            let spec = Spec { seed, processing: parsed(processing), ..without_highest(bully(nodes, "lowest")) };
            let n = nodes as u64;
            assert_eq!(total(&spec), n * n - n - 1, "{nodes} nodes busy for {processing}");
            done(&Spec { faults: Vec::new(), ..spec });
        }
    }
}

#[test]
fn a_dead_leader_is_replaced_by_itself_and_a_higher_node_that_is_back_takes_over() {
    for (seed, repair) in (0..100).flat_map(|seed| [(seed, Repair::Detector)]) {
        let crash = |text: &str| vec![parsed::<TimedFault>(text)];
        let settings = Settings { repair, ..bully(5, "all").settings };
        let spec = Spec { seed, latency: parsed("uniform:1ms..5ms"), settings, ..bully(5, "all") };
        let before = done(&spec).summary;
        let replaced = done(&Spec { faults: crash("crash 5 at 1s"), ..spec.clone() }).summary;
        let taken_over = done(&Spec { faults: crash("crash 5 at 1s for 1s"), ..spec }).summary;
        assert_eq!((before.leader, replaced.leader), (NodeId::new(5), NodeId::new(4)));
        assert_eq!(taken_over.leader, NodeId::new(5));
        assert!(before.epoch < replaced.epoch && replaced.epoch < taken_over.epoch);
    }
}

/// The next highest hears of the death, waits until the dead one's last words must have come, and tells the others.
#[test]
fn a_leader_that_is_known_to_be_dead_costs_no_question_of_the_next() {
    let script = parsed("campaign 5 at 0ms\n");
    let faults = vec![parsed("crash 5 at 100ms")];
    let summary = done(&Spec { faults, script: Some(script), ..bully(5, "all") }).summary;
    assert_eq!((summary.leader, summary.rounds), (NodeId::new(4), 2));
    // All four miss it at the same time. The lower three ask all who are higher and are answered.
    let (asked, answered, told) = (4 + 3 + 2, 3 + 2 + 1, 3);
    assert_eq!((summary.election_messages, summary.announcement_messages), (asked + answered, 4 + told));
}

#[test]
fn a_false_alarm_elects_the_same_leader_in_a_later_epoch() {
    for alarm in 1..=4 {
        let script = parsed(&format!("campaign 1 at 0ms\ncampaign {alarm} at 200ms\n"));
        let summary = done(&Spec { script: Some(script), ..bully(4, "all") }).summary;
        assert_eq!((summary.leader, summary.rounds, summary.epoch.map(|epoch| epoch.0)), (NodeId::new(4), 2, Some(2)));
    }
}

#[test]
fn courtesy_tells_lower_nodes_and_everyone() {
    let base = bully(5, "3");
    let polite = Settings { tell_lower: true, broadcast: true, ..base.settings.clone() };
    let plain = done(&base);
    let courteous = done(&Spec { settings: polite.clone(), ..base });
    assert_eq!(courteous.summary.leader, NodeId::new(5));
    assert_eq!((plain.messages.control, courteous.messages.control), (0, 2 + 3));
    let settings = Settings { starters: parsed("lowest"), ..polite };
    let spec = Spec { settings, ..without_highest(bully(5, "lowest")) };
    assert_eq!(total(&spec), 5 * 5 - 5 - 1 + 1, "the dead one is told too");
}

#[test]
fn crashes_and_recoveries_that_leave_a_majority_end_with_one_leader_known_to_all() {
    for (nodes, starters, upheaval) in
        [(3, "all", 3), (4, "2,3", 2), (5, "all", 4), (5, "lowest", 6), (7, "all", 9), (9, "highest", 8)]
    {
        let base = bully(nodes, starters);
        let settings = Settings { upheaval, repair: Repair::Detector, ..base.settings.clone() };
        none_fails(&Spec { latency: parsed("uniform:0ms..5ms"), settings, ..base }, 300);
    }
}

#[test]
fn it_comes_through_all_that_elections_must_bear() {
    for spec in weather::<Election>("bully") {
        none_fails(&spec, 150);
    }
}

/// Courtesy, attributes, busy nodes and slow disks change nothing of that.
#[test]
fn crashes_are_borne_in_every_form() {
    let base = Spec { latency: parsed("uniform:0ms..5ms"), ..bully(5, "all") };
    for (tell_lower, broadcast) in [(true, false), (false, true), (true, true)] {
        let settings = Settings { upheaval: 5, tell_lower, broadcast, prefer: Prefer::Lowest, ..base.settings.clone() };
        none_fails(&Spec { settings, disk: parsed("uniform:0ms..5ms"), ..base.clone() }, 300);
    }
    let settings = Settings { upheaval: 5, attribute: parsed("random"), ..base.settings.clone() };
    none_fails(&Spec { settings, processing: Latency::Fixed(Duration::from_millis(2)), ..base }, 300);
}

/// The seeds of a sweep do crash nodes while runs are under way, and leaders as well.
#[test]
fn the_sweeps_hurt() {
    let base = Spec { latency: parsed("uniform:0ms..5ms"), ..bully(5, "all") };
    let hurt = Spec { settings: Settings { upheaval: 4, ..base.settings.clone() }, ..base.clone() };
    let epochs = |spec: &Spec<Election>| -> u64 {
        (0..50).map(|seed| done(&Spec { seed, ..spec.clone() }).summary.rounds).sum()
    };
    assert_eq!(epochs(&base), 50);
    assert!(epochs(&hurt) > 150, "{}", epochs(&hurt));
}
