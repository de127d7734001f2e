//! Who to be: what users type after `quorate node`.

use super::whole;
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
    It takes commands on its standard input, one a line, and prints what it is told:\n  \
    acquire, try, cancel, release     in mutual exclusion\n  \
    campaign, resign                  in elections\n  \
    send TEXT, leave                  in multicasts\n  \
    ask P2 P3, answer P1, give-up, look   with deadlocks\n  \
    read KEY, write KEY VALUE, …      with replicas\n  \
    links                             how the connections stand\n  \
    stop                              ends it; so does the end of its input\n\n\
    'quorate record' puts the journals of all nodes together.\n\n\
    Exit codes: 0 it was stopped, 1 it could not go on (its disk, its journal or a peer failed it), 2 the command is wrong.")]
pub(crate) struct NodeArgs {
    /// The algorithm's name, as `quorate list` shows it.
    pub(crate) algorithm: String,
    /// Which node of the group to be, from 1.
    #[arg(long, value_name = "NUMBER", value_parser = whole::<u32>)]
    pub(crate) id: u32,
    /// Where to listen for the others; port 0 is any that is free.
    #[arg(long, value_name = "HOST:PORT")]
    pub(crate) listen: String,
    /// Where the others listen, such as 1=10.0.0.1:7001,2=10.0.0.2:7001.
    #[arg(long, value_name = "PEERS")]
    pub(crate) peers: Peers,
    /// The group's name, which all its nodes share.
    #[arg(long, value_name = "NAME", default_value = "quorate")]
    pub(crate) group: GroupName,
    /// The folder for what must survive a crash. A restarted node finds there what it promised.
    #[arg(long, value_name = "FOLDER")]
    pub(crate) data: Option<PathBuf>,
    /// Begin the data folder: this node of the group has never lived before.
    #[arg(long, requires = "data", conflicts_with = "data_was_lost")]
    pub(crate) new: bool,
    /// The data folder was lost or is damaged: begin another one, and let the algorithm know that promises may be forgotten.
    #[arg(long, requires = "data")]
    pub(crate) data_was_lost: bool,
    /// Write the journal of this life to this file.
    #[arg(long, value_name = "FILE")]
    pub(crate) trace: Option<PathBuf>,
    /// The folder with the certificates that 'quorate certs' made: connections are encrypted, and a peer is who its
    /// certificate says.
    #[arg(long, value_name = "FOLDER", conflicts_with = "insecure_plain_tcp")]
    pub(crate) certs: Option<PathBuf>,
    /// Speak plain TCP beyond this machine, where anybody can listen, change it and pretend to be a node.
    #[arg(long)]
    pub(crate) insecure_plain_tcp: bool,
    /// What the algorithm's own chance follows from, if it has any.
    #[arg(long, default_value_t = 1, value_parser = whole::<u64>)]
    pub(crate) seed: u64,
    /// What goes to the log on standard error.
    #[arg(long, value_enum, default_value = "info")]
    pub(crate) log: LogLevel,
    /// Print JSON, one value a line.
    #[arg(long)]
    pub(crate) json: bool,
    /// How many nodes there are, if the peers are read from standard input.
    #[arg(long, hide = true, value_parser = whole::<usize>)]
    pub(crate) nodes: Option<usize>,
    /// When the clock shows zero, in nanoseconds since the machine was booted.
    #[arg(long, hide = true, allow_negative_numbers = true)]
    pub(crate) origin: Option<i64>,
    /// Which life this is, for a node without a data folder.
    #[arg(long, hide = true, value_parser = whole::<u64>, conflicts_with = "data")]
    pub(crate) life: Option<u64>,
    #[command(flatten)]
    pub(crate) families: FamilyArgs,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum LogLevel {
    /// Only what makes the node end.
    Error,
    /// Also what somebody should look at.
    Warn,
    /// Also connections that come and go.
    Info,
    /// Everything.
    Debug,
}

/// Where the others listen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Peers {
    /// There.
    Known(BTreeMap<NodeId, String>),
    /// The first line of standard input says it, after the node has said where it listens itself.
    FromInput,
}

impl FromStr for Peers {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text.trim() == "-" { Ok(Self::FromInput) } else { addresses(text).map(Self::Known) }
    }
}

/// Nodes and where they listen: `1=127.0.0.1:7001,2=127.0.0.1:7002`.
pub(crate) fn addresses(text: &str) -> Result<BTreeMap<NodeId, String>, String> {
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
            return Err(format!("Node {node} is named twice among the peers; give each an address of its own."));
        }
    }
    Ok(addresses)
}

#[cfg(test)]
mod tests {
    use super::{Peers, addresses};

    #[test]
    fn peers_are_numbers_with_addresses() {
        let peers = addresses("2=127.0.0.1:7002, 1=[::1]:7001,3=db.example:9").unwrap();
        let told: Vec<_> = peers.iter().map(|(node, address)| format!("{node} {address}")).collect();
        assert_eq!(told, ["1 [::1]:7001", "2 127.0.0.1:7002", "3 db.example:9"]);
        assert_eq!("-".parse(), Ok(Peers::FromInput));
    }

    #[test]
    fn what_is_no_peer_is_told_with_an_example() {
        for wrong in ["2", "2=", "0=a:1", "x=a:1", "2=a", "2=:1", "2=a:0", "2=a:99999", "1=a:1,1=b:1"] {
            let sentence = addresses(wrong).unwrap_err();
            assert!(sentence.ends_with('.') && sentence.contains(';'), "{sentence}");
        }
    }
}
