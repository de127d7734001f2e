//! How long messages take, which of them are lost, and which come twice.

use crate::common::{Acts, Message, Stage, at, length, node, ping, send};
use quorate_core::{Duration, NodeId, Time};
use quorate_journal::moment::{Done, Happening, Loss, MessageId, Moment, Observer, Taken};
use std::collections::{BTreeMap, HashMap};

/// Who sent what when, and what became of it.
#[derive(Default)]
struct Post {
    sent: HashMap<MessageId, Time>,
    /// Who got what, in order, and how long it took.
    received: Vec<(NodeId, MessageId, Duration)>,
    lost: BTreeMap<&'static str, u64>,
    duplicated: u64,
}

impl Post {
    fn of(stage: &Stage) -> Self {
        stage.watched(Self::default())
    }

    /// How long messages took on this link, in the order of arrival.
    fn delays(&self, from: u32, to: u32) -> Vec<Duration> {
        let of_link = self.received.iter().filter(|(by, id, _)| (id.sender, *by) == (node(from), node(to)));
        of_link.map(|(_, _, delay)| *delay).collect()
    }

    /// The numbers of the messages that arrived on this link, in the order of arrival.
    fn numbers(&self, from: u32, to: u32) -> Vec<u64> {
        let of_link = self.received.iter().filter(|(by, id, _)| (id.sender, *by) == (node(from), node(to)));
        of_link.map(|(_, id, _)| id.number).collect()
    }
}

impl Observer<Acts, String> for Post {
    fn observe(&mut self, moment: &Moment<'_, Acts, String>) {
        match moment {
            Moment::Effect { time, effect: Done::Send { sent, .. }, .. } => {
                self.sent.insert(sent.id, *time);
            }
            Moment::Input { time, node, input: Taken::Message { id, .. }, .. } => {
                self.received.push((*node, *id, time.since(self.sent[id])));
            }
            Moment::World { what: Happening::Lost { why, .. }, .. } => {
                let why = match why {
                    Loss::Chance => "chance",
                    Loss::Cut => "cut",
                    Loss::Down => "down",
                };
                *self.lost.entry(why).or_default() += 1;
            }
            Moment::World { what: Happening::Duplicated { .. }, .. } => self.duplicated += 1,
            Moment::Input { .. } | Moment::Effect { .. } | Moment::World { .. } => {}
        }
    }
}

/// Node 1 sends node 2 so many messages, some in every hundredth of a millisecond.
fn stream(stage: Stage, messages: usize) -> Stage {
    let at_once = 10;
    (0..messages / at_once).fold(stage, |stage, turn| stage.tell(&format!("{turn}0us"), 1, vec![send(2); at_once]))
}

#[test]
fn fixed_delays_are_exact() {
    let post = Post::of(&stream(Stage::of(2).latency("fixed:2.5ms"), 1_000));
    assert_eq!(post.delays(1, 2), vec![length("2.5ms"); 1_000]);
}

#[test]
fn uniform_delays_fill_their_bounds() {
    let post = Post::of(&stream(Stage::of(2).latency("uniform:1ms..5ms").fifo(false), 10_000));
    let delays = post.delays(1, 2);
    assert_eq!(delays.len(), 10_000);
    let (least, most) = (delays.iter().min().copied(), delays.iter().max().copied());
    assert!(least >= Some(length("1ms")) && least < Some(length("1.01ms")), "{least:?}");
    assert!(most <= Some(length("5ms")) && most > Some(length("4.99ms")), "{most:?}");
    let mean = delays.iter().map(|delay| delay.nanos()).sum::<u64>() / 10_000;
    assert!((2_950_000..3_050_000).contains(&mean), "the mean is {mean} ns");
}

#[test]
fn long_tail_delays_have_a_floor_a_median_and_no_ceiling() {
    let post = Post::of(&stream(Stage::of(2).latency("long-tail:2ms").fifo(false), 10_000));
    let mut delays = post.delays(1, 2);
    delays.sort_unstable();
    assert!(delays[0] >= length("0.5ms"), "{}", delays[0]);
    assert!((length("1.9ms")..length("2.1ms")).contains(&delays[5_000]), "{}", delays[5_000]);
    assert!(delays[9_999] > length("50ms"), "{}", delays[9_999]);
}

/// A median near the end of time must not overflow.
#[test]
fn a_tail_may_be_as_long_as_time() {
    let post = Post::of(&stream(Stage::of(2).latency("long-tail:5000000h").fifo(false), 100));
    assert_eq!(post.received.len(), 100);
}

#[test]
fn first_in_first_out_links_keep_the_order_of_ten_thousand_messages() {
    for latency in ["uniform:0ms..50ms", "long-tail:3ms"] {
        let post = Post::of(&stream(Stage::of(2).latency(latency).duplicate("0.1"), 10_000));
        let mut numbers = post.numbers(1, 2);
        assert_eq!(numbers.len(), 10_000 + post.duplicated as usize);
        assert!(numbers.is_sorted(), "links with {latency} overtake");
        numbers.dedup();
        assert_eq!(numbers, (1..=10_000).collect::<Vec<_>>());
    }
}

#[test]
fn other_links_do_not_keep_it() {
    let post = Post::of(&stream(Stage::of(2).latency("uniform:0ms..50ms").fifo(false), 10_000));
    let mut numbers = post.numbers(1, 2);
    assert!(!numbers.is_sorted());
    numbers.sort_unstable();
    assert_eq!(numbers, (1..=10_000).collect::<Vec<_>>());
}

