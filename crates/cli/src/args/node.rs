//! Arguments of `quorate node`.

use super::parse_whole;
use clap::{Args, ValueEnum};
use quorate_core::NodeId;
use quorate_lab::registry::FamilyArgs;
use quorate_net::GroupName;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::str::FromStr;

#[derive(Args)]
#[command(after_help = "Examples:\n  \
    quorate node ricart-agrawala --id 1 --listen 127.0.0.1:7001 --peers 2=127.0.0.1:7002\n  \
    quorate node replica --id 1 --listen 10.0.0.1:7001 --peers 2=10.0.0.2:7001,3=10.0.0.3:7001 \\\n    \
    --group demo --certs certs --data data-1 --new --trace node-1.journal\n\n\
    The node reads commands from standard input, one per line, and prints its events:\n  \
    acquire, try, share, cancel, release  mutual exclusion\n  \
    campaign, resign                      elections\n  \
    send TEXT, leave                      multicasts\n  \
    ask P2 P3, answer P1, give-up, look   deadlocks\n  \
    read KEY, write KEY VALUE, …          replicas\n  \
    links                                 print the state of the connections\n  \
    stop                                  stop the node, as does the end of the input\n\n\
    'quorate record' merges the journals of all nodes.\n\n\
    Exit codes: 0 the node was stopped, 1 it had to stop because its disk or its journal failed or a \
    message would have been lost, 2 the command is invalid.")]
pub(crate) struct NodeArgs {
    /// Name of the algorithm, as 'quorate list' shows it.
    pub(crate) algorithm: String,
    /// Id of this node in the group, from 1.
    #[arg(long, value_name = "NUMBER", value_parser = parse_whole::<u32>)]
    pub(crate) id: u32,
    /// Address to listen on for peers; port 0 chooses a free port.
    #[arg(long, value_name = "HOST:PORT")]
    pub(crate) listen: String,
    /// Addresses of the other nodes, such as 1=10.0.0.1:7001,2=10.0.0.2:7001.
    #[arg(long, value_name = "PEERS")]
    pub(crate) peers: Peers,
    /// Name of the group, the same at all nodes.
    #[arg(long, value_name = "NAME", default_value = "quorate")]
    pub(crate) group: GroupName,
    /// Folder for durable state. A restarted node recovers from it.
    #[arg(long, value_name = "FOLDER")]
    pub(crate) data: Option<PathBuf>,
    /// Create the data folder. Only for the first start of this node. Needs --data.
    #[arg(long, requires = "data", conflicts_with = "data_was_lost")]
    pub(crate) new: bool,
    /// Create a new data folder after the old one was lost or damaged, and let the algorithm know
    /// that the node may have forgotten promises. Needs --data.
    #[arg(long, requires = "data")]
    pub(crate) data_was_lost: bool,
    /// Write the journal of this incarnation of the node to this file.
    #[arg(long, value_name = "FILE")]
    pub(crate) trace: Option<PathBuf>,
    /// Folder with the certificates that 'quorate certs' created. Connections are then encrypted,
    /// and peers authenticate with their certificates.
    #[arg(long, value_name = "FOLDER", conflicts_with = "insecure_plain_tcp")]
    pub(crate) certs: Option<PathBuf>,
    /// Allow plain TCP to other machines. Any machine on the way can then read and change messages
    /// or impersonate a node.
    #[arg(long)]
    pub(crate) insecure_plain_tcp: bool,
    /// Random seed of the algorithm, if it makes random choices; the same at all nodes.
    #[arg(long, default_value_t = 1, value_parser = parse_whole::<u64>)]
    pub(crate) seed: u64,
    /// Least severe level that the log on standard error includes.
    #[arg(long, value_enum, default_value = "info")]
    pub(crate) log: LogLevel,
    /// Print JSON, one value per line.
    #[arg(long)]
    pub(crate) json: bool,
    /// Number of nodes, if the peers are read from standard input.
    #[arg(long, hide = true, value_parser = parse_whole::<usize>)]
    pub(crate) nodes: Option<usize>,
    /// Instant at which the clock is zero, in nanoseconds since the machine booted.
    #[arg(long, hide = true, allow_negative_numbers = true)]
    pub(crate) origin: Option<i64>,
    /// Number of this incarnation, for a node without a data folder.
    #[arg(long = "life", hide = true, value_parser = parse_whole::<u64>, conflicts_with = "data")]
    pub(crate) incarnation: Option<u64>,
    #[command(flatten)]
    pub(crate) families: FamilyArgs,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum LogLevel {
    /// Only errors, which stop the node or lose a message.
    Error,
    /// Also problems that need attention.
    Warn,
    /// Also connections that open and close.
    Info,
    /// Everything.
    Debug,
}

/// Source of the addresses of the other nodes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Peers {
    /// The addresses on the command line.
    Known(BTreeMap<NodeId, String>),
    /// The first line of standard input, if the value is `-`. The node reads it after it has
    /// printed its own address.
    FromInput,
}

impl FromStr for Peers {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text.trim() == "-" { Ok(Self::FromInput) } else { parse_addresses(text).map(Self::Known) }
    }
}

/// Parses nodes with their addresses: `1=127.0.0.1:7001,2=127.0.0.1:7002`.
pub(crate) fn parse_addresses(text: &str) -> Result<BTreeMap<NodeId, String>, String> {
    let mut addresses = BTreeMap::new();
    for word in text.split(',').map(str::trim).filter(|word| !word.is_empty()) {
        let parsed = word.split_once('=').and_then(|(number, address)| {
            let node = NodeId::new(number.trim().parse().ok()?)?;
            let (host, port) = address.trim().rsplit_once(':')?;
            let is_address = !host.is_empty() && port.parse::<u16>().is_ok_and(|port| port > 0);
            is_address.then(|| (node, address.trim().to_owned()))
        });
        let Some((node, address)) = parsed else {
            return Err(format!("'{}' is not a peer; write for example 2=127.0.0.1:7002.", word.escape_debug()));
        };
        if addresses.insert(node, address).is_some() {
            return Err(format!("node {node} is listed twice among the peers; give each node one address."));
        }
    }
    Ok(addresses)
}

#[cfg(test)]
mod tests {
    use super::{Peers, parse_addresses};

    #[test]
    fn peers_are_numbers_with_addresses() {
        let peers = parse_addresses("2=127.0.0.1:7002, 1=[::1]:7001,3=db.example:9").unwrap();
        let parsed: Vec<_> = peers.iter().map(|(node, address)| format!("{node} {address}")).collect();
        assert_eq!(parsed, ["1 [::1]:7001", "2 127.0.0.1:7002", "3 db.example:9"]);
        assert_eq!("-".parse(), Ok(Peers::FromInput));
    }

    #[test]
    fn errors_about_peers_say_what_to_write() {
        for invalid in ["2", "2=", "0=a:1", "x=a:1", "2=a", "2=:1", "2=a:0", "2=a:99999", "1=a:1,1=b:1"] {
            let message = parse_addresses(invalid).unwrap_err();
            // The advice follows the semicolon.
            assert!(message.ends_with('.') && message.contains(';'), "{message}");
        }
    }
}
