//! The rules of Ricart–Agrawala modulo 2n−1, one script each and more for the nasty cases.

mod all_runs;

use super::RicartAgrawalaModulo;
use crate::mutex::rules::rules;
use expect_test::expect;

rules! { RicartAgrawalaModulo::new, 3;
    rm_1_asked_to_enter_a_node_numbers_a_request_and_sends_it_to_everyone("1 acquire", expect![[r#"
        1 acquire: RM-1 asks everyone with (1, 1); request → all
    "#]]);

    /// On the circle of three, 0 comes after 2.
    rm_1_numbers_come_round(
        of 2, "1 acquire; rest; 1 release; 1 acquire; rest; 1 release | 1 acquire; rest; 1 release; 2 acquire;
               rest", expect![[r#"
            1 acquire: RM-1 asks everyone with (0, 1); request → all
            2 hears request from 1: RM-2 lets (0, 1) pass; reply → 1
            1 hears reply from 2: RM-3 has every reply; ENTERS (fence 0.0)
            1 release: LEAVES
            2 acquire: RM-1 asks everyone with (1, 2); request → all
            1 hears request from 2: RM-2 lets (1, 2) pass; reply → 2
            2 hears reply from 1: RM-3 has every reply; ENTERS (fence 0.0)
        "#]]);

    rm_1_who_heard_a_request_numbers_its_own_as_younger("3 acquire; 3 > 2; 2 acquire", expect![[r#"
        3 acquire: RM-1 asks everyone with (1, 3); request → all
        2 hears request from 3: RM-2 lets (1, 3) pass; reply → 3
        2 acquire: RM-1 asks everyone with (2, 2); request → all
    "#]]);

    /// The reply of 3 comes after its request (2, 3), but does not tell of it. So the next request of 1 has an equal
    /// number, and enters first.
    rm_1_who_heard_of_a_request_through_a_reply_may_number_its_own_as_older(
        "2 acquire; 2 > 3; 3 acquire; 1 acquire; 1 > 2; 1 > 3; 2 > 1 last; 3 > 1 last; 1 release | 1 acquire; rest;
         2 release; rest", expect![[r#"
            1 acquire: RM-1 asks everyone with (2, 1); request → all
            1 hears request from 2: RM-2 lets (1, 2) pass; reply → 2
            1 hears request from 3: RM-2 defers (2, 3): ours (2, 1) goes first
            2 hears request from 3: RM-2 defers (2, 3): ours (1, 2) goes first
            2 hears request from 1: RM-2 defers (2, 1): ours (1, 2) goes first
            3 hears request from 1: RM-2 lets (2, 1) pass; reply → 1
            2 hears reply from 1: RM-3 has every reply; ENTERS (fence 0.0)
            2 release: LEAVES; RM-4 lets 1 pass at last; reply → 1; RM-4 lets 3 pass at last; reply → 3
            1 hears reply from 2: RM-3 has every reply; ENTERS (fence 0.0)
        "#]]);

    rm_2_a_request_arrives_where_nobody_asked_and_is_let_pass("1 acquire; 1 > 2", expect![[r#"
        1 acquire: RM-1 asks everyone with (1, 1); request → all
        2 hears request from 1: RM-2 lets (1, 1) pass; reply → 1
    "#]]);

    rm_2_a_request_arrives_where_one_is_inside_and_is_deferred("1 acquire; rest | 2 acquire; 2 > 1", expect![[r#"
        2 acquire: RM-1 asks everyone with (2, 2); request → all
        1 hears request from 2: RM-2 defers (2, 2): we are inside
    "#]]);

    /// Node 2 heard of the request of 3 before it asked, so its own is younger, though its node is lower.
    rm_2_of_two_requests_the_older_goes_first(
        "3 acquire; 3 > 2; 2 acquire; 2 > 3 | 3 > 1; 2 > 1; rest; 3 release; rest", expect![[r#"
            1 hears request from 3: RM-2 lets (1, 3) pass; reply → 3
            1 hears request from 2: RM-2 lets (2, 2) pass; reply → 2
            3 hears request from 2: RM-2 defers (2, 2): ours (1, 3) goes first
            3 hears reply from 1: RM-3 has every reply; ENTERS (fence 0.0)
            3 release: LEAVES; RM-4 lets 2 pass at last; reply → 2
            2 hears reply from 3: RM-3 has every reply; ENTERS (fence 0.0)
        "#]]);

    /// The request (2, 1) is older than (0, 2), which node 2 makes when it has heard of it.
    rm_2_the_older_of_two_requests_may_have_the_larger_number(
        of 2, "1 acquire; rest; 1 release; 1 acquire; 1 > 2 | 2 acquire; 2 > 1 last; rest; 1 release;
               rest", expect![[r#"
            2 acquire: RM-1 asks everyone with (0, 2); request → all
            1 hears request from 2: RM-2 defers (0, 2): ours (2, 1) goes first
            1 hears reply from 2: RM-3 has every reply; ENTERS (fence 0.0)
            1 release: LEAVES; RM-4 lets 2 pass at last; reply → 2
            2 hears reply from 1: RM-3 has every reply; ENTERS (fence 0.0)
        "#]]);

    rm_2_of_two_requests_with_equal_numbers_the_lower_node_goes_first(
        "1 acquire; 2 acquire | 1 > 2; 2 > 1", expect![[r#"
            2 hears request from 1: RM-2 lets (1, 1) pass; reply → 1
            1 hears request from 2: RM-2 defers (1, 2): ours (1, 1) goes first
        "#]]);

    rm_3_all_answers_are_in_and_the_node_enters("1 acquire; 1 > 2; 1 > 3 | 3 > 1; 2 > 1", expect![[r#"
        1 hears reply from 2: RM-3 has every reply; ENTERS (fence 0.0)
    "#]]);

    rm_3_the_reply_of_a_stranger_does_not_count("1 acquire; 1 > 2; 1 > 3 | 2 > 1 as 9; 3 > 1", expect![[r#"
        1 hears reply from 9: RM-3 ignores a reply of 9, which was not asked
    "#]]);

    rm_3_nobody_counts_twice("1 acquire; 1 > 2; 1 > 3 | 2 > 1; 3 > 1 as 2", expect![[r#"
        1 hears reply from 2: RM-3 ignores a reply of 2, which was not asked
    "#]]);

    rm_4_asked_to_leave_a_node_replies_to_everyone_deferred(
        "1 acquire; rest; 2 acquire | 3 acquire; 2 > 1; 3 > 1; 1 release; rest; 2 release; rest", expect![[r#"
            3 acquire: RM-1 asks everyone with (2, 3); request → all
            1 hears request from 2: RM-2 defers (2, 2): we are inside
            1 hears request from 3: RM-2 defers (2, 3): we are inside
            1 release: LEAVES; RM-4 lets 2 pass at last; reply → 2; RM-4 lets 3 pass at last; reply → 3
            3 hears request from 2: RM-2 lets (2, 2) pass; reply → 2
            2 hears request from 3: RM-2 defers (2, 3): ours (2, 2) goes first
            2 hears reply from 3: RM-3 has every reply; ENTERS (fence 0.0)
            2 release: LEAVES; RM-4 lets 3 pass at last; reply → 3
            3 hears reply from 2: RM-3 has every reply; ENTERS (fence 0.0)
        "#]]);

    a_group_of_one_asks_nobody(of 1, "1 acquire; 1 try; 1 release; 1 try; 1 cancel; 1 release", expect![[r#"
        1 acquire: RM-1 asks everyone with (0, 1); RM-3 has every reply; ENTERS (fence 0.0)
        1 try: refused: already inside
        1 release: LEAVES
        1 try: RM-6 tries everyone; RM-3 has every reply; ENTERS (fence 0.0)
        1 cancel: refused: already inside
        1 release: LEAVES
    "#]]);

    // Those who do not wait for ever: requests that are given up.

    /// Node 2 waits for the replies to a request that nobody wants any more. The request waits for nobody who would not
    /// go before 2 as well.
    rm_5_asked_to_give_up_a_node_leaves_its_request_out_until_all_have_answered(
        "1 acquire; 2 acquire; 2 > 1 | 2 > 3; 3 > 2; 1 cancel; rest", expect![[r#"
            3 hears request from 2: RM-2 lets (1, 2) pass; reply → 2
            1 cancel: cancelled; RM-5 will rest when all have answered
            2 hears request from 1: RM-2 lets (1, 1) pass; reply → 1
            3 hears request from 1: RM-2 lets (1, 1) pass; reply → 1
            1 hears reply from 3: RM-3 lets 2 pass at last; reply → 2
            2 hears reply from 1: RM-3 has every reply; ENTERS (fence 0.0)
        "#]]);

    rm_3_all_answers_to_a_request_are_in_that_nobody_wants_any_more(
        of 2, "1 acquire; 2 acquire; 2 > 1; 1 cancel; 1 > 2 | 2 > 1; 1 > 2", expect![[r#"
            1 hears reply from 2: RM-3 lets 2 pass at last; reply → 2
            2 hears reply from 1: RM-3 has every reply; ENTERS (fence 0.0)
        "#]]);

    rm_1_who_gave_up_asks_anew_when_all_have_answered(
        "1 acquire; 1 cancel; 1 acquire | 1 acquire; 1 try; rest", expect![[r#"
            1 acquire: refused: a request is already under way
            1 try: refused: a request is already under way
            2 hears request from 1: RM-2 lets (1, 1) pass; reply → 1
            3 hears request from 1: RM-2 lets (1, 1) pass; reply → 1
            1 hears reply from 3: RM-1 asks everyone with (2, 1); request → all
            2 hears request from 1: RM-2 lets (2, 1) pass; reply → 1
            3 hears request from 1: RM-2 lets (2, 1) pass; reply → 1
            1 hears reply from 3: RM-3 has every reply; ENTERS (fence 0.0)
        "#]]);

    /// Node 2 asked while the abandoned request of 1 was out, and goes before the new one.
    rm_1_who_gives_up_and_asks_anew_has_lost_its_place(
        of 2, "1 acquire; 2 acquire; 1 cancel; 1 acquire | rest; 2 release; rest", expect![[r#"
            2 hears request from 1: RM-2 lets (1, 1) pass; reply → 1
            1 hears request from 2: RM-2 defers (1, 2): ours (1, 1) goes first
            1 hears reply from 2: RM-3 lets 2 pass at last; reply → 2; RM-1 asks everyone with (2, 1); request → all
            2 hears reply from 1: RM-3 has every reply; ENTERS (fence 0.0)
            2 hears request from 1: RM-2 defers (2, 1): we are inside
            2 release: LEAVES; RM-4 lets 1 pass at last; reply → 1
            1 hears reply from 2: RM-3 has every reply; ENTERS (fence 0.0)
        "#]]);

    rm_5_a_request_that_is_not_sent_yet_never_will_be(
        of 2, "1 acquire; 1 cancel; 1 acquire | 1 cancel; 1 cancel; rest; 1 cancel", expect![[r#"
            1 cancel: cancelled; RM-5 will rest when all have answered
            1 cancel: refused: no request is under way
            2 hears request from 1: RM-2 lets (1, 1) pass; reply → 1
            1 cancel: refused: no request is under way
        "#]]);

    /// If 1 let 2 pass, 2 could enter three times before it hears of (1, 1). It would be at 0 by then, take 1 for the later
    /// number and ask with 2 the next time; and 1, at 0 too, would take 2 for the earlier one.
    rm_5_nobody_counts_away_from_an_abandoned_request(of 2, "1 acquire; 1 cancel; 2 acquire; 2 > 1; rest", expect![[r#"
        1 acquire: RM-1 asks everyone with (1, 1); request → all
        1 cancel: cancelled; RM-5 will rest when all have answered
        2 acquire: RM-1 asks everyone with (1, 2); request → all
        1 hears request from 2: RM-2 defers (1, 2): ours (1, 1) goes first
        2 hears request from 1: RM-2 lets (1, 1) pass; reply → 1
        1 hears reply from 2: RM-3 lets 2 pass at last; reply → 2
        2 hears reply from 1: RM-3 has every reply; ENTERS (fence 0.0)
    "#]]);

    // Those who do not wait at all.

    rm_6_asked_to_try_a_node_sends_a_try_without_a_number("1 try; rest; 2 acquire; 2 > 1; 1 release", expect![[r#"
        1 try: RM-6 tries everyone; try → all
        2 hears try from 1: RM-7 lets the try of 1 pass; reply → 1
        3 hears try from 1: RM-7 lets the try of 1 pass; reply → 1
        1 hears reply from 3: RM-3 has every reply; ENTERS (fence 0.0)
        2 acquire: RM-1 asks everyone with (1, 2); request → all
        1 hears request from 2: RM-2 defers (1, 2): we are inside
        1 release: LEAVES; RM-4 lets 2 pass at last; reply → 2
    "#]]);

    rm_6_a_try_is_denied_at_once_while_an_earlier_question_is_out(
        of 2, "1 acquire; 1 cancel; 1 try; rest; 1 try; 1 cancel | 1 try; rest; 1 try", expect![[r#"
            1 try: RM-6 cannot try before all have answered what it asked last; denied
            2 hears try from 1: RM-7 lets the try of 1 pass; reply → 1
            1 try: RM-6 tries everyone; try → all
        "#]]);

    rm_7_a_try_arrives_where_one_is_inside_and_is_denied(
        "1 acquire; rest; 2 try | 2 > 3; 2 > 1; 1 > 2; 3 > 2; 1 release", expect![[r#"
            3 hears try from 2: RM-7 lets the try of 2 pass; reply → 2
            1 hears try from 2: RM-7 denies the try of 2; denied → 2
            2 hears denied from 1: denied
            1 release: LEAVES
        "#]]);

    rm_7_a_try_arrives_where_one_waits_and_is_denied("1 acquire; 2 try; 2 > 1", expect![[r#"
        1 acquire: RM-1 asks everyone with (1, 1); request → all
        2 try: RM-6 tries everyone; try → all
        1 hears try from 2: RM-7 denies the try of 2; denied → 2
    "#]]);

    rm_7_a_try_arrives_where_one_gave_up_and_is_let_pass(
        of 2, "1 acquire; 1 cancel; 2 try | 2 > 1; 1 > 2 last; 1 > 2; 2 release; rest", expect![[r#"
            1 hears try from 2: RM-7 lets the try of 2 pass; reply → 2
            2 hears reply from 1: RM-3 has every reply; ENTERS (fence 0.0)
            2 hears request from 1: RM-2 defers (1, 1): we are inside
            2 release: LEAVES; RM-4 lets 1 pass at last; reply → 1
        "#]]);

    /// Its request is not out yet, but it is asked for.
    rm_7_a_try_arrives_where_one_gave_up_and_asked_anew_and_is_denied(
        of 2, "1 acquire; 1 cancel | 1 acquire; 2 try; 2 > 1", expect![[r#"
            1 acquire: RM-1 will ask when all have answered what it asked last
            2 try: RM-6 tries everyone; try → all
            1 hears try from 2: RM-7 denies the try of 2; denied → 2
        "#]]);

    rm_7_of_two_tries_that_of_the_lower_node_enters(of 2, "1 try; 2 try; rest", expect![[r#"
        1 try: RM-6 tries everyone; try → all
        2 try: RM-6 tries everyone; try → all
        2 hears try from 1: RM-7 lets the try of 1 pass; reply → 1; RM-8 gives way to 1; denied
        1 hears try from 2: RM-7 denies the try of 2; denied → 2
        1 hears reply from 2: RM-3 has every reply; ENTERS (fence 0.0)
    "#]]);

    /// The reply of 1 to the try is under way when 1 asks. If 2 did not give way, both would enter.
    rm_8_a_try_gives_way_to_a_request(of 2, "2 try; 2 > 1; 1 acquire | 1 > 2 last; rest", expect![[r#"
        2 hears request from 1: RM-2 lets (1, 1) pass; reply → 1; RM-8 gives way to 1; denied
        1 hears reply from 2: RM-3 has every reply; ENTERS (fence 0.0)
    "#]]);

    rm_8_a_try_gives_way_to_the_try_of_a_lower_node(of 2, "2 try; 2 > 1; 1 try | 1 > 2 last; rest", expect![[r#"
        2 hears try from 1: RM-7 lets the try of 1 pass; reply → 1; RM-8 gives way to 1; denied
        1 hears reply from 2: RM-3 has every reply; ENTERS (fence 0.0)
    "#]]);

    /// Of two denials the first one ends the try, and the request that follows is sent after the second one.
    rm_8_a_denied_try_is_over_but_its_answers_are_awaited(
        "1 acquire; 2 acquire; 3 try; 3 > 1 | 3 > 2; 1 > 3 last; 3 acquire; 2 > 3 last", expect![[r#"
            2 hears try from 3: RM-7 denies the try of 3; denied → 3
            3 hears denied from 1: denied
            3 acquire: RM-1 will ask when all have answered what it asked last
            3 hears denied from 2: RM-1 asks everyone with (1, 3); request → all
        "#]]);

    rm_8_the_denial_of_a_stranger_does_not_count("1 acquire; rest | 3 try; 3 > 1; 1 > 3 as 9", expect![[r#"
        3 try: RM-6 tries everyone; try → all
        1 hears try from 3: RM-7 denies the try of 3; denied → 3
        3 hears denied from 9: RM-8 ignores a denial of 9, which it did not try
    "#]]);

    rm_5_a_try_can_be_given_up(of 2, "1 try; 1 cancel; rest; 1 try", expect![[r#"
        1 try: RM-6 tries everyone; try → all
        1 cancel: cancelled; RM-5 will rest when all have answered
        2 hears try from 1: RM-7 lets the try of 1 pass; reply → 1
        1 try: RM-6 tries everyone; try → all
    "#]]);
}
