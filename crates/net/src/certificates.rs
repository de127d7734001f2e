//! Certificates for the nodes of a group, and the CA that signs them.
//!
//! Each group has its own CA, whose certificate restricts it to names of this group. A node's
//! certificate is valid for the name that [`dns_name`] returns, and its peers require that name.

mod authority;
mod folder;
#[cfg(test)]
mod tests;
mod validity;

pub use authority::{Authority, SignedCertificate, SigningError};
pub use folder::{AuthorityOrigin, Folder, FolderError, MAX_CERTIFICATES, MadeCertificates};
pub(crate) use folder::{escape_path, read_short};
pub use validity::{Date, Days, InvalidDays, Validity};

use crate::group::GroupName;
use quorate_core::NodeId;

/// The name that a node's certificate is valid for: `node-3.demo.quorate`.
pub fn dns_name(node: NodeId, group: &GroupName) -> String {
    format!("node-{node}.{group}.quorate")
}
