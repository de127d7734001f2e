//! One test per rule, and what strangers can do.

use crate::deadlock::drill::{ask, asking, asks, assert_ignored, node, process, resource};
use crate::deadlock::requests::{Letter, Message};
use crate::deadlock::{Agent, Central, EdgeChasing, Plan, QueryReply, Spell};
use crate::mutex::rules::rules;
use expect_test::expect;
use std::string::String;
use std::vec::Vec;

rules! { asks(Plan::new, EdgeChasing::new), 3;
    rq_1_a_process_asks_and_the_detector_sends_after_the_requests(
        "1 ask-P2+P3; 1 ask-P2; 1 answer-P2; 2 give-up; 2 look; 2 ask-P1@1", expect![[r#"
            1 ask P2 and P3: RQ-1 P1 asks P2 and P3; P1 waits for P2 and P3; request → 2; request → 3; EC-1 P1 sends a probe after P2 and P3; probe → 2; probe → 3
            1 ask P2: refused: it waits, and whoever waits does nothing else
            1 answer P2: refused: it waits, and whoever waits does nothing else
            2 give-up: refused: it does not wait
            2 look: refused: it does not wait
            2 ask P1 (process 1): refused: there is no such process here
        "#]]);

    rq_1_what_makes_no_sense_is_refused(
        of 2, "1 ask-; 1 ask-P1; 1 ask-P2+P2; 1 ask-P3; 1 ask-P2.1; 1 ask-R2; 1 ask-P2|P1; 1 answer-P2", expect![[r#"
            1 ask : refused: there is nobody to ask, or not as often
            1 ask P1: refused: there is nobody to ask, or not as often
            1 ask P2 and P2: refused: there is nobody to ask, or not as often
            1 ask P3: refused: there is nobody to ask, or not as often
            1 ask P2.1: refused: there is nobody to ask, or not as often
            1 ask R2: refused: there is nobody to ask, or not as often
            1 ask any of P2 and P1: refused: there is nobody to ask, or not as often
            1 answer P2: refused: that one does not wait for it
        "#]]);

    rq_2_a_request_is_noted_even_by_one_who_waits("2 ask-P3; 1 ask-P2; 1 > 2; 2 answer-P1", expect![[r#"
        2 ask P3: RQ-1 P2 asks P3; P2 waits for P3; request → 3; EC-1 P2 sends a probe after P3; probe → 3
        1 ask P2: RQ-1 P1 asks P2; P1 waits for P2; request → 2; EC-1 P1 sends a probe after P2; probe → 2
        2 hears request from 1: RQ-2 P1 waits for P2; P1 waits for P2
        2 answer P1: refused: it waits, and whoever waits does nothing else
    "#]]);

    rq_3_who_lets_go_says_so_once(of 2, "1 ask-P2; 1 > 2 | 2 answer-P1; 2 answer-P1", expect![[r#"
        2 answer P1: RQ-3 P2 lets P1 go on; P2 lets P1 go on; let-go → 1
        2 answer P1: refused: that one does not wait for it
    "#]]);

    rq_4_one_who_waits_for_all_goes_on_with_the_last_answer(
        "1 ask-P2+P3 | rest; 2 answer-P1; 3 answer-P1; rest", expect![[r#"
            2 hears request from 1: RQ-2 P1 waits for P2; P1 waits for P2
            3 hears request from 1: RQ-2 P1 waits for P3; P1 waits for P3
            2 hears probe from 1: EC-2 drops it: P2 does not wait
            3 hears probe from 1: EC-2 drops it: P3 does not wait
            2 answer P1: RQ-3 P2 lets P1 go on; P2 lets P1 go on; let-go → 1
            3 answer P1: RQ-3 P3 lets P1 go on; P3 lets P1 go on; let-go → 1
            1 hears let-go from 2: RQ-4 P1 still waits for P3
            1 hears let-go from 3: RQ-4 P1 goes on; P1 goes on
        "#]]);

    rq_4_one_who_waits_for_any_goes_on_with_the_first_and_withdraws_the_rest(
        by asks(Plan::new, QueryReply::new), "1 ask-P2|P3; 1 > 2; 1 > 3; 2 answer-P1; 3 answer-P1; 2 > 1; 3 > 1;
         1 > 3; 1 > 3", expect![[r#"
            1 ask any of P2 and P3: RQ-1 P1 asks any of P2 and P3; P1 waits for any of P2 and P3; request → 2; request → 3; QR-1 P1 asks all whom it waits for whether they wait; query → 2; query → 3
            2 hears request from 1: RQ-2 P1 waits for P2; P1 waits for P2
            3 hears request from 1: RQ-2 P1 waits for P3; P1 waits for P3
            2 answer P1: RQ-3 P2 lets P1 go on; P2 lets P1 go on; let-go → 1
            3 answer P1: RQ-3 P3 lets P1 go on; P3 lets P1 go on; let-go → 1
            1 hears let-go from 2: RQ-4 P1 goes on; withdraw → 3; P1 goes on
            1 hears let-go from 3: RQ-4 P1 does not wait for it any more
            3 hears query from 1: QR-2 says nothing: P3 does not wait
            3 hears withdraw from 1: RQ-6 P3 has let P1 go on already
        "#]]);

    rq_4_an_answer_to_an_earlier_wait_is_none(
        of 2, "1 ask-P2; 1 > 2; 2 answer-P1 | 1 give-up; 1 ask-P2; 2 > 1", expect![[r#"
            1 give-up: RQ-5 P1 gives up; P1 has given up; withdraw → 2
            1 ask P2: RQ-1 P1 asks P2; P1 waits for P2; request → 2; EC-1 P1 sends a probe after P2; probe → 2
            1 hears let-go from 2: RQ-4 P1 does not wait for it any more
        "#]]);

    rq_5_who_gives_up_withdraws_what_it_asked("1 ask-P2+P3 | 1 give-up; 1 give-up", expect![[r#"
        1 give-up: RQ-5 P1 gives up; P1 has given up; withdraw → 2; withdraw → 3
        1 give-up: refused: it does not wait
    "#]]);

    rq_6_what_is_withdrawn_is_owed_no_longer(of 2, "1 ask-P2; 1 give-up | rest; 2 answer-P1", expect![[r#"
        2 hears request from 1: RQ-2 P1 waits for P2; P1 waits for P2
        2 hears probe from 1: EC-2 drops it: P2 does not wait
        2 hears withdraw from 1: RQ-6 P1 waits for P2 no longer; P1 waits for P2 no longer
        2 answer P1: refused: that one does not wait for it
    "#]]);

    rq_7_what_the_detector_finds_the_user_is_told(of 2, "1 ask-P2; rest; 2 ask-P1 | rest", expect![[r#"
        1 hears request from 2: RQ-2 P2 waits for P1; P2 waits for P1
        1 hears probe from 2: EC-2 P1 waits for P2; probe → 2
        2 hears probe from 1: EC-3 it is back: P2 waits for itself; RS-1 tells of a deadlock that holds P2; DEADLOCK: P2 waits for P1; P1 waits for P2
    "#]]);
}

#[test]
fn rq_1_each_detector_understands_its_own_waits() {
    let script = "1 ask-P2|P3; 2 ask-P1+P3; 3 ask-P1";
    let taken = |trace: String| trace.lines().map(|line| !line.contains("refused")).collect::<Vec<_>>();
    let plan = Plan::new(3);
    assert_eq!(taken(ask(&plan, EdgeChasing::new, script)), [false, true, true]);
    assert_eq!(taken(ask(&plan, QueryReply::new, script)), [true, false, true]);
    assert_eq!(taken(ask(&plan, Central::new, script)), [true, true, true]);
}

#[test]
fn what_strangers_say_of_others_is_not_heard() {
    let mut stage = asking(&Plan::new(3), EdgeChasing::new);
    stage.run("1 ask-P2\n3 ask-P1\n3 > 1");
    let letter = |from: Agent, to: Agent, spell| Letter { from, to, spell: Spell(spell) };
    let (one, two, three) = (process(1), process(2), process(3));
    let forged = [
        // In the name of another, to one who is elsewhere, of and to those who are not there, of and to what asks nobody.
        (3, Message::Request(letter(two, one, 1))),
        (2, Message::Request(letter(two, three, 1))),
        (2, Message::Request(letter(Agent::process(node(2), 4), one, 1))),
        (2, Message::Request(letter(two, Agent::process(node(1), 4), 1))),
        (2, Message::Request(letter(resource(2), one, 1))),
        (2, Message::Request(letter(two, resource(1), 1))),
        (9, Message::Request(letter(process(9), one, 1))),
        (3, Message::Answer(letter(two, one, 1))),
        (2, Message::Answer(letter(two, one, 0))),
        (2, Message::Answer(letter(two, one, 2))),
        (3, Message::Answer(letter(three, one, 1))),
        (2, Message::Withdraw(letter(three, one, 1))),
        (3, Message::Withdraw(letter(three, one, 2))),
        (2, Message::Withdraw(letter(two, one, 1))),
    ];
    assert_ignored(stage, forged.map(|(from, message)| (from, 1, message)));
}
