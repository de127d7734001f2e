//! Arguments of `quorate record`.

use clap::Args;
use std::path::PathBuf;

#[derive(Args)]
#[command(after_help = "Examples:\n  \
    quorate record n1.journal n2.journal n3.journal --out run.journal\n  \
    quorate record journals/*.journal --out run.journal && quorate trace run.journal\n\n\
    The files are those that 'quorate node --trace FILE' wrote, one per incarnation of a node, in any order, from one \
    machine or several. An incomplete last line, as a killed node leaves it, is ignored.")]
pub(crate) struct RecordArgs {
    /// Journals of all incarnations of all nodes.
    #[arg(required = true, value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,
    /// Write the merged journal to this file.
    #[arg(long, value_name = "FILE")]
    pub(crate) out: PathBuf,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}
