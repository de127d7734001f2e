//! The disk of a replica, which uses all features of a disk.

use super::saving::{check, codec, erase, read_back, read_write, state_at_start, step};
use proptest::collection::{btree_set, vec};
use proptest::prelude::{Strategy, any, prop_oneof, proptest};
use proptest::strategy::Just;
use quorate_core::{Durable as _, Incarnation, NodeId};
use quorate_erased::AnyDurable;
use quorate_replica::durable::{Ballot, Checkpoint, Cut};
use quorate_replica::members::Configuration;
use quorate_replica::message::{Body, Entry};
use quorate_replica::{Durable, Members, Write};
use std::collections::BTreeSet;

fn nodes() -> impl Strategy<Value = BTreeSet<NodeId>> {
    btree_set((0_usize..9).prop_map(NodeId::from_index), 0..4)
}

fn entry() -> impl Strategy<Value = Entry> {
    let bytes = || vec(any::<u8>(), 0..300);
    let body = prop_oneof![
        Just(Body::Blank),
        bytes().prop_map(|bytes| Body::Batch(bytes.into())),
        bytes().prop_map(|bytes| Body::Change(bytes.into())),
        Just(Body::Leave),
    ];
    (0_u64..20, any::<u64>(), body).prop_map(|(index, term, body)| Entry { index, term, body })
}

fn checkpoint() -> impl Strategy<Value = Checkpoint> {
    let members = (nodes(), nodes(), nodes(), nodes(), any::<bool>());
    (0_u64..20, any::<u64>(), members, vec(any::<u8>(), 0..300)).prop_map(|(index, term, members, image)| {
        let (voters, learners, outgoing, demoted, auto_leave) = members;
        let incoming = Members { voters, learners };
        Checkpoint {
            index,
            term,
            members: Configuration { incoming, outgoing, demoted, auto_leave },
            image: image.into(),
        }
    })
}

pub(crate) fn write() -> impl Strategy<Value = Write> + Clone {
    let ballot = (any::<u64>(), 0_u64..9, any::<u64>());
    let cut = (0_u64..20, any::<u64>()).prop_map(|(index, term)| Cut { index, term });
    let strategy = prop_oneof![
        any::<u64>().prop_map(|life| Write::Born(Incarnation(life))),
        ballot.prop_map(|(term, vote, commit)| Write::Ballot(Ballot { term, vote, commit })),
        vec(entry(), 0..5).prop_map(Write::Entries),
        checkpoint().prop_map(Write::Install),
        (checkpoint(), cut).prop_map(|(checkpoint, cut)| Write::Checkpoint { checkpoint, cut }),
    ];
    std::sync::Arc::new(strategy)
}

proptest! {
    #[test]
    fn a_replica_always_finds_the_fold_of_its_writes(
        was_lost: bool,
        steps in vec(step(write()), 0..20),
    ) {
        check::<Durable>(was_lost, steps);
    }

    #[test]
    fn a_disk_under_a_wrapper_is_erased_twice(was_lost: bool, checkpoint in 0_usize..8, writes in vec(write(), 0..8)) {
        check_wrapped(was_lost, checkpoint, &writes);
    }
}

/// A wrapper around an erased node has the inner node's durable state: the disk is erased twice.
fn check_wrapped(was_lost: bool, checkpoint: usize, writes: &[Write]) {
    let (mut typed, mut disk) =
        if was_lost { (Durable::wiped(), AnyDurable::wiped()) } else { (Durable::default(), AnyDurable::default()) };
    for (index, write) in writes.iter().enumerate() {
        typed.apply(write.clone());
        let wrapped = erase::<AnyDurable>(erase::<Durable>(write.clone()));
        disk.apply(if index % 2 == 0 { wrapped } else { read_write(&wrapped) });
        if index == checkpoint {
            disk = read_back(&disk);
        }
    }
    let inner: AnyDurable = state_at_start(codec::<AnyDurable>().unseal(read_back(&disk)).unwrap());
    assert_eq!(state_at_start::<Durable>(codec::<Durable>().unseal(inner).unwrap()), typed);
}
