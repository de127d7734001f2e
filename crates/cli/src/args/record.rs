//! The options of `quorate record`.

use clap::Args;
use std::path::PathBuf;

#[derive(Args)]
#[command(after_help = "Examples:\n  \
    quorate record n1.journal n2.journal n3.journal --out run.journal\n  \
    quorate record lives/*.journal --out run.journal && quorate trace run.journal\n\n\
    The files are what 'quorate node --trace FILE' writes, one file a life, in any order, from one machine or several.\n\
    A last line that was cut off when its node was killed is left out.")]
pub(crate) struct RecordArgs {
    /// The journals of all lives of all nodes.
    #[arg(required = true, value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,
    /// Write the gathered journal to this file.
    #[arg(long, value_name = "FILE")]
    pub(crate) out: PathBuf,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}
