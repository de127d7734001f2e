//! One test per rule, and what strangers can do.

use crate::clock::Clock;
use crate::deadlock::drill::{assert_ignored, locks, node, resource};
use crate::deadlock::locks::{LockMessage, Message};
use crate::deadlock::{Agent, EdgeChasing, QueryReply, Spell};
use crate::fence::Fence;
use crate::mutex::Patience;
use crate::mutex::central::{Message as Inner, Ticket};
use crate::mutex::rules::rules;
use crate::testing::ScriptGroup;
use expect_test::expect;

rules! { locks(&[1, 2], EdgeChasing::new), 3;
    lk_1_a_process_asks_all_coordinators_and_the_detector_sends_after_the_requests(
        "3 ask-R1+R2; 3 ask-R1; 3 answer-R1", expect![[r#"
            3 ask R1 and R2: LK-1 P3 asks for R1 and R2; P3 waits for R1 and R2; CE-1 asks with ticket 3/1; request → 1; CE-1 asks with ticket 3/1; request → 2; EC-1 P3 sends a probe after R1 and R2; probe → 1; probe → 2
            3 ask R1: refused: it waits, and whoever waits does nothing else
            3 answer R1: refused: it waits, and whoever waits does nothing else
        "#]]);

    lk_1_what_makes_no_sense_is_refused(
        of 2, "1 ask-; 1 ask-P2; 1 ask-R1.1; 1 ask-R2+R2; 1 ask-R1|R2; 1 ask-R1@1; 1 give-up; 1 look; 1 answer-R1;
         1 ask-R1; 1 ask-R1", expect![[r#"
            1 ask : refused: there is nobody to ask, or not as often
            1 ask P2: refused: there is nobody to ask, or not as often
            1 ask R1.1: refused: there is nobody to ask, or not as often
            1 ask R2 and R2: refused: there is nobody to ask, or not as often
            1 ask any of R1 and R2: refused: the detector knows another way of waiting
            1 ask R1 (process 1): refused: there is no such process here
            1 give-up: refused: it does not wait
            1 look: refused: it does not wait
            1 answer R1: refused: that one does not wait for it
            1 ask R1: LK-1 P1 asks for R1; P1 waits for R1; LK-2 P1 waits for R1; P1 waits for R1; CE-1 asks with ticket 1/1; CE-2 grants ticket 1/1; CE-3 enters with ticket 1/1; LK-3 R1 is granted to P1; R1 lets P1 go on; P1 holds R1; LK-4 P1 has R1; P1 has R1; P1 goes on; EC-1 R1 sends a probe after P1; EC-2 drops it: P1 does not wait
            1 ask R1: refused: there is nobody to ask, or not as often
        "#]]);

    lk_2_a_resource_is_waited_for_from_when_the_request_arrives(
        by locks(&[1], EdgeChasing::new), "1 ask-R1 | 2 ask-R1; 2 > 1; 2 > 1", expect![[r#"
            2 ask R1: LK-1 P2 asks for R1; P2 waits for R1; CE-1 asks with ticket 2/1; request → 1; EC-1 P2 sends a probe after R1; probe → 1
            1 hears request from 2: LK-2 P2 waits for R1; P2 waits for R1; CE-2 queues ticket 2/1: ticket 1/1 is inside
            1 hears probe from 2: EC-2 R1 waits for P1; EC-2 drops it: P1 does not wait
        "#]]);

    lk_3_a_resource_that_is_granted_waits_for_its_holder(
        by locks(&[3], EdgeChasing::new), "1 ask-R3 | 1 > 3; 2 ask-R3; 2 > 3; 3 > 1; 1 answer-R3; 1 > 3; 1 > 3;
         2 give-up; rest", expect![[r#"
            3 hears request from 1: LK-2 P1 waits for R3; P1 waits for R3; CE-2 grants ticket 1/1; grant → 1; LK-3 R3 is granted to P1; R3 lets P1 go on; P1 holds R3; EC-1 R3 sends a probe after P1; probe → 1
            2 ask R3: LK-1 P2 asks for R3; P2 waits for R3; CE-1 asks with ticket 2/1; request → 3; EC-1 P2 sends a probe after R3; probe → 3
            3 hears request from 2: LK-2 P2 waits for R3; P2 waits for R3; CE-2 queues ticket 2/1: ticket 1/1 is inside
            1 hears grant from 3: CE-3 enters with ticket 1/1; LK-4 P1 has R3; P1 has R3; P1 goes on
            1 answer R3: LK-5 P1 lets go of R3; P1 lets go of R3; CE-4 gives ticket 1/1 back; release → 3
            3 hears probe from 1: EC-2 drops it: R3 has let P1 go on
            3 hears release from 1: CE-5 has ticket 1/1 back; CE-2 grants ticket 2/1; grant → 2; LK-3 R3 is free; R3 is free; LK-3 R3 is granted to P2; R3 lets P2 go on; P2 holds R3; EC-1 R3 sends a probe after P2; probe → 2
            2 give-up: LK-6 P2 gives up; P2 has given up; CE-6 gives ticket 2/1 up; release → 3
            1 hears probe from 3: EC-2 drops it: P1 has let R3 go on
            3 hears probe from 2: EC-2 drops it: R3 has let P2 go on
            2 hears grant from 3: CE-3 ignores a grant of ticket 2/1, which nobody waits with; LK-4 P2 has given up R3 before
            2 hears probe from 3: EC-2 drops it: P2 has let R3 go on
            3 hears release from 2: CE-5 has ticket 2/1 back; nobody waits; LK-3 R3 is free; R3 is free
        "#]]);

    lk_4_a_process_goes_on_when_it_has_all_of_them("3 ask-R1+R2; 3 > 1; 3 > 2 | 1 > 3; 2 > 3", expect![[r#"
        3 hears grant from 1: CE-3 enters with ticket 3/1; LK-4 P3 has R1; P3 has R1
        3 hears grant from 2: CE-3 enters with ticket 3/1; LK-4 P3 has R2; P3 has R2; P3 goes on
    "#]]);

    lk_4_a_grant_that_was_given_up_before_goes_back_by_itself(
        by locks(&[2], EdgeChasing::new), of 2, "1 ask-R2; 1 > 2; 1 give-up | 2 > 1; 2 > 1; rest", expect![[r#"
            1 hears grant from 2: CE-3 ignores a grant of ticket 1/1, which nobody waits with; LK-4 P1 has given up R2 before
            1 hears probe from 2: EC-2 drops it: P1 has let R2 go on
            2 hears probe from 1: EC-2 drops it: R2 has let P1 go on
            2 hears release from 1: CE-5 has ticket 1/1 back; nobody waits; LK-3 R2 is free; R2 is free
        "#]]);

    /// R1 goes to P1, which is at its coordinator's site and waits for R2 too. Whoever holds that waits for R1. The look of R1 must find P1 waiting for R2.
    lk_4_at_its_coordinators_site_a_process_has_it_before_the_detector_hears_of_it(
        "3 ask-R1 | rest; 2 ask-R2; 1 ask-R1+R2; 2 ask-R1; rest; 3 answer-R1; rest", expect![[r#"
            1 hears request from 3: LK-2 P3 waits for R1; P3 waits for R1; CE-2 grants ticket 3/1; grant → 3; LK-3 R1 is granted to P3; R1 lets P3 go on; P3 holds R1; EC-1 R1 sends a probe after P3; probe → 3
            1 hears probe from 3: EC-2 drops it: R1 has let P3 go on
            3 hears grant from 1: CE-3 enters with ticket 3/1; LK-4 P3 has R1; P3 has R1; P3 goes on
            3 hears probe from 1: EC-2 drops it: P3 does not wait
            2 ask R2: LK-1 P2 asks for R2; P2 waits for R2; LK-2 P2 waits for R2; P2 waits for R2; CE-1 asks with ticket 2/1; CE-2 grants ticket 2/1; CE-3 enters with ticket 2/1; LK-3 R2 is granted to P2; R2 lets P2 go on; P2 holds R2; LK-4 P2 has R2; P2 has R2; P2 goes on; EC-1 R2 sends a probe after P2; EC-2 drops it: P2 does not wait
            1 ask R1 and R2: LK-1 P1 asks for R1 and R2; P1 waits for R1 and R2; LK-2 P1 waits for R1; P1 waits for R1; CE-1 asks with ticket 1/1; CE-2 queues ticket 1/1: ticket 3/1 is inside; CE-1 asks with ticket 1/1; request → 2; EC-1 P1 sends a probe after R1 and R2; probe → 2; EC-2 R1 waits for P3; probe → 3
            2 ask R1: LK-1 P2 asks for R1; P2 waits for R1; CE-1 asks with ticket 2/1; request → 1; EC-1 P2 sends a probe after R1; probe → 1
            2 hears request from 1: LK-2 P1 waits for R2; P1 waits for R2; CE-2 queues ticket 1/1: ticket 2/1 is inside
            2 hears probe from 1: EC-2 R2 waits for P2; EC-2 P2 waits for R1; probe → 1
            3 hears probe from 1: EC-2 drops it: P3 does not wait
            1 hears request from 2: LK-2 P2 waits for R1; P2 waits for R1; CE-2 queues ticket 2/1: ticket 3/1 is inside
            1 hears probe from 2: EC-2 R1 waits for P3; probe → 3
            1 hears probe from 2: EC-2 drops it: R1 has passed this look of P1 on
            3 hears probe from 1: EC-2 drops it: P3 does not wait
            3 answer R1: LK-5 P3 lets go of R1; P3 lets go of R1; CE-4 gives ticket 3/1 back; release → 1
            1 hears release from 3: CE-5 has ticket 3/1 back; CE-2 grants ticket 1/1; CE-3 enters with ticket 1/1; LK-3 R1 is free; R1 is free; LK-3 R1 is granted to P1; R1 lets P1 go on; P1 holds R1; LK-4 P1 has R1; P1 has R1; EC-1 R1 sends a probe after P1; EC-2 P1 waits for R2; probe → 2
            2 hears probe from 1: EC-2 R2 waits for P2; EC-2 P2 waits for R1; probe → 1
            1 hears probe from 2: EC-3 it is back: R1 waits for itself; RS-1 tells of a deadlock that holds R1; DEADLOCK: P1 waits for R2, which P2 holds; P2 waits for R1, which P1 holds
        "#]]);

    /// One that asks for a free resource of its own site does not wait for it when the detector hears that the resource waits for it.
    lk_4_a_grant_at_its_coordinators_site_is_no_deadlock(
        by locks(&[1, 1], QueryReply::new), of 1, "1 ask-R1; 1 ask-R1.1", expect![[r#"
            1 ask R1: LK-1 P1 asks for R1; P1 waits for R1; LK-2 P1 waits for R1; P1 waits for R1; CE-1 asks with ticket 1/1; CE-2 grants ticket 1/1; CE-3 enters with ticket 1/1; LK-3 R1 is granted to P1; R1 lets P1 go on; P1 holds R1; LK-4 P1 has R1; P1 has R1; P1 goes on; QR-1 R1 asks all whom it waits for whether they wait; QR-2 says nothing: P1 does not wait
            1 ask R1.1: LK-1 P1 asks for R1.1; P1 waits for R1.1; LK-2 P1 waits for R1.1; P1 waits for R1.1; CE-1 asks with ticket 1/1; CE-2 grants ticket 1/1; CE-3 enters with ticket 1/1; LK-3 R1.1 is granted to P1; R1.1 lets P1 go on; P1 holds R1.1; LK-4 P1 has R1.1; P1 has R1.1; P1 goes on; QR-1 R1.1 asks all whom it waits for whether they wait; QR-2 says nothing: P1 does not wait
        "#]]);

    lk_4_a_grant_of_all_at_their_coordinators_site_is_no_deadlock(
        by locks(&[1, 1], EdgeChasing::new), of 1, "1 ask-R1+R1.1", expect![[r#"
            1 ask R1 and R1.1: LK-1 P1 asks for R1 and R1.1; P1 waits for R1 and R1.1; LK-2 P1 waits for R1; P1 waits for R1; CE-1 asks with ticket 1/1; CE-2 grants ticket 1/1; CE-3 enters with ticket 1/1; LK-3 R1 is granted to P1; R1 lets P1 go on; P1 holds R1; LK-4 P1 has R1; P1 has R1; EC-1 R1 sends a probe after P1; EC-2 drops it: P1 does not wait; LK-2 P1 waits for R1.1; P1 waits for R1.1; CE-1 asks with ticket 1/1; CE-2 grants ticket 1/1; CE-3 enters with ticket 1/1; LK-3 R1.1 is granted to P1; R1.1 lets P1 go on; P1 holds R1.1; LK-4 P1 has R1.1; P1 has R1.1; P1 goes on; EC-1 R1.1 sends a probe after P1; EC-2 drops it: P1 does not wait
        "#]]);

    lk_5_who_lets_go_gives_the_resource_back(
        by locks(&[2], EdgeChasing::new), of 2, "1 ask-R2; rest | 1 answer-R2; 1 answer-R2; rest", expect![[r#"
            1 answer R2: LK-5 P1 lets go of R2; P1 lets go of R2; CE-4 gives ticket 1/1 back; release → 2
            1 answer R2: refused: that one does not wait for it
            2 hears release from 1: CE-5 has ticket 1/1 back; nobody waits; LK-3 R2 is free; R2 is free
        "#]]);

    lk_6_who_gives_up_keeps_what_it_has_and_gives_its_requests_back(
        "1 ask-R1; 2 ask-R2; 1 ask-R2; rest; 1 give-up | rest; 1 answer-R1", expect![[r#"
            2 hears release from 1: LK-6 P1 waits for R2 no longer; P1 waits for R2 no longer; CE-5 removes ticket 1/1 from the queue
            1 answer R1: LK-5 P1 lets go of R1; P1 lets go of R1; CE-4 gives ticket 1/1 back; CE-5 has ticket 1/1 back; nobody waits; LK-3 R1 is free; R1 is free
        "#]]);

    /// The oldest deadlock there is, and neither coordinator sees more than half of it.
    lk_7_two_who_take_two_resources_in_opposite_orders(
        of 4, "3 ask-R1; 4 ask-R2; rest; 3 ask-R2; 4 ask-R1 | rest", expect![[r#"
            2 hears request from 3: LK-2 P3 waits for R2; P3 waits for R2; CE-2 queues ticket 3/1: ticket 4/1 is inside
            2 hears probe from 3: EC-2 R2 waits for P4; probe → 4
            1 hears request from 4: LK-2 P4 waits for R1; P4 waits for R1; CE-2 queues ticket 4/1: ticket 3/1 is inside
            1 hears probe from 4: EC-2 R1 waits for P3; probe → 3
            4 hears probe from 2: EC-2 P4 waits for R1; probe → 1
            3 hears probe from 1: EC-2 P3 waits for R2; probe → 2
            1 hears probe from 4: EC-2 R1 waits for P3; probe → 3
            2 hears probe from 3: EC-2 R2 waits for P4; probe → 4
            3 hears probe from 1: EC-3 it is back: P3 waits for itself; RS-1 tells of a deadlock that holds P3; DEADLOCK: P3 waits for R2, which P4 holds; P4 waits for R1, which P3 holds
            4 hears probe from 2: EC-3 it is back: P4 waits for itself; RS-1 tells of a deadlock that holds P4; DEADLOCK: P4 waits for R1, which P3 holds; P3 waits for R2, which P4 holds
        "#]]);
}

#[test]
fn what_strangers_say_of_others_is_not_heard() {
    let mut stage = ScriptGroup::new(3, locks(&[1, 2], EdgeChasing::new));
    stage.run("3 ask-R1\n3 > 1\n2 ask-R1\n2 > 1");
    let ticket = |of: usize| Ticket { node: node(of), number: Clock(1) };
    let said = |number, of: Agent, message| {
        Message::Lock(LockMessage { lock: number, spell: Spell(1), message, resource: of })
    };
    let request = |of| Inner::Request { ticket: ticket(of), patience: Patience::Wait };
    let release = |of| Inner::Release { ticket: ticket(of), fence: Fence::default() };
    let grant = |of| Inner::Grant { ticket: ticket(of), fence: Fence::default().next() };
    let forged = [
        // Of a lock that is not there, or of another resource than it is.
        (2, 1, said(7, resource(1), request(2))),
        (2, 1, said(0, resource(2), request(2))),
        (2, 1, said(0, Agent::resource(node(1), 5), request(2))),
        // With another one's ticket.
        (2, 1, said(0, resource(1), request(3))),
        (2, 1, said(0, resource(1), release(3))),
        // To one who does not coordinate it, and from one who does not.
        (2, 3, said(0, resource(1), request(2))),
        (2, 3, said(0, resource(1), grant(3))),
        (2, 3, said(0, resource(1), Inner::Denied { ticket: ticket(3) })),
        (1, 3, said(0, resource(1), grant(2))),
    ];
    assert_ignored(stage, forged);
}
