//! Runs: clients that wait for answers, and how a run ends. A message takes 1 ms, and processing
//! and syncs take no time, unless a scenario sets them.

use crate::common::{Actions, Scenario, ScriptedNode, Trace, at, duration, emit, node, save, send, set};
use quorate_core::{Duration, NodeId, Time};
use quorate_journal::moment::Observer;
use quorate_journal::workload::ClientEvent;
use quorate_journal::workload::{Ending, Plan, Workload};
use quorate_sim::World;
use quorate_sim::run::{Limits, run};

/// A client that gives a command to node 1 at the start and to each node that restarts, and waits
/// until the nodes have emitted a number of texts.
struct TestClient {
    actions: Actions,
    /// Number of emitted texts that the client still waits for.
    awaited_texts: usize,
    /// The calls of `begin` and `on_event` so far.
    received: Vec<String>,
}

impl TestClient {
    fn new(actions: impl Into<Actions>, awaited_texts: usize) -> Self {
        Self { actions: actions.into(), awaited_texts, received: Vec::new() }
    }
}

impl Workload<Actions, String> for TestClient {
    fn begin(&mut self, plan: &mut Plan<Actions>) {
        self.received.push("begin".into());
        plan.command(Time::ZERO, node(1), self.actions.clone());
    }

    fn on_event(&mut self, now: Time, node: NodeId, notification: &ClientEvent<String>, plan: &mut Plan<Actions>) {
        match notification {
            ClientEvent::Emitted(text) => {
                self.received.push(format!("{node} says {text}"));
                self.awaited_texts = self.awaited_texts.saturating_sub(1);
            }
            ClientEvent::Alarm => self.received.push(format!("{node} alarm at {now}")),
            ClientEvent::Crashed => self.received.push(format!("{node} crashed")),
            ClientEvent::Restarted => {
                self.received.push(format!("{node} restarted"));
                // If this time is past, the node gets the command at once.
                plan.command(at("1ms"), node, self.actions.clone());
            }
        }
    }

    fn is_done(&self) -> bool {
        self.awaited_texts == 0
    }
}

const LIMITS: Limits = Limits {
    max_time: None,
    max_inputs: 1_000,
    max_settling: Duration::from_millis(20),
    max_silence: Duration::from_millis(50),
};

/// Runs the world with this client, and returns how and when the run ended.
fn run_client<O: Observer<Actions, String>>(
    world: &mut World<ScriptedNode, O>,
    mut client: TestClient,
    limits: Limits,
) -> (Ending, Time) {
    let ending = run(world, &mut client, limits);
    (ending, world.time())
}

fn run_scenario(scenario: &Scenario, client: TestClient, limits: Limits) -> (Ending, Time) {
    run_client(&mut scenario.world(()), client, limits)
}

/// Returns actions that set a timer of 10 ms, which sets itself again until it has fired this many
/// times.
fn ticks(times: u32) -> Actions {
    (0..times).fold(vec![], |then, _| vec![set('t', "10ms", then)])
}

#[test]
fn a_run_is_done_when_all_requests_are_answered_and_the_world_is_quiet() {
    let client = TestClient::new([emit("answer"), send(2)], 1);
    assert_eq!(run_scenario(&Scenario::new(2), client, LIMITS), (Ending::Done, at("1ms")));
}

/// The answer comes at 0 ms, but the timer fires every 10 ms until 500 ms. So the run ends at the
/// first event later than 20 ms, the settling time; that is at 30 ms.
#[test]
fn a_run_that_is_not_quiet_in_time_ends_after_the_settling_time() {
    let mut actions = ticks(50);
    actions.push(emit("answer"));
    assert_eq!(run_scenario(&Scenario::new(1), TestClient::new(actions, 1), LIMITS), (Ending::Done, at("30ms")));
}

/// Effects that wait for a disk are part of the run.
#[test]
fn a_run_waits_for_the_disks() {
    let client = TestClient::new([emit("answer"), save(1), send(2)], 1);
    assert_eq!(run_scenario(&Scenario::new(2).sync("fixed:9ms"), client, LIMITS), (Ending::Done, at("10ms")));
}

#[test]
fn a_run_is_stuck_when_nothing_more_can_happen() {
    assert_eq!(run_scenario(&Scenario::new(2), TestClient::new([send(2)], 1), LIMITS), (Ending::Stuck, at("1ms")));
}

/// Timers alone may continue forever, so the run ends at the first event later than 50 ms, the
/// maximum silence; that is at 60 ms. A scheduled fault postpones the end.
#[test]
fn a_run_is_stuck_when_only_timers_are_left_for_too_long() {
    let (ending, time) = run_scenario(&Scenario::new(1), TestClient::new(ticks(50), 1), LIMITS);
    assert_eq!((ending, time), (Ending::Stuck, at("60ms")));
    let (ending, time) = run_scenario(&Scenario::new(1).fault("heal at 200ms"), TestClient::new(ticks(50), 1), LIMITS);
    assert_eq!((ending, time), (Ending::Stuck, at("200ms")));
}

