//! Tests of each rule, and of forged messages.
//!
//! In scripts, `1 ask-P2+P3` lets process P1 ask P2 and P3 and wait for both, `1 ask-P2|P3` for any
//! of them; `1 give-up` cancels its wait, and `1 look` starts its check for a deadlock. P2.1 is the
//! second process of site 2, whose commands end in `@1`; no site has a second process here. `1 > 2`
//! delivers the oldest message from site 1 to 2, and `rest` all. Steps before ` | ` prepare the
//! state; `of` and `by` replace the number of sites and their constructor in one test.
//! [`test_helpers`](crate::deadlock::test_helpers) lists all steps.
//!
//! In traces, answers have the kind `release`. EC and QR rules are those of the detectors, edge
//! chasing and queries with replies, and RS rules those of the resolution.

use crate::deadlock::requests::{Message, RequestHeader};
use crate::deadlock::test_helpers::{
    assert_ignored, node, process, request_group, request_sites, request_trace, resource,
};
use crate::deadlock::{Agent, Central, EdgeChasing, Plan, QueryReply, WaitId};
use crate::mutex::rules::rule_tests;
use expect_test::expect;
use std::string::String;
use std::vec::Vec;

rule_tests! { request_sites(Plan::new, EdgeChasing::new), 3;
    rq_1_the_detector_sends_its_messages_after_the_requests(
        "1 ask-P2+P3; 1 ask-P2; 1 answer-P2; 2 give-up; 2 look; 2 ask-P1@1", expect![[r#"
            1 ask P2 and P3: RQ-1 P1 asks P2 and P3; P1 waits for P2 and P3; request → 2; request → 3; EC-1 P1 sends a probe to P2 and P3; probe → 2; probe → 3
            1 ask P2: refused: the process waits, and can only cancel its wait or check for a deadlock
            1 answer P2: refused: the process waits, and can only cancel its wait or check for a deadlock
            2 give-up: refused: the process does not wait
            2 look: refused: the process does not wait
            2 ask P1 (process 1): refused: the site has no such process
        "#]]);

    rq_1_invalid_commands_are_refused(
        of 2, "1 ask-; 1 ask-P1; 1 ask-P2+P2; 1 ask-P3; 1 ask-P2.1; 1 ask-R2; 1 ask-P2|P1; 1 answer-P2", expect![[r#"
            1 ask : refused: the request must name known agents, each once, except the process and what it holds
            1 ask P1: refused: the request must name known agents, each once, except the process and what it holds
            1 ask P2 and P2: refused: the request must name known agents, each once, except the process and what it holds
            1 ask P3: refused: the request must name known agents, each once, except the process and what it holds
            1 ask P2.1: refused: the request must name known agents, each once, except the process and what it holds
            1 ask R2: refused: the request must name known agents, each once, except the process and what it holds
            1 ask any of P2 and P1: refused: the request must name known agents, each once, except the process and what it holds
            1 answer P2: refused: that agent does not wait for the process
        "#]]);

    rq_2_a_waiting_process_stores_requests_too("2 ask-P3; 1 ask-P2; 1 > 2; 2 answer-P1", expect![[r#"
        2 ask P3: RQ-1 P2 asks P3; P2 waits for P3; request → 3; EC-1 P2 sends a probe to P3; probe → 3
        1 ask P2: RQ-1 P1 asks P2; P1 waits for P2; request → 2; EC-1 P1 sends a probe to P2; probe → 2
        2 receives request from 1: RQ-2 P1 waits for P2; P1 waits for P2
        2 answer P1: refused: the process waits, and can only cancel its wait or check for a deadlock
    "#]]);

    rq_3_a_process_answers_a_request_once(of 2, "1 ask-P2; 1 > 2 | 2 answer-P1; 2 answer-P1", expect![[r#"
        2 answer P1: RQ-3 P2 answers P1; P2 answers P1; release → 1
        2 answer P1: refused: that agent does not wait for the process
    "#]]);

    rq_4_a_wait_for_all_ends_with_the_last_answer(
        "1 ask-P2+P3 | rest; 2 answer-P1; 3 answer-P1; rest", expect![[r#"
            2 receives request from 1: RQ-2 P1 waits for P2; P1 waits for P2
            3 receives request from 1: RQ-2 P1 waits for P3; P1 waits for P3
            2 receives probe from 1: EC-2 drops it: P2 does not wait
            3 receives probe from 1: EC-2 drops it: P3 does not wait
            2 answer P1: RQ-3 P2 answers P1; P2 answers P1; release → 1
            3 answer P1: RQ-3 P3 answers P1; P3 answers P1; release → 1
            1 receives release from 2: RQ-4 P1 still waits for P3
            1 receives release from 3: RQ-4 P1 continues; P1 continues
        "#]]);

    rq_4_a_wait_for_any_ends_with_the_first_answer_and_withdraws_the_rest(
        by request_sites(Plan::new, QueryReply::new), "1 ask-P2|P3; 1 > 2; 1 > 3; 2 answer-P1; 3 answer-P1; 2 > 1; 3 > 1;
         1 > 3; 1 > 3", expect![[r#"
             1 ask any of P2 and P3: RQ-1 P1 asks any of P2 and P3; P1 waits for any of P2 and P3; request → 2; request → 3; QR-1 P1 asks all it waits for whether they wait; query → 2; query → 3
             2 receives request from 1: RQ-2 P1 waits for P2; P1 waits for P2
             3 receives request from 1: RQ-2 P1 waits for P3; P1 waits for P3
             2 answer P1: RQ-3 P2 answers P1; P2 answers P1; release → 1
             3 answer P1: RQ-3 P3 answers P1; P3 answers P1; release → 1
             1 receives release from 2: RQ-4 P1 continues; withdraw → 3; P1 continues
             1 receives release from 3: RQ-4 ignores it: that wait of P1 has ended
             3 receives query from 1: QR-2 does not reply: P3 does not wait
             3 receives withdraw from 1: RQ-6 P3 has answered P1 already
         "#]]);

    rq_4_an_answer_to_an_earlier_wait_is_ignored(
        of 2, "1 ask-P2; 1 > 2; 2 answer-P1 | 1 give-up; 1 ask-P2; 2 > 1", expect![[r#"
            1 give-up: RQ-5 P1 cancels its wait; P1 has cancelled its wait; withdraw → 2
            1 ask P2: RQ-1 P1 asks P2; P1 waits for P2; request → 2; EC-1 P1 sends a probe to P2; probe → 2
            1 receives release from 2: RQ-4 ignores it: that wait of P1 has ended
        "#]]);

    rq_5_a_cancellation_withdraws_all_requests("1 ask-P2+P3 | 1 give-up; 1 give-up", expect![[r#"
        1 give-up: RQ-5 P1 cancels its wait; P1 has cancelled its wait; withdraw → 2; withdraw → 3
        1 give-up: refused: the process does not wait
    "#]]);

    rq_6_a_withdrawn_request_cannot_be_answered(of 2, "1 ask-P2; 1 give-up | rest; 2 answer-P1", expect![[r#"
        2 receives request from 1: RQ-2 P1 waits for P2; P1 waits for P2
        2 receives probe from 1: EC-2 drops it: P2 does not wait
        2 receives withdraw from 1: RQ-6 P1 no longer waits for P2; P1 no longer waits for P2
        2 answer P1: refused: that agent does not wait for the process
    "#]]);

    rq_7_the_client_receives_the_findings_of_the_detector(of 2, "1 ask-P2; rest; 2 ask-P1 | rest", expect![[r#"
        1 receives request from 2: RQ-2 P2 waits for P1; P2 waits for P1
        1 receives probe from 2: EC-2 P1 waits for P2; probe → 2
        2 receives probe from 1: EC-3 the probe has returned: P2 is in a cycle; RS-1 reports the deadlock of P2; DEADLOCK: P2 waits for P1; P1 waits for P2
    "#]]);
}

#[test]
fn rq_1_each_detector_supports_its_own_kind_of_waits() {
    let script = "1 ask-P2|P3; 2 ask-P1+P3; 3 ask-P1";
    let are_accepted = |trace: String| trace.lines().map(|line| !line.contains("refused")).collect::<Vec<_>>();
    let plan = Plan::new(3);
    assert_eq!(are_accepted(request_trace(&plan, EdgeChasing::new, script)), [false, true, true]);
    assert_eq!(are_accepted(request_trace(&plan, QueryReply::new, script)), [true, false, true]);
    assert_eq!(are_accepted(request_trace(&plan, Central::new, script)), [true, true, true]);
}

#[test]
fn forged_messages_are_ignored() {
    let mut group = request_group(&Plan::new(3), EdgeChasing::new);
    group.run("1 ask-P2\n3 ask-P1\n3 > 1");
    let header = |from: Agent, to: Agent, wait_id| RequestHeader { from, to, wait_id: WaitId(wait_id) };
    let (p1, p2, p3) = (process(1), process(2), process(3));
    let forged = [
        // Requests in the name of another site's agent, to an agent of another site, from and to
        // unknown agents, from and to resources, and from a site that does not exist.
        (3, Message::Request(header(p2, p1, 1))),
        (2, Message::Request(header(p2, p3, 1))),
        (2, Message::Request(header(Agent::process(node(2), 4), p1, 1))),
        (2, Message::Request(header(p2, Agent::process(node(1), 4), 1))),
        (2, Message::Request(header(resource(2), p1, 1))),
        (2, Message::Request(header(p2, resource(1), 1))),
        (9, Message::Request(header(process(9), p1, 1))),
        // Answers in the name of another site's agent, to waits that P1 does not have, and from an
        // agent that P1 did not ask.
        (3, Message::Answer(header(p2, p1, 1))),
        (2, Message::Answer(header(p2, p1, 0))),
        (2, Message::Answer(header(p2, p1, 2))),
        (3, Message::Answer(header(p3, p1, 1))),
        // Withdrawals in the name of another site's agent, of another wait, and of one that P1 does
        // not know.
        (2, Message::Withdraw(header(p3, p1, 1))),
        (3, Message::Withdraw(header(p3, p1, 2))),
        (2, Message::Withdraw(header(p2, p1, 1))),
    ];
    assert_ignored(group, forged.map(|(from, message)| (from, 1, message)));
}
