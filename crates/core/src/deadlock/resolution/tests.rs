//! Tests of each rule, with edge chasing as detector, and of forged messages. The resolver is at
//! site 1. The victim is the process for which the fewest agents waited when it asked; among equals
//! it is the one with the highest number.
//!
//! In scripts, `1 ask-P2+P3` lets process P1 ask P2 and P3 and wait for both, and `1 give-up`
//! cancels its wait. `1 > 2` delivers the oldest message from site 1 to 2, and `rest` all. Steps
//! before ` | ` prepare the state; `of` and `by` replace the number of sites and their constructor
//! in one test.
//! [`test_helpers`](crate::deadlock::test_helpers) lists all steps.
//!
//! In traces, RQ rules are those of the host (`requests.rs`), and EC rules those of edge chasing.

use crate::deadlock::edge_chasing::Message;
use crate::deadlock::requests::Message as HostMessage;
use crate::deadlock::resolution::ResolverMessage;
use crate::deadlock::test_helpers::{assert_ignored, node, process, request_group, request_sites, wait};
use crate::deadlock::{EdgeChasing, Plan, Policy, Report, WaitId};
use crate::mutex::rules::rule_tests;
use expect_test::expect;

fn plan(sites: usize) -> Plan {
    Plan { victim_policy: Some(Policy::FewestLocks), ..Plan::new(sites) }
}

