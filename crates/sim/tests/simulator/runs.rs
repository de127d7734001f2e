//! Runs: users who ask until they are served, and how it ends.

use crate::common::{Acts, Puppet, Stage, Story, at, emit, length, node, save, send, set};
use quorate_core::{Duration, NodeId, Time};
use quorate_journal::moment::Observer;
use quorate_journal::workload::News;
use quorate_journal::workload::{Ending, Plan, Workload};
use quorate_sim::World;
use quorate_sim::run::{Limits, run};

/// Tells node 1 what to do at the start, and waits until it has told so many things in return.
struct User {
    acts: Acts,
    awaited: usize,
    heard: Vec<String>,
}

impl User {
    fn new(acts: impl Into<Acts>, awaited: usize) -> Self {
        Self { acts: acts.into(), awaited, heard: Vec::new() }
    }
}

impl Workload<Acts, String> for User {
    fn begin(&mut self, plan: &mut Plan<Acts>) {
        self.heard.push("begin".into());
        plan.command(Time::ZERO, node(1), self.acts.clone());
    }

    fn hear(&mut self, now: Time, node: NodeId, news: &News<String>, plan: &mut Plan<Acts>) {
        match news {
            News::Told(text) => {
                self.heard.push(format!("{node} says {text}"));
                self.awaited = self.awaited.saturating_sub(1);
            }
            News::Alarm => self.heard.push(format!("{node} alarm at {now}")),
            News::Crashed => self.heard.push(format!("{node} crashed")),
            News::Restarted => {
                self.heard.push(format!("{node} restarted"));
                plan.command(at("1ms"), node, self.acts.clone());
            }
        }
    }

    fn is_done(&self) -> bool {
        self.awaited == 0
    }
}

const LIMITS: Limits =
    Limits { until: None, events: 1_000, settle: Duration::from_millis(20), patience: Duration::from_millis(50) };

fn finish<O: Observer<Acts, String>>(world: &mut World<Puppet, O>, mut user: User, limits: Limits) -> (Ending, Time) {
    let ending = run(world, &mut user, limits);
    (ending, world.time())
}

fn ending(stage: &Stage, user: User, limits: Limits) -> (Ending, Time) {
    finish(&mut stage.world(()), user, limits)
}

/// A timer that sets itself so many times, every 10 ms.
fn ticking(times: u32) -> Acts {
    (0..times).fold(vec![], |then, _| vec![set('t', "10ms", then)])
}

#[test]
fn a_run_is_done_when_all_is_answered_and_the_network_quiet() {
    let user = User::new([emit("answer"), send(2)], 1);
    assert_eq!(ending(&Stage::of(2), user, LIMITS), (Ending::Done, at("1ms")));
}

/// The heartbeat never ends, so the run is given some time to settle and then ends.
#[test]
fn a_run_that_never_falls_quiet_is_done_after_a_while() {
    let mut acts = ticking(50);
    acts.push(emit("answer"));
    assert_eq!(ending(&Stage::of(1), User::new(acts, 1), LIMITS), (Ending::Done, at("30ms")));
}

/// What still waits for a disk belongs to the run.
#[test]
fn a_run_waits_for_the_disks() {
    let user = User::new([emit("answer"), save(1), send(2)], 1);
    assert_eq!(ending(&Stage::of(2).sync("fixed:9ms"), user, LIMITS), (Ending::Done, at("10ms")));
}

#[test]
fn a_run_is_stuck_when_nothing_more_can_happen() {
    assert_eq!(ending(&Stage::of(2), User::new([send(2)], 1), LIMITS), (Ending::Stuck, at("1ms")));
}

/// Timers alone go on for ever, so patience has an end. A fault to come might still change something.
#[test]
fn a_run_is_stuck_when_only_timers_are_left_for_too_long() {
    let (ended, time) = ending(&Stage::of(1), User::new(ticking(50), 1), LIMITS);
    assert_eq!((ended, time), (Ending::Stuck, at("60ms")));
    let (ended, time) = ending(&Stage::of(1).fault("heal at 200ms"), User::new(ticking(50), 1), LIMITS);
    assert_eq!((ended, time), (Ending::Stuck, at("200ms")));
}

