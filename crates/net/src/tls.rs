//! Who is believed: mutual TLS between the nodes of a group.
//!
//! Both ends of a connection show a certificate that the group's CA signed. A node dials its peer by the name that only
//! the peer's certificate has, and an accepted peer that says who it is must have that certificate: ask
//! [`Identity::verify_peer`] before anything it says is acted on. TLS 1.3 only, and every connection is a full
//! handshake: nothing is resumed and nothing sent early, so that no connection rests on an older check.

mod checks;
mod identity;
mod reason;
#[cfg(test)]
mod tests;

pub use identity::{Identity, IdentityError};
pub use reason::reason;

pub(crate) use checks::end_of;

use quorate_core::NodeId;
use std::net::SocketAddr;
use thiserror::Error;

/// How connections between nodes are protected.
#[derive(Clone, Debug)]
pub enum Security {
    /// Not at all: for one machine, or a network that protects itself.
    Plain,
    Tls(Identity),
}

/// Why a peer is not who it says it is.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum PeerError {
    #[error("Node {claimed} has no name that TLS could ask for, so it was not dialled.")]
    NoName { claimed: NodeId },
    #[error("A peer says that it is node {claimed}, but showed no certificate. It was not let in.")]
    NoCertificate { claimed: NodeId },
    #[error("A peer says that it is node {claimed}, but its certificate cannot be understood. It was not let in.")]
    NotACertificate { claimed: NodeId },
    #[error(
        "A peer says that it is node {claimed}, but its certificate is that of {found} and not of {wanted}. It was not \
         let in; give it its own certificate with --certs, or check its --id."
    )]
    OfAnother { claimed: NodeId, wanted: String, found: String },
}

/// Why plain TCP is not used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error(
    "{0} is not a loopback address, and plain TCP protects nothing on a network. Give each node its certificate with \
     --certs FOLDER ('quorate certs' makes them), or insist with --insecure-plain-tcp."
)]
pub struct PlainRefused(pub SocketAddr);

/// Whether connections from or to this address may be plain: on loopback, or if somebody insists.
pub fn allow_plain(address: SocketAddr, insisted: bool) -> Result<(), PlainRefused> {
    // An IPv4 address in the clothes of IPv6 is still the same address.
    let is_loopback = address.ip().to_canonical().is_loopback();
    if is_loopback || insisted { Ok(()) } else { Err(PlainRefused(address)) }
}
