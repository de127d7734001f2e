//! Each rule by hand: one node takes inputs at instants of its own clock, and tells what it does.

use crate::berkeley::{Berkeley, Event, Message, Round, Shift, Terms, Timer};
use expect_test::expect;
use quorate_core::election::bully::{self, Heard, Word};
use quorate_core::election::{Bounds, Bully, Command, Plan};
use quorate_core::{
    Class, Describe, Duration, Effect, Effects, Epoch, Incarnation, Input, NodeId, Note, Protocol, Sink, Time,
};

type Node = Berkeley<Bully>;

const TERMS: Terms = Terms {
    every: Duration::from_secs(1),
    wait: Duration::from_millis(10),
    tolerance: Duration::from_millis(100),
    patience: Duration::from_secs(3),
};

struct Solo {
    node: Node,
    said: String,
}

/// What a step does, in words. Of the election only what it tells is of interest here.
#[derive(Default)]
struct Ear(Vec<String>);

impl Sink<Node> for Ear {
    fn effect(&mut self, effect: Effect<Node>) {
        match effect {
            Effect::Send { message: Message::Election(_), .. }
            | Effect::Multicast { message: Message::Election(_), .. }
            | Effect::SetTimer { timer: Timer::Election(_), .. }
            | Effect::CancelTimer(_)
            | Effect::Save(_) => {}
            Effect::Send { to, message, .. } => self.0.push(format!("{} → {to}", text(&message))),
            Effect::Multicast { to, message, .. } => self.0.push(format!("{} → {to}", text(&message))),
            Effect::SetTimer { timer, span } => self.0.push(format!("{timer:?} in {span}")),
            Effect::Emit { event, .. } => self.0.push(event.to_string()),
        }
    }

    fn note(&mut self, note: Note<'_>) {
        if let Note::Rule { rule, text } = note
            && rule.starts_with("BK")
        {
            self.0.push(format!("{rule} {text}"));
        }
    }
}

fn plan(nodes: usize) -> Plan {
    Plan::new(nodes, Bounds { message: Duration::from_millis(1), processing: Duration::ZERO })
}

fn text(message: &Message<bully::Message>) -> String {
    match message {
        Message::Election(message) => message.kind().into(),
        Message::Poll(round) => format!("poll {}.{}", round.epoch, round.number),
        Message::Clock { round, shows } => format!("clock {}.{}: {shows}", round.epoch, round.number),
        Message::Adjust { round, by } => format!("adjust {}.{}: {by}", round.epoch, round.number),
    }
}

impl Solo {
    fn new(me: u32, nodes: usize) -> Self {
        let plan = plan(nodes);
        let node = Berkeley::new(number(me), plan.group.clone(), TERMS, Bully::new(number(me), plan));
        let mut solo = Self { node, said: String::new() };
        solo.boots(0, Incarnation::FIRST);
        solo
    }

    fn step(&mut self, at: i64, input: Input<Node>) {
        let mut ear = Ear::default();
        self.node.step(millis(at), input, &mut Effects::new(&mut ear));
        let said = if ear.0.is_empty() { "nothing".into() } else { ear.0.join("\n    ") };
        self.said += &format!("{}: {said}\n", millis(at));
    }

    fn boots(&mut self, at: i64, incarnation: Incarnation) {
        self.step(at, Input::Start { durable: Heard::default(), incarnation });
        self.said.clear();
    }

    fn campaigns(&mut self, at: i64) {
        self.step(at, Input::Command(Command::Campaign));
    }

    fn hears(&mut self, at: i64, from: u32, message: Message<bully::Message>) {
        self.step(at, Input::Message { from: number(from), message });
    }

    fn fires(&mut self, at: i64, timer: Timer<bully::Timer>) {
        self.step(at, Input::Timer(timer));
    }

    /// What was said since this was asked last.
    fn said(&mut self) -> String {
        core::mem::take(&mut self.said)
    }
}

fn number(node: u32) -> NodeId {
    NodeId::from_index(node as usize - 1)
}

