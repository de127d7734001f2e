//! Properties and expected costs of the invitation algorithm.

use crate::about::Profile;
use crate::election::{Case, Cost, Counts, ExpectedMessages, Facts, Splits, Structure};

/// The algorithm's properties and expected costs.
pub const FACTS: Facts =
    Facts { splits: Splits::WhilePartitioned, tolerates_loss: true, ..Facts::new(PROFILE, Structure::Groups, COST) };

const PROFILE: Profile = Profile {
    name: "invitation",
    class: "among all",
    summary: "groups merge under the higher coordinator; each side of a partition has its own",
    source: include_str!("../invitation.rs"),
    flaw: None,
    is_checkable: true,
};

/// Each node but the leader gets an invitation and a ready message, and sends an acceptance.
const COST: Cost = Cost { formula: "3(n−1)", expected_messages };

fn expected_messages(case: &Case) -> Option<ExpectedMessages> {
    Some(ExpectedMessages::exactly(Counts::WithAnnouncement, 3.0 * case.live_nodes.checked_sub(1)? as f64))
}