rule_tests! { request_sites(plan, EdgeChasing::new), 3;
    rs_1_a_deadlock_is_sent_to_the_resolver("2 ask-P3; rest; 3 ask-P2; 3 > 2; 3 > 2; 2 > 3", expect![[r#"
        2 ask P3: RQ-1 P2 asks P3; P2 waits for P3; request → 3; EC-1 P2 sends a probe to P3; probe → 3
        3 receives request from 2: RQ-2 P2 waits for P3; P2 waits for P3
        3 receives probe from 2: EC-2 drops it: P3 does not wait
        3 ask P2: RQ-1 P3 asks P2; P3 waits for P2; request → 2; EC-1 P3 sends a probe to P2; probe → 2
        2 receives request from 3: RQ-2 P3 waits for P2; P3 waits for P2
        2 receives probe from 3: EC-2 P2 waits for P3; probe → 3
        3 receives probe from 2: EC-3 the probe has returned: P3 is in a cycle; RS-1 sends the resolver the deadlock of P3; found → 1
    "#]]);

    rs_1_a_deadlock_is_reported_if_there_is_no_victim_policy(
        by request_sites(Plan::new, EdgeChasing::new), "2 ask-P3; rest; 3 ask-P2; 3 > 2; 3 > 2 | 2 > 3", expect![[r#"
            3 receives probe from 2: EC-3 the probe has returned: P3 is in a cycle; RS-1 reports the deadlock of P3; DEADLOCK: P3 waits for P2; P2 waits for P3
        "#]]);

    /// Both processes find the deadlock. When the resolver takes up the second report, the victim
    /// of the first has aborted.
    rs_2_a_broken_deadlock_is_dismissed("2 ask-P3; 3 ask-P2 | rest; 3 give-up; rest", expect![[r#"
        3 receives request from 2: RQ-2 P2 waits for P3; P2 waits for P3
        3 receives probe from 2: EC-2 P3 waits for P2; probe → 2
        2 receives request from 3: RQ-2 P3 waits for P2; P3 waits for P2
        2 receives probe from 3: EC-2 P2 waits for P3; probe → 3
        2 receives probe from 3: EC-3 the probe has returned: P2 is in a cycle; RS-1 sends the resolver the deadlock of P2; found → 1
        3 receives probe from 2: EC-3 the probe has returned: P3 is in a cycle; RS-1 sends the resolver the deadlock of P3; found → 1
        1 receives found from 2: RS-3 chooses the victim P3; abort → 3; DEADLOCK: P2 waits for P3; P3 waits for P2; P3 must abort
        3 receives abort from 1: RS-4 demands the abort of P3; P3 MUST ABORT: P2 waits for P3; P3 waits for P2; P3 must abort
        3 give-up: RQ-5 P3 cancels its wait; P3 has cancelled its wait; withdraw → 2; RS-5 confirms the abort of P3; aborted → 1
        2 receives withdraw from 3: RQ-6 P3 no longer waits for P2; P3 no longer waits for P2
        1 receives aborted from 3: RS-6 has resolved the deadlock by the abort of P3; check-again → 2; RS-2 an abort has already broken the deadlock of P3; check-again → 3
        2 receives check-again from 1: RS-7 starts another check for P2; EC-1 P2 sends a probe to P3; probe → 3
        3 receives probe from 2: EC-2 drops it: P3 does not wait
    "#]]);

    rs_3_one_victim_is_chosen_and_the_next_report_waits(
        of 5, "2 ask-P3; 4 ask-P5; rest; 3 ask-P2; 5 ask-P4 | rest; 2 give-up; rest", expect![[r#"
            2 receives request from 3: RQ-2 P3 waits for P2; P3 waits for P2
            2 receives probe from 3: EC-2 P2 waits for P3; probe → 3
            4 receives request from 5: RQ-2 P5 waits for P4; P5 waits for P4
            4 receives probe from 5: EC-2 P4 waits for P5; probe → 5
            3 receives probe from 2: EC-3 the probe has returned: P3 is in a cycle; RS-1 sends the resolver the deadlock of P3; found → 1
            5 receives probe from 4: EC-3 the probe has returned: P5 is in a cycle; RS-1 sends the resolver the deadlock of P5; found → 1
            1 receives found from 3: RS-3 chooses the victim P2; abort → 2; DEADLOCK: P3 waits for P2; P2 waits for P3; P2 must abort
            2 receives abort from 1: RS-4 demands the abort of P2; P2 MUST ABORT: P3 waits for P2; P2 waits for P3; P2 must abort
            2 give-up: RQ-5 P2 cancels its wait; P2 has cancelled its wait; withdraw → 3; RS-5 confirms the abort of P2; aborted → 1
            3 receives withdraw from 2: RQ-6 P2 no longer waits for P3; P2 no longer waits for P3
            1 receives aborted from 2: RS-6 has resolved the deadlock by the abort of P2; check-again → 3; RS-3 chooses the victim P4; abort → 4; DEADLOCK: P5 waits for P4; P4 waits for P5; P4 must abort
            3 receives check-again from 1: RS-7 starts another check for P3; EC-1 P3 sends a probe to P2; probe → 2
            4 receives abort from 1: RS-4 demands the abort of P4; P4 MUST ABORT: P5 waits for P4; P4 waits for P5; P4 must abort
            2 receives probe from 3: EC-2 drops it: P2 does not wait
        "#]]);

    rs_4_the_victim_is_asked_to_abort_if_it_still_waits(
        "2 ask-P3; rest; 3 ask-P2; 3 > 2; 3 > 2; 2 > 3 | 3 > 1; 1 > 2", expect![[r#"
            1 receives found from 3: RS-3 chooses the victim P2; abort → 2; DEADLOCK: P3 waits for P2; P2 waits for P3; P2 must abort
            2 receives abort from 1: RS-4 demands the abort of P2; P2 MUST ABORT: P3 waits for P2; P2 waits for P3; P2 must abort
        "#]]);

    rs_4_a_victim_that_has_aborted_unasked_confirms_at_once(
        "2 ask-P3; rest; 3 ask-P2; 3 > 2; 3 > 2; 2 > 3 | 3 > 1; 2 give-up; 1 > 2; 2 > 1", expect![[r#"
            1 receives found from 3: RS-3 chooses the victim P2; abort → 2; DEADLOCK: P3 waits for P2; P2 waits for P3; P2 must abort
            2 give-up: RQ-5 P2 cancels its wait; P2 has cancelled its wait; withdraw → 3
            2 receives abort from 1: RS-4 confirms at once that it no longer waits: P2; aborted → 1
            1 receives aborted from 2: RS-6 has resolved the deadlock by the abort of P2; check-again → 3
        "#]]);

    rs_5_the_abort_is_confirmed_to_the_resolver(
        "2 ask-P3; rest; 3 ask-P2; 3 > 2; 3 > 2; 2 > 3; 3 > 1; 1 > 2 | 2 give-up", expect![[r#"
            2 give-up: RQ-5 P2 cancels its wait; P2 has cancelled its wait; withdraw → 3; RS-5 confirms the abort of P2; aborted → 1
        "#]]);

    /// P2 waits for P3 and P4, which both wait for P2. Its first check finds both cycles; the abort
    /// of P3 breaks only one of them.
    rs_6_a_finder_checks_again_for_another_deadlock(
        of 4, "3 ask-P2; 4 ask-P2; rest; 2 ask-P3+P4; rest | 3 give-up; rest; 4 give-up; rest", expect![[r#"
            3 give-up: RQ-5 P3 cancels its wait; P3 has cancelled its wait; withdraw → 2; RS-5 confirms the abort of P3; aborted → 1
            2 receives withdraw from 3: RQ-6 P3 no longer waits for P2; P3 no longer waits for P2
            1 receives aborted from 3: RS-6 has resolved the deadlock by the abort of P3; check-again → 2; RS-3 chooses the victim P4; abort → 4; DEADLOCK: P2 waits for P4; P4 waits for P2; P4 must abort
            2 receives check-again from 1: RS-7 starts another check for P2; EC-1 P2 sends a probe to P3 and P4; probe → 3; probe → 4
            4 receives abort from 1: RS-4 demands the abort of P4; P4 MUST ABORT: P2 waits for P4; P4 waits for P2; P4 must abort
            3 receives probe from 2: EC-2 drops it: P3 does not wait
            4 receives probe from 2: EC-2 P4 waits for P2; probe → 2
            2 receives probe from 4: EC-3 the probe has returned: P2 is in a cycle; RS-1 sends the resolver the deadlock of P2; found → 1
            4 give-up: RQ-5 P4 cancels its wait; P4 has cancelled its wait; withdraw → 2; RS-5 confirms the abort of P4; aborted → 1
            2 receives withdraw from 4: RQ-6 P4 no longer waits for P2; P4 no longer waits for P2
            1 receives aborted from 4: RS-6 has resolved the deadlock by the abort of P4; check-again → 2; RS-2 an abort has already broken the deadlock of P2; check-again → 2
            2 receives check-again from 1: RS-7 starts another check for P2; EC-1 P2 sends a probe to P3 and P4; probe → 3; probe → 4
            2 receives check-again from 1: RS-7 starts another check for P2; EC-1 P2 sends a probe to P3 and P4; probe → 3; probe → 4
            3 receives probe from 2: EC-2 drops it: P3 does not wait
            4 receives probe from 2: EC-2 drops it: P4 does not wait
            3 receives probe from 2: EC-2 drops it: P3 does not wait
            4 receives probe from 2: EC-2 drops it: P4 does not wait
        "#]]);
}

#[test]
fn rs_7_an_agent_that_no_longer_waits_does_not_check_again() {
    let mut group = request_group(&plan(3), EdgeChasing::new);
    group.run("2 ask-P3");
    // P2 is in its first wait.
    for wait_id in [0, 2, 1] {
        let again = ResolverMessage::CheckAgain { agent: process(2), wait_id: WaitId(wait_id) };
        group.forge(node(1), node(2), HostMessage::Detector(Message::Resolver(again)));
    }
    expect![[r#"
        2 ask P3: RQ-1 P2 asks P3; P2 waits for P3; request → 3; EC-1 P2 sends a probe to P3; probe → 3
        2 receives a forged check-again from 1: nothing
        2 receives a forged check-again from 1: nothing
        2 receives a forged check-again from 1: RS-7 starts another check for P2; EC-1 P2 sends a probe to P3; probe → 3
    "#]]
    .assert_eq(&group.trace);
}

#[test]
fn forged_messages_are_ignored() {
    let mut group = request_group(&plan(4), EdgeChasing::new);
    group.run("2 ask-P3; rest; 3 ask-P2; 3 > 2; 3 > 2; 2 > 3; 3 > 1");
    let cycle = [wait(process(2), process(3)), wait(process(3), process(2))];
    let report = Report::cycle(&cycle[0], cycle.to_vec());
    let abort_request = Report { victim: Some(process(2)), ..report.clone() };
    let forged = [
        // Not from the resolver, not from the finder's site, or not to the resolver.
        (4, 2, ResolverMessage::Abort(abort_request.clone())),
        (4, 3, ResolverMessage::CheckAgain { agent: process(3), wait_id: WaitId(1) }),
        (4, 1, ResolverMessage::Found(report.clone())),
        (2, 3, ResolverMessage::Found(report)),
        // About an agent at a site that does not exist.
        (2, 1, ResolverMessage::Found(Report::cycle(&cycle[0], [wait(process(9), process(2))].into()))),
        // Confirmations of the abort of another site's process, of another wait, and of a process
        // that is no victim, and one that does not go to the resolver.
        (4, 1, ResolverMessage::Aborted { agent: process(2), wait_id: WaitId(1) }),
        (2, 1, ResolverMessage::Aborted { agent: process(2), wait_id: WaitId(9) }),
        (3, 1, ResolverMessage::Aborted { agent: process(3), wait_id: WaitId(1) }),
        (2, 3, ResolverMessage::Aborted { agent: process(2), wait_id: WaitId(1) }),
        // Requests to abort without a victim, or with a victim that is not part of the deadlock or
        // at another site.
        (1, 3, ResolverMessage::Abort(Report { victim: None, ..abort_request.clone() })),
        (1, 3, ResolverMessage::Abort(Report { victim: Some(process(4)), ..abort_request.clone() })),
        (1, 3, ResolverMessage::Abort(abort_request)),
        // About an agent at another site than the receiver.
        (1, 3, ResolverMessage::CheckAgain { agent: process(4), wait_id: WaitId(1) }),
    ];
    let host_message = |message| HostMessage::Detector(Message::Resolver(message));
    assert_ignored(group, forged.map(|(from, to, message)| (from, to, host_message(message))));
}

/// The resolver drops a report without candidates, and so can take up the next one.
#[test]
fn rs_3_a_report_without_candidates_has_no_victim() {
    let empty = ResolverMessage::Found(Report::cycle(&wait(process(2), process(3)), [].into()));
    let group = request_group(&plan(3), EdgeChasing::new);
    assert_ignored(group, [(2, 1, HostMessage::Detector(Message::Resolver(empty)))]);
}
