//! A store keeps the disk of any algorithm over incarnations, checkpoints and crashes.

use super::saving::{codec_for, erase, state_at_start};
use proptest::collection::vec;
use proptest::prelude::{any, proptest};
use quorate_core::{Durable as _, Incarnation, NodeId};
use quorate_erased::{AnyDurable, AnyWrite};
use quorate_replica::{Durable, Write};
use quorate_store::faults::{FaultyFiles, Loss};
use quorate_store::{ClusterId, Identity, Origin, Owner, Settings, Store, create_in};
use std::path::Path;

/// One incarnation of a node: the writes of each append, and whether a checkpoint follows it.
#[derive(Clone, Debug)]
struct StoreRun(Vec<(Vec<Write>, bool)>);

const SMALL_SEGMENTS: Settings = Settings { segment_bytes: 1_500, preallocated_bytes: 400 };

fn run_all(origin: Origin, runs: Vec<StoreRun>, seed: u64) {
    let owner = Owner { cluster: ClusterId(5), node: NodeId::from_index(1) };
    let folder = Path::new("/data/node");
    let files = FaultyFiles::new();
    create_in::<AnyDurable, _>(files.clone(), folder, Identity { owner, origin }, Incarnation::FIRST).unwrap();
    let mut expected = if origin == Origin::Founded { Durable::default() } else { Durable::wiped() };
    for StoreRun(appends) in runs {
        let (mut store, disk, _) =
            Store::<AnyDurable, _>::open_in(files.clone(), folder, owner, SMALL_SEGMENTS).unwrap();
        assert_eq!(state_at_start::<Durable>(codec_for::<Durable>().unseal(disk).unwrap()), expected);
        for (writes, has_checkpoint) in appends {
            let erased: Vec<AnyWrite> = writes.iter().cloned().map(erase::<Durable>).collect();
            store.append(&erased).unwrap();
            writes.into_iter().for_each(|write| expected.apply(write));
            if has_checkpoint {
                store.checkpoint().unwrap();
            }
            assert_eq!(state_at_start::<Durable>(store.contents().clone()), expected);
        }
        drop(store);
        files.power_on(Loss::Sectors { seed });
    }
}

proptest! {
    #[test]
    fn a_store_keeps_data_of_an_unknown_type(
        was_lost: bool,
        seed: u64,
        runs in vec(vec((vec(super::replicas::any_write(), 1..4), any::<bool>()), 0..4), 1..5),
    ) {
        let origin = if was_lost { Origin::Joined } else { Origin::Founded };
        run_all(origin, runs.into_iter().map(StoreRun).collect(), seed);
    }
}
