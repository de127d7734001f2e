//! Delays, losses and duplicates of messages. A message takes 1 ms, and links are FIFO and lose
//! nothing, unless a scenario sets them.

use crate::common::{Actions, Message, Scenario, at, duration, node, ping, send};
use quorate_core::{Duration, NodeId, Time};
use quorate_journal::moment::{Loss, MessageId, Moment, ObservedEffect, ObservedInput, Observer, WorldEvent};
use std::collections::{BTreeMap, HashMap};

/// The sends and receipts of a run, with losses and duplicates.
#[derive(Default)]
struct Deliveries {
    sent: HashMap<MessageId, Time>,
    /// The receiver, the message and its delay, in order of arrival.
    received: Vec<(NodeId, MessageId, Duration)>,
    /// Number of lost messages by cause.
    lost: BTreeMap<&'static str, u64>,
    duplicated: u64,
}

impl Deliveries {
    fn from_run(scenario: &Scenario) -> Self {
        scenario.run_observed(Self::default())
    }

    /// Returns the delays of the messages of this link, in order of arrival.
    fn delays(&self, from: u32, to: u32) -> Vec<Duration> {
        let of_link = self.received.iter().filter(|(receiver, id, _)| (id.sender, *receiver) == (node(from), node(to)));
        of_link.map(|(_, _, delay)| *delay).collect()
    }

    /// Returns the numbers of the messages that arrived on this link, in order of arrival.
    fn numbers(&self, from: u32, to: u32) -> Vec<u64> {
        let of_link = self.received.iter().filter(|(receiver, id, _)| (id.sender, *receiver) == (node(from), node(to)));
        of_link.map(|(_, id, _)| id.number).collect()
    }
}

impl Observer<Actions, String> for Deliveries {
    fn observe(&mut self, moment: &Moment<'_, Actions, String>) {
        match moment {
            Moment::Effect { time, effect: ObservedEffect::Send { sent, .. }, .. } => {
                self.sent.insert(sent.id, *time);
            }
            Moment::Input { time, node, input: ObservedInput::Message { id, .. }, .. } => {
                self.received.push((*node, *id, time.since(self.sent[id])));
            }
            Moment::World { event: WorldEvent::Lost { cause, .. }, .. } => {
                let cause_name = match cause {
                    Loss::Chance => "chance",
                    Loss::Cut => "cut",
                    Loss::Down => "down",
                };
                *self.lost.entry(cause_name).or_default() += 1;
            }
            Moment::World { event: WorldEvent::Duplicated { .. }, .. } => self.duplicated += 1,
            Moment::Input { .. } | Moment::Effect { .. } | Moment::World { .. } => {}
        }
    }
}

/// Lets node 1 send this many messages to node 2, ten every 10 µs.
fn send_stream(scenario: Scenario, messages: usize) -> Scenario {
    let burst = 10;
    (0..messages / burst)
        .fold(scenario, |scenario, round| scenario.command(&format!("{round}0us"), 1, vec![send(2); burst]))
}

#[test]
fn fixed_delays_are_exact() {
    let deliveries = Deliveries::from_run(&send_stream(Scenario::new(2).latency("fixed:2.5ms"), 1_000));
    assert_eq!(deliveries.delays(1, 2), vec![duration("2.5ms"); 1_000]);
}

#[test]
fn uniform_delays_fill_their_bounds() {
    let deliveries =
        Deliveries::from_run(&send_stream(Scenario::new(2).latency("uniform:1ms..5ms").fifo_links(false), 10_000));
    let delays = deliveries.delays(1, 2);
    assert_eq!(delays.len(), 10_000);
    let (minimum, maximum) = (delays.iter().min().copied(), delays.iter().max().copied());
    assert!(minimum >= Some(duration("1ms")) && minimum < Some(duration("1.01ms")), "{minimum:?}");
    assert!(maximum <= Some(duration("5ms")) && maximum > Some(duration("4.99ms")), "{maximum:?}");
    let mean = delays.iter().map(|delay| delay.nanos()).sum::<u64>() / 10_000;
    assert!((2_950_000..3_050_000).contains(&mean), "the mean is {mean} ns");
}

