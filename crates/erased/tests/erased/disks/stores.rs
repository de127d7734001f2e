//! A store keeps the disk of any algorithm: over lives, checkpoints and crashes.

use super::keeper::{codec, erase, found};
use proptest::collection::vec;
use proptest::prelude::{any, proptest};
use quorate_core::{Durable as _, Incarnation, NodeId};
use quorate_erased::{AnyDurable, AnyWrite};
use quorate_replica::{Durable, Write};
use quorate_store::faults::{FaultyFiles, Loss};
use quorate_store::{ClusterId, Identity, Origin, Owner, Settings, Store, create_in};
use std::path::Path;

/// One life of a node: how much it appends at a time, and whether it checkpoints then.
#[derive(Clone, Debug)]
struct Life(Vec<(Vec<Write>, bool)>);

const SMALL: Settings = Settings { segment_bytes: 1_500, ahead_bytes: 400 };

fn live(origin: Origin, lives: Vec<Life>, seed: u64) {
    let owner = Owner { cluster: ClusterId(5), node: NodeId::from_index(1) };
    let folder = Path::new("/data/node");
    let files = FaultyFiles::new();
    create_in::<AnyDurable, _>(files.clone(), folder, Identity { owner, origin }, Incarnation::FIRST).unwrap();
    let mut expected = if origin == Origin::Founded { Durable::default() } else { Durable::wiped() };
    for Life(appends) in lives {
        let (mut store, disk, _) = Store::<AnyDurable, _>::open_in(files.clone(), folder, owner, SMALL).unwrap();
        assert_eq!(found::<Durable>(codec::<Durable>().unseal(disk).unwrap()), expected);
        for (writes, has_checkpoint) in appends {
            let erased: Vec<AnyWrite> = writes.iter().cloned().map(erase::<Durable>).collect();
            store.append(&erased).unwrap();
            writes.into_iter().for_each(|write| expected.apply(write));
            if has_checkpoint {
                store.checkpoint().unwrap();
            }
            assert_eq!(found::<Durable>(store.contents().clone()), expected);
        }
        drop(store);
        files.power_on(Loss::Sectors { seed });
    }
}

proptest! {
    #[test]
    fn a_store_keeps_what_it_need_not_understand(
        was_lost: bool,
        seed: u64,
        lives in vec(vec((vec(super::replicas::write(), 1..4), any::<bool>()), 0..4), 1..5),
    ) {
        let origin = if was_lost { Origin::Joined } else { Origin::Founded };
        live(origin, lives.into_iter().map(Life).collect(), seed);
    }
}
