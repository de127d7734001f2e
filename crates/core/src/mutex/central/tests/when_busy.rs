//! The other two ways to be busy: to deny, and to deny and queue.

use super::super::WhenBusy;
use super::Central;
use crate::bounds::Bounds;
use crate::mutex::prelude::*;
use crate::mutex::rules::rules;
use expect_test::expect;

const MESSAGE: Duration = Duration::from_millis(10);

fn denying(me: NodeId, group: Group) -> Central {
    Central::when_busy(me, group, WhenBusy::deny(&Bounds { message: MESSAGE, processing: Duration::ZERO }))
}

fn queueing(me: NodeId, group: Group) -> Central {
    Central::when_busy(me, group, WhenBusy::DenyAndQueue)
}

rules! { denying, 3;
    ce_8_a_ticket_that_is_denied_goes_to_the_coordinator_again(
        "2 acquire; rest; 3 acquire; rest; 3 fires; rest; 2 release; rest | 3 fires; rest", expect![[r#"
            3 timer: CE-8 asks again with ticket 3/1; request → 1
            1 hears request from 3: CE-2 grants ticket 3/1; grant → 3
            3 hears grant from 1: CE-3 enters with ticket 3/1; ENTERS (fence 0.2)
        "#]]);

    /// Node 2 asks again at the right moment, though node 3 asked first.
    ce_8_whoever_asks_at_the_right_moment_is_next(
        "1 acquire; 3 acquire; rest; 2 acquire; rest; 1 release | 2 fires; rest; 3 fires; rest", expect![[r#"
            2 timer: CE-8 asks again with ticket 2/1; request → 1
            1 hears request from 2: CE-2 grants ticket 2/1; grant → 2
            2 hears grant from 1: CE-3 enters with ticket 2/1; ENTERS (fence 0.2)
            3 timer: CE-8 asks again with ticket 3/1; request → 1
            1 hears request from 3: CE-7 denies ticket 3/1; denied → 3
            3 hears denied from 1: CE-8 will ask again with ticket 3/1
        "#]]);

    ce_8_the_coordinators_own_ticket_is_denied_and_asks_again_without_a_message(
        "2 acquire; rest; 1 acquire; 1 fires; 2 release; rest; 1 fires", expect![[r#"
            2 acquire: CE-1 asks with ticket 2/1; request → 1
            1 hears request from 2: CE-2 grants ticket 2/1; grant → 2
            2 hears grant from 1: CE-3 enters with ticket 2/1; ENTERS (fence 0.1)
            1 acquire: CE-1 asks with ticket 1/1; CE-7 denies ticket 1/1; CE-8 will ask again with ticket 1/1
            1 timer: CE-8 asks again with ticket 1/1; CE-7 denies ticket 1/1; CE-8 will ask again with ticket 1/1
            2 release: LEAVES; CE-4 gives ticket 2/1 back; release → 1
            1 hears release from 2: CE-5 has ticket 2/1 back; nobody waits
            1 timer: CE-8 asks again with ticket 1/1; CE-2 grants ticket 1/1; CE-3 enters with ticket 1/1; ENTERS (fence 0.2)
        "#]]);

    /// Nothing is under way, and the coordinator knows nothing of the ticket.
    ce_8_who_gives_up_between_two_denials_tells_nobody(
        "1 acquire; 2 acquire | rest; 2 cancel; 1 release; 2 acquire; rest", expect![[r#"
            1 hears request from 2: CE-7 denies ticket 2/1; denied → 2
            2 hears denied from 1: CE-8 will ask again with ticket 2/1
            2 cancel: cancelled; CE-6 gives ticket 2/1 up
            1 release: LEAVES; CE-4 gives ticket 1/1 back; CE-5 has ticket 1/1 back; nobody waits
            2 acquire: CE-1 asks with ticket 2/2; request → 1
            1 hears request from 2: CE-2 grants ticket 2/2; grant → 2
            2 hears grant from 1: CE-3 enters with ticket 2/2; ENTERS (fence 0.2)
        "#]]);

    ce_8_the_grant_of_a_ticket_that_was_given_up_goes_back(
        "2 acquire; 2 > 1; 2 cancel | 3 acquire; 3 > 1; 1 > 3; 1 > 2; 2 > 1; 3 fires; rest", expect![[r#"
            3 acquire: CE-1 asks with ticket 3/1; request → 1
            1 hears request from 3: CE-7 denies ticket 3/1; denied → 3
            3 hears denied from 1: CE-8 will ask again with ticket 3/1
            2 hears grant from 1: CE-6 gives ticket 2/1 back unused; release → 1
            1 hears release from 2: CE-5 has ticket 2/1 back; nobody waits
            3 timer: CE-8 asks again with ticket 3/1; request → 1
            1 hears request from 3: CE-2 grants ticket 3/1; grant → 3
            3 hears grant from 1: CE-3 enters with ticket 3/1; ENTERS (fence 0.2)
        "#]]);

    ce_8_a_try_is_denied_once_and_for_all("1 acquire; 2 try; rest; 1 release", expect![[r#"
        1 acquire: CE-1 asks with ticket 1/1; CE-2 grants ticket 1/1; CE-3 enters with ticket 1/1; ENTERS (fence 0.1)
        2 try: CE-1 asks with ticket 2/1; request → 1
        1 hears request from 2: CE-7 denies ticket 2/1; denied → 2
        2 hears denied from 1: denied
        1 release: LEAVES; CE-4 gives ticket 1/1 back; CE-5 has ticket 1/1 back; nobody waits
    "#]]);
}

rules! { queueing, 3;
    ce_9_who_is_queued_is_told_that_it_is_denied_so_far(
        "2 acquire; rest; 3 acquire | rest; 2 release; rest", expect![[r#"
            1 hears request from 3: CE-2 queues ticket 3/1: ticket 2/1 is inside; CE-9 denies ticket 3/1 so far; denied → 3
            3 hears denied from 1: CE-9 is denied so far, and waits on with ticket 3/1
            2 release: LEAVES; CE-4 gives ticket 2/1 back; release → 1
            1 hears release from 2: CE-5 has ticket 2/1 back; CE-2 grants ticket 3/1; grant → 3
            3 hears grant from 1: CE-3 enters with ticket 3/1; ENTERS (fence 0.2)
        "#]]);

    ce_9_who_finds_nobody_inside_is_granted_without_a_denial(
        "2 acquire; rest; 2 release; rest | 3 acquire; rest", expect![[r#"
            3 acquire: CE-1 asks with ticket 3/1; request → 1
            1 hears request from 3: CE-2 grants ticket 3/1; grant → 3
            3 hears grant from 1: CE-3 enters with ticket 3/1; ENTERS (fence 0.2)
        "#]]);

    ce_9_the_coordinator_denies_itself_without_a_message("2 acquire; rest; 1 acquire; 2 release; rest", expect![[r#"
        2 acquire: CE-1 asks with ticket 2/1; request → 1
        1 hears request from 2: CE-2 grants ticket 2/1; grant → 2
        2 hears grant from 1: CE-3 enters with ticket 2/1; ENTERS (fence 0.1)
        1 acquire: CE-1 asks with ticket 1/1; CE-2 queues ticket 1/1: ticket 2/1 is inside; CE-9 denies ticket 1/1 so far; CE-9 is denied so far, and waits on with ticket 1/1
        2 release: LEAVES; CE-4 gives ticket 2/1 back; release → 1
        1 hears release from 2: CE-5 has ticket 2/1 back; CE-2 grants ticket 1/1; CE-3 enters with ticket 1/1; ENTERS (fence 0.2)
    "#]]);

    /// The denial arrives when the entry that it once denied is long over.
    ce_9_a_denial_that_a_grant_overtakes_says_nothing_new(
        "1 acquire; 2 acquire | 2 > 1; 1 release; 1 > 2 last; 2 release; 2 > 1; 2 acquire; 1 > 2; rest", expect![[r#"
            1 hears request from 2: CE-2 queues ticket 2/1: ticket 1/1 is inside; CE-9 denies ticket 2/1 so far; denied → 2
            1 release: LEAVES; CE-4 gives ticket 1/1 back; CE-5 has ticket 1/1 back; CE-2 grants ticket 2/1; grant → 2
            2 hears grant from 1: CE-3 enters with ticket 2/1; ENTERS (fence 0.2)
            2 release: LEAVES; CE-4 gives ticket 2/1 back; release → 1
            1 hears release from 2: CE-5 has ticket 2/1 back; nobody waits
            2 acquire: CE-1 asks with ticket 2/2; request → 1
            1 hears request from 2: CE-2 grants ticket 2/2; grant → 2
            2 hears grant from 1: CE-3 enters with ticket 2/2; ENTERS (fence 0.3)
        "#]]);

    ce_9_a_denial_that_crosses_a_cancellation_ends_nothing(
        "1 acquire; 2 acquire | 2 > 1; 2 cancel; 2 try; 1 > 2; rest", expect![[r#"
            1 hears request from 2: CE-2 queues ticket 2/1: ticket 1/1 is inside; CE-9 denies ticket 2/1 so far; denied → 2
            2 cancel: cancelled; CE-6 gives ticket 2/1 up; release → 1
            2 try: CE-1 asks with ticket 2/2; request → 1
            1 hears release from 2: CE-5 removes ticket 2/1 from the queue
            1 hears request from 2: CE-7 denies ticket 2/2; denied → 2
            2 hears denied from 1: denied
        "#]]);

    ce_9_a_try_is_denied_and_not_queued("1 acquire; 2 try; rest; 1 release", expect![[r#"
        1 acquire: CE-1 asks with ticket 1/1; CE-2 grants ticket 1/1; CE-3 enters with ticket 1/1; ENTERS (fence 0.1)
        2 try: CE-1 asks with ticket 2/1; request → 1
        1 hears request from 2: CE-7 denies ticket 2/1; denied → 2
        2 hears denied from 1: denied
        1 release: LEAVES; CE-4 gives ticket 1/1 back; CE-5 has ticket 1/1 back; nobody waits
    "#]]);
}

#[test]
fn ce_8_the_wait_is_one_to_three_message_times() {
    let wait = Span::between(MESSAGE, MESSAGE.times(3));
    assert_eq!(WhenBusy::deny(&Bounds { message: MESSAGE, processing: Duration::ZERO }), WhenBusy::Deny { wait });
}
