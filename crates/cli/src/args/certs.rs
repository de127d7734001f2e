//! For whom to make certificates: what users type after `quorate certs`.

use clap::Args;
use quorate_journal::settings::{NodeSet, SettingError};
use quorate_net::certificates::Days;
use quorate_net::group::GroupName;
use std::path::PathBuf;

#[derive(Args)]
#[command(after_help = "Examples:\n  quorate certs --group demo --nodes 1-5\n  \
    quorate certs --group demo --nodes 6 --days 90\n\n\
    The folder gets a CA (ca.pem, ca.key) and for each node a certificate and a key (node-1.pem, node-1.key). If it has \
    a CA, that one signs. A file that exists is never overwritten. Each machine needs ca.pem and the two files of its \
    node; ca.key stays with you.")]
pub(crate) struct CertsArgs {
    /// The group whose nodes they are: lower-case letters, digits and hyphens.
    #[arg(long, value_name = "NAME")]
    pub(crate) group: GroupName,
    /// Which nodes get a certificate, such as 1-5 or 1,3.
    #[arg(long, value_name = "NODES", value_parser = nodes)]
    pub(crate) nodes: NodeSet,
    /// Where the files go.
    #[arg(long, value_name = "FOLDER", default_value = "certs")]
    pub(crate) folder: PathBuf,
    /// For how many days the nodes' certificates are valid.
    #[arg(long, default_value_t = Days::default())]
    pub(crate) days: Days,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

/// Elsewhere a set may be the rest of all nodes; here nobody knows how many there are.
fn nodes(text: &str) -> Result<NodeSet, String> {
    text.parse().map_err(|error| match error {
        SettingError::NotA { .. } => format!("'{}' is not a set of nodes; write for example 1-5.", text.escape_debug()),
        error => error.to_string(),
    })
}
