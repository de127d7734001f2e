//! Properties and expected costs of the bully algorithm.

use crate::about::Profile;
use crate::election::{Case, Cost, Counts, ExpectedMessages, Facts, Model, Shape, Starting};

/// The algorithm's entry in the table.
pub const FACTS: Facts = Facts { model: Model::Synchronous, ..Facts::new(PROFILE, Shape::Bully, COST) };

const PROFILE: Profile = Profile {
    name: "bully",
    class: "among all",
    summary: "ask all nodes of higher rank; lead if none of them answers",
    source: include_str!("../bully.rs"),
    flaw: None,
    checkable: true,
};

const COST: Cost = Cost { formula: "n−2 … n²−n−1", expected: expected_messages };

/// A dead node, if there is one, is the old leader; n counts it.
fn expected_messages(case: &Case) -> Option<ExpectedMessages> {
    let n = (case.live + case.dead) as f64;
    let (minimum, maximum) = match (case.live, case.dead) {
        (0, _) => return None,
        (_, 0) => (n - 1.0, n * n - 1.0),
        (_, 1) => (n - 2.0, n * n - n - 1.0),
        _ => return None,
    };
    let counts = Counts::WithAnnouncement;
    let range_from =
        |least: f64| ExpectedMessages { counts, least: Some(least), mean: None, most: Some(maximum), tight: true };
    Some(match (case.starting, case.dead) {
        _ if case.live == 1 => ExpectedMessages::exactly(counts, minimum),
        (Starting::Highest, _) => ExpectedMessages::exactly(counts, minimum),
        (Starting::Lowest, 1) => ExpectedMessages::exactly(counts, maximum),
        // The highest node declares as soon as it is asked. A node that receives this result before
        // the question asks no node.
        (Starting::Lowest, _) => range_from(3.0 * (n - 1.0)),
        (Starting::One, _) => range_from(minimum),
        (Starting::Several(_), _) => ExpectedMessages::at_most(counts, maximum),
        // The highest live node need not ask the dead one.
        (Starting::All, _) => ExpectedMessages::exactly(counts, maximum - case.dead as f64),
    })
}
