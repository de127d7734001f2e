//! Those who do not wait at all.

use super::{check, check_group};
use expect_test::expect;

#[test]
fn rm_6_asked_to_try_a_node_sends_a_try_without_a_number() {
    check(
        "1 try; rest; 2 acquire; 2 > 1; 1 release",
        expect![[r#"
            1 try: RM-6 tries everyone; try → all
            2 hears try from 1: RM-7 lets the try of 1 pass; reply → 1
            3 hears try from 1: RM-7 lets the try of 1 pass; reply → 1
            1 hears reply from 2: nothing
            1 hears reply from 3: RM-3 has every reply; ENTERS (fence 0.0)
            2 acquire: RM-1 asks everyone with (1, 2); request → all
            1 hears request from 2: RM-2 defers (1, 2): we are inside
            1 release: LEAVES; RM-4 lets 2 pass at last; reply → 2
        "#]],
    );
}

#[test]
fn rm_6_a_try_is_denied_at_once_while_an_earlier_question_is_out() {
    check_group(
        2,
        "1 acquire; 1 cancel; 1 try; rest; 1 try; 1 cancel; 1 try; rest; 1 try",
        expect![[r#"
            1 acquire: RM-1 asks everyone with (1, 1); request → all
            1 cancel: cancelled; RM-5 will rest when all have answered
            1 try: RM-6 cannot try before all have answered what it asked last; denied
            2 hears request from 1: RM-2 lets (1, 1) pass; reply → 1
            1 hears reply from 2: nothing
            1 try: RM-6 tries everyone; try → all
            1 cancel: cancelled; RM-5 will rest when all have answered
            1 try: RM-6 cannot try before all have answered what it asked last; denied
            2 hears try from 1: RM-7 lets the try of 1 pass; reply → 1
            1 hears reply from 2: nothing
            1 try: RM-6 tries everyone; try → all
        "#]],
    );
}

#[test]
fn rm_7_a_try_arrives_where_one_is_inside_and_is_denied() {
    check(
        "1 acquire; rest; 2 try; 2 > 3; 2 > 1; 1 > 2; 3 > 2; 1 release",
        expect![[r#"
            1 acquire: RM-1 asks everyone with (1, 1); request → all
            2 hears request from 1: RM-2 lets (1, 1) pass; reply → 1
            3 hears request from 1: RM-2 lets (1, 1) pass; reply → 1
            1 hears reply from 2: nothing
            1 hears reply from 3: RM-3 has every reply; ENTERS (fence 0.0)
            2 try: RM-6 tries everyone; try → all
            3 hears try from 2: RM-7 lets the try of 2 pass; reply → 2
            1 hears try from 2: RM-7 denies the try of 2; denied → 2
            2 hears denied from 1: denied
            2 hears reply from 3: nothing
            1 release: LEAVES
        "#]],
    );
}

#[test]
fn rm_7_a_try_arrives_where_one_waits_and_is_denied() {
    check(
        "1 acquire; 2 try; 2 > 1",
        expect![[r#"
            1 acquire: RM-1 asks everyone with (1, 1); request → all
            2 try: RM-6 tries everyone; try → all
            1 hears try from 2: RM-7 denies the try of 2; denied → 2
        "#]],
    );
}

#[test]
fn rm_7_a_try_arrives_where_one_gave_up_and_is_let_pass() {
    check_group(
        2,
        "1 acquire; 1 cancel; 2 try; 2 > 1; 1 > 2 last; 1 > 2; 2 release; rest",
        expect![[r#"
            1 acquire: RM-1 asks everyone with (1, 1); request → all
            1 cancel: cancelled; RM-5 will rest when all have answered
            2 try: RM-6 tries everyone; try → all
            1 hears try from 2: RM-7 lets the try of 2 pass; reply → 2
            2 hears reply from 1: RM-3 has every reply; ENTERS (fence 0.0)
            2 hears request from 1: RM-2 defers (1, 1): we are inside
            2 release: LEAVES; RM-4 lets 1 pass at last; reply → 1
            1 hears reply from 2: nothing
        "#]],
    );
}

/// Its request is not out yet, but it is asked for.
#[test]
fn rm_7_a_try_arrives_where_one_gave_up_and_asked_anew_and_is_denied() {
    check_group(
        2,
        "1 acquire; 1 cancel; 1 acquire; 2 try; 2 > 1",
        expect![[r#"
            1 acquire: RM-1 asks everyone with (1, 1); request → all
            1 cancel: cancelled; RM-5 will rest when all have answered
            1 acquire: RM-1 will ask when all have answered what it asked last
            2 try: RM-6 tries everyone; try → all
            1 hears try from 2: RM-7 denies the try of 2; denied → 2
        "#]],
    );
}

#[test]
fn rm_7_of_two_tries_that_of_the_lower_node_enters() {
    check_group(
        2,
        "1 try; 2 try; rest",
        expect![[r#"
            1 try: RM-6 tries everyone; try → all
            2 try: RM-6 tries everyone; try → all
            2 hears try from 1: RM-7 lets the try of 1 pass; reply → 1; RM-8 gives way to 1; denied
            1 hears try from 2: RM-7 denies the try of 2; denied → 2
            1 hears reply from 2: RM-3 has every reply; ENTERS (fence 0.0)
            2 hears denied from 1: nothing
        "#]],
    );
}

/// The reply of 1 to the try is under way when 1 asks. If 2 did not give way, both would enter.
#[test]
fn rm_8_a_try_gives_way_to_a_request() {
    check_group(
        2,
        "2 try; 2 > 1; 1 acquire; 1 > 2 last; rest",
        expect![[r#"
            2 try: RM-6 tries everyone; try → all
            1 hears try from 2: RM-7 lets the try of 2 pass; reply → 2
            1 acquire: RM-1 asks everyone with (1, 1); request → all
            2 hears request from 1: RM-2 lets (1, 1) pass; reply → 1; RM-8 gives way to 1; denied
            2 hears reply from 1: nothing
            1 hears reply from 2: RM-3 has every reply; ENTERS (fence 0.0)
        "#]],
    );
}

#[test]
fn rm_8_a_try_gives_way_to_the_try_of_a_lower_node() {
    check_group(
        2,
        "2 try; 2 > 1; 1 try; 1 > 2 last; rest",
        expect![[r#"
            2 try: RM-6 tries everyone; try → all
            1 hears try from 2: RM-7 lets the try of 2 pass; reply → 2
            1 try: RM-6 tries everyone; try → all
            2 hears try from 1: RM-7 lets the try of 1 pass; reply → 1; RM-8 gives way to 1; denied
            2 hears reply from 1: nothing
            1 hears reply from 2: RM-3 has every reply; ENTERS (fence 0.0)
        "#]],
    );
}

/// Of two denials the first one ends the try, and the request that follows is sent after the second one.
#[test]
fn rm_8_a_denied_try_is_over_but_its_answers_are_awaited() {
    check(
        "1 acquire; 2 acquire; 3 try; 3 > 1; 3 > 2; 1 > 3 last; 3 acquire; 2 > 3 last",
        expect![[r#"
            1 acquire: RM-1 asks everyone with (1, 1); request → all
            2 acquire: RM-1 asks everyone with (1, 2); request → all
            3 try: RM-6 tries everyone; try → all
            1 hears try from 3: RM-7 denies the try of 3; denied → 3
            2 hears try from 3: RM-7 denies the try of 3; denied → 3
            3 hears denied from 1: denied
            3 acquire: RM-1 will ask when all have answered what it asked last
            3 hears denied from 2: RM-1 asks everyone with (1, 3); request → all
        "#]],
    );
}

#[test]
fn rm_8_the_denial_of_a_stranger_does_not_count() {
    check(
        "1 acquire; rest; 3 try; 3 > 1; 1 > 3 as 9",
        expect![[r#"
            1 acquire: RM-1 asks everyone with (1, 1); request → all
            2 hears request from 1: RM-2 lets (1, 1) pass; reply → 1
            3 hears request from 1: RM-2 lets (1, 1) pass; reply → 1
            1 hears reply from 2: nothing
            1 hears reply from 3: RM-3 has every reply; ENTERS (fence 0.0)
            3 try: RM-6 tries everyone; try → all
            1 hears try from 3: RM-7 denies the try of 3; denied → 3
            3 hears denied from 9: RM-8 ignores a denial of 9, which it did not try
        "#]],
    );
}

#[test]
fn rm_5_a_try_can_be_given_up() {
    check_group(
        2,
        "1 try; 1 cancel; rest; 1 try",
        expect![[r#"
            1 try: RM-6 tries everyone; try → all
            1 cancel: cancelled; RM-5 will rest when all have answered
            2 hears try from 1: RM-7 lets the try of 1 pass; reply → 1
            1 hears reply from 2: nothing
            1 try: RM-6 tries everyone; try → all
        "#]],
    );
}
