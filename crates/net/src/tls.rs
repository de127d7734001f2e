//! Mutual TLS between the nodes of a group.
//!
//! Both ends of a connection present a certificate that the group's CA signed. The dialling node
//! requires the name that only its peer's certificate contains. Before a node acts on anything that
//! a peer sends, it calls [`Identity::verify_peer`] with the id of the node that it dialled, or
//! that the dialling peer claims. Only TLS 1.3 is accepted, and every connection does a full
//! handshake, without session resumption or early data, so that no connection relies on an older
//! check.

mod checks;
mod explanation;
mod identity;
#[cfg(test)]
mod tests;

pub use explanation::explain_tls_error;
pub use identity::{Identity, IdentityError};

pub(crate) use checks::end_of_validity;

use quorate_core::NodeId;
use std::net::SocketAddr;
use thiserror::Error;

/// How connections between nodes are protected.
#[derive(Clone, Debug)]
pub enum Security {
    /// Plain TCP, for nodes on one machine or on a network that is already protected.
    Plain,
    Tls(Identity),
}

/// Why a peer is not accepted as the node that it should be, or cannot be dialled.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum PeerError {
    #[error("cannot dial node {node}: its name '{name}' is not a valid TLS server name. Correct --group.")]
    InvalidServerName { node: NodeId, name: String },
    #[error("a peer claims to be node {claimed}, but presented no certificate. The connection was refused.")]
    NoCertificate { claimed: NodeId },
    #[error("a peer claims to be node {claimed}, but its certificate cannot be parsed. The connection was refused.")]
    NotACertificate { claimed: NodeId },
    #[error(
        "a peer claims to be node {claimed}, but its certificate names {found_names} and not {required_name}. The connection was \
         refused; give the peer its own certificate with --certs, or check its --id."
    )]
    WrongNode { claimed: NodeId, required_name: String, found_names: String },
}

/// Plain TCP is not allowed at this address.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error(
    "plain TCP is allowed only on loopback addresses, because it is not encrypted; got {0}. Give each node its \
     certificate with --certs FOLDER ('quorate certs' makes them), or use --insecure-plain-tcp."
)]
pub struct PlainNotAllowed(pub SocketAddr);

/// Checks that connections from or to this address may be plain: it is a loopback address, or the
/// operator allows plain TCP at every address.
pub fn check_plain_tcp(address: SocketAddr, is_allowed_everywhere: bool) -> Result<(), PlainNotAllowed> {
    // An IPv4-mapped IPv6 address counts as the IPv4 address.
    let is_loopback = address.ip().to_canonical().is_loopback();
    if is_loopback || is_allowed_everywhere { Ok(()) } else { Err(PlainNotAllowed(address)) }
}
