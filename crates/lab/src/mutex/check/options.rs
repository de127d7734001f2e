//! What users of a mutual-exclusion algorithm may do in a check, and whether their group has views.

use super::Requests;
use crate::check::few;
use crate::options::{Options, first_given, one_of};
use crate::views::Keeper;
use clap::Args;
use quorate_check::Views;

const VIEWS: &str = "Options of groups with views";

/// Options of a check that only mutual exclusion understands, and those of views.
#[derive(Args)]
#[command(next_help_heading = "Options of mutual exclusion")]
pub(crate) struct RequestArgs {
    /// A request may be a try, which is denied rather than made to wait.
    #[arg(long = "try")]
    tries: bool,
    /// A request may be given up.
    #[arg(long = "cancel")]
    cancels: bool,
    /// A request may be one that only reads, beside others who do.
    #[arg(long)]
    readers: bool,
    /// The group has views: a member who crashes, or whose lease ends, is left out of the next one.
    #[arg(long, help_heading = VIEWS)]
    views: bool,
    /// How many members the group may go on without; one unless given.
    #[arg(long, value_name = "NUMBER", requires = "views", value_parser = few, help_heading = VIEWS)]
    changes: Option<u8>,
    /// Who says who is in: one who waits for leases to end, or one who does not and is wrong on purpose; oracle unless given.
    #[arg(long, value_name = "WHO", requires = "views", help_heading = VIEWS, value_parser = one_of(KEEPERS))]
    membership: Option<Keeper>,
}

const KEEPERS: [(&str, Keeper); 2] = [("oracle", Keeper::Oracle), ("impatient", Keeper::Impatient)];

impl RequestArgs {
    pub(crate) fn requests(&self) -> Requests {
        Requests { tries: self.tries, cancels: self.cancels, readers: self.readers }
    }

    pub(crate) fn views(&self) -> Option<Views> {
        let usual = Views::default();
        let changes = self.changes.unwrap_or(usual.changes);
        self.views.then_some(Views { changes, waits: self.membership != Some(Keeper::Impatient) })
    }
}

impl Options for RequestArgs {
    fn given(&self) -> Option<&'static str> {
        first_given!(self; tries = "try", cancels = "cancel", readers)
    }
}
