//! Options for the behavior of clients in a mutual-exclusion check, and for views.

use super::RequestKinds;
use crate::check::parse_fault_count;
use crate::options::{Options, first_given, parse_one_of};
use crate::views::MembershipService;
use clap::Args;
use quorate_check::Views;

const VIEWS_HEADING: &str = "Options of groups with views";

/// Options of a check that only mutual exclusion accepts, and the options of views.
#[derive(Args)]
#[command(next_help_heading = "Options of mutual exclusion")]
pub(crate) struct MutexCheckArgs {
    /// Clients may try: the algorithm grants or denies a try at once.
    #[arg(long = "try")]
    tries: bool,
    /// Clients may cancel a request.
    #[arg(long = "cancel")]
    cancels: bool,
    /// Clients may request shared entry for reading.
    #[arg(long)]
    readers: bool,
    /// Run the group in views: a member that crashes, or whose lease expires, is excluded from the
    /// next view.
    #[arg(long, help_heading = VIEWS_HEADING)]
    views: bool,
    /// Maximum number of members that the group may remove [default: 1]
    #[arg(
        long, value_name = "NUMBER", requires = "views", help_heading = VIEWS_HEADING,
        value_parser = parse_fault_count
    )]
    changes: Option<u8>,
    /// The membership service: an oracle that waits for leases to expire, or a faulty one that does
    /// not [default: oracle]
    #[arg(
        long, value_name = "SERVICE", requires = "views", help_heading = VIEWS_HEADING,
        value_parser = parse_one_of(MEMBERSHIP_SERVICES)
    )]
    membership: Option<MembershipService>,
}

const MEMBERSHIP_SERVICES: [(&str, MembershipService); 2] =
    [("oracle", MembershipService::Oracle), ("impatient", MembershipService::Impatient)];

impl MutexCheckArgs {
    pub(crate) fn request_kinds(&self) -> RequestKinds {
        RequestKinds { allows_tries: self.tries, allows_cancels: self.cancels, allows_readers: self.readers }
    }

    pub(crate) fn views(&self) -> Option<Views> {
        let defaults = Views::default();
        let changes = self.changes.unwrap_or(defaults.max_changes);
        self.views.then_some(Views {
            max_changes: changes,
            waits_for_leases: self.membership != Some(MembershipService::Impatient),
        })
    }
}

impl Options for MutexCheckArgs {
    fn first_given(&self) -> Option<&'static str> {
        // Other families accept the options of views, too.
        first_given!(self; tries = "try", cancels = "cancel", readers)
    }
}