/// The minimum of `long-tail:2ms` is a quarter of its median, 2 ms. On average 5 of 10,000 delays
/// are longer than 64 ms.
#[test]
fn long_tail_delays_have_a_minimum_a_median_and_no_maximum() {
    let deliveries =
        Deliveries::from_run(&send_stream(Scenario::new(2).latency("long-tail:2ms").fifo_links(false), 10_000));
    let mut delays = deliveries.delays(1, 2);
    delays.sort_unstable();
    assert!(delays[0] >= duration("0.5ms"), "{}", delays[0]);
    assert!((duration("1.9ms")..duration("2.1ms")).contains(&delays[5_000]), "{}", delays[5_000]);
    assert!(delays[9_999] > duration("50ms"), "{}", delays[9_999]);
}

/// A median near the longest duration must not overflow.
#[test]
fn extreme_latencies_do_not_overflow() {
    let deliveries =
        Deliveries::from_run(&send_stream(Scenario::new(2).latency("long-tail:5000000h").fifo_links(false), 100));
    assert_eq!(deliveries.received.len(), 100);
}

#[test]
fn first_in_first_out_links_keep_the_order_of_ten_thousand_messages() {
    for latency in ["uniform:0ms..50ms", "long-tail:3ms"] {
        let deliveries = Deliveries::from_run(&send_stream(Scenario::new(2).latency(latency).duplicate("0.1"), 10_000));
        let mut numbers = deliveries.numbers(1, 2);
        assert_eq!(numbers.len(), 10_000 + deliveries.duplicated as usize);
        assert!(numbers.is_sorted(), "links with {latency} reorder messages");
        numbers.dedup();
        assert_eq!(numbers, (1..=10_000).collect::<Vec<_>>());
    }
}

#[test]
fn links_without_fifo_reorder_messages() {
    let deliveries =
        Deliveries::from_run(&send_stream(Scenario::new(2).latency("uniform:0ms..50ms").fifo_links(false), 10_000));
    let mut numbers = deliveries.numbers(1, 2);
    assert!(!numbers.is_sorted());
    numbers.sort_unstable();
    assert_eq!(numbers, (1..=10_000).collect::<Vec<_>>());
}

/// For FIFO order, the simulator remembers the last arrival on each link, and from time to time
/// prunes links without messages in flight. With the 870 links of 30 nodes it prunes repeatedly.
#[test]
fn pruning_idle_links_keeps_the_order() {
    let nodes = 30;
    let mut scenario = Scenario::new(nodes as usize).latency("uniform:0ms..9ms");
    for round in 0..60 {
        for from in 1..=nodes {
            let to = 1 + (from + round * 7) % nodes;
            scenario = scenario.command(&format!("{round}ms"), from, vec![send(to); 3]);
            scenario = scenario.command(&format!("{round}.1ms"), from, vec![send(to); 3]);
        }
    }
    let deliveries = Deliveries::from_run(&scenario);
    assert_eq!(deliveries.received.len(), 60 * 30 * 6);
    for from in 1..=nodes {
        for to in 1..=nodes {
            assert!(deliveries.numbers(from, to).is_sorted(), "the link from {from} to {to} reorders messages");
        }
    }
}

#[test]
fn losses_and_duplicates_match_their_probabilities() {
    let deliveries = Deliveries::from_run(&send_stream(Scenario::new(2).loss("10%").duplicate("20%"), 100_000));
    let lost = deliveries.lost["chance"];
    assert!((9_600..10_400).contains(&lost), "{lost} of 100000 messages are lost; expected a tenth");
    let not_lost = 100_000 - lost;
    let expected = not_lost / 5;
    assert!(
        deliveries.duplicated.abs_diff(expected) < 500,
        "{} of {not_lost} messages are duplicated; expected a fifth",
        deliveries.duplicated
    );
    assert_eq!(deliveries.received.len() as u64, not_lost + deliveries.duplicated);
    assert_eq!(deliveries.lost.len(), 1);
}