fn millis(millis: i64) -> Time {
    Time::from_nanos(millis * 1_000_000)
}

fn shift(millis: i64) -> Shift {
    Shift::from_nanos(millis * 1_000_000)
}

fn round(epoch: u64, number: u64) -> Round {
    Round { epoch: Epoch(epoch), number }
}

fn poll(epoch: u64, number: u64) -> Message<bully::Message> {
    Message::Poll(round(epoch, number))
}

fn clock(epoch: u64, number: u64, shows: i64) -> Message<bully::Message> {
    Message::Clock { round: round(epoch, number), shows: millis(shows) }
}

fn adjust(epoch: u64, number: u64, by: i64) -> Message<bully::Message> {
    Message::Adjust { round: round(epoch, number), by: shift(by) }
}

fn coordinator(epoch: u64) -> Message<bully::Message> {
    Message::Election(bully::Message { word: Word::Coordinator, epoch: Epoch(epoch) })
}

/// The highest of three, which leads from the instant 0 of its clock on.
fn leader() -> Solo {
    let mut solo = Solo::new(3, 3);
    solo.campaigns(0);
    solo.said.clear();
    solo
}

/// Node 1 of three, which follows node 3.
fn follower() -> Solo {
    let mut solo = Solo::new(1, 3);
    solo.hears(0, 3, coordinator(1));
    solo.said.clear();
    solo
}

