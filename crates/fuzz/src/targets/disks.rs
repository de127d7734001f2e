//! The files of a data folder.

use crate::Trail;
use quorate_core::{Durable, Incarnation, NodeId};
use quorate_store::faults::FaultyFiles;
use quorate_store::{ClusterId, Identity, Origin, Owner, Settings, Store, create_in};
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

/// What the folder keeps: every write, in order.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Kept(Vec<String>);

impl Durable for Kept {
    type Write = String;
    fn apply(&mut self, write: String) {
        self.0.push(write);
    }
}

const OWNER: Owner = Owner { cluster: ClusterId(7), node: NodeId::from_index(0) };

/// Small, so that an example is a file that people can look at.
const SETTINGS: Settings = Settings { segment_bytes: 4 << 10, ahead_bytes: 64 };

/// The first byte says which file has the rest as its content. The folder is opened or refused; one that is opened
/// takes writes, and keeps them.
pub fn open(input: &[u8]) -> Trail {
    let mut trail = Trail::default();
    let (which, content) = input.split_first().unwrap_or((&0, &[]));
    let files = folder();
    let paths = files.paths();
    let place = usize::from(*which) % paths.len();
    trail.step(place as u64);
    files.replace(&paths[place], content);
    match reopen(&files) {
        Ok((mut store, kept)) => {
            trail.about(kept.0.len());
            store.append(&["one more".to_owned()]).expect("an endless disk takes a write");
            let expected = store.contents().clone();
            drop(store);
            files.restart_process();
            let (_, kept) = reopen(&files).expect("a folder that took a write can be opened");
            assert_eq!(kept, expected, "what was written is not there");
        }
        Err(sentence) => trail.say(sentence),
    }
    trail
}

/// The files of a folder with some writes and a checkpoint in it, each with its content.
pub(crate) fn contents() -> Vec<(PathBuf, Vec<u8>)> {
    let files = folder();
    let read = |path: PathBuf| {
        use quorate_store::FileSystem;
        let content = files.read(&path).unwrap_or_default();
        (path, content)
    };
    files.paths().into_iter().map(read).collect()
}

fn folder() -> FaultyFiles {
    let files = FaultyFiles::new();
    let identity = Identity { owner: OWNER, origin: Origin::Founded };
    create_in::<Kept, _>(files.clone(), Path::new("data"), identity, Incarnation(0)).expect("a new folder");
    let (mut store, _) = reopen(&files).expect("a good folder");
    store.append(&["first".to_owned(), "second".to_owned()]).expect("an endless disk");
    store.checkpoint().expect("an endless disk");
    store.append(&["third".to_owned()]).expect("an endless disk");
    drop(store);
    files.restart_process();
    files
}

fn reopen(files: &FaultyFiles) -> Result<(Store<Kept, FaultyFiles>, Kept), String> {
    let opened = Store::open_in(files.clone(), Path::new("data"), OWNER, SETTINGS);
    opened.map(|(store, kept, _)| (store, kept)).map_err(|error| error.to_string())
}