/// A run does not wait for inputs of a node that stays paused: messages, commands and completed
/// syncs, with or without processing times. But it waits for a scheduled resume or crash.
#[test]
fn inputs_in_a_paused_node_do_not_keep_a_run_waiting() {
    for processing in ["fixed:0ms", "fixed:1ms"] {
        let actions = [ticks(60), vec![send(2), send(2)]].concat();
        let scenario = Scenario::new(2)
            .processing(processing)
            .sync("fixed:5ms")
            .command("0ms", 2, [save(1)])
            .fault("pause 2 at 2.5ms")
            .command("7ms", 2, [emit("answer")]);
        let (ending, time) = run_scenario(&scenario, TestClient::new(actions.clone(), 1), LIMITS);
        assert_eq!(ending, Ending::Stuck, "processing {processing}");
        assert!(time < at("80ms"), "{time}");
        let (ending, _) =
            run_scenario(&scenario.clone().fault("resume 2 at 300ms"), TestClient::new(actions.clone(), 1), LIMITS);
        assert_eq!(ending, Ending::Done);
        let (ending, time) = run_scenario(&scenario.fault("crash 2 at 200ms"), TestClient::new(actions, 1), LIMITS);
        assert_eq!(ending, Ending::Stuck);
        assert!(time >= at("200ms"), "{time}");
    }
}

/// A sync is not a timer: the run waits for it, even if it takes longer than the maximum silence.
#[test]
fn a_run_waits_for_a_slow_disk() {
    let mut actions = ticks(50);
    actions.extend([save(1), emit("answer")]);
    let scenario = Scenario::new(1).sync("fixed:200ms");
    let (ending, time) = run_scenario(&scenario, TestClient::new(actions, 1), LIMITS);
    assert_eq!(ending, Ending::Done);
    assert!(time >= at("200ms"), "{time}");
}

/// The world processes no event later than the limit, but processes those at the limit.
#[test]
fn a_run_stops_at_its_time_limit() {
    let limits_until = |text| Limits { max_time: Some(at(text)), ..LIMITS };
    assert_eq!(
        run_scenario(&Scenario::new(1), TestClient::new(ticks(5), 1), limits_until("35ms")),
        (Ending::Stopped, at("30ms"))
    );
    assert_eq!(
        run_scenario(&Scenario::new(1), TestClient::new(ticks(5), 1), limits_until("30ms")),
        (Ending::Stopped, at("30ms"))
    );
    let mut world = Scenario::new(1).fault("skew 1 by 1ms at 1h").world(Trace::default());
    let ending = run_client(&mut world, TestClient::new([], 1), limits_until("1s"));
    assert_eq!(ending, (Ending::Stopped, Time::ZERO));
    assert!(!world.observer().text.contains("skew"));
    // A run without further events is not stopped by the limit.
    assert_eq!(run_scenario(&Scenario::new(2), TestClient::new([send(2)], 1), limits_until("1s")).0, Ending::Stuck);
}

#[test]
fn a_run_stops_at_its_input_limit() {
    let limits = Limits { max_inputs: 5, ..LIMITS };
    let mut world = Scenario::new(1).world(());
    assert_eq!(run_client(&mut world, TestClient::new(ticks(50), 1), limits).0, Ending::Stopped);
    assert_eq!(world.taken_inputs(), 5);
}

/// Clients learn which nodes are down at the start before they plan any command, and of a restart
/// before they receive any text from the new incarnation.
#[test]
fn clients_are_notified_in_order() {
    let scenario = Scenario::new(2).on_start([emit("hello")]).fault("crash 2 for 5ms");
    let mut world = scenario.world(());
    let mut client = TestClient::new([emit("answer")], 4);
    run(&mut world, &mut client, LIMITS);
    let received =
        ["2 crashed", "1 says hello", "begin", "1 says answer", "2 restarted", "2 says hello", "2 says answer"];
    assert_eq!(client.received, received);
    assert_eq!(world.time(), at("5ms"));
}

#[test]
fn every_notification_restarts_the_silence() {
    // One text every 40 ms, less than the maximum silence of 50 ms; then none.
    let actions = (0..5).fold(ticks(20), |then, _| vec![set('w', "40ms", [vec![emit("word")], then].concat())]);
    let (ending, time) = run_scenario(&Scenario::new(1), TestClient::new(actions, 9), LIMITS);
    assert_eq!((ending, time), (Ending::Stuck, at("200ms") + duration("60ms")));
}