#[test]
fn bk_1_whoever_is_elected_polls_now_and_in_every_period() {
    let mut solo = Solo::new(3, 3);
    solo.campaigns(0);
    solo.hears(2, 1, clock(1, 1, 1));
    solo.hears(2, 2, clock(1, 1, 1));
    solo.fires(1_000, Timer::Round);
    expect![[r#"
        0ms: knows no leader (epoch 1)
            LEADER IS 3 (epoch 1)
            BK-1 polls all clocks: round 1 of epoch 1
            poll 1.1 → 1,2,3
            Answers in 10ms
            Round in 1s
        2ms: BK-3 1 is ahead by 0ms
        2ms: BK-3 2 is ahead by 0ms
            BK-4 1,2,3 are ahead by 0ms on average
            averages the clocks of 1,2,3 (round 1 of epoch 1)
            BK-5 tells 1 to move its clock by 0ms
            adjust 1.1: 0ms → 1
            BK-5 tells 2 to move its clock by 0ms
            adjust 1.1: 0ms → 2
            its clock was moved by 0ms
        1s: BK-1 polls all clocks: round 2 of epoch 1
            poll 1.2 → 1,2,3
            Answers in 10ms
            Round in 1s
    "#]]
    .assert_eq(&solo.said());
}

#[test]
fn bk_1_a_node_alone_has_nobody_to_poll() {
    let mut solo = Solo::new(1, 1);
    solo.campaigns(0);
    assert!(!solo.said().contains("BK-1"));
}

#[test]
fn bk_2_a_poll_is_answered_with_the_clock_as_it_is_set() {
    let mut solo = follower();
    solo.hears(10, 3, poll(1, 1));
    solo.hears(12, 3, adjust(1, 1, -30));
    solo.hears(20, 3, poll(1, 2));
    expect![[r#"
        10ms: BK-2 tells 3 that its clock shows 10ms
            clock 1.1: 10ms → 3
            Leader in 3s
        12ms: BK-6 moves its clock by -30ms, as 3 says
            its clock was moved by -30ms
        20ms: BK-2 tells 3 that its clock shows -10ms
            clock 1.2: -10ms → 3
            Leader in 3s
    "#]]
    .assert_eq(&solo.said());
}

#[test]
fn bk_2_a_poll_may_overtake_the_news_of_its_leader() {
    let mut solo = Solo::new(1, 3);
    solo.hears(5, 3, poll(1, 1));
    assert!(solo.said().contains("clock 1.1: 5ms → 3"));
}

#[test]
fn bk_2_a_leader_of_an_older_epoch_gets_no_answer() {
    let mut solo = follower();
    solo.hears(10, 2, poll(2, 1));
    solo.said();
    solo.hears(20, 3, poll(1, 7));
    solo.hears(21, 3, adjust(1, 7, 50));
    expect![[r#"
        20ms: BK-2 does not answer 3: there is a leader in epoch 2
        21ms: nothing
    "#]]
    .assert_eq(&solo.said());
}

#[test]
fn bk_3_half_of_the_round_trip_is_added() {
    let mut solo = leader();
    // The answer took 6 ms there and back, so the clock shows 53 by now where it should show 6.
    solo.hears(6, 1, clock(1, 1, 50));
    assert_eq!(solo.said(), "6ms: BK-3 1 is ahead by 47ms\n");
}

#[test]
fn bk_3_only_the_first_answer_of_a_member_to_this_round_counts() {
    let mut solo = leader();
    solo.hears(2, 1, clock(1, 1, 1));
    solo.said();
    solo.hears(3, 1, clock(1, 1, 90));
    solo.hears(3, 2, clock(1, 9, 90));
    solo.hears(3, 2, clock(2, 1, 90));
    solo.hears(3, 3, clock(1, 1, 90));
    solo.hears(3, 4, clock(1, 1, 90));
    assert_eq!(solo.said(), "3ms: nothing\n".repeat(5));
}

#[test]
fn bk_4_whoever_is_silent_or_too_far_off_does_not_count() {
    let mut solo = Solo::new(5, 5);
    solo.campaigns(0);
    solo.said();
    solo.hears(2, 1, clock(1, 1, 31));
    solo.hears(2, 2, clock(1, 1, 61));
    solo.hears(2, 3, clock(1, 1, 3_600_001));
    solo.fires(10, Timer::Answers);
    expect![[r#"
        2ms: BK-3 1 is ahead by 30ms
        2ms: BK-3 2 is ahead by 60ms
        2ms: BK-3 3 is ahead by 3600s
        10ms: BK-4 1,2,5 are ahead by 30ms on average
            averages the clocks of 1,2,5 (round 1 of epoch 1), without 3, too far off, without 4, silent
            BK-5 tells 1 to move its clock by 0ms
            adjust 1.1: 0ms → 1
            BK-5 tells 2 to move its clock by -30ms
            adjust 1.1: -30ms → 2
            BK-5 tells 3 to move its clock by -3599.97s
            adjust 1.1: -3599.97s → 3
            its clock was moved by 30ms
    "#]]
    .assert_eq(&solo.said());
}

#[test]
fn bk_5_after_a_round_of_right_measurements_all_clocks_show_the_same() {
    // Clocks are ahead of the leader's by this, and every message takes 1 ms.
    let ahead = [40, -60, 0];
    let mut nodes: Vec<_> = (1..=3).map(|me| Solo::new(me, 3)).collect();
    nodes[2].campaigns(0);
    for (place, ahead) in ahead.into_iter().enumerate().take(2) {
        nodes[place].hears(1 + ahead, 3, poll(1, 1));
        let shows = nodes[place].node.shows(millis(1 + ahead));
        nodes[2].hears(2, place as u32 + 1, Message::Clock { round: round(1, 1), shows });
    }
    let told = nodes[2].said();
    assert!(told.contains("adjust 1.1: -46.666ms → 1") && told.contains("adjust 1.1: 53.333ms → 2"), "{told}");
    for (place, by) in [(0, -46_666_666), (1, 53_333_334)] {
        let by = Shift::from_nanos(by);
        nodes[place].hears(3 + ahead[place], 3, Message::Adjust { round: round(1, 1), by });
    }
    let shown: Vec<_> = (0..3).map(|place| nodes[place].node.shows(millis(500 + ahead[place]))).collect();
    assert_eq!(shown, [Time::from_nanos(493_333_334); 3]);
}

#[test]
fn bk_6_an_adjustment_counts_once_and_only_for_the_last_answer() {
    let mut solo = follower();
    solo.hears(10, 3, adjust(1, 1, 50));
    solo.hears(20, 3, poll(1, 1));
    solo.hears(30, 3, poll(1, 2));
    solo.said();
    solo.hears(31, 3, adjust(1, 1, 50));
    solo.hears(32, 2, adjust(1, 2, 50));
    solo.hears(33, 3, adjust(1, 2, 50));
    solo.hears(34, 3, adjust(1, 2, 50));
    expect![[r#"
        31ms: nothing
        32ms: nothing
        33ms: BK-6 moves its clock by 50ms, as 3 says
            its clock was moved by 50ms
        34ms: nothing
    "#]]
    .assert_eq(&solo.said());
    assert_eq!(solo.node.shift(), shift(50));
}

#[test]
fn bk_6_who_was_down_since_it_answered_does_not_move_its_clock() {
    let mut solo = follower();
    solo.hears(10, 3, poll(1, 1));
    solo.hears(11, 3, adjust(1, 1, 5));
    solo.hears(20, 3, poll(1, 2));
    solo.boots(30, Incarnation::FIRST.next());
    solo.hears(40, 3, adjust(1, 2, 50));
    assert_eq!((solo.said().as_str(), solo.node.shift()), ("40ms: nothing\n", Shift::ZERO));
}

#[test]
fn bk_6_a_leader_whose_clock_is_moved_by_another_drops_its_round() {
    let mut solo = leader();
    solo.hears(1, 2, poll(2, 1));
    solo.hears(2, 2, adjust(2, 1, 40));
    solo.said();
    solo.hears(3, 1, clock(1, 1, 90));
    solo.fires(10, Timer::Answers);
    assert_eq!(solo.said(), "3ms: nothing\n10ms: nothing\n");
}

#[test]
fn bk_7_whoever_leads_no_longer_polls_no_longer() {
    let mut solo = leader();
    solo.campaigns(5);
    let told = solo.said();
    // The highest wins at once and begins anew, in the next epoch.
    assert!(told.contains("BK-7 polls no longer: it does not lead after epoch 1"), "{told}");
    assert!(told.contains("poll 2.1 → 1,2,3"), "{told}");
    let mut solo = Solo::new(2, 3);
    solo.campaigns(0);
    solo.fires(2, Timer::Election(bully::Timer::Answers));
    assert!(solo.said().contains("poll 1.1"));
    solo.hears(20, 3, coordinator(2));
    solo.said();
    solo.hears(21, 1, clock(1, 1, 21));
    solo.fires(22, Timer::Answers);
    solo.fires(1_002, Timer::Round);
    assert_eq!(solo.said(), "21ms: nothing\n22ms: nothing\n1.002s: nothing\n");
}

#[test]
fn bk_8_a_follower_without_polls_campaigns() {
    let mut solo = follower();
    solo.fires(3_000, Timer::Leader);
    expect![[r#"
        3s: BK-8 misses the leader: no poll for 3s
            knows no leader (epoch 2)
    "#]]
    .assert_eq(&solo.said());
    // Nobody higher answers, so it leads.
    solo.fires(3_002, Timer::Election(bully::Timer::Answers));
    assert!(solo.said().contains("poll 2.1 → 1,2,3"));
    solo.fires(6_000, Timer::Leader);
    assert_eq!(solo.said(), "6s: nothing\n");
}

#[test]
fn what_is_said_is_counted_as_what_it_is() {
    let election = coordinator(1);
    assert_eq!((election.kind(), election.class()), ("coordinator", Class::Announcement));
    let kinds = [poll(1, 1), clock(1, 1, 0), adjust(1, 1, 0)].map(|message| (message.kind(), message.class()));
    assert_eq!(kinds, [("poll", Class::Algorithm), ("clock", Class::Algorithm), ("adjust", Class::Algorithm)]);
}

#[test]
fn a_node_is_the_same_if_all_it_knows_is() {
    let (one, mut other) = (leader().node, leader());
    assert_eq!(one, other.node);
    other.hears(2, 1, clock(1, 1, 5));
    assert_ne!(one, other.node);
    assert_eq!(Event::Adjusted { by: shift(-2) }.to_string(), "its clock was moved by -2ms");
}
