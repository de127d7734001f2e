//! Each rule on one node: the test gives the node inputs at instants of its own clock, and checks
//! its effects. In traces, `poll 2.1` is the poll of epoch 2, round 1.

use crate::berkeley::{AveragingSettings, Berkeley, Event, Message, Round, Shift, Timer};
use expect_test::expect;
use quorate_core::election::bully::{self, Kind, SavedEpoch};
use quorate_core::election::{Bounds, Bully, Command, Plan};
use quorate_core::{
    Class, Describe, Duration, Effect, Effects, Epoch, Incarnation, Input, NodeId, Note, Protocol, Sink, Time,
};

type Node = Berkeley<Bully>;

const SETTINGS: AveragingSettings = AveragingSettings {
    period: Duration::from_secs(1),
    answer_timeout: Duration::from_millis(10),
    tolerance: Duration::from_millis(100),
    leader_timeout: Duration::from_secs(3),
};

/// A node and the trace of its steps. All times are in milliseconds of the node's clock.
struct Harness {
    node: Node,
    trace: String,
}

/// The rules and effects of a step as texts, without cancelled timers. Of the election, only its
/// events are included.
#[derive(Default)]
struct Recorder(Vec<String>);

impl Sink<Node> for Recorder {
    fn effect(&mut self, effect: Effect<Node>) {
        match effect {
            Effect::Send { message: Message::Election(_), .. }
            | Effect::Multicast { message: Message::Election(_), .. }
            | Effect::SetTimer { timer: Timer::Election(_), .. }
            | Effect::CancelTimer(_)
            | Effect::Save(_) => {}
            Effect::Send { to, message, .. } => self.0.push(format!("{} → {to}", format_message(&message))),
            Effect::Multicast { to, message, .. } => self.0.push(format!("{} → {to}", format_message(&message))),
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

fn format_message(message: &Message<bully::Message>) -> String {
    match message {
        Message::Election(message) => message.kind().into(),
        Message::Poll(round) => format!("poll {}.{}", round.epoch, round.number),
        Message::Clock { round, reading } => format!("clock {}.{}: {reading}", round.epoch, round.number),
        Message::Adjust { round, by } => format!("adjust {}.{}: {by}", round.epoch, round.number),
    }
}

impl Harness {
    fn new(me: u32, nodes: usize) -> Self {
        let plan = plan(nodes);
        let node = Berkeley::new(node_id(me), plan.group.clone(), SETTINGS, Bully::new(node_id(me), plan));
        let mut harness = Self { node, trace: String::new() };
        harness.start(0, Incarnation::FIRST);
        harness
    }

    fn step(&mut self, at: i64, input: Input<Node>) {
        let mut recorder = Recorder::default();
        self.node.step(millis(at), input, &mut Effects::new(&mut recorder));
        let effects = if recorder.0.is_empty() { "nothing".into() } else { recorder.0.join("\n    ") };
        self.trace += &format!("{}: {effects}\n", millis(at));
    }

    /// Starts the node, and clears the trace.
    fn start(&mut self, at: i64, incarnation: Incarnation) {
        self.step(at, Input::Start { durable: SavedEpoch::default(), incarnation });
        self.trace.clear();
    }

    fn campaign(&mut self, at: i64) {
        self.step(at, Input::Command(Command::Campaign));
    }

    fn receive(&mut self, at: i64, from: u32, message: Message<bully::Message>) {
        self.step(at, Input::Message { from: node_id(from), message });
    }

    fn fire_timer(&mut self, at: i64, timer: Timer<bully::Timer>) {
        self.step(at, Input::Timer(timer));
    }

    /// Returns the trace since the last call.
    fn take_trace(&mut self) -> String {
        std::mem::take(&mut self.trace)
    }
}

fn node_id(node: u32) -> NodeId {
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

fn clock(epoch: u64, number: u64, reading: i64) -> Message<bully::Message> {
    Message::Clock { round: round(epoch, number), reading: millis(reading) }
}

fn adjust(epoch: u64, number: u64, by: i64) -> Message<bully::Message> {
    Message::Adjust { round: round(epoch, number), by: shift(by) }
}

/// The message by which the winner of the election announces itself.
fn coordinator(epoch: u64) -> Message<bully::Message> {
    Message::Election(bully::Message { kind: Kind::Coordinator, epoch: Epoch(epoch) })
}

/// Node 3 of three, which leads from the instant 0 of its clock on.
fn leader() -> Harness {
    let mut harness = Harness::new(3, 3);
    harness.campaign(0);
    harness.trace.clear();
    harness
}

/// Node 1 of three, which follows node 3.
fn follower() -> Harness {
    let mut harness = Harness::new(1, 3);
    harness.receive(0, 3, coordinator(1));
    harness.trace.clear();
    harness
}

#[test]
fn bk_1_an_elected_node_polls_now_and_in_every_period() {
    let mut harness = Harness::new(3, 3);
    harness.campaign(0);
    harness.receive(2, 1, clock(1, 1, 1));
    harness.receive(2, 2, clock(1, 1, 1));
    harness.fire_timer(1_000, Timer::Round);
    expect![[r#"
        0ms: knows no leader (epoch 1)
            LEADER IS 3 (epoch 1)
            BK-1 polls all clocks: round 1 of epoch 1
            poll 1.1 → 1,2,3
            Answers in 10ms
            Round in 1s
        2ms: BK-3 node 1 is ahead by 0ms
        2ms: BK-3 node 2 is ahead by 0ms
            BK-4 nodes 1,2,3 are ahead by 0ms on average
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
    .assert_eq(&harness.take_trace());
}

#[test]
fn bk_1_a_node_alone_does_not_poll() {
    let mut harness = Harness::new(1, 1);
    harness.campaign(0);
    assert!(!harness.take_trace().contains("BK-1"));
}

#[test]
fn bk_2_a_poll_is_answered_with_the_adjusted_clock() {
    let mut harness = follower();
    harness.receive(10, 3, poll(1, 1));
    harness.receive(12, 3, adjust(1, 1, -30));
    harness.receive(20, 3, poll(1, 2));
    expect![[r#"
        10ms: BK-2 answers 3: its clock shows 10ms
            clock 1.1: 10ms → 3
            Leader in 3s
        12ms: BK-6 moves its clock by -30ms, as 3 requires
            its clock was moved by -30ms
        20ms: BK-2 answers 3: its clock shows -10ms
            clock 1.2: -10ms → 3
            Leader in 3s
    "#]]
    .assert_eq(&harness.take_trace());
}

#[test]
fn bk_2_a_poll_may_overtake_the_news_of_its_leader() {
    let mut harness = Harness::new(1, 3);
    harness.receive(5, 3, poll(1, 1));
    assert!(harness.take_trace().contains("clock 1.1: 5ms → 3"));
}

#[test]
fn bk_2_a_leader_of_an_older_epoch_gets_no_answer() {
    let mut harness = follower();
    harness.receive(10, 2, poll(2, 1));
    harness.take_trace();
    harness.receive(20, 3, poll(1, 7));
    harness.receive(21, 3, adjust(1, 7, 50));
    expect![[r#"
        20ms: BK-2 does not answer 3: this node knows a leader of epoch 2
        21ms: nothing
    "#]]
    .assert_eq(&harness.take_trace());
}

#[test]
fn bk_3_half_of_the_round_trip_is_added() {
    let mut harness = leader();
    // Poll and answer took 6 ms together, so node 1's clock now shows 50 + 3 ms, and the leader's
    // shows 6 ms.
    harness.receive(6, 1, clock(1, 1, 50));
    assert_eq!(harness.take_trace(), "6ms: BK-3 node 1 is ahead by 47ms\n");
}

#[test]
fn bk_3_only_the_first_answer_of_a_node_to_this_round_counts() {
    let mut harness = leader();
    harness.receive(2, 1, clock(1, 1, 1));
    harness.take_trace();
    // A second answer, answers to another round and epoch, one from the leader itself and one from
    // a node outside the group.
    harness.receive(3, 1, clock(1, 1, 90));
    harness.receive(3, 2, clock(1, 9, 90));
    harness.receive(3, 2, clock(2, 1, 90));
    harness.receive(3, 3, clock(1, 1, 90));
    harness.receive(3, 4, clock(1, 1, 90));
    assert_eq!(harness.take_trace(), "3ms: nothing\n".repeat(5));
}

#[test]
fn bk_4_silent_nodes_and_distant_clocks_do_not_count() {
    let mut harness = Harness::new(5, 5);
    harness.campaign(0);
    harness.take_trace();
    harness.receive(2, 1, clock(1, 1, 31));
    harness.receive(2, 2, clock(1, 1, 61));
    harness.receive(2, 3, clock(1, 1, 3_600_001));
    harness.fire_timer(10, Timer::Answers);
    expect![[r#"
        2ms: BK-3 node 1 is ahead by 30ms
        2ms: BK-3 node 2 is ahead by 60ms
        2ms: BK-3 node 3 is ahead by 3600s
        10ms: BK-4 nodes 1,2,5 are ahead by 30ms on average
            averages the clocks of 1,2,5 (round 1 of epoch 1), without 3, too far off, without 4, silent
            BK-5 tells 1 to move its clock by 0ms
            adjust 1.1: 0ms → 1
            BK-5 tells 2 to move its clock by -30ms
            adjust 1.1: -30ms → 2
            BK-5 tells 3 to move its clock by -3599.97s
            adjust 1.1: -3599.97s → 3
            its clock was moved by 30ms
    "#]]
    .assert_eq(&harness.take_trace());
}

#[test]
fn bk_5_after_a_round_with_exact_readings_all_clocks_agree() {
    // How many milliseconds clocks are ahead of the leader's. The average, −6⅔ ms, is rounded to
    // −6,666,666 ns. Every message takes 1 ms.
    let ahead = [40, -60, 0];
    let mut nodes: Vec<_> = (1..=3).map(|me| Harness::new(me, 3)).collect();
    nodes[2].campaign(0);
    for (index, ahead) in ahead.into_iter().enumerate().take(2) {
        nodes[index].receive(1 + ahead, 3, poll(1, 1));
        let reading = nodes[index].node.reading(millis(1 + ahead));
        nodes[2].receive(2, index as u32 + 1, Message::Clock { round: round(1, 1), reading });
    }
    let trace = nodes[2].take_trace();
    assert!(trace.contains("adjust 1.1: -46.666ms → 1") && trace.contains("adjust 1.1: 53.333ms → 2"), "{trace}");
    for (index, by) in [(0, -46_666_666), (1, 53_333_334)] {
        let by = Shift::from_nanos(by);
        nodes[index].receive(3 + ahead[index], 3, Message::Adjust { round: round(1, 1), by });
    }
    let readings: Vec<_> = (0..3).map(|index| nodes[index].node.reading(millis(500 + ahead[index]))).collect();
    assert_eq!(readings, [Time::from_nanos(493_333_334); 3]);
}

#[test]
fn bk_6_an_adjustment_counts_once_and_only_for_the_last_answer() {
    let mut harness = follower();
    harness.receive(10, 3, adjust(1, 1, 50));
    harness.receive(20, 3, poll(1, 1));
    harness.receive(30, 3, poll(1, 2));
    harness.take_trace();
    harness.receive(31, 3, adjust(1, 1, 50));
    harness.receive(32, 2, adjust(1, 2, 50));
    harness.receive(33, 3, adjust(1, 2, 50));
    harness.receive(34, 3, adjust(1, 2, 50));
    expect![[r#"
        31ms: nothing
        32ms: nothing
        33ms: BK-6 moves its clock by 50ms, as 3 requires
            its clock was moved by 50ms
        34ms: nothing
    "#]]
    .assert_eq(&harness.take_trace());
    assert_eq!(harness.node.shift(), shift(50));
}

#[test]
fn bk_6_a_node_that_restarted_since_it_answered_does_not_move_its_clock() {
    let mut harness = follower();
    harness.receive(10, 3, poll(1, 1));
    harness.receive(11, 3, adjust(1, 1, 5));
    harness.receive(20, 3, poll(1, 2));
    harness.start(30, Incarnation::FIRST.next());
    harness.receive(40, 3, adjust(1, 2, 50));
    assert_eq!((harness.take_trace().as_str(), harness.node.shift()), ("40ms: nothing\n", Shift::ZERO));
}

#[test]
fn bk_6_a_leader_whose_clock_another_leader_moves_abandons_its_round() {
    let mut harness = leader();
    harness.receive(1, 2, poll(2, 1));
    harness.receive(2, 2, adjust(2, 1, 40));
    harness.take_trace();
    harness.receive(3, 1, clock(1, 1, 90));
    harness.fire_timer(10, Timer::Answers);
    assert_eq!(harness.take_trace(), "3ms: nothing\n10ms: nothing\n");
}

#[test]
fn bk_7_a_former_leader_stops_polling() {
    let mut harness = leader();
    harness.campaign(5);
    let trace = harness.take_trace();
    // Its own campaign ends its leadership. As the highest node it wins again at once, in the next
    // epoch.
    assert!(trace.contains("BK-7 stops polling: its leadership of epoch 1 has ended"), "{trace}");
    assert!(trace.contains("poll 2.1 → 1,2,3"), "{trace}");
    // A node that leads because no higher node answered stops when a higher one is elected.
    let mut harness = Harness::new(2, 3);
    harness.campaign(0);
    harness.fire_timer(2, Timer::Election(bully::Timer::Answers));
    assert!(harness.take_trace().contains("poll 1.1"));
    harness.receive(20, 3, coordinator(2));
    harness.take_trace();
    harness.receive(21, 1, clock(1, 1, 21));
    harness.fire_timer(22, Timer::Answers);
    harness.fire_timer(1_002, Timer::Round);
    assert_eq!(harness.take_trace(), "21ms: nothing\n22ms: nothing\n1.002s: nothing\n");
}

#[test]
fn bk_8_a_follower_without_polls_campaigns() {
    let mut harness = follower();
    harness.fire_timer(3_000, Timer::Leader);
    expect![[r#"
        3s: BK-8 suspects the leader: no poll for 3s
            knows no leader (epoch 2)
    "#]]
    .assert_eq(&harness.take_trace());
    // No higher node answers, so it leads.
    harness.fire_timer(3_002, Timer::Election(bully::Timer::Answers));
    assert!(harness.take_trace().contains("poll 2.1 → 1,2,3"));
    harness.fire_timer(6_000, Timer::Leader);
    assert_eq!(harness.take_trace(), "6s: nothing\n");
}

#[test]
fn every_message_has_a_kind_and_a_class() {
    let election = coordinator(1);
    assert_eq!((election.kind(), election.class()), ("coordinator", Class::Announcement));
    let kinds = [poll(1, 1), clock(1, 1, 0), adjust(1, 1, 0)].map(|message| (message.kind(), message.class()));
    assert_eq!(kinds, [("poll", Class::Algorithm), ("clock", Class::Algorithm), ("adjust", Class::Algorithm)]);
}

#[test]
fn nodes_are_equal_only_if_they_received_the_same_answers() {
    let (one, mut other) = (leader().node, leader());
    assert_eq!(one, other.node);
    other.receive(2, 1, clock(1, 1, 5));
    assert_ne!(one, other.node);
}

#[test]
fn an_adjustment_prints_its_sign() {
    assert_eq!(Event::Adjusted { by: shift(-2) }.to_string(), "its clock was moved by -2ms");
}