#[test]
fn probabilities_zero_and_one_are_exact() {
    let deliveries = Deliveries::from_run(&send_stream(Scenario::new(2).loss("100%").duplicate("100%"), 100));
    assert_eq!((deliveries.received.len(), deliveries.duplicated, deliveries.lost["chance"]), (0, 0, 100));
    let deliveries = Deliveries::from_run(&send_stream(Scenario::new(2).duplicate("100%"), 100));
    assert_eq!((deliveries.received.len(), deliveries.duplicated, deliveries.lost.len()), (200, 100, 0));
}

#[test]
fn messages_of_a_node_to_itself_are_reliable_and_instant() {
    let scenario = Scenario::new(1).loss("1").duplicate("1").latency("fixed:9ms").command("1ms", 1, vec![send(1); 50]);
    let deliveries = Deliveries::from_run(&scenario);
    assert_eq!(deliveries.delays(1, 1), vec![Duration::ZERO; 50]);
    assert_eq!((deliveries.lost.len(), deliveries.duplicated), (0, 0));
}

/// Lets every node send a message to every other node at these times.
fn all_send(scenario: Scenario, nodes: u32, instants: &[&str]) -> Scenario {
    let to_all = |from: u32| (1..=nodes).filter(|to| *to != from).map(send).collect::<Actions>();
    instants.iter().fold(scenario, |scenario, instant| {
        (1..=nodes).fold(scenario, |scenario, from| scenario.command(instant, from, to_all(from)))
    })
}

#[test]
fn a_link_may_be_slower_for_some_time() {
    let scenario = Scenario::new(3).fault("link 1 > 2 latency fixed:7ms at 10ms for 10ms");
    let deliveries = Deliveries::from_run(&all_send(scenario, 3, &["9ms", "10ms", "19ms", "20ms"]));
    let ms = Duration::from_millis;
    // The message sent at 20 ms has the default latency again, but FIFO order keeps it behind the
    // messages in flight.
    assert_eq!(deliveries.delays(1, 2), [ms(1), ms(7), ms(7), ms(6)]);
    for (from, to) in [(2, 1), (1, 3), (3, 1), (2, 3), (3, 2)] {
        assert_eq!(deliveries.delays(from, to), [ms(1); 4], "{from} > {to}");
    }
}

#[test]
fn a_link_may_lose_or_duplicate_for_some_time() {
    let scenario = Scenario::new(3)
        .fault("link 1 > 2 loss 1 at 10ms for 10ms")
        .fault("link 2 > 3 duplicate 1 at 10ms for 10ms")
        .fault("link 3 > 1 loss 1 at 10ms");
    let deliveries = Deliveries::from_run(&all_send(scenario, 3, &["9ms", "10ms", "19ms", "20ms"]));
    let counts = [(1, 2), (2, 3), (3, 1), (2, 1), (1, 3), (3, 2)].map(|(from, to)| deliveries.delays(from, to).len());
    assert_eq!(counts, [2, 6, 1, 4, 4, 4]);
    assert_eq!(deliveries.lost["chance"], 5);
}

/// The later of two changes of one link applies; when it ends, the earlier one applies again.
#[test]
fn later_changes_of_a_link_override_earlier_ones() {
    let scenario = Scenario::new(2)
        .fault("link 1 > 2 latency fixed:3ms at 10ms")
        .fault("link rest > 2 latency fixed:5ms at 20ms for 10ms")
        .fault("link 1 > 2 loss 1 at 40ms for 10ms");
    let deliveries = Deliveries::from_run(&all_send(scenario, 2, &["0ms", "15ms", "25ms", "35ms", "45ms", "55ms"]));
    assert_eq!(deliveries.delays(1, 2), [1, 3, 5, 3, 3].map(Duration::from_millis));
}

/// The size of a message does not affect its delay.
#[test]
fn long_messages_take_no_longer() {
    let long: Message = ping(vec![send(1); 50]);
    let scenario = Scenario::new(2).command("0ms", 1, [crate::common::send_message(2, long), send(2)]);
    let deliveries = Deliveries::from_run(&scenario);
    assert_eq!(deliveries.delays(1, 2), vec![duration("1ms"); 2]);
    assert_eq!(scenario.run_to_end(()).time(), at("2ms"));
}
