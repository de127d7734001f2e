//! Tests of the script language and of its error messages.

use super::{ScriptGroup, run_script};
use crate::mutex::RicartAgrawala;
use expect_test::expect;
use std::format;
use std::panic::catch_unwind;
use std::string::{String, ToString};

fn panic_message(script: &str) -> String {
    let run = || run_script(2, RicartAgrawala::new, script);
    let panic = catch_unwind(run).expect_err("this script is wrong");
    panic.downcast_ref::<String>().expect("a message").to_string()
}

#[test]
fn an_invalid_or_impossible_step_is_named_with_its_problem() {
    let wrong =
        ["1 enter", "1 acquires 2", "3 acquire", "one acquire", "2 > 1", "2 fires", "1 acquire; 1 > 2 overtakes x"];
    let messages: String = wrong.map(|script| format!("{}\n\n", panic_message(script))).concat();
    expect![[r#"
        step 1 of the script, `1 enter`: `enter` is not a command; the commands are acquire, try, share, cancel, release
        what happened before it:
        nothing


        step 1 of the script, `1 acquires 2`: a script has no such step; its steps are 1 COMMAND; 1 > 2; 1 > 2 overtakes 3; 1 > 2 last; 1 > 2 as 3; lose 1 > 2; 1 fires; 1 suspects 2; 1 trusts 2; rest
        what happened before it:
        nothing


        step 1 of the script, `3 acquire`: there is no node `3`; the nodes are 1 to 2
        what happened before it:
        nothing


        step 1 of the script, `one acquire`: there is no node `one`; the nodes are 1 to 2
        what happened before it:
        nothing


        step 1 of the script, `2 > 1`: no message is in flight from 2 to 1
        what happened before it:
        nothing


        step 1 of the script, `2 fires`: node 2 has set no timer
        what happened before it:
        nothing


        step 2 of the script, `1 > 2 overtakes x`: `x` is not a number of messages
        what happened before it:
        1 acquire: RA-1 requests entry with (1, 1); request → all


    "#]].assert_eq(&messages);
}

#[test]
fn a_step_that_overtakes_too_many_messages_says_how_many_there_are() {
    let text = panic_message("1 acquire\n1 > 2 overtakes 2");
    expect![[r#"
        step 2 of the script, `1 > 2 overtakes 2`: only 1 message is in flight from 1 to 2
        what happened before it:
        1 acquire: RA-1 requests entry with (1, 1); request → all
    "#]]
    .assert_eq(&text);
}

#[test]
fn a_delivery_has_a_script_step_that_repeats_it() {
    let mut group = ScriptGroup::new(2, RicartAgrawala::new);
    group.run("1 acquire; 1 cancel; 1 acquire");
    assert_eq!(group.in_flight_count(), 2, "both requests of node 1; a cancellation sends no message");
    assert_eq!((group.step_to_deliver(0), group.step_to_deliver(1)), ("1 > 2".into(), "1 > 2 overtakes 1".into()));
    assert_eq!(group.oldest_on_link(1), 0);
}
