//! Turns: a node that uses the end of a turn gets it after all inputs that it takes at one instant.
//!
//! In traces, `<` marks an input of a node, `>` an effect of a node, and `*` an event of the world;
//! `ping 1.3` is the third message that node 1 sent. The nodes collect the actions of their inputs
//! and carry them out at the end of the turn. A message takes 1 ms, and processing and syncs take
//! no time, unless a scenario sets them.

use crate::common::{Scenario, ScriptedNode, emit, node, ping, random_scenario, save, send, send_message, set};
use expect_test::expect;
use quorate_core::Time;
use quorate_core::wrap::{Reliable, RetransmissionTimeouts};
use quorate_journal::record::Journal;
use quorate_journal::replay::replay;
use quorate_journal::workload::ClientEvent;
use quorate_sim::World;

/// A scenario in which nodes 1 and 2 each send to node 3 at time zero; node 3 emits both texts.
fn two_messages() -> Scenario {
    let greet = |text| send_message(3, ping([emit(text)]));
    Scenario::new(3).collecting().command("0ms", 1, [greet("from 1")]).command("0ms", 2, [greet("from 2")])
}

/// Returns the lines of a trace from this time on.
fn trace_from(scenario: &Scenario, instant: &str) -> String {
    let trace = scenario.trace();
    trace.lines().skip_while(|line| !line.starts_with(instant)).map(|line| format!("{line}\n")).collect()
}

