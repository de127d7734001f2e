//! The disk of a replica, which uses all features of a disk.

use super::saving::{
    any_step, assert_states_match, codec_for, disk_through_bytes, erase, state_at_start, write_through_bytes,
};
use proptest::collection::{btree_set, vec};
use proptest::prelude::{Strategy, any, prop_oneof, proptest};
use proptest::strategy::Just;
use quorate_core::{Durable as _, Incarnation, NodeId};
use quorate_erased::AnyDurable;
use quorate_replica::durable::{Ballot, Checkpoint, LogStart};
use quorate_replica::members::Configuration;
use quorate_replica::message::{Entry, EntryBody};
use quorate_replica::{Durable, Members, Write};
use std::collections::BTreeSet;

fn any_nodes() -> impl Strategy<Value = BTreeSet<NodeId>> {
    btree_set((0_usize..9).prop_map(NodeId::from_index), 0..4)
}

fn any_entry() -> impl Strategy<Value = Entry> {
    let bytes = || vec(any::<u8>(), 0..300);
    let body = prop_oneof![
        Just(EntryBody::Blank),
        bytes().prop_map(|bytes| EntryBody::Batch(bytes.into())),
        bytes().prop_map(|bytes| EntryBody::Change(bytes.into())),
        Just(EntryBody::Leave),
    ];
    (0_u64..20, any::<u64>(), body).prop_map(|(index, term, body)| Entry { index, term, body })
}

fn any_checkpoint() -> impl Strategy<Value = Checkpoint> {
    let members = (any_nodes(), any_nodes(), any_nodes(), any_nodes(), any::<bool>());
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

pub(crate) fn any_write() -> impl Strategy<Value = Write> + Clone {
    let ballot = (any::<u64>(), 0_u64..9, any::<u64>());
    let log_start = (0_u64..20, any::<u64>()).prop_map(|(index, term)| LogStart { index, term });
    let strategy = prop_oneof![
        any::<u64>().prop_map(|number| Write::JoiningIncarnation(Incarnation(number))),
        ballot.prop_map(|(term, vote, commit)| Write::Ballot(Ballot { term, vote, commit })),
        vec(any_entry(), 0..5).prop_map(Write::Entries),
        any_checkpoint().prop_map(Write::Install),
        (any_checkpoint(), log_start).prop_map(|(checkpoint, log_start)| Write::Checkpoint { checkpoint, log_start }),
    ];
    std::sync::Arc::new(strategy)
}

proptest! {
    #[test]
    fn a_replica_always_finds_the_state_after_all_its_writes(
        was_lost: bool,
        steps in vec(any_step(any_write()), 0..20),
    ) {
        assert_states_match::<Durable>(was_lost, steps);
    }

    #[test]
    fn a_disk_that_is_erased_twice_holds_all_writes(was_lost: bool, checkpoint_after in 0_usize..8, writes in vec(any_write(), 0..8)) {
        assert_wrapped_states_match(was_lost, checkpoint_after, &writes);
    }
}

/// The durable state of a wrapper around an erased node is already erased, and `Erased::new` erases
/// it once more. A checkpoint follows the write with the index `checkpoint_after`.
fn assert_wrapped_states_match(was_lost: bool, checkpoint_after: usize, writes: &[Write]) {
    let (mut typed, mut disk) =
        if was_lost { (Durable::wiped(), AnyDurable::wiped()) } else { (Durable::default(), AnyDurable::default()) };
    for (index, write) in writes.iter().enumerate() {
        typed.apply(write.clone());
        let wrapped = erase::<AnyDurable>(erase::<Durable>(write.clone()));
        disk.apply(if index % 2 == 0 { wrapped } else { write_through_bytes(&wrapped) });
        if index == checkpoint_after {
            disk = disk_through_bytes(&disk);
        }
    }
    let inner: AnyDurable = state_at_start(codec_for::<AnyDurable>().unseal(disk_through_bytes(&disk)).unwrap());
    assert_eq!(state_at_start::<Durable>(codec_for::<Durable>().unseal(inner).unwrap()), typed);
}
