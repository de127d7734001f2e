//! Certificates and keys.

use crate::Trail;
use quorate_core::NodeId;
use quorate_net::certificates::{Authority, Days, Folder};
use quorate_net::group::GroupName;
use quorate_net::tls::Identity;
use std::cell::RefCell;
use std::fs;
use tempfile::TempDir;

const FILES: [&str; 3] = ["ca.pem", "node-1.pem", "node-1.key"];

struct Papers {
    folder: TempDir,
    texts: [Vec<u8>; 5],
}

thread_local! {
    /// A folder with good papers, made once: keys take a while.
    static PLACE: RefCell<Option<Papers>> = const { RefCell::new(None) };
}

/// The first byte says which text is replaced: a file of a node, or what a CA is read from. The rest is the new text, or,
/// if the highest bit of the first byte is set, changes to the good one: three bytes each, a place and what stands there.
pub fn load(input: &[u8]) -> Trail {
    let mut trail = Trail::default();
    let (first, rest) = input.split_first().unwrap_or((&0, &[]));
    let which = usize::from(first & 0x7F) % 5;
    trail.step(which as u64);
    let group = group();
    PLACE.with_borrow_mut(|place| {
        let Papers { folder, texts } = place.get_or_insert_with(|| Papers::make(&group));
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
            Ok(()) => trail.step(1),
            Err(sentence) => trail.say(sentence.replace(&*folder.path().to_string_lossy(), "")),
        }
    });
    trail
}

fn changed(good: &[u8], changes: &[u8]) -> Vec<u8> {
    let mut text = good.to_vec();
    for change in changes.chunks_exact(3) {
        let place = usize::from(u16::from_le_bytes([change[0], change[1]])) % text.len();
        text[place] = change[2];
    }
    text
}

fn group() -> GroupName {
    "demo".parse().expect("a good name")
}

impl Papers {
    fn make(group: &GroupName) -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        Folder::new(folder.path()).make(group, &[NodeId::from_index(0)], Days::default()).expect("new papers");
        let read = |name: &str| fs::read(folder.path().join(name)).expect("a file that was just made");
        let texts = ["ca.pem", "node-1.pem", "node-1.key", "ca.pem", "ca.key"].map(read);
        Self { folder, texts }
    }
}
