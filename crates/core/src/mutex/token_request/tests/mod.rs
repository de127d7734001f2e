//! The rules of the token that is asked for, one script each and more for the nasty cases. Node 1 has it at first.

mod storms;

use super::TokenRequest;
use crate::mutex::rules::{rules, with_a_stranger};
use expect_test::expect;

rules! { TokenRequest::new, 3;
    tq_1_the_holder_enters_for_nothing_as_often_as_it_likes("1 acquire; 1 release | 1 acquire; 1 release", expect![[r#"
        1 acquire: TQ-1 has the token here; ENTERS (fence 0.2)
        1 release: LEAVES; TQ-4 keeps the token: nobody asks for it
    "#]]);

    /// The second request of node 2 has a larger number than the first, which the token bears.
    tq_1_one_without_the_token_asks_everyone_with_a_new_number(
        "2 acquire; rest; 2 release; 3 acquire | rest; 2 acquire", expect![[r#"
            1 hears request from 3: TQ-2 remembers request 1 of 3
            2 hears request from 3: TQ-2 remembers request 1 of 3; TQ-2 passes the token to 3; token → 3
            3 hears token from 2: TQ-3 has the token; ENTERS (fence 0.2)
            2 acquire: TQ-1 asks everyone with request 2; request → all
        "#]]);

    tq_1_a_group_of_one_sends_nothing(of 1, "1 acquire; 1 release; 1 try; 1 release", expect![[r#"
        1 acquire: TQ-1 has the token here; ENTERS (fence 0.1)
        1 release: LEAVES; TQ-4 keeps the token: nobody asks for it
        1 try: TQ-1 has the token here; ENTERS (fence 0.2)
        1 release: LEAVES; TQ-4 keeps the token: nobody asks for it
    "#]]);

    tq_2_an_unused_token_goes_to_the_first_who_asks("2 acquire; 2 > 1; 2 > 3; 1 > 2", expect![[r#"
        2 acquire: TQ-1 asks everyone with request 1; request → all
        1 hears request from 2: TQ-2 remembers request 1 of 2; TQ-2 passes the token to 2; token → 2
        3 hears request from 2: TQ-2 remembers request 1 of 2
        2 hears token from 1: TQ-3 has the token; ENTERS (fence 0.1)
    "#]]);

    /// Node 3 hears of the request of node 2 after it was answered, and has the token that says so.
    tq_2_a_request_that_comes_late_changes_nothing(
        "2 acquire; 2 > 1; 1 > 2; 2 release; 3 acquire; 3 > 2; 2 > 3 last | 3 release; 2 > 3", expect![[r#"
            3 release: LEAVES; TQ-4 keeps the token: nobody asks for it
            3 hears request from 2: TQ-2 ignores request 1 of 2
        "#]]);

    /// The same, but node 3 hears of it before it has the token, which tells better when it comes.
    tq_2_a_late_request_at_one_who_has_no_token_changes_nothing(
        "2 acquire; 2 > 1; 1 > 2; 2 > 3; 2 release; 3 acquire | 3 > 2; 2 > 3; 3 release", expect![[r#"
            2 hears request from 3: TQ-2 remembers request 1 of 3; TQ-2 passes the token to 3; token → 3
            3 hears token from 2: TQ-3 has the token; ENTERS (fence 0.2)
            3 release: LEAVES; TQ-4 keeps the token: nobody asks for it
        "#]]);

    tq_2_an_older_request_does_not_replace_a_newer_one(
        "2 acquire; 2 cancel; 2 acquire | 2 > 3 last; 2 > 3", expect![[r#"
            3 hears request from 2: TQ-2 remembers request 2 of 2
            3 hears request from 2: TQ-2 ignores request 1 of 2
        "#]]);

    tq_3_the_token_admits_one_who_waits("3 acquire; 3 > 1; 1 > 3", expect![[r#"
        3 acquire: TQ-1 asks everyone with request 1; request → all
        1 hears request from 3: TQ-2 remembers request 1 of 3; TQ-2 passes the token to 3; token → 3
        3 hears token from 1: TQ-3 has the token; ENTERS (fence 0.1)
    "#]]);

    /// Node 1 asked first, but node 3 comes first behind node 2.
    tq_4_one_who_leaves_passes_the_token_to_the_next_round_the_ring(
        "2 acquire; 2 > 1; 1 > 2 | 1 acquire; 3 acquire; 1 > 2; 3 > 2; 2 release; 2 > 3 last; 1 > 3; 3 release;
         3 > 1 last", expect![[r#"
            1 acquire: TQ-1 asks everyone with request 1; request → all
            3 acquire: TQ-1 asks everyone with request 1; request → all
            2 hears request from 1: TQ-2 remembers request 1 of 1
            2 hears request from 3: TQ-2 remembers request 1 of 3
            2 release: LEAVES; TQ-4 passes the token to 3; token → 3
            3 hears token from 2: TQ-3 has the token; ENTERS (fence 0.2)
            3 hears request from 1: TQ-2 remembers request 1 of 1
            3 release: LEAVES; TQ-4 passes the token to 1; token → 1
            1 hears token from 3: TQ-3 has the token; ENTERS (fence 0.3)
        "#]]);

    tq_4_one_who_leaves_keeps_the_token_if_nobody_asks("2 acquire; rest; 2 release | 2 acquire; 2 release", expect![[r#"
        2 acquire: TQ-1 has the token here; ENTERS (fence 0.2)
        2 release: LEAVES; TQ-4 keeps the token: nobody asks for it
    "#]]);

    // Requests that are given up.

    tq_5_a_token_that_comes_for_a_request_given_up_is_kept(
        "2 acquire; 2 > 1; 2 cancel | 1 > 2; 2 acquire; 2 release; 3 acquire; 3 > 2", expect![[r#"
            2 hears token from 1: TQ-3 has the token, and nobody here wants it; TQ-5 keeps the token: nobody asks for it
            2 acquire: TQ-1 has the token here; ENTERS (fence 0.1)
            2 release: LEAVES; TQ-4 keeps the token: nobody asks for it
            3 acquire: TQ-1 asks everyone with request 1; request → all
            2 hears request from 3: TQ-2 remembers request 1 of 3; TQ-2 passes the token to 3; token → 3
        "#]]);

    tq_5_a_token_that_comes_for_a_request_given_up_is_passed_on_to_one_who_waits(
        "2 acquire; 2 > 1; 2 cancel; 3 acquire; 3 > 2 | 1 > 2; 2 > 3 last", expect![[r#"
            2 hears token from 1: TQ-3 has the token, and nobody here wants it; TQ-5 passes the token to 3; token → 3
            3 hears token from 2: TQ-3 has the token; ENTERS (fence 0.1)
        "#]]);

    /// The newer request, which is answered by then, comes late and changes nothing.
    tq_5_a_token_that_comes_for_a_request_given_up_admits_with_the_next_one(
        "2 acquire; 2 > 1 | 2 cancel; 2 acquire; 1 > 2; 2 > 1; 2 release; 3 acquire; 3 > 2; rest", expect![[r#"
            2 cancel: TQ-5 forgets request 1; cancelled
            2 acquire: TQ-1 asks everyone with request 2; request → all
            2 hears token from 1: TQ-3 has the token; ENTERS (fence 0.1)
            1 hears request from 2: TQ-2 remembers request 2 of 2
            2 release: LEAVES; TQ-4 keeps the token: nobody asks for it
            3 acquire: TQ-1 asks everyone with request 1; request → all
            2 hears request from 3: TQ-2 remembers request 1 of 3; TQ-2 passes the token to 3; token → 3
            3 hears request from 2: TQ-2 remembers request 1 of 2
            3 hears request from 2: TQ-2 remembers request 2 of 2
            1 hears request from 3: TQ-2 remembers request 1 of 3
            3 hears token from 2: TQ-3 has the token; ENTERS (fence 0.2)
        "#]]);

    tq_5_a_request_that_arrives_after_it_was_given_up_costs_a_token(
        "2 acquire; 2 cancel; 2 > 1 | 1 > 2; 2 > 3", expect![[r#"
            2 hears token from 1: TQ-3 has the token, and nobody here wants it; TQ-5 keeps the token: nobody asks for it
            3 hears request from 2: TQ-2 remembers request 1 of 2
        "#]]);

    // Tries.

    tq_6_a_try_gets_a_token_that_lies_unused("2 try; 2 > 1; 1 > 2", expect![[r#"
        2 try: TQ-1 asks everyone with request 1; request → all
        1 hears request from 2: TQ-2 remembers request 1 of 2; TQ-2 passes the token to 2; token → 2
        2 hears token from 1: TQ-3 has the token; ENTERS (fence 0.1)
    "#]]);

    tq_6_one_inside_denies_a_try("1 acquire; 2 try | 2 > 1; 1 > 2; 1 release", expect![[r#"
        1 hears request from 2: TQ-2 remembers request 1 of 2; TQ-6 denies request 1 of 2; denied → 2
        2 hears denied from 1: denied
        1 release: LEAVES; TQ-4 keeps the token: nobody asks for it
    "#]]);

    tq_6_a_try_that_meets_the_token_in_flight_is_denied_where_it_is_wanted(
        "2 acquire; 2 > 1; 3 try; 3 > 1; 3 > 2 | 1 > 2; 2 > 3 last", expect![[r#"
            2 hears token from 1: TQ-3 has the token; ENTERS (fence 0.1); TQ-6 denies request 1 of 3; denied → 3
            3 hears denied from 2: denied
        "#]]);

    tq_6_a_try_that_meets_the_token_in_flight_gets_it_where_nobody_wants_it(
        "2 acquire; 2 > 1; 2 cancel | 3 try; 3 > 2; 1 > 2; 2 > 3 last", expect![[r#"
            3 try: TQ-1 asks everyone with request 1; request → all
            2 hears request from 3: TQ-2 remembers request 1 of 3
            2 hears token from 1: TQ-3 has the token, and nobody here wants it; TQ-5 passes the token to 3; token → 3
            3 hears token from 2: TQ-3 has the token; ENTERS (fence 0.1)
        "#]]);

    /// The token comes to node 2, which wants it no longer: node 3 goes first, and node 4 is denied.
    tq_6_a_try_behind_another_request_is_denied(
        of 4, "2 acquire; 2 > 1; 2 cancel; 3 acquire | 4 try; 3 > 2; 4 > 2; 1 > 2; 2 > 4 last", expect![[r#"
            4 try: TQ-1 asks everyone with request 1; request → all
            2 hears request from 3: TQ-2 remembers request 1 of 3
            2 hears request from 4: TQ-2 remembers request 1 of 4
            2 hears token from 1: TQ-3 has the token, and nobody here wants it; TQ-6 denies request 1 of 4; denied → 4; TQ-5 passes the token to 3; token → 3
            4 hears denied from 2: denied
        "#]]);

    /// Node 3 hears of the try after it was denied, and has the token that says so.
    tq_6_a_denied_try_is_denied_once(
        "1 acquire; 2 try | 2 > 1; 1 > 2; 3 acquire; 3 > 1; 1 release; 1 > 3; 2 > 3; 3 release", expect![[r#"
            1 hears request from 2: TQ-2 remembers request 1 of 2; TQ-6 denies request 1 of 2; denied → 2
            2 hears denied from 1: denied
            3 acquire: TQ-1 asks everyone with request 1; request → all
            1 hears request from 3: TQ-2 remembers request 1 of 3
            1 release: LEAVES; TQ-4 passes the token to 3; token → 3
            3 hears token from 1: TQ-3 has the token; ENTERS (fence 0.2)
            3 hears request from 2: TQ-2 ignores request 1 of 2
            3 release: LEAVES; TQ-4 keeps the token: nobody asks for it
        "#]]);

    tq_6_the_denial_of_a_try_given_up_denies_nothing(
        "1 acquire; 2 try; 2 > 1; 2 cancel | 2 try; 1 > 2; 2 > 1 last; 1 > 2", expect![[r#"
            2 try: TQ-1 asks everyone with request 2; request → all
            2 hears denied from 1: TQ-6 ignores a denial of request 1
            1 hears request from 2: TQ-2 remembers request 2 of 2; TQ-6 denies request 2 of 2; denied → 2
            2 hears denied from 1: denied
        "#]]);

    tq_2_a_stranger_is_not_served(by with_a_stranger(TokenRequest::new), "3 acquire; 3 > 1", expect![[r#"
        3 acquire: TQ-1 asks everyone with request 1; request → all
        1 hears request from 3: TQ-2 ignores request 1 of 3
    "#]]);
}
