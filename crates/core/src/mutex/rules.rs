//! Tests of rules: each has a name that begins with its rule's id, a script, and the trace that the script must give.
//!
//! ```text
//! rules! { RicartAgrawala::new, 3;
//!     ra_4_asked_to_leave_a_node_replies_to_everyone_deferred("1 acquire; rest | 1 release", expect![[r#"
//!         1 release: LEAVES
//!     "#]]);
//!     ra_3_alone_a_node_enters_at_once(of 1, "1 acquire", expect![[...]]);
//! }
//! ```
//!
//! Steps before the bar set the scene. They are played, but their lines are not in the trace: another test of the same
//! algorithm shows each of them. A step that does nothing has no line either; if no step does anything, the trace says
//! so. The top has the usual constructor and size of the group; `by` and `of` replace them in one test.

use crate::mutex::prelude::*;
use crate::testing::{ScriptCommand, ScriptGroup};
use core::fmt::Display;
use expect_test::Expect;
use std::string::String;

macro_rules! rules {
    (@own $usual:expr) => { $usual };
    (@own $usual:expr, $own:expr) => { $own };
    (
        $make:expr, $size:expr;
        $($(#[$meta:meta])* $name:ident($(by $maker:expr,)? $(of $nodes:literal,)? $script:literal, $trace:expr);)*
    ) => {$(
        $(#[$meta])*
        #[test]
        fn $name() {
            use $crate::mutex::rules::{check, rules};
            check(rules!(@own $size $(, $nodes)?), rules!(@own $make $(, $maker)?), $script, &$trace);
        }
    )*};
}
pub(crate) use rules;

/// Plays a script and compares the trace of what follows the bar.
pub(crate) fn check<P>(nodes: usize, make: impl Fn(NodeId, Group) -> P, script: &str, expected: &Expect)
where
    P: Protocol<Command: ScriptCommand, Event: Display, Message: Describe>,
{
    let mut stage = ScriptGroup::new(nodes, make);
    let (scene, shown) = script.split_once(" | ").unwrap_or(("", script));
    stage.run(scene);
    stage.trace.clear();
    stage.run(shown);
    let events: String = stage.trace.split_inclusive('\n').filter(|line| !line.ends_with(": nothing\n")).collect();
    expected.assert_eq(if events.is_empty() { "nothing\n" } else { &events });
}

/// A group of two with a third node, which takes itself for one of them.
pub(crate) fn with_a_stranger<P>(make: impl Fn(NodeId, Group) -> P) -> impl Fn(NodeId, Group) -> P {
    move |me, all| make(me, if me.number() == 3 { all } else { Group::of_size(2) })
}
