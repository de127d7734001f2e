//! Certificates and keys.

use crate::PathSignature;
use quorate_core::NodeId;
use quorate_net::certificates::{Authority, Days, Folder};
use quorate_net::group::GroupName;
use quorate_net::tls::Identity;
use std::cell::RefCell;
use std::fs;
use tempfile::TempDir;

const NODE_FILES: [&str; 3] = ["ca.pem", "node-1.pem", "node-1.key"];
/// Indices in `Certificates::texts` of the certificate and the key that define a CA. The
/// certificate has the content of `ca.pem`, but its replacement leaves that file unchanged.
const CA_CERTIFICATE: usize = 3;
const CA_KEY: usize = 4;
/// Number of texts that an input can replace.
const TEXTS: usize = 5;

/// A folder of valid certificates and keys, and their contents.
struct Certificates {
    folder: TempDir,
    /// The contents of [`NODE_FILES`], then the certificate and the key of the CA.
    texts: [Vec<u8>; TEXTS],
}

thread_local! {
    /// Created once, because generating keys takes time.
    static CERTIFICATES: RefCell<Option<Certificates>> = const { RefCell::new(None) };
}

/// Replaces one file, chosen by the first byte: a file of a node, or one of the two that define a
/// CA. The rest of the input is the new content. If the highest bit of the first byte is set, the
/// rest is a list of changes to the valid content instead: three bytes each, a position (two bytes,
/// little-endian) and a new byte.
pub fn load(input: &[u8]) -> PathSignature {
    let mut signature = PathSignature::default();
    let (first, rest) = input.split_first().unwrap_or((&0, &[]));
    let index = usize::from(first & 0x7F) % TEXTS;
    signature.record(index as u64);
    let group = group();
    CERTIFICATES.with_borrow_mut(|certificates| {
        let Certificates { folder, texts } = certificates.get_or_insert_with(|| Certificates::make(&group));
        let content = if first & 0x80 == 0 { rest.to_vec() } else { apply_changes(&texts[index], rest) };
        let text = String::from_utf8_lossy(&content);
        let valid_text = |index: usize| String::from_utf8_lossy(&texts[index]);
        let outcome = match index {
            CA_CERTIFICATE => {
                Authority::read(&text, &valid_text(CA_KEY), &group).map(|_| ()).map_err(|error| error.to_string())
            }
            CA_KEY => Authority::read(&valid_text(CA_CERTIFICATE), &text, &group)
                .map(|_| ())
                .map_err(|error| error.to_string()),
            file_of_node => {
                let path = folder.path().join(NODE_FILES[file_of_node]);
                fs::write(&path, &content).expect("a temporary file");
                let loaded = Identity::load(folder.path(), NodeId::from_index(0), &group);
                fs::write(&path, &texts[file_of_node]).expect("a temporary file");
                loaded.map(|_| ()).map_err(|error| error.to_string())
            }
        };
        match outcome {
            Ok(()) => signature.record(1),
            Err(error) => signature.record_message(error.replace(&*folder.path().to_string_lossy(), "")),
        }
    });
    signature
}

fn apply_changes(valid: &[u8], changes: &[u8]) -> Vec<u8> {
    let mut text = valid.to_vec();
    for change in changes.chunks_exact(3) {
        let index = usize::from(u16::from_le_bytes([change[0], change[1]])) % text.len();
        text[index] = change[2];
    }
    text
}

fn group() -> GroupName {
    "demo".parse().expect("a valid name")
}

impl Certificates {
    fn make(group: &GroupName) -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        Folder::new(folder.path()).make(group, &[NodeId::from_index(0)], Days::default()).expect("new certificates");
        let read = |name: &str| fs::read(folder.path().join(name)).expect("a file that was just made");
        let texts = ["ca.pem", "node-1.pem", "node-1.key", "ca.pem", "ca.key"].map(read);
        Self { folder, texts }
    }
}
