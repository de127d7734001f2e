//! Properties and expected costs of the majority lease algorithm.

use crate::about::Profile;
use crate::election::{Cost, Counts, ExpectedMessages, Facts, Shape};

/// The algorithm's entry in the table.
pub const FACTS: Facts = Facts { tolerates_loss: true, leases: true, ..Facts::new(PROFILE, Shape::Votes, COST) };

const PROFILE: Profile = Profile {
    name: "majority-lease",
    class: "by majority",
    summary: "a majority of saved votes makes a leader for one lease, which it renews",
    source: include_str!("../majority_lease.rs"),
    flaw: None,
    checkable: true,
};

const COST: Cost = Cost {
    formula: "2(n−1) + (n−1)",
    expected: |case| {
        let is_single_starter = case.dead == 0 && case.starting.is_one();
        is_single_starter
            .then(|| ExpectedMessages::exactly(Counts::WithAnnouncement, 3.0 * case.live.saturating_sub(1) as f64))
    },
};
