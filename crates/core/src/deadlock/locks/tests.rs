//! Tests of each rule, and of forged messages.
//!
//! In scripts, `1 ask-R1+R2` lets process P1 request the resources R1 and R2, `1 answer-R1`
//! releases R1, `1 give-up` cancels the wait of P1, and `1 look` starts its check for a deadlock.
//! R1.1 is the second resource of site 1; a command that ends in `@1` is for the second process of
//! a site. `1 > 2` delivers the oldest message from site 1 to 2, and `rest` all. Steps before ` | `
//! prepare the state; `of` and `by` replace the number of sites and their constructor in one test.
//! `lock_sites(&[1, 2], …)` lists the coordinator of each resource: R1 is at site 1, R2 at site 2.
//! [`test_helpers`](crate::deadlock::test_helpers) lists all steps.
//!
//! In traces, CE rules are those of the lock (`mutex/central.rs`), whose ticket `3/1` is the first
//! one of node 3. EC and QR rules are those of the detectors, edge chasing and queries with
//! replies, and RS rules those of the resolution.

use crate::clock::Clock;
use crate::deadlock::locks::{LockMessage, Message};
use crate::deadlock::test_helpers::{assert_ignored, lock_sites, node, resource};
use crate::deadlock::{Agent, EdgeChasing, QueryReply, WaitId};
use crate::fence::Fence;
use crate::mutex::Patience;
use crate::mutex::central::{Message as MutexMessage, Ticket};
use crate::mutex::rules::rule_tests;
use crate::testing::ScriptGroup;
use expect_test::expect;