/// What waits inside a node that is paused for good changes nothing either, whatever it is: a message, a command, a
/// sync that is over, also where inputs wait for their processing. If the node goes on in time, it does.
#[test]
fn what_waits_inside_a_paused_node_is_not_waited_for() {
    for processing in ["fixed:0ms", "fixed:1ms"] {
        let acts = [ticking(60), vec![send(2), send(2)]].concat();
        let stage = Stage::of(2)
            .processing(processing)
            .sync("fixed:5ms")
            .tell("0ms", 2, [save(1)])
            .fault("pause 2 at 2.5ms")
            .tell("7ms", 2, [emit("answer")]);
        let (ended, time) = ending(&stage, User::new(acts.clone(), 1), LIMITS);
        assert_eq!(ended, Ending::Stuck, "processing {processing}");
        assert!(time < at("80ms"), "{time}");
        let (ended, _) = ending(&stage.clone().fault("resume 2 at 300ms"), User::new(acts.clone(), 1), LIMITS);
        assert_eq!(ended, Ending::Done);
        let (ended, time) = ending(&stage.fault("crash 2 at 200ms"), User::new(acts, 1), LIMITS);
        assert_eq!(ended, Ending::Stuck);
        assert!(time >= at("200ms"), "{time}");
    }
}

/// A disk that takes longer than anybody's patience is no timer: the answer comes when it is done.
#[test]
fn a_slow_disk_is_not_given_up() {
    let mut acts = ticking(50);
    acts.extend([save(1), emit("answer")]);
    let stage = Stage::of(1).sync("fixed:200ms");
    let (ended, time) = ending(&stage, User::new(acts, 1), LIMITS);
    assert_eq!(ended, Ending::Done);
    assert!(time >= at("200ms"), "{time}");
}

/// Nothing that comes after the limit happens any more; what comes at the limit does.
#[test]
fn a_run_stops_at_its_time() {
    let until = |text| Limits { until: Some(at(text)), ..LIMITS };
    assert_eq!(ending(&Stage::of(1), User::new(ticking(5), 1), until("35ms")), (Ending::Stopped, at("30ms")));
    assert_eq!(ending(&Stage::of(1), User::new(ticking(5), 1), until("30ms")), (Ending::Stopped, at("30ms")));
    let mut world = Stage::of(1).fault("skew 1 by 1ms at 1h").world(Story::default());
    let ended = finish(&mut world, User::new([], 1), until("1s"));
    assert_eq!(ended, (Ending::Stopped, Time::ZERO));
    assert!(!world.observer().text.contains("skew"));
    // What has nothing left to do is not stopped.
    assert_eq!(ending(&Stage::of(2), User::new([send(2)], 1), until("1s")).0, Ending::Stuck);
}

#[test]
fn a_run_stops_after_so_many_events() {
    let limits = Limits { events: 5, ..LIMITS };
    let mut world = Stage::of(1).world(());
    assert_eq!(finish(&mut world, User::new(ticking(50), 1), limits).0, Ending::Stopped);
    assert_eq!(world.events(), 5);
}

/// Who is down from the start is known before anybody asks; a restart is heard before what the new life says.
#[test]
fn users_hear_of_what_happens_in_order() {
    let stage = Stage::of(2).opening([emit("hello")]).fault("crash 2 for 5ms");
    let mut world = stage.world(());
    let mut user = User::new([emit("answer")], 4);
    run(&mut world, &mut user, LIMITS);
    let heard = ["2 crashed", "1 says hello", "begin", "1 says answer", "2 restarted", "2 says hello", "2 says answer"];
    assert_eq!(user.heard, heard);
    assert_eq!(world.time(), at("5ms"));
}

#[test]
fn patience_begins_anew_with_everything_heard() {
    // A word every 40 ms, less than the patience of 50 ms; then silence.
    let acts = (0..5).fold(ticking(20), |then, _| vec![set('w', "40ms", [vec![emit("word")], then].concat())]);
    let (ended, time) = ending(&Stage::of(1), User::new(acts, 9), LIMITS);
    assert_eq!((ended, time), (Ending::Stuck, at("200ms") + length("60ms")));
}

