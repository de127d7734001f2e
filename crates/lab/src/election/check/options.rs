//! Options of a check that only elections understand.

use super::super::ElectionArgs;
use crate::check::few;
use crate::options::Options;
use clap::Args;

/// Who starts, how the group elects, and whether leaders hand over.
#[derive(Args)]
#[command(next_help_heading = "Options of elections")]
pub(crate) struct BallotArgs {
    #[command(flatten)]
    pub(super) election: ElectionArgs,
    /// How often each leader may be asked to resign.
    #[arg(long, value_name = "NUMBER", value_parser = few)]
    pub(super) resign: Option<u8>,
}

impl Options for BallotArgs {
    fn given(&self) -> Option<&'static str> {
        self.election.given().or(self.resign.map(|_| "resign"))
    }
}