/// With 30 nodes there are 870 links: enough that those that have fallen silent are forgotten again and again.
#[test]
fn forgetting_silent_links_keeps_the_order() {
    let nodes = 30;
    let mut stage = Stage::of(nodes as usize).latency("uniform:0ms..9ms");
    for turn in 0..60 {
        for from in 1..=nodes {
            let to = 1 + (from + turn * 7) % nodes;
            stage = stage.tell(&format!("{turn}ms"), from, vec![send(to); 3]);
            stage = stage.tell(&format!("{turn}.1ms"), from, vec![send(to); 3]);
        }
    }
    let post = Post::of(&stage);
    assert_eq!(post.received.len(), 60 * 30 * 6);
    for from in 1..=nodes {
        for to in 1..=nodes {
            assert!(post.numbers(from, to).is_sorted(), "the link from {from} to {to} overtakes");
        }
    }
}

#[test]
fn as_many_are_lost_and_doubled_as_the_chances_say() {
    let post = Post::of(&stream(Stage::of(2).loss("10%").duplicate("20%"), 100_000));
    let lost = post.lost["chance"];
    assert!((9_600..10_400).contains(&lost), "{lost} of 100000 are lost, and should be a tenth");
    let kept = 100_000 - lost;
    let expected = kept / 5;
    assert!(
        post.duplicated.abs_diff(expected) < 500,
        "{} of {kept} came twice, and should be a fifth",
        post.duplicated
    );
    assert_eq!(post.received.len() as u64, kept + post.duplicated);
    assert_eq!(post.lost.len(), 1);
}

#[test]
fn certain_and_impossible_chances() {
    let post = Post::of(&stream(Stage::of(2).loss("100%").duplicate("100%"), 100));
    assert_eq!((post.received.len(), post.duplicated, post.lost["chance"]), (0, 0, 100));
    let post = Post::of(&stream(Stage::of(2).duplicate("100%"), 100));
    assert_eq!((post.received.len(), post.duplicated, post.lost.len()), (200, 100, 0));
}

#[test]
fn messages_to_oneself_are_neither_lost_nor_doubled_nor_slow() {
    let stage = Stage::of(1).loss("1").duplicate("1").latency("fixed:9ms").tell("1ms", 1, vec![send(1); 50]);
    let post = Post::of(&stage);
    assert_eq!(post.delays(1, 1), vec![Duration::ZERO; 50]);
    assert_eq!((post.lost.len(), post.duplicated), (0, 0));
}

/// Everyone sends everyone something at these instants.
fn everyone(stage: Stage, nodes: u32, instants: &[&str]) -> Stage {
    let to_all = |from: u32| (1..=nodes).filter(|to| *to != from).map(send).collect::<Acts>();
    instants
        .iter()
        .fold(stage, |stage, instant| (1..=nodes).fold(stage, |stage, from| stage.tell(instant, from, to_all(from))))
}

#[test]
fn one_link_may_be_slower_for_a_while() {
    let stage = Stage::of(3).fault("link 1 > 2 latency fixed:7ms at 10ms for 10ms");
    let post = Post::of(&everyone(stage, 3, &["9ms", "10ms", "19ms", "20ms"]));
    let ms = Duration::from_millis;
    // What is sent at 20ms is as fast as ever, but stays behind what is still under way.
    assert_eq!(post.delays(1, 2), [ms(1), ms(7), ms(7), ms(6)]);
    for (from, to) in [(2, 1), (1, 3), (3, 1), (2, 3), (3, 2)] {
        assert_eq!(post.delays(from, to), [ms(1); 4], "{from} > {to}");
    }
}

#[test]
fn one_link_may_lose_or_double_for_a_while() {
    let stage = Stage::of(3)
        .fault("link 1 > 2 loss 1 at 10ms for 10ms")
        .fault("link 2 > 3 duplicate 1 at 10ms for 10ms")
        .fault("link 3 > 1 loss 1 at 10ms");
    let post = Post::of(&everyone(stage, 3, &["9ms", "10ms", "19ms", "20ms"]));
    let counts = [(1, 2), (2, 3), (3, 1), (2, 1), (1, 3), (3, 2)].map(|(from, to)| post.delays(from, to).len());
    assert_eq!(counts, [2, 6, 1, 4, 4, 4]);
    assert_eq!(post.lost["chance"], 5);
}

/// Of two changes of one link the later holds, and what is left holds again when it ends.
#[test]
fn changes_of_a_link_lie_on_top_of_each_other() {
    let stage = Stage::of(2)
        .fault("link 1 > 2 latency fixed:3ms at 10ms")
        .fault("link rest > 2 latency fixed:5ms at 20ms for 10ms")
        .fault("link 1 > 2 loss 1 at 40ms for 10ms");
    let post = Post::of(&everyone(stage, 2, &["0ms", "15ms", "25ms", "35ms", "45ms", "55ms"]));
    assert_eq!(post.delays(1, 2), [1, 3, 5, 3, 3].map(Duration::from_millis));
}

/// Sizes on the wire do not change how long a message takes.
#[test]
fn long_messages_take_no_longer() {
    let long: Message = ping(vec![send(1); 50]);
    let stage = Stage::of(2).tell("0ms", 1, [crate::common::send_message(2, long), send(2)]);
    let post = Post::of(&stage);
    assert_eq!(post.delays(1, 2), vec![length("1ms"); 2]);
    assert_eq!(stage.played(()).time(), at("2ms"));
}
