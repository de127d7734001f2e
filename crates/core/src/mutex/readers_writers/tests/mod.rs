//! Tests of the rules of readers and writers: at least one script per rule. In a script, `1 > 2`
//! delivers the oldest message from node 1 to node 2, `1 > 2 last` the newest, and `1 > 2 as 3` the
//! oldest as if node 3 had sent it; `rest` delivers all messages; `of 2` before a script sets the
//! group size. Traces omit the steps before `|` and those without effect (see
//! `crate::mutex::rules`). In a trace, the stamp `(3, 2)` has clock 3 and node 2, and `fence 0.1`
//! has epoch 0 and counter 1.

use super::ReadersWriters;
use crate::mutex::rules::rule_tests;
use expect_test::expect;

rule_tests! { ReadersWriters::new, 3;
    rw_1_a_request_says_whether_it_reads_or_writes("1 share; 2 acquire; 3 try", expect![[r#"
        1 share: RW-1 requests entry with (1, 1) to read; read → all
        2 acquire: RW-1 requests entry with (1, 2) to write; write → all
        3 try: RW-1 requests entry with (1, 3) to write; write → all
    "#]]);

    rw_2_a_reader_in_the_critical_section_replies_to_a_reader("1 share; rest | 2 share; rest", expect![[r#"
        2 share: RW-1 requests entry with (2, 2) to read; read → all
        1 receives read from 2: RW-2 replies to (2, 2); reply → 2
        3 receives read from 2: RW-2 replies to (2, 2); reply → 2
        2 receives reply from 3: RW-3 has every reply to (2, 2); ENTERS (fence 0.2)
    "#]]);

    rw_2_a_waiting_reader_replies_to_a_younger_reader("1 share; 1 > 2; 2 share; 2 > 1 | 1 > 3; rest", expect![[r#"
        3 receives read from 1: RW-2 replies to (1, 1); reply → 1
        1 receives read from 2: RW-2 replies to (2, 2); reply → 2
        3 receives read from 2: RW-2 replies to (2, 2); reply → 2
        1 receives reply from 3: RW-3 has every reply to (1, 1); ENTERS (fence 0.1)
        2 receives reply from 3: RW-3 has every reply to (2, 2); ENTERS (fence 0.1)
    "#]]);

    rw_2_a_reader_in_the_critical_section_defers_a_writer("1 share; rest | 2 acquire; rest; 1 release; rest", expect![[r#"
        2 acquire: RW-1 requests entry with (2, 2) to write; write → all
        1 receives write from 2: RW-2 defers (2, 2): ours (1, 1) goes first
        3 receives write from 2: RW-2 replies to (2, 2); reply → 2
        1 release: LEAVES; RW-4 sends its deferred reply to (2, 2); reply → 2
        2 receives reply from 1: RW-3 has every reply to (2, 2); ENTERS (fence 0.2)
    "#]]);

    rw_2_a_writer_in_the_critical_section_defers_all_others("1 acquire; rest; 2 share; 3 acquire; rest", expect![[r#"
        1 acquire: RW-1 requests entry with (1, 1) to write; write → all
        2 receives write from 1: RW-2 replies to (1, 1); reply → 1
        3 receives write from 1: RW-2 replies to (1, 1); reply → 1
        1 receives reply from 3: RW-3 has every reply to (1, 1); ENTERS (fence 0.1)
        2 share: RW-1 requests entry with (2, 2) to read; read → all
        3 acquire: RW-1 requests entry with (2, 3) to write; write → all
        1 receives read from 2: RW-2 defers (2, 2): ours (1, 1) goes first
        3 receives read from 2: RW-2 replies to (2, 2); reply → 2
        1 receives write from 3: RW-2 defers (2, 3): ours (1, 1) goes first
        2 receives write from 3: RW-2 defers (2, 3): ours (2, 2) goes first
    "#]]);

    rw_2_a_writer_waits_for_every_reader_in_the_critical_section(
        "1 share; 2 share; rest; 3 acquire; rest; 1 release; rest; 2 release; rest", expect![[r#"
            1 share: RW-1 requests entry with (1, 1) to read; read → all
            2 share: RW-1 requests entry with (1, 2) to read; read → all
            2 receives read from 1: RW-2 replies to (1, 1); reply → 1
            3 receives read from 1: RW-2 replies to (1, 1); reply → 1
            1 receives read from 2: RW-2 replies to (1, 2); reply → 2
            3 receives read from 2: RW-2 replies to (1, 2); reply → 2
            1 receives reply from 3: RW-3 has every reply to (1, 1); ENTERS (fence 0.1)
            2 receives reply from 3: RW-3 has every reply to (1, 2); ENTERS (fence 0.1)
            3 acquire: RW-1 requests entry with (2, 3) to write; write → all
            1 receives write from 3: RW-2 defers (2, 3): ours (1, 1) goes first
            2 receives write from 3: RW-2 defers (2, 3): ours (1, 2) goes first
            1 release: LEAVES; RW-4 sends its deferred reply to (2, 3); reply → 3
            2 release: LEAVES; RW-4 sends its deferred reply to (2, 3); reply → 3
            3 receives reply from 2: RW-3 has every reply to (2, 3); ENTERS (fence 0.2)
        "#]]);

    /// The writer's request is older than that of the second reader, so the writer goes first
    /// although a reader is in the critical section.
    rw_2_readers_do_not_starve_a_writer(
        "1 share; rest; 2 acquire; rest; 3 share | rest; 1 release; rest; 2 release; rest", expect![[r#"
            1 receives read from 3: RW-2 replies to (3, 3); reply → 3
            2 receives read from 3: RW-2 defers (3, 3): ours (2, 2) goes first
            1 release: LEAVES; RW-4 sends its deferred reply to (2, 2); reply → 2
            2 receives reply from 1: RW-3 has every reply to (2, 2); ENTERS (fence 0.2)
            2 release: LEAVES; RW-4 sends its deferred reply to (3, 3); reply → 3
            3 receives reply from 2: RW-3 has every reply to (3, 3); ENTERS (fence 0.3)
        "#]]);

    rw_2_a_request_in_the_name_of_another_is_ignored("1 share; 1 > 2 as 3", expect![[r#"
        1 share: RW-1 requests entry with (1, 1) to read; read → all
        2 receives read from 3: RW-2 ignores a request of 1 that came from 3
    "#]]);

    /// The reply of 2 arrives as one of node 9, so node 1 does not enter and can cancel.
    rw_3_a_node_enters_with_all_replies_and_the_reply_of_a_nonmember_does_not_count(
        "1 share; 1 > 2; 1 > 3 | 2 > 1 as 9; 3 > 1; 1 cancel; 1 share; rest", expect![[r#"
            1 cancel: cancelled
            1 share: RW-1 requests entry with (2, 1) to read; read → all
            2 receives read from 1: RW-2 replies to (2, 1); reply → 1
            3 receives read from 1: RW-2 replies to (2, 1); reply → 1
            1 receives reply from 3: RW-3 has every reply to (2, 1); ENTERS (fence 0.1)
        "#]]);

    /// Nodes 1 and 2 first enter together with fence 0.1, and node 1 then again with 0.2. With its
    /// reply, each sends the writer the largest fence that it knows.
    rw_3_the_fence_of_a_writer_is_larger_than_those_of_all_readers_before_it(
        "1 share; 2 share; rest; 1 release | 2 release; 1 share; rest; 1 release; 3 acquire; rest", expect![[r#"
            2 release: LEAVES
            1 share: RW-1 requests entry with (2, 1) to read; read → all
            2 receives read from 1: RW-2 replies to (2, 1); reply → 1
            3 receives read from 1: RW-2 replies to (2, 1); reply → 1
            1 receives reply from 3: RW-3 has every reply to (2, 1); ENTERS (fence 0.2)
            1 release: LEAVES
            3 acquire: RW-1 requests entry with (3, 3) to write; write → all
            1 receives write from 3: RW-2 replies to (3, 3); reply → 3
            2 receives write from 3: RW-2 replies to (3, 3); reply → 3
            3 receives reply from 2: RW-3 has every reply to (3, 3); ENTERS (fence 0.3)
        "#]]);

    rw_4_the_release_of_a_writer_admits_all_readers_together(
        "1 acquire; rest; 2 share | 3 share; rest; 1 release; rest", expect![[r#"
            3 share: RW-1 requests entry with (2, 3) to read; read → all
            1 receives read from 2: RW-2 defers (2, 2): ours (1, 1) goes first
            3 receives read from 2: RW-2 replies to (2, 2); reply → 2
            1 receives read from 3: RW-2 defers (2, 3): ours (1, 1) goes first
            2 receives read from 3: RW-2 replies to (2, 3); reply → 3
            1 release: LEAVES; RW-4 sends its deferred reply to (2, 2); reply → 2; RW-4 sends its deferred reply to (2, 3); reply → 3
            2 receives reply from 1: RW-3 has every reply to (2, 2); ENTERS (fence 0.2)
            3 receives reply from 1: RW-3 has every reply to (2, 3); ENTERS (fence 0.2)
        "#]]);

    a_group_of_one_sends_no_messages(of 1, "1 share; 1 try; 1 release; 1 acquire; 1 release", expect![[r#"
        1 share: RW-1 requests entry with (1, 1) to read; RW-3 has every reply to (1, 1); ENTERS (fence 0.1)
        1 try: refused: already in the critical section
        1 release: LEAVES
        1 acquire: RW-1 requests entry with (2, 1) to write; RW-3 has every reply to (2, 1); ENTERS (fence 0.2)
        1 release: LEAVES
    "#]]);

    // Cancelled requests and tries.

    rw_5_a_cancelling_writer_replies_to_the_readers_behind_it(
        "1 share; rest; 2 acquire; rest | 3 share; rest; 2 cancel; rest", expect![[r#"
            3 share: RW-1 requests entry with (3, 3) to read; read → all
            1 receives read from 3: RW-2 replies to (3, 3); reply → 3
            2 receives read from 3: RW-2 defers (3, 3): ours (2, 2) goes first
            2 cancel: cancelled; RW-5 sends its deferred reply to (3, 3); reply → 3
            3 receives reply from 2: RW-3 has every reply to (3, 3); ENTERS (fence 0.2)
        "#]]);

    rw_6_a_try_is_denied_by_a_reader_in_the_critical_section("1 share; rest | 2 try; rest", expect![[r#"
        2 try: RW-1 requests entry with (2, 2) to write; write → all
        1 receives write from 2: RW-6 denies (2, 2); denied → 2
        3 receives write from 2: RW-2 replies to (2, 2); reply → 2
        2 receives denied from 1: denied
        2 receives reply from 3: RW-3 ignores a reply to (2, 2): that request is not pending
    "#]]);

    rw_6_a_denied_try_sends_its_deferred_replies("1 share; 2 try; 3 share; 3 > 2; 2 > 1; 1 > 2 last; rest", expect![[r#"
        1 share: RW-1 requests entry with (1, 1) to read; read → all
        2 try: RW-1 requests entry with (1, 2) to write; write → all
        3 share: RW-1 requests entry with (1, 3) to read; read → all
        2 receives read from 3: RW-2 defers (1, 3): ours (1, 2) goes first
        1 receives write from 2: RW-6 denies (1, 2); denied → 2
        2 receives denied from 1: denied; RW-6 sends its deferred reply to (1, 3); reply → 3
        2 receives read from 1: RW-2 replies to (1, 1); reply → 1
        3 receives read from 1: RW-2 replies to (1, 1); reply → 1
        3 receives write from 2: RW-2 replies to (1, 2); reply → 2
        1 receives read from 3: RW-2 replies to (1, 3); reply → 3
        1 receives reply from 3: RW-3 has every reply to (1, 1); ENTERS (fence 0.1)
        2 receives reply from 3: RW-3 ignores a reply to (1, 2): that request is not pending
        3 receives reply from 1: RW-3 has every reply to (1, 3); ENTERS (fence 0.1)
    "#]]);
}