#[test]
fn inputs_of_one_instant_are_one_turn() {
    // Each node's start and command are a turn too.
    expect![[r#"
        0ms 1 < command
        0ms 2 < command
        0ms 1 < end of turn
        0ms 1 > ping 1.1 to 3
        0ms 2 < end of turn
        0ms 2 > ping 2.1 to 3
        0ms 3 < end of turn
        1ms 3 < ping 1.1
        1ms 3 < ping 2.1
        1ms 3 < end of turn
        1ms 3 > emit from 1
        1ms 3 > emit from 2
    "#]]
    .assert_eq(&two_messages().trace());
}

/// Timers and commands come after messages, and the end of the turn after them.
#[test]
fn the_end_of_a_turn_comes_after_all_other_inputs() {
    let scenario = two_messages().command("0ms", 3, [set('a', "1ms", [])]).command("1ms", 3, [emit("command")]);
    expect![[r#"
        1ms 3 < ping 1.1
        1ms 3 < ping 2.1
        1ms 3 < timer a
        1ms 3 < command
        1ms 3 < end of turn
        1ms 3 > emit from 1
        1ms 3 > emit from 2
        1ms 3 > emit command
    "#]]
    .assert_eq(&trace_from(&scenario, "1ms"));
}

/// A sync without duration ends at the instant at which the turn requested the save, and its report
/// begins a turn of its own.
#[test]
fn an_input_that_follows_from_the_end_of_a_turn_begins_another() {
    let scenario = Scenario::new(1).collecting().command("1ms", 1, [save(7), emit("saved")]);
    expect![[r#"
        1ms 1 < command
        1ms 1 < end of turn
        1ms 1 > save 7
        1ms 1 < saved 1
        1ms 1 > emit saved
        1ms 1 < end of turn
    "#]]
    .assert_eq(&trace_from(&scenario, "1ms"));
}

/// Node 3 takes the messages when it resumes, and crashes and restarts at that instant, before the
/// end of the turn.
#[test]
fn a_crash_drops_the_turn_and_a_restart_begins_one() {
    let scenario =
        two_messages().fault("pause 3 at 0.5ms").fault("resume 3 at 1.5ms").fault("crash 3 at 1.5ms for 0ms");
    expect![[r#"
        1.5ms * 3 resumed
        1.5ms 3 < ping 1.1
        1.5ms 3 < ping 2.1
        1.5ms * 3 crashed, 0 writes lost
        1.5ms 3 < start 1
        1.5ms 3 > finds []
        1.5ms 3 < end of turn
    "#]]
    .assert_eq(&trace_from(&scenario, "1.5ms"));
}

/// Node 3 is paused within a turn, at the instant of its inputs. It ends the turn when it resumes,
/// after the message that arrived meanwhile.
#[test]
fn a_paused_node_continues_its_turn_when_it_resumes() {
    let scenario = two_messages()
        .command("2ms", 1, [send_message(3, ping([emit("late")]))])
        .fault("pause 3 at 0.5ms")
        .fault("resume 3 at 1.5ms")
        .fault("pause 3 at 1.5ms for 8.5ms");
    expect![[r#"
        1.5ms * 3 resumed
        1.5ms 3 < ping 1.1
        1.5ms 3 < ping 2.1
        1.5ms * 3 paused
        2ms 1 < command
        2ms 1 < end of turn
        2ms 1 > ping 1.2 to 3
        10ms * 3 resumed
        10ms 3 < ping 1.2
        10ms 3 < end of turn
        10ms 3 > emit from 1
        10ms 3 > emit from 2
        10ms 3 > emit late
    "#]]
    .assert_eq(&trace_from(&scenario, "1.5ms"));
}

#[test]
fn a_paused_node_ends_its_turn_when_it_resumes_even_without_further_inputs() {
    let scenario =
        two_messages().fault("pause 3 at 0.5ms").fault("resume 3 at 1.5ms").fault("pause 3 at 1.5ms for 8.5ms");
    expect![[r#"
        10ms * 3 resumed
        10ms 3 < end of turn
        10ms 3 > emit from 1
        10ms 3 > emit from 2
    "#]]
    .assert_eq(&trace_from(&scenario, "10ms"));
}

/// An open turn of a paused node is pending, but only a fault can end it.
#[test]
fn a_run_waits_for_open_turns() {
    let mut world =
        two_messages().fault("pause 3 at 0.5ms").fault("resume 3 at 1.5ms").fault("pause 3 at 1.5ms").world(());
    let mut states = Vec::new();
    while world.advance() {
        states.push(world.is_quiet());
    }
    assert!(states.iter().all(|is_quiet| !is_quiet), "{states:?}");
    assert_eq!(world.node(node(3)).map(|node| node.steps), Some(4), "its start, its end of turn, and two messages");
}

/// Processing takes 2 ms. The messages arrive at 3 ms, and the turn ends when both are processed.
#[test]
fn with_a_processing_time_a_turn_ends_when_no_input_waits() {
    let scenario = two_messages().processing("fixed:2ms").command("8ms", 3, [emit("alone")]);
    expect![[r#"
        5ms 3 < ping 1.1
        7ms 3 < ping 2.1
        7ms 3 < end of turn
        7ms 3 > emit from 1
        7ms 3 > emit from 2
        10ms 3 < command
        10ms 3 < end of turn
        10ms 3 > emit alone
    "#]]
    .assert_eq(&trace_from(&scenario, "5ms"));
}

/// The second command is for an incarnation that has ended. It takes processing time, but the node
/// does not step.
#[test]
fn a_turn_ends_even_if_its_last_input_is_void() {
    let mut world = Scenario::new(1).collecting().processing("fixed:2ms").command("3ms", 1, [emit("last")]).world(());
    world.schedule_command_this_incarnation(crate::common::at("3ms"), node(1), vec![emit("void")]);
    world.schedule_fault("crash 1 at 1ms for 1ms".parse().unwrap());
    while world.advance() {}
    assert!(world.is_quiet());
    let texts: Vec<_> =
        std::iter::from_fn(|| world.next_client_event()).map(|(_, event)| format!("{event:?}")).collect();
    assert!(texts.iter().any(|text| text.contains("last")), "{texts:?}");
}

/// Seeds 0 to 999, with all kinds of faults. Every open turn belongs to a node that stays paused.
#[test]
fn random_runs_with_turns_end_and_replay() {
    let mut ends_of_turns = 0;
    for seed in 0..1_000 {
        let scenario = random_scenario(seed).collecting();
        let world = scenario.run_to_end(());
        assert!(world.has_only_timers_left(), "seed {seed}");
        let journal = scenario.journal();
        ends_of_turns += journal.matches(r#""input":"end-of-turn""#).count();
        let mut reader = Journal::open(journal.as_bytes()).unwrap();
        replay(&mut reader, scenario.node_factory(), &mut ()).unwrap_or_else(|error| panic!("seed {seed}: {error}"));
    }
    assert!(ends_of_turns > 10_000, "{ends_of_turns}");
}

/// The queue has no end of a turn, and the journal shows none.
#[test]
fn a_node_that_does_not_use_turns_has_none() {
    let scenario = Scenario::new(2).command("0ms", 1, [send(2)]);
    let mut world = scenario.world(());
    let advances = std::iter::from_fn(|| world.advance().then_some(())).count();
    assert_eq!(advances, 2, "the command and the message");
    assert!(!scenario.journal().contains("end-of-turn"));
}

/// A wrapper passes the end of a turn on: both nodes act only then.
#[test]
fn a_wrapped_node_gets_the_end_of_its_turns() {
    let create = |me| Reliable::new(me, ScriptedNode::default().collecting(), RetransmissionTimeouts::default());
    let mut world = World::new(&Scenario::new(2).setup, create, ());
    world.start();
    world.schedule_command(Time::ZERO, node(1), vec![send_message(2, ping([emit("received")]))]);
    while world.advance() {}
    let event = world.next_client_event().unwrap();
    assert!(matches!(&event, (_, ClientEvent::Emitted(text)) if text == "received"), "{event:?}");
}
