//! Those who do not wait for ever: tickets that are given up, and tries.

use super::check;
use expect_test::expect;

#[test]
fn ce_3_a_grant_that_crosses_a_cancellation_admits_nobody() {
    check(
        "2 acquire; 2 > 1; 2 cancel; 1 > 2; 2 > 1",
        expect![[r#"
            2 acquire: CE-1 asks with ticket 2/1; request → 1
            1 hears request from 2: CE-2 grants ticket 2/1; grant → 2
            2 cancel: cancelled; CE-6 gives ticket 2/1 up; release → 1
            2 hears grant from 1: CE-3 ignores a grant of ticket 2/1, which nobody waits with
            1 hears release from 2: CE-5 has ticket 2/1 back; nobody waits
        "#]],
    );
}

/// The new ticket even overtakes the return of the old one.
#[test]
fn ce_3_the_grant_of_a_cancelled_ticket_does_not_admit_with_the_next_one() {
    check(
        "2 acquire; 2 > 1; 2 cancel; 2 acquire; 1 > 2; 2 > 1 last; 2 > 1; 1 > 2",
        expect![[r#"
            2 acquire: CE-1 asks with ticket 2/1; request → 1
            1 hears request from 2: CE-2 grants ticket 2/1; grant → 2
            2 cancel: cancelled; CE-6 gives ticket 2/1 up; release → 1
            2 acquire: CE-1 asks with ticket 2/2; request → 1
            2 hears grant from 1: CE-3 ignores a grant of ticket 2/1, which nobody waits with
            1 hears request from 2: CE-2 queues ticket 2/2: ticket 2/1 is inside
            1 hears release from 2: CE-5 has ticket 2/1 back; CE-2 grants ticket 2/2; grant → 2
            2 hears grant from 1: CE-3 enters with ticket 2/2; ENTERS (fence 0.2)
        "#]],
    );
}

#[test]
fn ce_5_a_queued_ticket_that_comes_back_is_passed_over() {
    check(
        "1 acquire; 2 acquire; 3 acquire; 2 > 1; 3 > 1; 2 cancel; 2 > 1; 1 release",
        expect![[r#"
            1 acquire: CE-1 asks with ticket 1/1; CE-2 grants ticket 1/1; CE-3 enters with ticket 1/1; ENTERS (fence 0.1)
            2 acquire: CE-1 asks with ticket 2/1; request → 1
            3 acquire: CE-1 asks with ticket 3/1; request → 1
            1 hears request from 2: CE-2 queues ticket 2/1: ticket 1/1 is inside
            1 hears request from 3: CE-2 queues ticket 3/1: ticket 1/1 is inside
            2 cancel: cancelled; CE-6 gives ticket 2/1 up; release → 1
            1 hears release from 2: CE-5 removes ticket 2/1 from the queue
            1 release: LEAVES; CE-4 gives ticket 1/1 back; CE-5 has ticket 1/1 back; CE-2 grants ticket 3/1; grant → 3
        "#]],
    );
}

/// The return of the ticket overtakes the ticket.
#[test]
fn ce_5_a_ticket_that_comes_back_before_it_arrives_is_never_granted() {
    check(
        "2 acquire; 2 cancel; 2 > 1 last; 2 > 1; 2 acquire; rest",
        expect![[r#"
            2 acquire: CE-1 asks with ticket 2/1; request → 1
            2 cancel: cancelled; CE-6 gives ticket 2/1 up; release → 1
            1 hears release from 2: CE-5 voids ticket 2/1 before it arrives
            1 hears request from 2: CE-2 ignores ticket 2/1: it is void
            2 acquire: CE-1 asks with ticket 2/2; request → 1
            1 hears request from 2: CE-2 grants ticket 2/2; grant → 2
            2 hears grant from 1: CE-3 enters with ticket 2/2; ENTERS (fence 0.1)
        "#]],
    );
}

#[test]
fn ce_6_asked_to_give_up_a_node_gives_its_ticket_back() {
    check(
        "1 acquire; 2 acquire; rest; 2 cancel; rest; 1 release",
        expect![[r#"
            1 acquire: CE-1 asks with ticket 1/1; CE-2 grants ticket 1/1; CE-3 enters with ticket 1/1; ENTERS (fence 0.1)
            2 acquire: CE-1 asks with ticket 2/1; request → 1
            1 hears request from 2: CE-2 queues ticket 2/1: ticket 1/1 is inside
            2 cancel: cancelled; CE-6 gives ticket 2/1 up; release → 1
            1 hears release from 2: CE-5 removes ticket 2/1 from the queue
            1 release: LEAVES; CE-4 gives ticket 1/1 back; CE-5 has ticket 1/1 back; nobody waits
        "#]],
    );
}

#[test]
fn ce_6_the_coordinator_gives_up_without_a_message() {
    check(
        "2 acquire; rest; 1 acquire; 1 cancel; 2 release; rest",
        expect![[r#"
            2 acquire: CE-1 asks with ticket 2/1; request → 1
            1 hears request from 2: CE-2 grants ticket 2/1; grant → 2
            2 hears grant from 1: CE-3 enters with ticket 2/1; ENTERS (fence 0.1)
            1 acquire: CE-1 asks with ticket 1/1; CE-2 queues ticket 1/1: ticket 2/1 is inside
            1 cancel: cancelled; CE-6 gives ticket 1/1 up; CE-5 removes ticket 1/1 from the queue
            2 release: LEAVES; CE-4 gives ticket 2/1 back; release → 1
            1 hears release from 2: CE-5 has ticket 2/1 back; nobody waits
        "#]],
    );
}

#[test]
fn ce_6_a_node_that_does_not_wait_cannot_give_up() {
    check(
        "2 cancel; 2 acquire; rest; 2 cancel; 1 cancel",
        expect![[r#"
            2 cancel: refused: no request is under way
            2 acquire: CE-1 asks with ticket 2/1; request → 1
            1 hears request from 2: CE-2 grants ticket 2/1; grant → 2
            2 hears grant from 1: CE-3 enters with ticket 2/1; ENTERS (fence 0.1)
            2 cancel: refused: already inside
            1 cancel: refused: no request is under way
        "#]],
    );
}

/// A second try waits meanwhile, and is denied because of the first.
#[test]
fn ce_6_the_grant_of_a_discarded_try_goes_back() {
    check(
        "2 try; 2 cancel; 2 > 1; 2 try; 2 > 1; 1 > 2; 1 > 2; 2 > 1; 2 try; rest",
        expect![[r#"
            2 try: CE-1 asks with ticket 2/1; request → 1
            2 cancel: cancelled; CE-6 gives ticket 2/1 up
            1 hears request from 2: CE-2 grants ticket 2/1; grant → 2
            2 try: CE-1 asks with ticket 2/2; request → 1
            1 hears request from 2: CE-7 denies ticket 2/2; denied → 2
            2 hears grant from 1: CE-6 gives ticket 2/1 back unused; release → 1
            2 hears denied from 1: denied
            1 hears release from 2: CE-5 has ticket 2/1 back; nobody waits
            2 try: CE-1 asks with ticket 2/3; request → 1
            1 hears request from 2: CE-2 grants ticket 2/3; grant → 2
            2 hears grant from 1: CE-3 enters with ticket 2/3; ENTERS (fence 0.2)
        "#]],
    );
}

#[test]
fn ce_6_the_grant_of_a_discarded_try_does_not_admit_with_the_next_ticket() {
    check(
        "2 try; 2 cancel; 2 acquire; 2 > 1; 2 > 1; 1 > 2; 2 > 1; 1 > 2",
        expect![[r#"
            2 try: CE-1 asks with ticket 2/1; request → 1
            2 cancel: cancelled; CE-6 gives ticket 2/1 up
            2 acquire: CE-1 asks with ticket 2/2; request → 1
            1 hears request from 2: CE-2 grants ticket 2/1; grant → 2
            1 hears request from 2: CE-2 queues ticket 2/2: ticket 2/1 is inside
            2 hears grant from 1: CE-6 gives ticket 2/1 back unused; release → 1
            1 hears release from 2: CE-5 has ticket 2/1 back; CE-2 grants ticket 2/2; grant → 2
            2 hears grant from 1: CE-3 enters with ticket 2/2; ENTERS (fence 0.2)
        "#]],
    );
}

#[test]
fn ce_6_the_denial_of_a_discarded_try_ends_nothing_else() {
    check(
        "1 acquire; 2 try; 2 cancel; 2 acquire; 2 > 1; 1 > 2; 2 > 1; 1 release; rest",
        expect![[r#"
            1 acquire: CE-1 asks with ticket 1/1; CE-2 grants ticket 1/1; CE-3 enters with ticket 1/1; ENTERS (fence 0.1)
            2 try: CE-1 asks with ticket 2/1; request → 1
            2 cancel: cancelled; CE-6 gives ticket 2/1 up
            2 acquire: CE-1 asks with ticket 2/2; request → 1
            1 hears request from 2: CE-7 denies ticket 2/1; denied → 2
            2 hears denied from 1: nothing
            1 hears request from 2: CE-2 queues ticket 2/2: ticket 1/1 is inside
            1 release: LEAVES; CE-4 gives ticket 1/1 back; CE-5 has ticket 1/1 back; CE-2 grants ticket 2/2; grant → 2
            2 hears grant from 1: CE-3 enters with ticket 2/2; ENTERS (fence 0.2)
        "#]],
    );
}

#[test]
fn ce_7_a_try_that_finds_one_inside_is_denied() {
    check(
        "1 acquire; 2 try; 2 > 1; 1 > 2; 1 release; 2 try; rest",
        expect![[r#"
            1 acquire: CE-1 asks with ticket 1/1; CE-2 grants ticket 1/1; CE-3 enters with ticket 1/1; ENTERS (fence 0.1)
            2 try: CE-1 asks with ticket 2/1; request → 1
            1 hears request from 2: CE-7 denies ticket 2/1; denied → 2
            2 hears denied from 1: denied
            1 release: LEAVES; CE-4 gives ticket 1/1 back; CE-5 has ticket 1/1 back; nobody waits
            2 try: CE-1 asks with ticket 2/2; request → 1
            1 hears request from 2: CE-2 grants ticket 2/2; grant → 2
            2 hears grant from 1: CE-3 enters with ticket 2/2; ENTERS (fence 0.2)
        "#]],
    );
}

#[test]
fn ce_7_the_coordinators_own_try_is_denied_at_once() {
    check(
        "2 acquire; 2 > 1; 1 try",
        expect![[r#"
            2 acquire: CE-1 asks with ticket 2/1; request → 1
            1 hears request from 2: CE-2 grants ticket 2/1; grant → 2
            1 try: CE-1 asks with ticket 1/1; CE-7 denies ticket 1/1; denied
        "#]],
    );
}