/// A client that sets its next alarm at the start and on every alarm, until there are no more. It
/// gives no commands.
struct AlarmClient {
    /// The times of the remaining alarms and the nodes whose clients they notify, the next alarm
    /// last.
    alarms: Vec<(&'static str, u32)>,
    /// The notifications, with their times and nodes.
    received: Vec<String>,
}

impl AlarmClient {
    fn set_next(&mut self, plan: &mut Plan<Actions>) {
        if let Some((instant, number)) = self.alarms.pop() {
            plan.set_alarm(at(instant), node(number));
        }
    }
}

impl Workload<Actions, String> for AlarmClient {
    fn begin(&mut self, plan: &mut Plan<Actions>) {
        self.set_next(plan);
    }

    fn on_event(&mut self, now: Time, node: NodeId, notification: &ClientEvent<String>, plan: &mut Plan<Actions>) {
        self.received.push(format!("{now} {node} {notification:?}"));
        if *notification == ClientEvent::Alarm {
            self.set_next(plan);
        }
    }

    fn is_done(&self) -> bool {
        self.alarms.is_empty()
    }
}

/// An alarm belongs to the client and not to the node: it fires at its time for a node that is
/// down, paused or busy, and even for one that does not exist. Alarms are planned actions, so a run
/// does not end before the last one.
#[test]
fn alarms_fire_regardless_of_the_state_of_the_node() {
    let scenario = Scenario::new(3)
        .processing("fixed:9ms")
        .fault("crash 1 at 1ms for 20ms")
        .fault("pause 2 at 1ms")
        .command("2ms", 3, [emit("slow")]);
    let mut world = scenario.world(());
    let alarms = vec![("500ms", 9), ("3ms", 3), ("3ms", 2), ("3ms", 1), ("0ms", 1)];
    let mut alarm_client = AlarmClient { alarms, received: Vec::new() };
    assert_eq!(run(&mut world, &mut alarm_client, LIMITS), Ending::Done);
    let received = [
        "0ms 1 Alarm",
        "1ms 1 Crashed",
        "3ms 1 Alarm",
        "3ms 2 Alarm",
        "3ms 3 Alarm",
        "11ms 3 Emitted(\"slow\")",
        "21ms 1 Restarted",
        "500ms 9 Alarm",
    ];
    assert_eq!(alarm_client.received, received);
    assert_eq!(world.time(), at("500ms"));
}

/// A scheduled alarm counts as a plan until it has fired, and not as a timer. So until then, the
/// world never counts as having only timers left.
#[test]
fn a_world_with_a_scheduled_alarm_is_not_quiet() {
    let mut world = Scenario::new(1).command("0ms", 1, ticks(3)).world(());
    world.set_alarm(at("15ms"), node(1));
    while world.time() < at("10ms") && world.advance() {}
    assert!(world.has_plans() && !world.is_quiet() && !world.has_only_timers_left());
    while world.time() < at("15ms") && world.advance() {}
    assert!(!world.has_plans() && !world.is_quiet() && world.has_only_timers_left());
    assert_eq!(world.next_client_event(), Some((node(1), ClientEvent::Alarm)));
    while world.advance() {}
    assert!(world.is_quiet());
    // The start, the command and three timers: neither a node nor an observer sees an alarm.
    assert_eq!(world.taken_inputs(), 1 + 1 + 3);
}

/// At equal times, timers come first, then commands and alarms in the order of their scheduling.
#[test]
fn an_alarm_is_ordered_among_commands() {
    let mut world = Scenario::new(1).on_start([set('a', "5ms", [emit("timer")])]).world(());
    world.schedule_command(at("5ms"), node(1), vec![emit("first")]);
    world.set_alarm(at("5ms"), node(1));
    world.schedule_command(at("5ms"), node(1), vec![emit("last")]);
    while world.advance() {}
    let notifications: Vec<_> =
        std::iter::from_fn(|| world.next_client_event()).map(|(_, notification)| notification).collect();
    let emitted = |text: &str| ClientEvent::Emitted(text.to_string());
    assert_eq!(notifications, [emitted("timer"), emitted("first"), ClientEvent::Alarm, emitted("last")]);
}

/// A run waits for a full disk that will have space again, and is stuck otherwise.
#[test]
fn a_run_waits_until_a_full_disk_has_space_again() {
    let actions = [ticks(60), vec![save(1), emit("answer")]].concat();
    let (ending, time) =
        run_scenario(&Scenario::new(1).fault("disk 1 full for 300ms"), TestClient::new(actions.clone(), 1), LIMITS);
    assert_eq!(ending, Ending::Done);
    assert!(time >= at("300ms"), "{time}");
    let (ending, time) = run_scenario(&Scenario::new(1).fault("disk 1 full"), TestClient::new(actions, 1), LIMITS);
    assert_eq!((ending, time), (Ending::Stuck, at("60ms")));
}