rule_tests! { lock_sites(&[1, 2], EdgeChasing::new), 3;
    lk_1_the_detector_sends_its_messages_after_the_requests(
        "3 ask-R1+R2; 3 ask-R1; 3 answer-R1", expect![[r#"
            3 ask R1 and R2: LK-1 P3 asks for R1 and R2; P3 waits for R1 and R2; CE-1 requests entry with ticket 3/1; request → 1; CE-1 requests entry with ticket 3/1; request → 2; EC-1 P3 sends a probe to R1 and R2; probe → 1; probe → 2
            3 ask R1: refused: the process waits, and can only cancel its wait or check for a deadlock
            3 answer R1: refused: the process waits, and can only cancel its wait or check for a deadlock
        "#]]);

    lk_1_invalid_commands_are_refused(
        of 2, "1 ask-; 1 ask-P2; 1 ask-R1.1; 1 ask-R2+R2; 1 ask-R1|R2; 1 ask-R1@1; 1 give-up; 1 look; 1 answer-R1;
         1 ask-R1; 1 ask-R1", expect![[r#"
             1 ask : refused: the request must name known agents, each once, except the process and what it holds
             1 ask P2: refused: the request must name known agents, each once, except the process and what it holds
             1 ask R1.1: refused: the request must name known agents, each once, except the process and what it holds
             1 ask R2 and R2: refused: the request must name known agents, each once, except the process and what it holds
             1 ask any of R1 and R2: refused: the host or the detector does not support this kind of wait
             1 ask R1 (process 1): refused: the site has no such process
             1 give-up: refused: the process does not wait
             1 look: refused: the process does not wait
             1 answer R1: refused: that agent does not wait for the process
             1 ask R1: LK-1 P1 asks for R1; P1 waits for R1; LK-2 P1 waits for R1; P1 waits for R1; CE-1 requests entry with ticket 1/1; CE-2 grants ticket 1/1; CE-3 enters with ticket 1/1; LK-3 R1 is granted to P1; R1 is granted to P1; P1 holds R1; LK-4 P1 has R1; P1 has R1; P1 continues; EC-1 R1 sends a probe to P1; EC-2 drops it: P1 does not wait
             1 ask R1: refused: the request must name known agents, each once, except the process and what it holds
         "#]]);

    lk_2_a_process_waits_for_a_resource_when_the_request_arrives(
        by lock_sites(&[1], EdgeChasing::new), "1 ask-R1 | 2 ask-R1; 2 > 1; 2 > 1", expect![[r#"
            2 ask R1: LK-1 P2 asks for R1; P2 waits for R1; CE-1 requests entry with ticket 2/1; request → 1; EC-1 P2 sends a probe to R1; probe → 1
            1 receives request from 2: LK-2 P2 waits for R1; P2 waits for R1; CE-2 queues ticket 2/1: ticket 1/1 is granted
            1 receives probe from 2: EC-2 R1 waits for P1; EC-2 drops it: P1 does not wait
        "#]]);

    lk_3_a_granted_resource_waits_for_its_holder(
        by lock_sites(&[3], EdgeChasing::new), "1 ask-R3 | 1 > 3; 2 ask-R3; 2 > 3; 3 > 1; 1 answer-R3; 1 > 3; 1 > 3;
         2 give-up; rest", expect![[r#"
             3 receives request from 1: LK-2 P1 waits for R3; P1 waits for R3; CE-2 grants ticket 1/1; grant → 1; LK-3 R3 is granted to P1; R3 is granted to P1; P1 holds R3; EC-1 R3 sends a probe to P1; probe → 1
             2 ask R3: LK-1 P2 asks for R3; P2 waits for R3; CE-1 requests entry with ticket 2/1; request → 3; EC-1 P2 sends a probe to R3; probe → 3
             3 receives request from 2: LK-2 P2 waits for R3; P2 waits for R3; CE-2 queues ticket 2/1: ticket 1/1 is granted
             1 receives grant from 3: CE-3 enters with ticket 1/1; LK-4 P1 has R3; P1 has R3; P1 continues
             1 answer R3: LK-5 P1 releases R3; P1 releases R3; CE-4 returns ticket 1/1; release → 3
             3 receives probe from 1: EC-2 drops it: P1 does not wait for R3
             3 receives release from 1: CE-5 receives ticket 1/1 back; CE-2 grants ticket 2/1; grant → 2; LK-3 R3 is free; R3 is free; LK-3 R3 is granted to P2; R3 is granted to P2; P2 holds R3; EC-1 R3 sends a probe to P2; probe → 2
             2 give-up: LK-6 P2 cancels its wait; P2 has cancelled its wait; CE-6 cancels ticket 2/1; release → 3
             1 receives probe from 3: EC-2 drops it: R3 does not wait for P1
             3 receives probe from 2: EC-2 drops it: P2 does not wait for R3
             2 receives grant from 3: CE-3 ignores a grant of ticket 2/1: no request waits with it; LK-4 P2 has cancelled its request for R3
             2 receives probe from 3: EC-2 drops it: R3 does not wait for P2
             3 receives release from 2: CE-5 receives ticket 2/1 back; the queue is empty; LK-3 R3 is free; R3 is free
         "#]]);

    lk_4_a_process_continues_when_it_has_all_resources("3 ask-R1+R2; 3 > 1; 3 > 2 | 1 > 3; 2 > 3", expect![[r#"
        3 receives grant from 1: CE-3 enters with ticket 3/1; LK-4 P3 has R1; P3 has R1
        3 receives grant from 2: CE-3 enters with ticket 3/1; LK-4 P3 has R2; P3 has R2; P3 continues
    "#]]);

    lk_4_the_grant_of_a_cancelled_request_is_returned(
        by lock_sites(&[2], EdgeChasing::new), of 2, "1 ask-R2; 1 > 2; 1 give-up | 2 > 1; 2 > 1; rest", expect![[r#"
            1 receives grant from 2: CE-3 ignores a grant of ticket 1/1: no request waits with it; LK-4 P1 has cancelled its request for R2
            1 receives probe from 2: EC-2 drops it: R2 does not wait for P1
            2 receives probe from 1: EC-2 drops it: P1 does not wait for R2
            2 receives release from 1: CE-5 receives ticket 1/1 back; the queue is empty; LK-3 R2 is free; R2 is free
        "#]]);

    /// R1 goes to P1, which is at the coordinator's site and waits for R2 too. The holder of R2
    /// waits for R1. The check of R1 must find that P1 waits for R2.
    lk_4_at_the_coordinators_site_a_process_has_a_resource_before_the_resource_starts_a_check(
        "3 ask-R1 | rest; 2 ask-R2; 1 ask-R1+R2; 2 ask-R1; rest; 3 answer-R1; rest", expect![[r#"
            1 receives request from 3: LK-2 P3 waits for R1; P3 waits for R1; CE-2 grants ticket 3/1; grant → 3; LK-3 R1 is granted to P3; R1 is granted to P3; P3 holds R1; EC-1 R1 sends a probe to P3; probe → 3
            1 receives probe from 3: EC-2 drops it: P3 does not wait for R1
            3 receives grant from 1: CE-3 enters with ticket 3/1; LK-4 P3 has R1; P3 has R1; P3 continues
            3 receives probe from 1: EC-2 drops it: P3 does not wait
            2 ask R2: LK-1 P2 asks for R2; P2 waits for R2; LK-2 P2 waits for R2; P2 waits for R2; CE-1 requests entry with ticket 2/1; CE-2 grants ticket 2/1; CE-3 enters with ticket 2/1; LK-3 R2 is granted to P2; R2 is granted to P2; P2 holds R2; LK-4 P2 has R2; P2 has R2; P2 continues; EC-1 R2 sends a probe to P2; EC-2 drops it: P2 does not wait
            1 ask R1 and R2: LK-1 P1 asks for R1 and R2; P1 waits for R1 and R2; LK-2 P1 waits for R1; P1 waits for R1; CE-1 requests entry with ticket 1/1; CE-2 queues ticket 1/1: ticket 3/1 is granted; CE-1 requests entry with ticket 1/1; request → 2; EC-1 P1 sends a probe to R1 and R2; probe → 2; EC-2 R1 waits for P3; probe → 3
            2 ask R1: LK-1 P2 asks for R1; P2 waits for R1; CE-1 requests entry with ticket 2/1; request → 1; EC-1 P2 sends a probe to R1; probe → 1
            2 receives request from 1: LK-2 P1 waits for R2; P1 waits for R2; CE-2 queues ticket 1/1: ticket 2/1 is granted
            2 receives probe from 1: EC-2 R2 waits for P2; EC-2 P2 waits for R1; probe → 1
            3 receives probe from 1: EC-2 drops it: P3 does not wait
            1 receives request from 2: LK-2 P2 waits for R1; P2 waits for R1; CE-2 queues ticket 2/1: ticket 3/1 is granted
            1 receives probe from 2: EC-2 R1 waits for P3; probe → 3
            1 receives probe from 2: EC-2 drops it: R1 has forwarded this or a later check of P1
            3 receives probe from 1: EC-2 drops it: P3 does not wait
            3 answer R1: LK-5 P3 releases R1; P3 releases R1; CE-4 returns ticket 3/1; release → 1
            1 receives release from 3: CE-5 receives ticket 3/1 back; CE-2 grants ticket 1/1; CE-3 enters with ticket 1/1; LK-3 R1 is free; R1 is free; LK-3 R1 is granted to P1; R1 is granted to P1; P1 holds R1; LK-4 P1 has R1; P1 has R1; EC-1 R1 sends a probe to P1; EC-2 P1 waits for R2; probe → 2
            2 receives probe from 1: EC-2 R2 waits for P2; EC-2 P2 waits for R1; probe → 1
            1 receives probe from 2: EC-3 the probe has returned: R1 is in a cycle; RS-1 reports the deadlock of R1; DEADLOCK: P1 waits for R2, which P2 holds; P2 waits for R1, which P1 holds
        "#]]);

    /// P1 and its resources are at one site. When the detector there learns that a resource waits
    /// for P1, it knows already that P1 no longer waits for the resource.
    lk_4_a_grant_at_the_coordinators_site_is_no_deadlock(
        by lock_sites(&[1, 1], QueryReply::new), of 1, "1 ask-R1; 1 ask-R1.1", expect![[r#"
            1 ask R1: LK-1 P1 asks for R1; P1 waits for R1; LK-2 P1 waits for R1; P1 waits for R1; CE-1 requests entry with ticket 1/1; CE-2 grants ticket 1/1; CE-3 enters with ticket 1/1; LK-3 R1 is granted to P1; R1 is granted to P1; P1 holds R1; LK-4 P1 has R1; P1 has R1; P1 continues; QR-1 R1 asks all it waits for whether they wait; QR-2 does not reply: P1 does not wait
            1 ask R1.1: LK-1 P1 asks for R1.1; P1 waits for R1.1; LK-2 P1 waits for R1.1; P1 waits for R1.1; CE-1 requests entry with ticket 1/1; CE-2 grants ticket 1/1; CE-3 enters with ticket 1/1; LK-3 R1.1 is granted to P1; R1.1 is granted to P1; P1 holds R1.1; LK-4 P1 has R1.1; P1 has R1.1; P1 continues; QR-1 R1.1 asks all it waits for whether they wait; QR-2 does not reply: P1 does not wait
        "#]]);

    lk_4_grants_of_two_resources_at_the_coordinators_site_are_no_deadlock(
        by lock_sites(&[1, 1], EdgeChasing::new), of 1, "1 ask-R1+R1.1", expect![[r#"
            1 ask R1 and R1.1: LK-1 P1 asks for R1 and R1.1; P1 waits for R1 and R1.1; LK-2 P1 waits for R1; P1 waits for R1; CE-1 requests entry with ticket 1/1; CE-2 grants ticket 1/1; CE-3 enters with ticket 1/1; LK-3 R1 is granted to P1; R1 is granted to P1; P1 holds R1; LK-4 P1 has R1; P1 has R1; EC-1 R1 sends a probe to P1; EC-2 drops it: P1 does not wait; LK-2 P1 waits for R1.1; P1 waits for R1.1; CE-1 requests entry with ticket 1/1; CE-2 grants ticket 1/1; CE-3 enters with ticket 1/1; LK-3 R1.1 is granted to P1; R1.1 is granted to P1; P1 holds R1.1; LK-4 P1 has R1.1; P1 has R1.1; P1 continues; EC-1 R1.1 sends a probe to P1; EC-2 drops it: P1 does not wait
        "#]]);

    lk_5_a_process_returns_a_resource_once(
        by lock_sites(&[2], EdgeChasing::new), of 2, "1 ask-R2; rest | 1 answer-R2; 1 answer-R2; rest", expect![[r#"
            1 answer R2: LK-5 P1 releases R2; P1 releases R2; CE-4 returns ticket 1/1; release → 2
            1 answer R2: refused: that agent does not wait for the process
            2 receives release from 1: CE-5 receives ticket 1/1 back; the queue is empty; LK-3 R2 is free; R2 is free
        "#]]);

    lk_6_a_cancelling_process_keeps_what_it_has_and_withdraws_its_requests(
        "1 ask-R1; 2 ask-R2; 1 ask-R2; rest; 1 give-up | rest; 1 answer-R1", expect![[r#"
            2 receives release from 1: LK-6 P1 no longer waits for R2; P1 no longer waits for R2; CE-5 removes ticket 1/1 from the queue
            1 answer R1: LK-5 P1 releases R1; P1 releases R1; CE-4 returns ticket 1/1; CE-5 receives ticket 1/1 back; the queue is empty; LK-3 R1 is free; R1 is free
        "#]]);

    /// Neither coordinator sees more than half of this deadlock.
    lk_7_two_processes_that_lock_two_resources_in_opposite_orders_deadlock(
        of 4, "3 ask-R1; 4 ask-R2; rest; 3 ask-R2; 4 ask-R1 | rest", expect![[r#"
            2 receives request from 3: LK-2 P3 waits for R2; P3 waits for R2; CE-2 queues ticket 3/1: ticket 4/1 is granted
            2 receives probe from 3: EC-2 R2 waits for P4; probe → 4
            1 receives request from 4: LK-2 P4 waits for R1; P4 waits for R1; CE-2 queues ticket 4/1: ticket 3/1 is granted
            1 receives probe from 4: EC-2 R1 waits for P3; probe → 3
            4 receives probe from 2: EC-2 P4 waits for R1; probe → 1
            3 receives probe from 1: EC-2 P3 waits for R2; probe → 2
            1 receives probe from 4: EC-2 R1 waits for P3; probe → 3
            2 receives probe from 3: EC-2 R2 waits for P4; probe → 4
            3 receives probe from 1: EC-3 the probe has returned: P3 is in a cycle; RS-1 reports the deadlock of P3; DEADLOCK: P3 waits for R2, which P4 holds; P4 waits for R1, which P3 holds
            4 receives probe from 2: EC-3 the probe has returned: P4 is in a cycle; RS-1 reports the deadlock of P4; DEADLOCK: P4 waits for R1, which P3 holds; P3 waits for R2, which P4 holds
        "#]]);
}

#[test]
fn forged_messages_are_ignored() {
    let mut group = ScriptGroup::new(3, lock_sites(&[1, 2], EdgeChasing::new));
    group.run("3 ask-R1\n3 > 1\n2 ask-R1\n2 > 1");
    let ticket = |owner: usize| Ticket { node: node(owner), number: Clock(1) };
    let forge =
        |lock, resource: Agent, message| Message::Lock(LockMessage { lock, wait_id: WaitId(1), message, resource });
    let request = |owner| MutexMessage::Request { ticket: ticket(owner), patience: Patience::Wait };
    let release = |owner| MutexMessage::Release { ticket: ticket(owner), fence: Fence::default() };
    let grant = |owner| MutexMessage::Grant { ticket: ticket(owner), fence: Fence::default().next() };
    // The sender, the receiver and the message. Site 1 coordinates R1 (lock 0), site 2 R2 (lock 1).
    let forged = [
        // About an unknown lock, or about another resource than the lock's.
        (2, 1, forge(7, resource(1), request(2))),
        (2, 1, forge(0, resource(2), request(2))),
        (2, 1, forge(0, Agent::resource(node(1), 5), request(2))),
        // With another node's ticket.
        (2, 1, forge(0, resource(1), request(3))),
        (2, 1, forge(0, resource(1), release(3))),
        // To a site that does not coordinate R1, twice from a site that does not coordinate R1, and
        // with the ticket of a node that is not the receiver.
        (2, 3, forge(0, resource(1), request(2))),
        (2, 3, forge(0, resource(1), grant(3))),
        (2, 3, forge(0, resource(1), MutexMessage::Denied { ticket: ticket(3) })),
        (1, 3, forge(0, resource(1), grant(2))),
    ];
    assert_ignored(group, forged);
}
