//! Arguments of `quorate certs`.

use clap::Args;
use quorate_journal::settings::NodeSet;
use quorate_net::certificates::Days;
use quorate_net::group::GroupName;
use std::path::PathBuf;

#[derive(Args)]
#[command(after_help = "Examples:\n  quorate certs --group demo --nodes 1-5\n  \
    quorate certs --group demo --nodes 6 --days 90\n\n\
    The command writes a CA (ca.pem, ca.key) to the folder, and for each node a certificate and a key (node-1.pem, \
    node-1.key). If the folder already has a CA, that CA signs. If a file of one of the nodes exists, the command \
    fails and writes nothing. Each machine needs ca.pem and the two files of its node. Keep ca.key in a safe place; no node needs it.")]
pub(crate) struct CertsArgs {
    /// Name of the group: lower-case letters, digits and hyphens.
    #[arg(long, value_name = "NAME")]
    pub(crate) group: GroupName,
    /// Nodes to create certificates for, such as 1-5 or 1,3.
    #[arg(long, value_name = "NODES")]
    pub(crate) nodes: NodeSet,
    /// Folder for the files.
    #[arg(long, value_name = "FOLDER", default_value = "certs")]
    pub(crate) folder: PathBuf,
    /// Number of days for which the certificates of the nodes are valid.
    #[arg(long, default_value_t = Days::default())]
    pub(crate) days: Days,
    /// Print the created files, and until when the certificates are valid, as JSON.
    #[arg(long)]
    pub(crate) json: bool,
}
