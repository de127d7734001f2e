//! Rule tests: each has a name, a script, and the trace that the script must produce. The name of a
//! test of one rule begins with the rule's id.
//!
//! ```text
//! rule_tests! { RicartAgrawala::new, 3;
//!     ra_4_a_release_without_deferred_replies("1 acquire; rest | 1 release", expect![[r#"
//!         1 release: LEAVES
//!     "#]]);
//!     ra_3_alone_a_node_enters_at_once(of 1, "1 acquire", expect![[...]]);
//! }
//! ```
//!
//! Scripts are in the language of [`testing`](crate::testing): `1 acquire` gives node 1 a command,
//! `1 > 2` delivers the oldest message from 1 to 2, `rest` delivers all messages.
//!
//! Steps before `|` prepare the state. They run, but the trace omits their lines. A step without
//! notes, messages and events has no line either; if no line is left, the trace is `nothing`. The
//! first line of the macro gives the default constructor and group size; `by` and `of` replace them
//! in one test.

use crate::mutex::prelude::*;
use crate::testing::{ScriptCommand, ScriptGroup};
use core::fmt::Display;
use expect_test::Expect;
use std::string::String;

macro_rules! rule_tests {
    // The value of the test itself, if it has one, else the default.
    (@own_or $default:expr) => { $default };
    (@own_or $default:expr, $own:expr) => { $own };
    (
        $new_node:expr, $size:expr;
        $($(#[$meta:meta])* $name:ident($(by $own_new_node:expr,)? $(of $own_size:literal,)? $script:literal, $trace:expr);)*
    ) => {$(
        $(#[$meta])*
        #[test]
        fn $name() {
            use $crate::mutex::rules::{assert_trace, rule_tests};
            let size = rule_tests!(@own_or $size $(, $own_size)?);
            assert_trace(size, rule_tests!(@own_or $new_node $(, $own_new_node)?), $script, &$trace);
        }
    )*};
}
pub(crate) use rule_tests;

/// Runs a script and compares the trace of the steps after `|`, or of all steps if there is no `|`.
pub(crate) fn assert_trace<P>(nodes: usize, new_node: impl Fn(NodeId, Group) -> P, script: &str, expected: &Expect)
where
    P: Protocol<Command: ScriptCommand, Event: Display, Message: Describe>,
{
    let mut group = ScriptGroup::new(nodes, new_node);
    let (preparation, tested_steps) = script.split_once(" | ").unwrap_or(("", script));
    group.run(preparation);
    group.trace.clear();
    group.run(tested_steps);
    let lines_with_effects: String =
        group.trace.split_inclusive('\n').filter(|line| !line.ends_with(": nothing\n")).collect();
    expected.assert_eq(if lines_with_effects.is_empty() { "nothing\n" } else { &lines_with_effects });
}

/// Turns a constructor into one for a group of nodes 1 and 2, and a node 3 that wrongly counts
/// itself as a member.
pub(crate) fn with_a_nonmember<P>(new_node: impl Fn(NodeId, Group) -> P) -> impl Fn(NodeId, Group) -> P {
    move |me, all_three| new_node(me, if me.number() == 3 { all_three } else { Group::of_size(2) })
}
