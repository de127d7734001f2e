//! Certificates and keys.

use crate::PathSignature;
use quorate_core::NodeId;
use quorate_net::certificates::{Authority, Days, Folder};
use quorate_net::group::GroupName;
use quorate_net::tls::Identity;
use std::cell::RefCell;
use std::fs;
use tempfile::TempDir;

const FILES: [&str; 3] = ["ca.pem", "node-1.pem", "node-1.key"];

/// A folder of valid certificates and keys, and their contents.
struct Certificates {
    folder: TempDir,
    texts: [Vec<u8>; 5],
}

thread_local! {
    /// Created once, because generating keys takes time.
    static CERTIFICATES: RefCell<Option<Certificates>> = const { RefCell::new(None) };
}

/// Replaces one file, chosen by the first byte: a file of a node, or one of the two that define a
/// CA. The rest of the input is the new content. If the highest bit of the first byte is set, it is
/// a list of changes to the valid content instead: three bytes each, a position and a new byte.
pub fn load(input: &[u8]) -> PathSignature {
    let mut signature = PathSignature::default();
    let (first, rest) = input.split_first().unwrap_or((&0, &[]));
    let which = usize::from(first & 0x7F) % 5;
    signature.record(which as u64);
    let group = group();
    CERTIFICATES.with_borrow_mut(|certificates| {
        let Certificates { folder, texts } = certificates.get_or_insert_with(|| Certificates::make(&group));
        let content = if first & 0x80 == 0 { rest.to_vec() } else { changed(&texts[which], rest) };
        let text = String::from_utf8_lossy(&content);
        let good = |which: usize| String::from_utf8_lossy(&texts[which]);
        let outcome = match which {
            3 => Authority::read(&text, &good(4), &group).map(|_| ()).map_err(|error| error.to_string()),
            4 => Authority::read(&good(3), &text, &group).map(|_| ()).map_err(|error| error.to_string()),
            file => {
                let path = folder.path().join(FILES[file]);
                fs::write(&path, &content).expect("a temporary file");
                let loaded = Identity::load(folder.path(), NodeId::from_index(0), &group);
                fs::write(&path, &texts[file]).expect("a temporary file");
                loaded.map(|_| ()).map_err(|error| error.to_string())
            }
        };
        match outcome {
            Ok(()) => signature.record(1),
            Err(sentence) => signature.record_message(sentence.replace(&*folder.path().to_string_lossy(), "")),
        }
    });
    signature
}

fn changed(good: &[u8], changes: &[u8]) -> Vec<u8> {
    let mut text = good.to_vec();
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
