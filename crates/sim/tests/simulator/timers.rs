//! Timers: set, replaced, cancelled, set again.
//!
//! In traces, `<` marks an input of a node, `>` an effect of a node, and `*` an event of the world;
//! `ping 1.3` is the third message that node 1 sent. A message takes 1 ms, and processing
//! and syncs take no time, unless a scenario sets them.

use crate::common::{Action, Actions, Scenario, at, cancel, duration, ping, send, send_message, set};
use expect_test::expect;
use quorate_core::{Span, Time};
use quorate_journal::moment::{Moment, ObservedInput, Observer};

#[test]
fn setting_a_timer_replaces_the_one_of_the_same_name() {
    let scenario = Scenario::new(1)
        .command("0ms", 1, [set('a', "5ms", []), set('b', "5ms", [])])
        .command("4ms", 1, [set('a', "5ms", [])])
        .command("20ms", 1, [set('a', "9ms", []), set('a', "1ms", [])]);
    expect![[r#"
        0ms 1 < command
        0ms 1 > set a 5ms
        0ms 1 > set b 5ms
        4ms 1 < command
        4ms 1 > set a 5ms
        5ms 1 < timer b
        9ms 1 < timer a
        20ms 1 < command
        20ms 1 > set a 9ms
        20ms 1 > set a 1ms
        21ms 1 < timer a
    "#]]
    .assert_eq(&scenario.trace());
}

/// A timer can be cancelled before it fires, in the step that sets it, and by a message that
/// arrives at the time at which it would fire. The trace omits cancels of timers that are not set.
#[test]
fn a_cancelled_timer_never_fires() {
    let scenario = Scenario::new(2)
        .command("0ms", 1, [set('a', "5ms", []), set('b', "3ms", []), cancel('b'), cancel('c')])
        .command("4ms", 1, [cancel('a'), cancel('a')])
        .command("9ms", 1, [set('a', "1ms", [])])
        .command("9ms", 2, [send_message(1, ping([cancel('a')]))]);
    expect![[r#"
        0ms 1 < command
        0ms 1 > set a 5ms
        0ms 1 > set b 3ms
        0ms 1 > cancel b
        4ms 1 < command
        4ms 1 > cancel a
        9ms 1 < command
        9ms 1 > set a 1ms
        9ms 2 < command
        9ms 2 > ping 2.1 to 1
        10ms 1 < ping 2.1
        10ms 1 > cancel a
    "#]]
    .assert_eq(&scenario.trace());
}

#[test]
fn a_timer_may_be_set_again_by_its_own_firing() {
    let set_again = |then: Actions| vec![set('a', "2ms", then)];
    let scenario = Scenario::new(1).command("0ms", 1, set_again(set_again(set_again(vec![]))));
    let trace = scenario.trace();
    let fired: Vec<_> = trace.lines().filter(|line| line.contains("<")).collect();
    assert_eq!(fired, ["0ms 1 < command", "2ms 1 < timer a", "4ms 1 < timer a", "6ms 1 < timer a"]);
}

#[test]
fn a_timer_of_zero_duration_fires_at_once() {
    let scenario = Scenario::new(1).command("3ms", 1, [set('a', "0ms", [send(1)])]);
    expect![[r#"
        3ms 1 < command
        3ms 1 > set a 0ms
        3ms 1 < timer a
        3ms 1 > ping 1.1 to 1
        3ms 1 < ping 1.1
    "#]]
    .assert_eq(&scenario.trace());
}

#[derive(Default)]
struct Firings(Vec<Time>);

impl Observer<Actions, String> for Firings {
    fn observe(&mut self, moment: &Moment<'_, Actions, String>) {
        if let Moment::Input { time, input: ObservedInput::Timer(_), .. } = moment {
            self.0.push(*time);
        }
    }
}

#[test]
fn a_timer_fires_anywhere_in_its_span_and_nowhere_else() {
    let span = Span::between(duration("3ms"), duration("7ms"));
    let fired: Vec<_> = (0..2_000)
        .map(|seed| {
            let action = Action::Set { timer: 'a', span, then: vec![] };
            let firings = Scenario::new(1).seed(seed).command("1ms", 1, [action]).run_observed(Firings::default()).0;
            assert_eq!(firings.len(), 1, "seed {seed}");
            firings[0]
        })
        .collect();
    let (first, last) = (fired.iter().min().copied(), fired.iter().max().copied());
    assert!(first >= Some(at("4ms")) && first < Some(at("4.01ms")), "{first:?}");
    assert!(last <= Some(at("8ms")) && last > Some(at("7.99ms")), "{last:?}");
}

#[test]
fn equal_timers_of_two_nodes_are_independent() {
    let scenario = Scenario::new(2)
        .command("0ms", 1, [set('a', "2ms", [])])
        .command("0ms", 2, [set('a', "3ms", [])])
        .command("1ms", 2, [cancel('a')]);
    assert_eq!(scenario.run_observed(Firings::default()).0, [at("2ms")]);
}
