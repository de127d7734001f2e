//! Hand-written runs of leaders with leases, some on wrong clocks, and the verdicts on
//! `one-leader-at-a-time`. In the actions of nodes, the time in milliseconds comes first and the
//! node second: `leads(1, 2, 3, 50)` elects node 2 at 1 ms in epoch 3, with a lease until 50 ms.

use super::{HandWrittenRun, ONE_STARTER, ms, node};
use quorate_core::Epoch;
use quorate_core::election::Event;
use quorate_journal::moment::WorldEvent;
use quorate_lab::election::run::Properties;

fn run() -> HandWrittenRun<Properties> {
    HandWrittenRun(Properties::new(3, ONE_STARTER).with_leases(true))
}

impl HandWrittenRun<Properties> {
    /// The node is elected in this epoch, with a lease until an instant of its own clock.
    fn leads(self, millis: i64, number: u32, epoch: u64, until: i64) -> Self {
        self.emits(millis, number, Event::Elected { leader: node(number), epoch: Epoch(epoch), until: ms(until) })
    }

    fn extends(self, millis: i64, number: u32, until: i64) -> Self {
        self.emits(millis, number, Event::Extended { until: ms(until) })
    }

    fn ends(self, millis: i64, number: u32, epoch: u64) -> Self {
        self.emits(millis, number, Event::Ended { epoch: Epoch(epoch) })
    }

    fn changes_clock(self, millis: i64, text: &str) -> Self {
        self.world(millis, WorldEvent::Changed { text })
    }

    fn violation(&self) -> Option<String> {
        let verdicts = self.0.verdicts();
        let verdict = verdicts.iter().find(|verdict| verdict.name == "one-leader-at-a-time").expect("it is judged");
        assert_eq!(verdict.holds, Some(verdict.violation.is_none()));
        verdict.violation.as_ref().map(|violation| violation.text.clone())
    }

    #[track_caller]
    fn assert_no_violation(&self) {
        assert_eq!(self.violation(), None);
    }

    #[track_caller]
    fn assert_violation(&self, text: &str) {
        assert_eq!(self.violation().as_deref(), Some(text));
    }
}

const TOO_EARLY: &str =
    "node 2 became the leader while node 1, the leader since 1ms, had a lease until 50ms on its clock";

#[test]
fn a_lease_ends_at_its_instant_and_not_before() {
    run().leads(1, 1, 1, 50).leads(50, 2, 2, 90).assert_no_violation();
    run().leads(1, 1, 1, 50).leads(49, 2, 2, 90).assert_violation(TOO_EARLY);
    run().leads(1, 1, 1, 50).extends(40, 1, 90).leads(60, 2, 2, 99).assert_violation(
        "node 2 became the leader while node 1, the leader since 1ms, had a lease until 90ms on its clock",
    );
}

#[test]
fn a_leader_that_ends_its_term_may_be_replaced_at_once() {
    run().leads(1, 1, 1, 50).ends(20, 1, 1).leads(20, 2, 2, 90).assert_no_violation();
    run().leads(1, 1, 1, 50).emits(20, 1, Event::Began { epoch: Epoch(2) }).leads(20, 2, 2, 90).assert_no_violation();
    run().leads(1, 1, 1, 50).emits(20, 1, Event::elected(node(2), Epoch(2))).leads(20, 2, 2, 90).assert_no_violation();
    run().leads(1, 1, 1, 50).crashes(20, 1).leads(20, 2, 2, 90).assert_no_violation();
    run().leads(1, 1, 1, 50).crashes(20, 1).starts(21, 1).leads(22, 2, 2, 90).assert_no_violation();
}

#[test]
fn beliefs_of_other_nodes_do_not_matter() {
    let run = run().leads(1, 1, 1, 50).emits(2, 2, Event::elected(node(1), Epoch(1)));
    run.ends(3, 2, 1).emits(3, 3, Event::elected(node(1), Epoch(1))).leads(60, 2, 2, 90).assert_no_violation();
}

#[test]
fn each_nodes_own_clock_decides() {
    // The clock of node 1 is slow by a fifth: at 60 ms it shows 48 ms, at 63 ms it shows 50.4 ms.
    let slow = || run().changes_clock(0, "drift 1 by -200000ppm").leads(1, 1, 1, 50);
    slow().leads(60, 2, 2, 90).assert_violation(TOO_EARLY);
    slow().leads(63, 2, 2, 90).assert_no_violation();
    let clock_ahead_by_30 = || run().changes_clock(0, "skew 1 by 30ms").leads(1, 1, 1, 50);
    clock_ahead_by_30().leads(20, 2, 2, 90).assert_no_violation();
    clock_ahead_by_30().leads(19, 2, 2, 90).assert_violation(TOO_EARLY);
}

#[test]
fn extending_an_expired_lease_or_turning_a_clock_back_is_judged() {
    let two_leaders_in_turn = || run().leads(1, 1, 1, 50).leads(60, 2, 2, 90);
    two_leaders_in_turn().extends(95, 1, 120).assert_no_violation();
    two_leaders_in_turn().extends(70, 1, 120).assert_violation(
        "node 1 extended its leadership while node 2, the leader since 60ms, had a lease until 90ms on its clock",
    );
    let text = "node 1 was the leader after a clock change while node 2, the leader since 60ms, had a lease until 90ms \
                on its clock";
    two_leaders_in_turn().changes_clock(70, "skew 1 by -30ms").assert_violation(text);
    two_leaders_in_turn().changes_clock(70, "skew 1 by -10ms").assert_no_violation();
}

/// A node may announce its leadership after the lease expired, because the announcement waited for
/// a save.
#[test]
fn a_lease_that_expired_before_its_announcement_does_not_count() {
    run().leads(1, 1, 1, 50).leads(30, 2, 2, 25).assert_no_violation();
}

#[test]
fn without_leases_one_leader_at_a_time_is_not_judged() {
    let verdicts = Properties::new(3, ONE_STARTER).verdicts();
    assert!(verdicts.iter().all(|verdict| verdict.name != "one-leader-at-a-time"));
}
