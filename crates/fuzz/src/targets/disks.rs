//! The fuzz target for the files of a data folder.

use crate::PathSignature;
use quorate_core::{Durable, Incarnation, NodeId};
use quorate_store::faults::FaultyFiles;
use quorate_store::{ClusterId, Identity, Origin, Owner, Settings, Store, create_in};
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

/// The durable state: all writes, in order.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Writes(Vec<String>);

impl Durable for Writes {
    type Write = String;
    fn apply(&mut self, write: String) {
        self.0.push(write);
    }
}

const OWNER: Owner = Owner { cluster: ClusterId(7), node: NodeId::from_index(0) };

/// Small files, so that examples are readable.
const SETTINGS: Settings = Settings { segment_bytes: 4 << 10, preallocated_bytes: 64 };

/// Replaces one file of a folder, chosen by the first byte, with the rest of the input. The store
/// must open the folder or reject it; a folder that it opens must accept writes and keep them.
/// Inputs have equal signatures if they replace the same file with a similar result.
pub fn open_folder(input: &[u8]) -> PathSignature {
    let mut signature = PathSignature::default();
    let (file_byte, content) = input.split_first().unwrap_or((&0, &[]));
    let files = new_folder();
    let paths = files.paths();
    let index = usize::from(*file_byte) % paths.len();
    signature.record(index as u64);
    files.replace(&paths[index], content);
    match reopen(&files) {
        Ok((mut store, writes)) => {
            signature.record_magnitude(writes.0.len());
            store.append(&["one more".to_owned()]).expect("a disk with space accepts a write");
            let expected = store.contents().clone();
            drop(store);
            files.restart_process();
            let (_, writes) = reopen(&files).expect("a folder that accepted a write can be opened");
            assert_eq!(writes, expected, "a write is missing");
        }
        Err(error) => signature.record_message(error),
    }
    signature
}

/// Returns the paths and contents of the files of a valid folder, for example inputs.
pub(crate) fn example_files() -> Vec<(PathBuf, Vec<u8>)> {
    let files = new_folder();
    let read = |path: PathBuf| {
        use quorate_store::FileSystem;
        let content = files.read(&path).unwrap_or_default();
        (path, content)
    };
    files.paths().into_iter().map(read).collect()
}

/// Returns a data folder with three writes and a checkpoint after the second one.
fn new_folder() -> FaultyFiles {
    let files = FaultyFiles::new();
    let identity = Identity { owner: OWNER, origin: Origin::Founded };
    create_in::<Writes, _>(files.clone(), Path::new("data"), identity, Incarnation(0)).expect("a new folder");
    let (mut store, _) = reopen(&files).expect("a valid folder");
    store.append(&["first".to_owned(), "second".to_owned()]).expect("a disk with space");
    store.checkpoint().expect("a disk with space");
    store.append(&["third".to_owned()]).expect("a disk with space");
    drop(store);
    files.restart_process();
    files
}

fn reopen(files: &FaultyFiles) -> Result<(Store<Writes, FaultyFiles>, Writes), String> {
    let opened = Store::open_in(files.clone(), Path::new("data"), OWNER, SETTINGS);
    opened.map(|(store, writes, _)| (store, writes)).map_err(|error| error.to_string())
}
