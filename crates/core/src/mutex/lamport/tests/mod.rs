//! The rules of Lamport's algorithm, one script each and more for the nasty cases.

use super::Lamport;
use crate::mutex::rules::rules;
use expect_test::expect;

rules! { Lamport::new, 3;
    la_1_asked_to_enter_a_node_queues_its_request_and_tells_everyone("1 acquire", expect![[r#"
        1 acquire: LA-1 queues (1, 1) and tells everyone; request → all
    "#]]);

    la_1_a_new_request_is_younger_than_all_that_was_heard("1 acquire; 1 > 2; 2 acquire | 2 > 3; 3 acquire", expect![[r#"
        3 hears request from 2: LA-2 queues (3, 2); reply → 2
        3 acquire: LA-1 queues (5, 3) and tells everyone; request → all
    "#]]);

    la_2_a_request_is_queued_and_answered_even_by_one_who_waits_or_is_inside(
        "1 acquire; rest; 2 acquire; 3 acquire | 2 > 1; 2 > 3", expect![[r#"
            1 hears request from 2: LA-2 queues (3, 2); reply → 2
            3 hears request from 2: LA-2 queues (3, 2); reply → 2
        "#]]);

    la_2_a_request_in_the_name_of_another_is_ignored("1 acquire; 1 > 2 as 3", expect![[r#"
        1 acquire: LA-1 queues (1, 1) and tells everyone; request → all
        2 hears request from 3: LA-2 ignores a request of 1 that 3 brought
    "#]]);

    la_3_the_first_enters_once_something_later_came_from_everyone("1 acquire; rest", expect![[r#"
        1 acquire: LA-1 queues (1, 1) and tells everyone; request → all
        2 hears request from 1: LA-2 queues (1, 1); reply → 1
        3 hears request from 1: LA-2 queues (1, 1); reply → 1
        1 hears reply from 3: LA-3 is first with (1, 1); ENTERS (fence 0.1)
    "#]]);

    /// Both asked with the same reading, and the numbers decide: the request of 2 is later than that of 1, so 1 need not
    /// wait for the reply, and 2 must.
    la_3_a_later_request_counts_like_a_reply(of 2, "1 acquire; 2 acquire | 2 > 1; 1 > 2; 2 > 1; 1 > 2", expect![[r#"
        1 hears request from 2: LA-2 queues (1, 2); reply → 2; LA-3 is first with (1, 1); ENTERS (fence 0.1)
        2 hears request from 1: LA-2 queues (1, 1); reply → 1
    "#]]);

    /// Node 2 has every reply, but is not first.
    la_3_who_is_not_first_waits_for_the_release(
        of 2, "1 acquire; 1 > 2; 2 acquire; 2 > 1; 2 > 1; 1 > 2 | 1 release; 1 > 2", expect![[r#"
            1 release: LEAVES; LA-4 crosses (1, 1) out and tells everyone; release → all
            2 hears release from 1: LA-5 crosses (1, 1) out; LA-3 is first with (3, 2); ENTERS (fence 0.2)
        "#]]);

    la_4_asked_to_leave_a_node_tells_everyone("1 acquire; rest | 1 release; rest; 2 acquire; rest", expect![[r#"
        1 release: LEAVES; LA-4 crosses (1, 1) out and tells everyone; release → all
        2 hears release from 1: LA-5 crosses (1, 1) out
        3 hears release from 1: LA-5 crosses (1, 1) out
        2 acquire: LA-1 queues (3, 2) and tells everyone; request → all
        1 hears request from 2: LA-2 queues (3, 2); reply → 2
        3 hears request from 2: LA-2 queues (3, 2); reply → 2
        2 hears reply from 3: LA-3 is first with (3, 2); ENTERS (fence 0.2)
    "#]]);

    la_5_a_release_crosses_the_request_out_that_it_names(
        of 2, "1 acquire; 2 acquire; rest | 1 release; 1 > 2", expect![[r#"
            1 release: LEAVES; LA-4 crosses (1, 1) out and tells everyone; release → all
            2 hears release from 1: LA-5 crosses (1, 1) out; LA-3 is first with (1, 2); ENTERS (fence 0.2)
        "#]]);

    /// Node 1 has no reply yet, but the release of 2 and the request of 3 are stamped later than its own request.
    la_5_a_later_release_counts_like_a_reply(
        "2 acquire; rest; 3 acquire; 3 > 2; 1 acquire; 2 release; 2 > 1; 3 > 1", expect![[r#"
            2 acquire: LA-1 queues (1, 2) and tells everyone; request → all
            1 hears request from 2: LA-2 queues (1, 2); reply → 2
            3 hears request from 2: LA-2 queues (1, 2); reply → 2
            2 hears reply from 3: LA-3 is first with (1, 2); ENTERS (fence 0.1)
            3 acquire: LA-1 queues (3, 3) and tells everyone; request → all
            2 hears request from 3: LA-2 queues (3, 3); reply → 3
            1 acquire: LA-1 queues (3, 1) and tells everyone; request → all
            2 release: LEAVES; LA-4 crosses (1, 2) out and tells everyone; release → all
            1 hears release from 2: LA-5 crosses (1, 2) out
            1 hears request from 3: LA-2 queues (3, 3); reply → 3; LA-3 is first with (3, 1); ENTERS (fence 0.2)
        "#]]);

    la_5_nobody_can_release_the_request_of_another(of 2, "1 acquire; rest; 1 release; 1 > 2 as 2", expect![[r#"
        1 acquire: LA-1 queues (1, 1) and tells everyone; request → all
        2 hears request from 1: LA-2 queues (1, 1); reply → 1
        1 hears reply from 2: LA-3 is first with (1, 1); ENTERS (fence 0.1)
        1 release: LEAVES; LA-4 crosses (1, 1) out and tells everyone; release → all
        2 hears release from 2: LA-5 ignores a release of 1 that 2 brought
    "#]]);

    a_group_of_one_asks_nobody(of 1, "1 acquire; 1 try; 1 release; 1 try; 1 cancel; 1 release", expect![[r#"
        1 acquire: LA-1 queues (1, 1) and tells everyone; LA-3 is first with (1, 1); ENTERS (fence 0.1)
        1 try: refused: already inside
        1 release: LEAVES; LA-4 crosses (1, 1) out and tells everyone
        1 try: LA-1 queues (2, 1) and tells everyone; LA-3 is first with (2, 1); ENTERS (fence 0.2)
        1 cancel: refused: already inside
        1 release: LEAVES; LA-4 crosses (2, 1) out and tells everyone
    "#]]);

    // Those who do not wait for ever: requests that are given up, and tries.

    la_6_a_request_that_is_given_up_is_crossed_out_everywhere(
        "1 acquire; 1 > 2; 2 acquire | 1 cancel; rest", expect![[r#"
            1 cancel: cancelled; LA-6 crosses (1, 1) out and tells everyone; release → all
            3 hears request from 1: LA-2 queues (1, 1); reply → 1
            1 hears request from 2: LA-2 queues (3, 2); reply → 2
            3 hears request from 2: LA-2 queues (3, 2); reply → 2
            2 hears release from 1: LA-5 crosses (1, 1) out
            3 hears release from 1: LA-5 crosses (1, 1) out
            2 hears reply from 3: LA-3 is first with (3, 2); ENTERS (fence 0.1)
        "#]]);

    /// The reply to (1, 1), which was given up, is later than (2, 1) too. It can count: links keep the order, so node 2 has
    /// no older request under way.
    la_6_a_late_reply_to_a_request_that_was_given_up_counts_if_it_is_later(
        of 2, "2 acquire; 2 cancel; 1 acquire; 1 cancel; 1 acquire; 1 > 2; 2 > 1; 2 > 1; 2 > 1; 1 > 2; 1 > 2;
               2 > 1", expect![[r#"
            2 acquire: LA-1 queues (1, 2) and tells everyone; request → all
            2 cancel: cancelled; LA-6 crosses (1, 2) out and tells everyone; release → all
            1 acquire: LA-1 queues (1, 1) and tells everyone; request → all
            1 cancel: cancelled; LA-6 crosses (1, 1) out and tells everyone; release → all
            1 acquire: LA-1 queues (2, 1) and tells everyone; request → all
            2 hears request from 1: LA-2 queues (1, 1); reply → 1
            1 hears request from 2: LA-2 queues (1, 2); reply → 2
            1 hears release from 2: LA-5 crosses (1, 2) out
            1 hears reply from 2: LA-3 is first with (2, 1); ENTERS (fence 0.1)
            2 hears release from 1: LA-5 crosses (1, 1) out
            2 hears request from 1: LA-2 queues (2, 1); reply → 1
        "#]]);

    /// The reply to (1, 1) is not later than (3, 1), and says nothing about it.
    la_6_an_early_reply_to_a_request_that_was_given_up_does_not_count(
        of 2, "1 acquire; 1 > 2 | 1 cancel; 1 acquire; 2 > 1; 1 > 2; 1 > 2; 2 > 1", expect![[r#"
            1 cancel: cancelled; LA-6 crosses (1, 1) out and tells everyone; release → all
            1 acquire: LA-1 queues (2, 1) and tells everyone; request → all
            1 hears reply from 2: LA-3 is first with (2, 1); ENTERS (fence 0.1)
            2 hears release from 1: LA-5 crosses (1, 1) out
            2 hears request from 1: LA-2 queues (2, 1); reply → 1
        "#]]);

    la_7_a_try_that_is_not_first_when_all_have_answered_is_denied(
        of 2, "1 acquire; rest | 2 try; 2 > 1; 1 > 2; 2 > 1", expect![[r#"
            2 try: LA-1 queues (3, 2) and tells everyone; request → all
            1 hears request from 2: LA-2 queues (3, 2); reply → 2
            2 hears reply from 1: denied; LA-7 crosses (3, 2) out and tells everyone; release → all
            1 hears release from 2: LA-5 crosses (3, 2) out
        "#]]);

    la_7_a_try_that_is_first_enters(of 2, "2 try; rest", expect![[r#"
        2 try: LA-1 queues (1, 2) and tells everyone; request → all
        1 hears request from 2: LA-2 queues (1, 2); reply → 2
        2 hears reply from 1: LA-3 is first with (1, 2); ENTERS (fence 0.1)
    "#]]);

    /// Of two tries at once the older one is first, and the younger one hears of it before its answer is complete.
    la_7_of_two_tries_at_once_the_older_one_enters(of 2, "1 try; 2 try; rest", expect![[r#"
        1 try: LA-1 queues (1, 1) and tells everyone; request → all
        2 try: LA-1 queues (1, 2) and tells everyone; request → all
        2 hears request from 1: LA-2 queues (1, 1); reply → 1
        1 hears request from 2: LA-2 queues (1, 2); reply → 2; LA-3 is first with (1, 1); ENTERS (fence 0.1)
        2 hears reply from 1: denied; LA-7 crosses (1, 2) out and tells everyone; release → all
        1 hears release from 2: LA-5 crosses (1, 2) out
    "#]]);

    /// The release is under way already, but the try has its answer before.
    la_7_a_try_is_denied_while_the_release_is_under_way(
        "1 acquire; rest; 2 try; 2 > 1; 2 > 3; 1 > 2; 1 release | 3 > 2; rest", expect![[r#"
            2 hears reply from 3: denied; LA-7 crosses (3, 2) out and tells everyone; release → all
            2 hears release from 1: LA-5 crosses (1, 1) out
            3 hears release from 1: LA-5 crosses (1, 1) out
            1 hears release from 2: LA-5 crosses (3, 2) out
            3 hears release from 2: LA-5 crosses (3, 2) out
        "#]]);
}
