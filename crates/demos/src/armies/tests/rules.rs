//! Tests the rules of the armies, most of them by scripts, and every order in which their messages
//! can arrive.
//!
//! A script has one step a line. `1 attack` gives army 1 the command, `2 > 1` delivers the oldest
//! message from 2 to 1, `1 > 2 overtakes 1` delivers the second-oldest one from 1 to 2, which
//! overtakes one message, `1 fires` fires army 1's timer, and `rest` delivers messages until
//! none is in flight. `quorate_core::testing` runs the scripts.

use crate::armies::{ARMIES, Army, Command, Event, Message, Strength, Timer};
use crate::rules::rule_tests;
use expect_test::{Expect, expect};
use quorate_core::testing::{ScriptCommand, ScriptGroup, run_script};
use quorate_core::{Duration, Effect, Effects, Group, Incarnation, Input, NodeId, Protocol, Span, Time};

const MIN_DELAY: Duration = Duration::from_millis(3);

impl ScriptCommand for Command {
    const WORDS: &'static str = "attack";

    fn from_word(word: &str) -> Option<Self> {
        [Self::Attack].into_iter().find(|command| command.to_string() == word)
    }
}

fn armies(strengths: [u32; 2]) -> impl Fn(NodeId, Group) -> Army {
    move |me, _| Army::new(me, Strength(strengths[me.index()]), MIN_DELAY)
}

fn check(strengths: [u32; 2], script: &str, expected: Expect) {
    expected.assert_eq(&run_script(2, armies(strengths), script));
}

/// Gives one army an input at an instant, and returns its effects.
fn step(army: &mut Army, now: Time, input: Input<Army>) -> Vec<Effect<Army>> {
    let mut effects = Vec::new();
    army.step(now, input, &mut Effects::new(&mut effects));
    effects
}

fn started_army(strength: u32) -> Army {
    let mut army = Army::new(ARMIES[0], Strength(strength), MIN_DELAY);
    let start = Input::Start { durable: (), incarnation: Incarnation::FIRST };
    let effects = step(&mut army, Time::ZERO, start);
    let [Effect::Send { to, message, .. }] = &effects[..] else { panic!("one message") };
    assert_eq!((*to, *message), (ARMIES[1], Message::Strength(Strength(strength))));
    army
}

#[test]
fn ar_1_an_army_that_starts_sends_its_strength() {
    started_army(3);
    let group = ScriptGroup::new(2, armies([3, 5]));
    assert_eq!((group.in_flight_count(), group.timer_count()), (2, 0));
}