/// Sets its alarms at the start and on every alarm that it hears, until there are no more; asks nothing of any node.
struct Sleeper {
    alarms: Vec<(&'static str, u32)>,
    /// When and about whom it heard what.
    heard: Vec<String>,
}

impl Sleeper {
    fn set_next(&mut self, plan: &mut Plan<Acts>) {
        if let Some((instant, number)) = self.alarms.pop() {
            plan.wake(at(instant), node(number));
        }
    }
}

impl Workload<Acts, String> for Sleeper {
    fn begin(&mut self, plan: &mut Plan<Acts>) {
        self.set_next(plan);
    }

    fn hear(&mut self, now: Time, node: NodeId, news: &News<String>, plan: &mut Plan<Acts>) {
        self.heard.push(format!("{now} {node} {news:?}"));
        if *news == News::Alarm {
            self.set_next(plan);
        }
    }

    fn is_done(&self) -> bool {
        self.alarms.is_empty()
    }
}

/// An alarm is the user's and not the node's: it rings for nodes that are down, paused or busy, and even for one that does
/// not exist, at its very instant. Alarms are plans, so no run is over before the last has rung.
#[test]
fn alarms_ring_whatever_becomes_of_the_node() {
    let stage = Stage::of(3).processing("fixed:9ms").fault("crash 1 at 1ms for 20ms").fault("pause 2 at 1ms").tell(
        "2ms",
        3,
        [emit("slow")],
    );
    let mut world = stage.world(());
    let alarms = vec![("500ms", 9), ("3ms", 3), ("3ms", 2), ("3ms", 1), ("0ms", 1)];
    let mut sleeper = Sleeper { alarms, heard: Vec::new() };
    assert_eq!(run(&mut world, &mut sleeper, LIMITS), Ending::Done);
    let heard = [
        "0ms 1 Alarm",
        "1ms 1 Crashed",
        "3ms 1 Alarm",
        "3ms 2 Alarm",
        "3ms 3 Alarm",
        "11ms 3 Told(\"slow\")",
        "21ms 1 Restarted",
        "500ms 9 Alarm",
    ];
    assert_eq!(sleeper.heard, heard);
    assert_eq!(world.time(), at("500ms"));
}

/// An alarm to come is longer than any patience, unlike a timer; and it counts until it has rung.
#[test]
fn a_world_with_an_alarm_to_come_is_not_quiet() {
    let mut world = Stage::of(1).tell("0ms", 1, ticking(3)).world(());
    world.wake(at("15ms"), node(1));
    while world.time() < at("10ms") && world.advance() {}
    assert!(world.has_plans() && !world.is_quiet() && !world.is_left_to_timers());
    while world.time() < at("15ms") && world.advance() {}
    assert!(!world.has_plans() && !world.is_quiet() && world.is_left_to_timers());
    assert_eq!(world.next_news(), Some((node(1), News::Alarm)));
    while world.advance() {}
    assert!(world.is_quiet());
    // Neither the node nor any observer sees an alarm.
    assert_eq!(world.events(), 1 + 1 + 3);
}

/// At one instant, what the network and the disks do comes first, then users, in the order in which they planned.
#[test]
fn an_alarm_takes_its_turn_among_users() {
    let mut world = Stage::of(1).opening([set('a', "5ms", [emit("timer")])]).world(());
    world.command(at("5ms"), node(1), vec![emit("first")]);
    world.wake(at("5ms"), node(1));
    world.command(at("5ms"), node(1), vec![emit("last")]);
    while world.advance() {}
    let news: Vec<_> = std::iter::from_fn(|| world.next_news()).map(|(_, news)| news).collect();
    let told = |text: &str| News::Told(text.to_string());
    assert_eq!(news, [told("timer"), told("first"), News::Alarm, told("last")]);
}

/// Whoever waits for what a full disk holds back is not given up while room is to come, and is stuck where it is not.
#[test]
fn a_full_disk_is_waited_for_if_it_has_an_end() {
    let acts = [ticking(60), vec![save(1), emit("answer")]].concat();
    let (ended, time) = ending(&Stage::of(1).fault("disk 1 full for 300ms"), User::new(acts.clone(), 1), LIMITS);
    assert_eq!(ended, Ending::Done);
    assert!(time >= at("300ms"), "{time}");
    let (ended, time) = ending(&Stage::of(1).fault("disk 1 full"), User::new(acts, 1), LIMITS);
    assert_eq!((ended, time), (Ending::Stuck, at("60ms")));
}
