//! Properties and expected costs of the bully algorithm.

use crate::about::Profile;
use crate::election::{Case, Cost, Counts, ExpectedMessages, Facts, Model, Starting, Structure};

/// The algorithm's properties and expected costs.
pub const FACTS: Facts = Facts { model: Model::Synchronous, ..Facts::new(PROFILE, Structure::Bully, COST) };

const PROFILE: Profile = Profile {
    name: "bully",
    class: "among all",
    summary: "ask all nodes of higher rank; lead if none of them answers",
    source: include_str!("../bully.rs"),
    flaw: None,
    is_checkable: true,
};

/// The formula is for n nodes of which the highest is dead, and one starter: n−2 messages if the
/// next highest node starts, n²−n−1 if the lowest does. With all alive: n−1 messages if the highest
/// starts, n²−1 if the lowest does.
const COST: Cost = Cost { formula: "n−2 … n²−n−1", expected_messages };

/// If there is a dead node, it is the old leader, which has the highest rank. n includes it.
fn expected_messages(case: &Case) -> Option<ExpectedMessages> {
    let n = (case.live_nodes + case.dead_nodes) as f64;
    let (minimum, maximum) = match (case.live_nodes, case.dead_nodes) {
        (0, _) => return None,
        (_, 0) => (n - 1.0, n * n - 1.0),
        (_, 1) => (n - 2.0, n * n - n - 1.0),
        _ => return None,
    };
    let counts = Counts::WithAnnouncement;
    let range_from =
        |min: f64| ExpectedMessages { counts, min: Some(min), mean: None, max: Some(maximum), is_max_reached: true };
    Some(match (case.starting, case.dead_nodes) {
        _ if case.live_nodes == 1 => ExpectedMessages::exactly(counts, minimum),
        (Starting::Highest, _) => ExpectedMessages::exactly(counts, minimum),
        (Starting::Lowest, 1) => ExpectedMessages::exactly(counts, maximum),
        // The highest node declares as soon as a node asks it. A node that receives this result
        // before a question of a lower node asks no other node. If all do, there are n−1 questions
        // and answers each, and n−1 announcements.
        (Starting::Lowest, _) => range_from(3.0 * (n - 1.0)),
        (Starting::One, _) => range_from(minimum),
        (Starting::Several(_), _) => ExpectedMessages::at_most(counts, maximum),
        // The highest live node does not ask the dead one, which it suspects.
        (Starting::All, _) => ExpectedMessages::exactly(counts, maximum - case.dead_nodes as f64),
    })
}
