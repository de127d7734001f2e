//! Options of a check that only elections accept.

use super::super::ElectionArgs;
use crate::options::{Options, parse_whole};
use clap::Args;

/// Which nodes start elections, how the group elects, and whether leaders resign.
#[derive(Args)]
#[command(next_help_heading = "Options of elections")]
pub(crate) struct ElectionCheckArgs {
    #[command(flatten)]
    pub(super) election: ElectionArgs,
    /// Maximum number of resignations per client.
    #[arg(long, value_name = "NUMBER", value_parser = parse_whole::<u8>)]
    pub(super) resign: Option<u8>,
}

impl Options for ElectionCheckArgs {
    fn first_given(&self) -> Option<&'static str> {
        self.election.first_given().or(self.resign.map(|_| "resign"))
    }
}
