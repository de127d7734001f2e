//! Properties and expected costs of the invitation algorithm.

use crate::about::Profile;
use crate::election::{Case, Cost, Counts, ExpectedMessages, Facts, Shape, Splits};

/// The algorithm's entry in the table.
pub const FACTS: Facts =
    Facts { splits: Splits::WhileCut, tolerates_loss: true, ..Facts::new(PROFILE, Shape::Groups, COST) };

const PROFILE: Profile = Profile {
    name: "invitation",
    class: "among all",
    summary: "groups merge under the higher coordinator; each side of a partition has its own",
    source: include_str!("../invitation.rs"),
    flaw: None,
    checkable: true,
};

const COST: Cost = Cost { formula: "3(n−1)", expected: expected_messages };

fn expected_messages(case: &Case) -> Option<ExpectedMessages> {
    Some(ExpectedMessages::exactly(Counts::WithAnnouncement, 3.0 * case.live.checked_sub(1)? as f64))
}