rule_tests! { check;
    ar_2_the_stronger_one_leads([3, 5], "2 > 1\n1 > 2", expect![[r#"
        1 receives strength from 2: AR-2 compares its strength 3 with 5; army 2 leads
        2 receives strength from 1: AR-2 compares its strength 5 with 3; army 2 leads
    "#]]);

    ar_2_the_first_one_leads_if_both_are_equally_strong([4, 4], "1 > 2\n2 > 1", expect![[r#"
        2 receives strength from 1: AR-2 compares its strength 4 with 4; army 1 leads
        1 receives strength from 2: AR-2 compares its strength 4 with 4; army 1 leads
    "#]]);

    ar_3_the_leader_sends_the_order_when_it_is_ordered_to_and_knows_that_it_leads([5, 3], "1 attack\n2 attack\n2 > 1", expect![[r#"
        1 attack: nothing
        2 attack: nothing
        1 receives strength from 2: AR-2 compares its strength 5 with 3; army 1 leads; AR-3 sends the order and waits for 3ms; attack → 2
    "#]]);

    ar_3_the_leader_sends_the_order_only_once([5, 3], "2 > 1\n1 attack\n1 attack", expect![[r#"
        1 receives strength from 2: AR-2 compares its strength 5 with 3; army 1 leads
        1 attack: AR-3 sends the order and waits for 3ms; attack → 2
        1 attack: nothing
    "#]]);

    ar_4_the_leader_attacks_when_it_has_waited([5, 3], "2 > 1\n1 attack\n1 fires", expect![[r#"
        1 receives strength from 2: AR-2 compares its strength 5 with 3; army 1 leads
        1 attack: AR-3 sends the order and waits for 3ms; attack → 2
        1 timer: AR-4 has waited and attacks; attacks
    "#]]);

    ar_5_the_other_army_attacks_when_the_order_arrives([5, 3], "rest\n1 attack\nrest\n1 fires", expect![[r#"
        2 receives strength from 1: AR-2 compares its strength 3 with 5; army 1 leads
        1 receives strength from 2: AR-2 compares its strength 5 with 3; army 1 leads
        1 attack: AR-3 sends the order and waits for 3ms; attack → 2
        2 receives attack from 1: AR-5 has received the order and attacks; attacks
        1 timer: AR-4 has waited and attacks; attacks
    "#]]);

    ar_5_an_order_that_overtakes_the_strength_counts(
        [5, 3], "2 > 1\n1 attack\n1 > 2 overtakes 1\n1 > 2", expect![[r#"
            1 receives strength from 2: AR-2 compares its strength 5 with 3; army 1 leads
            1 attack: AR-3 sends the order and waits for 3ms; attack → 2
            2 receives attack from 1: AR-5 has received the order and attacks; attacks
            2 receives strength from 1: AR-2 compares its strength 3 with 5; army 1 leads
        "#]]);
}

#[test]
fn ar_2_a_second_strength_changes_nothing() {
    let mut army = started_army(3);
    let strength = |value| Input::Message { from: ARMIES[1], message: Message::Strength(Strength(value)) };
    assert_eq!(step(&mut army, Time::ZERO, strength(5)).len(), 1);
    let army_before = army.clone();
    assert!(step(&mut army, Time::ZERO, strength(1)).is_empty());
    assert_eq!(army, army_before);
}

#[test]
fn ar_3_the_leader_waits_for_the_minimum_delay() {
    let mut army = started_army(5);
    let theirs = Input::Message { from: ARMIES[1], message: Message::Strength(Strength(3)) };
    step(&mut army, Time::ZERO, theirs);
    let effects = step(&mut army, Time::ZERO, Input::Command(Command::Attack));
    let timers = effects.iter().filter_map(|effect| match effect {
        Effect::SetTimer { timer, span } => Some((*timer, *span)),
        _ => None,
    });
    assert_eq!(timers.collect::<Vec<_>>(), [(Timer::MinimumDelay, Span::exactly(MIN_DELAY))]);
}

#[test]
fn an_attack_carries_the_time_of_the_clock() {
    let mut army = started_army(3);
    let now = Time::ZERO + Duration::from_millis(7);
    let order = |from| Input::Message { from, message: Message::Attack };
    assert!(step(&mut army, now, order(ARMIES[0])).is_empty(), "an army ignores its own messages");
    let effects = step(&mut army, now, order(ARMIES[1]));
    assert!(matches!(effects[..], [Effect::Emit { event: Event::Attacks { at }, .. }] if at == now));
    assert!(step(&mut army, now, order(ARMIES[1])).is_empty(), "the army attacks only once");
}

/// In every order of commands, messages and timers, both armies name the same leader and attack
/// once.
#[test]
fn every_interleaving_leads_to_one_leader_and_two_attacks() {
    for strengths in [[3, 5], [5, 3], [4, 4], [0, 0], [0, u32::MAX]] {
        let mut complete_sequences = 0;
        let new_group = || ScriptGroup::new(2, armies(strengths));
        enumerate_sequences(&mut Vec::new(), &mut |choices| {
            let mut group = new_group();
            let mut is_commanded = [false; 2];
            let mut events = Vec::new();
            for choice in choices {
                let in_flight = group.in_flight_count();
                let set_timers = group.timer_count();
                // The choices are the messages in flight, then the set timers, then the commands
                // that were not given yet.
                match *choice {
                    index if index < in_flight => events.push(group.deliver(index)),
                    index if index < in_flight + set_timers => events.push(group.fire(index - in_flight)),
                    index => {
                        let army =
                            (0..2).filter(|army| !is_commanded[*army]).nth(index - in_flight - set_timers).unwrap();
                        is_commanded[army] = true;
                        events.push((ARMIES[army], group.command(ARMIES[army], Command::Attack)));
                    }
                }
            }
            let remaining_choices = group.in_flight_count()
                + group.timer_count()
                + is_commanded.iter().filter(|is_commanded| !**is_commanded).count();
            if remaining_choices == 0 {
                complete_sequences += 1;
                let events_of =
                    |army| events.iter().filter(move |(emitter, _)| *emitter == army).flat_map(|(_, events)| events);
                let leader = if strengths[1] > strengths[0] { ARMIES[1] } else { ARMIES[0] };
                for army in ARMIES {
                    let leads = events_of(army).filter(|event| **event == Event::Leads { army: leader }).count();
                    let attacks = events_of(army).filter(|event| matches!(event, Event::Attacks { .. })).count();
                    assert_eq!((leads, attacks, events_of(army).count()), (1, 1, 2), "{strengths:?} {choices:?}");
                }
            }
            remaining_choices
        });
        assert!(complete_sequences > 50, "only {complete_sequences} sequences");
    }
}

/// Enumerates every sequence of choices; `run` returns the number of choices that follow a
/// sequence.
fn enumerate_sequences(choices: &mut Vec<usize>, run: &mut impl FnMut(&[usize]) -> usize) {
    for choice in 0..run(choices) {
        choices.push(choice);
        enumerate_sequences(choices, run);
        choices.pop();
    }
}
