//! The rules of readers and writers, one script each and more for the nasty cases.

mod giving_up;
mod storms;

use super::ReadersWriters;
use crate::testing::run_script;
use expect_test::{Expect, expect};

fn check(script: &str, trace: Expect) {
    check_group(3, script, trace);
}

fn check_group(nodes: usize, script: &str, trace: Expect) {
    trace.assert_eq(&run_script(nodes, ReadersWriters::new, script));
}

#[test]
fn rw_1_asked_to_enter_a_node_says_whether_it_reads_or_writes() {
    check(
        "1 share; 2 acquire; 3 try",
        expect![[r#"
            1 share: RW-1 asks everyone with (1, 1) to read; read → all
            2 acquire: RW-1 asks everyone with (1, 2) to write; write → all
            3 try: RW-1 asks everyone with (1, 3) to write; write → all
        "#]],
    );
}

#[test]
fn rw_1_a_node_that_waits_or_is_inside_cannot_ask_again() {
    check(
        "1 share; 1 acquire; 1 share; rest; 1 acquire; 1 share; 1 try",
        expect![[r#"
            1 share: RW-1 asks everyone with (1, 1) to read; read → all
            1 acquire: refused: a request is already under way
            1 share: refused: a request is already under way
            2 hears read from 1: RW-2 lets (1, 1) pass; reply → 1
            3 hears read from 1: RW-2 lets (1, 1) pass; reply → 1
            1 hears reply from 2: nothing
            1 hears reply from 3: RW-3 has every reply to (1, 1); ENTERS (fence 0.1)
            1 acquire: refused: already inside
            1 share: refused: already inside
            1 try: refused: already inside
        "#]],
    );
}

#[test]
fn rw_2_a_reader_who_is_inside_lets_a_reader_pass() {
    check(
        "1 share; rest; 2 share; rest",
        expect![[r#"
            1 share: RW-1 asks everyone with (1, 1) to read; read → all
            2 hears read from 1: RW-2 lets (1, 1) pass; reply → 1
            3 hears read from 1: RW-2 lets (1, 1) pass; reply → 1
            1 hears reply from 2: nothing
            1 hears reply from 3: RW-3 has every reply to (1, 1); ENTERS (fence 0.1)
            2 share: RW-1 asks everyone with (2, 2) to read; read → all
            1 hears read from 2: RW-2 lets (2, 2) pass; reply → 2
            3 hears read from 2: RW-2 lets (2, 2) pass; reply → 2
            2 hears reply from 1: nothing
            2 hears reply from 3: RW-3 has every reply to (2, 2); ENTERS (fence 0.2)
        "#]],
    );
}

#[test]
fn rw_2_a_reader_who_waits_lets_a_younger_reader_pass() {
    check(
        "1 share; 1 > 2; 2 share; 2 > 1; 1 > 3; rest",
        expect![[r#"
            1 share: RW-1 asks everyone with (1, 1) to read; read → all
            2 hears read from 1: RW-2 lets (1, 1) pass; reply → 1
            2 share: RW-1 asks everyone with (2, 2) to read; read → all
            1 hears reply from 2: nothing
            3 hears read from 1: RW-2 lets (1, 1) pass; reply → 1
            1 hears read from 2: RW-2 lets (2, 2) pass; reply → 2
            3 hears read from 2: RW-2 lets (2, 2) pass; reply → 2
            1 hears reply from 3: RW-3 has every reply to (1, 1); ENTERS (fence 0.1)
            2 hears reply from 1: nothing
            2 hears reply from 3: RW-3 has every reply to (2, 2); ENTERS (fence 0.1)
        "#]],
    );
}

#[test]
fn rw_2_a_reader_who_is_inside_defers_a_writer() {
    check(
        "1 share; rest; 2 acquire; rest; 1 release; rest",
        expect![[r#"
            1 share: RW-1 asks everyone with (1, 1) to read; read → all
            2 hears read from 1: RW-2 lets (1, 1) pass; reply → 1
            3 hears read from 1: RW-2 lets (1, 1) pass; reply → 1
            1 hears reply from 2: nothing
            1 hears reply from 3: RW-3 has every reply to (1, 1); ENTERS (fence 0.1)
            2 acquire: RW-1 asks everyone with (2, 2) to write; write → all
            1 hears write from 2: RW-2 defers (2, 2): ours (1, 1) goes first
            3 hears write from 2: RW-2 lets (2, 2) pass; reply → 2
            2 hears reply from 3: nothing
            1 release: LEAVES; RW-4 lets (2, 2) pass at last; reply → 2
            2 hears reply from 1: RW-3 has every reply to (2, 2); ENTERS (fence 0.2)
        "#]],
    );
}

#[test]
fn rw_2_a_writer_who_is_inside_defers_everyone() {
    check(
        "1 acquire; rest; 2 share; 3 acquire; rest",
        expect![[r#"
            1 acquire: RW-1 asks everyone with (1, 1) to write; write → all
            2 hears write from 1: RW-2 lets (1, 1) pass; reply → 1
            3 hears write from 1: RW-2 lets (1, 1) pass; reply → 1
            1 hears reply from 2: nothing
            1 hears reply from 3: RW-3 has every reply to (1, 1); ENTERS (fence 0.1)
            2 share: RW-1 asks everyone with (2, 2) to read; read → all
            3 acquire: RW-1 asks everyone with (2, 3) to write; write → all
            1 hears read from 2: RW-2 defers (2, 2): ours (1, 1) goes first
            3 hears read from 2: RW-2 lets (2, 2) pass; reply → 2
            1 hears write from 3: RW-2 defers (2, 3): ours (1, 1) goes first
            2 hears write from 3: RW-2 defers (2, 3): ours (2, 2) goes first
            2 hears reply from 3: nothing
        "#]],
    );
}

#[test]
fn rw_2_a_writer_waits_for_every_reader_who_is_inside() {
    check(
        "1 share; 2 share; rest; 3 acquire; rest; 1 release; rest; 2 release; rest",
        expect![[r#"
            1 share: RW-1 asks everyone with (1, 1) to read; read → all
            2 share: RW-1 asks everyone with (1, 2) to read; read → all
            2 hears read from 1: RW-2 lets (1, 1) pass; reply → 1
            3 hears read from 1: RW-2 lets (1, 1) pass; reply → 1
            1 hears read from 2: RW-2 lets (1, 2) pass; reply → 2
            3 hears read from 2: RW-2 lets (1, 2) pass; reply → 2
            1 hears reply from 2: nothing
            1 hears reply from 3: RW-3 has every reply to (1, 1); ENTERS (fence 0.1)
            2 hears reply from 1: nothing
            2 hears reply from 3: RW-3 has every reply to (1, 2); ENTERS (fence 0.1)
            3 acquire: RW-1 asks everyone with (2, 3) to write; write → all
            1 hears write from 3: RW-2 defers (2, 3): ours (1, 1) goes first
            2 hears write from 3: RW-2 defers (2, 3): ours (1, 2) goes first
            1 release: LEAVES; RW-4 lets (2, 3) pass at last; reply → 3
            3 hears reply from 1: nothing
            2 release: LEAVES; RW-4 lets (2, 3) pass at last; reply → 3
            3 hears reply from 2: RW-3 has every reply to (2, 3); ENTERS (fence 0.2)
        "#]],
    );
}

/// The writer's request is older than that of the second reader, so the writer goes first though readers are inside.
#[test]
fn rw_2_readers_do_not_starve_a_writer() {
    check(
        "1 share; rest; 2 acquire; rest; 3 share; rest; 1 release; rest; 2 release; rest",
        expect![[r#"
            1 share: RW-1 asks everyone with (1, 1) to read; read → all
            2 hears read from 1: RW-2 lets (1, 1) pass; reply → 1
            3 hears read from 1: RW-2 lets (1, 1) pass; reply → 1
            1 hears reply from 2: nothing
            1 hears reply from 3: RW-3 has every reply to (1, 1); ENTERS (fence 0.1)
            2 acquire: RW-1 asks everyone with (2, 2) to write; write → all
            1 hears write from 2: RW-2 defers (2, 2): ours (1, 1) goes first
            3 hears write from 2: RW-2 lets (2, 2) pass; reply → 2
            2 hears reply from 3: nothing
            3 share: RW-1 asks everyone with (3, 3) to read; read → all
            1 hears read from 3: RW-2 lets (3, 3) pass; reply → 3
            2 hears read from 3: RW-2 defers (3, 3): ours (2, 2) goes first
            3 hears reply from 1: nothing
            1 release: LEAVES; RW-4 lets (2, 2) pass at last; reply → 2
            2 hears reply from 1: RW-3 has every reply to (2, 2); ENTERS (fence 0.2)
            2 release: LEAVES; RW-4 lets (3, 3) pass at last; reply → 3
            3 hears reply from 2: RW-3 has every reply to (3, 3); ENTERS (fence 0.3)
        "#]],
    );
}

#[test]
fn rw_2_of_a_reader_and_a_writer_with_equal_clocks_the_lower_node_goes_first() {
    check_group(
        2,
        "1 share; 2 acquire; rest; 1 release; rest",
        expect![[r#"
            1 share: RW-1 asks everyone with (1, 1) to read; read → all
            2 acquire: RW-1 asks everyone with (1, 2) to write; write → all
            2 hears read from 1: RW-2 lets (1, 1) pass; reply → 1
            1 hears write from 2: RW-2 defers (1, 2): ours (1, 1) goes first
            1 hears reply from 2: RW-3 has every reply to (1, 1); ENTERS (fence 0.1)
            1 release: LEAVES; RW-4 lets (1, 2) pass at last; reply → 2
            2 hears reply from 1: RW-3 has every reply to (1, 2); ENTERS (fence 0.2)
        "#]],
    );
}

#[test]
fn rw_2_a_request_in_the_name_of_another_is_ignored() {
    check(
        "1 share; 1 > 2 as 3",
        expect![[r#"
            1 share: RW-1 asks everyone with (1, 1) to read; read → all
            2 hears read from 3: RW-2 ignores a request of 1 that 3 brought
        "#]],
    );
}

#[test]
fn rw_3_all_replies_are_in_and_the_node_enters() {
    check(
        "1 share; 1 > 2; 1 > 3; 2 > 1 as 9; 3 > 1; 1 cancel; 1 share; rest",
        expect![[r#"
            1 share: RW-1 asks everyone with (1, 1) to read; read → all
            2 hears read from 1: RW-2 lets (1, 1) pass; reply → 1
            3 hears read from 1: RW-2 lets (1, 1) pass; reply → 1
            1 hears reply from 9: nothing
            1 hears reply from 3: nothing
            1 cancel: cancelled
            1 share: RW-1 asks everyone with (2, 1) to read; read → all
            2 hears read from 1: RW-2 lets (2, 1) pass; reply → 1
            3 hears read from 1: RW-2 lets (2, 1) pass; reply → 1
            1 hears reply from 2: nothing
            1 hears reply from 3: RW-3 has every reply to (2, 1); ENTERS (fence 0.1)
        "#]],
    );
}

/// Both readers know of nothing when they enter. The writer hears of both.
#[test]
fn rw_3_the_fence_of_a_writer_is_larger_than_those_of_all_readers_before_it() {
    check(
        "1 share; 2 share; rest; 1 release; 2 release; 1 share; rest; 1 release; 3 acquire; rest",
        expect![[r#"
            1 share: RW-1 asks everyone with (1, 1) to read; read → all
            2 share: RW-1 asks everyone with (1, 2) to read; read → all
            2 hears read from 1: RW-2 lets (1, 1) pass; reply → 1
            3 hears read from 1: RW-2 lets (1, 1) pass; reply → 1
            1 hears read from 2: RW-2 lets (1, 2) pass; reply → 2
            3 hears read from 2: RW-2 lets (1, 2) pass; reply → 2
            1 hears reply from 2: nothing
            1 hears reply from 3: RW-3 has every reply to (1, 1); ENTERS (fence 0.1)
            2 hears reply from 1: nothing
            2 hears reply from 3: RW-3 has every reply to (1, 2); ENTERS (fence 0.1)
            1 release: LEAVES
            2 release: LEAVES
            1 share: RW-1 asks everyone with (2, 1) to read; read → all
            2 hears read from 1: RW-2 lets (2, 1) pass; reply → 1
            3 hears read from 1: RW-2 lets (2, 1) pass; reply → 1
            1 hears reply from 2: nothing
            1 hears reply from 3: RW-3 has every reply to (2, 1); ENTERS (fence 0.2)
            1 release: LEAVES
            3 acquire: RW-1 asks everyone with (3, 3) to write; write → all
            1 hears write from 3: RW-2 lets (3, 3) pass; reply → 3
            2 hears write from 3: RW-2 lets (3, 3) pass; reply → 3
            3 hears reply from 1: nothing
            3 hears reply from 2: RW-3 has every reply to (3, 3); ENTERS (fence 0.3)
        "#]],
    );
}

#[test]
fn rw_4_asked_to_leave_a_writer_lets_all_readers_in_together() {
    check(
        "1 acquire; rest; 2 share; 3 share; rest; 1 release; rest",
        expect![[r#"
            1 acquire: RW-1 asks everyone with (1, 1) to write; write → all
            2 hears write from 1: RW-2 lets (1, 1) pass; reply → 1
            3 hears write from 1: RW-2 lets (1, 1) pass; reply → 1
            1 hears reply from 2: nothing
            1 hears reply from 3: RW-3 has every reply to (1, 1); ENTERS (fence 0.1)
            2 share: RW-1 asks everyone with (2, 2) to read; read → all
            3 share: RW-1 asks everyone with (2, 3) to read; read → all
            1 hears read from 2: RW-2 defers (2, 2): ours (1, 1) goes first
            3 hears read from 2: RW-2 lets (2, 2) pass; reply → 2
            1 hears read from 3: RW-2 defers (2, 3): ours (1, 1) goes first
            2 hears read from 3: RW-2 lets (2, 3) pass; reply → 3
            2 hears reply from 3: nothing
            3 hears reply from 2: nothing
            1 release: LEAVES; RW-4 lets (2, 2) pass at last; reply → 2; RW-4 lets (2, 3) pass at last; reply → 3
            2 hears reply from 1: RW-3 has every reply to (2, 2); ENTERS (fence 0.2)
            3 hears reply from 1: RW-3 has every reply to (2, 3); ENTERS (fence 0.2)
        "#]],
    );
}

#[test]
fn rw_4_a_node_that_is_outside_cannot_leave() {
    check(
        "1 release; 1 share; 1 release",
        expect![[r#"
            1 release: refused: not inside
            1 share: RW-1 asks everyone with (1, 1) to read; read → all
            1 release: refused: not inside
        "#]],
    );
}

#[test]
fn a_group_of_one_asks_nobody() {
    check_group(
        1,
        "1 share; 1 try; 1 release; 1 acquire; 1 release",
        expect![[r#"
            1 share: RW-1 asks everyone with (1, 1) to read; RW-3 has every reply to (1, 1); ENTERS (fence 0.1)
            1 try: refused: already inside
            1 release: LEAVES
            1 acquire: RW-1 asks everyone with (2, 1) to write; RW-3 has every reply to (2, 1); ENTERS (fence 0.2)
            1 release: LEAVES
        "#]],
    );
}
