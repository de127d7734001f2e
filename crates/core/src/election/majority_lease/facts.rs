//! Properties and expected costs of the majority lease algorithm.

use crate::about::Profile;
use crate::election::{Cost, Counts, ExpectedMessages, Facts, Structure};

/// The algorithm's properties and expected costs.
pub const FACTS: Facts =
    Facts { tolerates_loss: true, has_leases: true, ..Facts::new(PROFILE, Structure::Votes, COST) };

const PROFILE: Profile = Profile {
    name: "majority-lease",
    class: "by majority",
    summary: "a majority of saved votes makes a leader for one lease, which it renews",
    source: include_str!("../majority_lease.rs"),
    flaw: None,
    is_checkable: true,
};

const COST: Cost = Cost {
    // Requests and votes, and the announcement.
    formula: "2(n−1) + (n−1)",
    expected_messages: |case| {
        let is_predictable = case.dead_nodes == 0 && case.starting.is_one();
        is_predictable.then(|| {
            ExpectedMessages::exactly(Counts::WithAnnouncement, 3.0 * case.live_nodes.saturating_sub(1) as f64)
        })
    },
};
