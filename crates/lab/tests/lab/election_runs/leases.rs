//! Hand-written runs of masters with leases on wrong clocks.

use super::{ScriptedRun, ms, node};
use quorate_core::Epoch;
use quorate_core::election::Event;
use quorate_journal::moment::WorldEvent;
use quorate_lab::election::run::Properties;

fn run() -> ScriptedRun<Properties> {
    ScriptedRun(Properties::new(3, false).with_leases(true))
}

impl ScriptedRun<Properties> {
    fn leads(self, millis: i64, number: u32, epoch: u64, until: i64) -> Self {
        self.emits(millis, number, Event::Elected { leader: node(number), epoch: Epoch(epoch), until: ms(until) })
    }

    fn extends(self, millis: i64, number: u32, until: i64) -> Self {
        self.emits(millis, number, Event::Extended { until: ms(until) })
    }

    fn ends(self, millis: i64, number: u32, epoch: u64) -> Self {
        self.emits(millis, number, Event::Ended { epoch: Epoch(epoch) })
    }

    fn clock(self, millis: i64, text: &str) -> Self {
        self.world(millis, WorldEvent::Changed { text })
    }

    fn violation(&self) -> Option<String> {
        let verdicts = self.0.verdicts();
        let verdict = verdicts.iter().find(|verdict| verdict.name == "one-master").expect("it is judged");
        assert_eq!(verdict.holds, Some(verdict.violation.is_none()));
        verdict.violation.as_ref().map(|violation| violation.text.clone())
    }

    #[track_caller]
    fn is_fine(&self) {
        assert_eq!(self.violation(), None);
    }

    #[track_caller]
    fn fails(&self, text: &str) {
        assert_eq!(self.violation().as_deref(), Some(text));
    }
}

const TOO_EARLY: &str =
    "node 2 became the leader while node 1, the leader since 1ms, had a lease until 50ms on its clock";

#[test]
fn a_lease_ends_at_its_instant_and_not_before() {
    run().leads(1, 1, 1, 50).leads(50, 2, 2, 90).is_fine();
    run().leads(1, 1, 1, 50).leads(49, 2, 2, 90).fails(TOO_EARLY);
    run()
        .leads(1, 1, 1, 50)
        .extends(40, 1, 90)
        .leads(60, 2, 2, 99)
        .fails("node 2 became the leader while node 1, the leader since 1ms, had a lease until 90ms on its clock");
}

#[test]
fn a_master_that_ends_its_term_may_be_replaced_at_once() {
    run().leads(1, 1, 1, 50).ends(20, 1, 1).leads(20, 2, 2, 90).is_fine();
    run().leads(1, 1, 1, 50).emits(20, 1, Event::Began { epoch: Epoch(2) }).leads(20, 2, 2, 90).is_fine();
    run().leads(1, 1, 1, 50).emits(20, 1, Event::elected(node(2), Epoch(2))).leads(20, 2, 2, 90).is_fine();
    run().leads(1, 1, 1, 50).crashes(20, 1).leads(20, 2, 2, 90).is_fine();
    run().leads(1, 1, 1, 50).crashes(20, 1).restarts(21, 1).leads(22, 2, 2, 90).is_fine();
}

#[test]
fn beliefs_of_other_nodes_do_not_matter() {
    let run = run().leads(1, 1, 1, 50).emits(2, 2, Event::elected(node(1), Epoch(1)));
    run.ends(3, 2, 1).emits(3, 3, Event::elected(node(1), Epoch(1))).leads(60, 2, 2, 90).is_fine();
}

#[test]
fn each_nodes_own_clock_decides() {
    // Node 1 is slow by a fifth: at 60 its clock shows 48, at 63 it shows 50.4.
    let reference = || run().clock(0, "drift 1 by -200000ppm").leads(1, 1, 1, 50);
    reference().leads(60, 2, 2, 90).fails(TOO_EARLY);
    reference().leads(63, 2, 2, 90).is_fine();
    let ahead = || run().clock(0, "skew 1 by 30ms").leads(1, 1, 1, 50);
    ahead().leads(20, 2, 2, 90).is_fine();
    ahead().leads(19, 2, 2, 90).fails(TOO_EARLY);
}

#[test]
fn an_expired_lease_may_become_valid_again_at_the_wrong_time() {
    let lapsed = || run().leads(1, 1, 1, 50).leads(60, 2, 2, 90);
    lapsed().extends(95, 1, 120).is_fine();
    lapsed().extends(70, 1, 120).fails(
        "node 1 extended its leadership while node 2, the leader since 60ms, had a lease until 90ms on its clock",
    );
    let text = "node 1 was the leader after a clock change while node 2, the leader since 60ms, had a lease until 90ms \
                on its clock";
    lapsed().clock(70, "skew 1 by -30ms").fails(text);
    lapsed().clock(70, "skew 1 by -10ms").is_fine();
}

/// A leadership may be announced after its lease expired, because the announcement waited for a
/// save.
#[test]
fn a_lease_that_expired_before_its_announcement_does_not_count() {
    run().leads(1, 1, 1, 50).leads(30, 2, 2, 25).is_fine();
}

#[test]
fn without_leases_nothing_is_judged() {
    let verdicts = Properties::new(3, false).verdicts();
    assert!(verdicts.iter().all(|verdict| verdict.name != "one-master"));
}
