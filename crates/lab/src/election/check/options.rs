//! Options of a check that only elections accept.

use super::super::ElectionArgs;
use crate::check::parse_small_count;
use crate::options::Options;
use clap::Args;

/// Which nodes start elections, how the group elects, and whether leaders resign.
#[derive(Args)]
#[command(next_help_heading = "Options of elections")]
pub(crate) struct ElectionCheckArgs {
    #[command(flatten)]
    pub(super) election: ElectionArgs,
    /// Maximum number of resignations per leader.
    #[arg(long, value_name = "NUMBER", value_parser = parse_small_count)]
    pub(super) resign: Option<u8>,
}

impl Options for ElectionCheckArgs {
    fn first_given(&self) -> Option<&'static str> {
        self.election.first_given().or(self.resign.map(|_| "resign"))
    }
}
