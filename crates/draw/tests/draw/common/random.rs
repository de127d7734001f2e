//! Random scripts.

use super::{Action, hostile};
use proptest::collection;
use proptest::prelude::{Just, Strategy, prop_oneof};
use proptest::sample;
use quorate_core::Class;
use quorate_journal::moment::Loss;

/// A script for a group of this size, with hostile names and texts.
pub(crate) fn any_script(nodes: u32) -> impl Strategy<Value = Vec<Action>> {
    collection::vec(action(nodes), 0..60)
}

pub(crate) fn action(nodes: u32) -> impl Strategy<Value = Action> {
    let id = move || 1..=nodes;
    let which = || 0..6usize;
    let class = sample::select(vec![Class::Algorithm, Class::Announcement, Class::Control]);
    let why = sample::select(vec![Loss::Chance, Loss::Cut, Loss::Down]);
    let changes = ["cut 1 | 2,3", "cut 2 > 3", "end of cut 1 | 2,3", "end of cut 2 > 3", "heal", "skew 2 by 3ms"];
    let change = prop_oneof![sample::select(changes.map(String::from).to_vec()), hostile()];
    let event = prop_oneof![Just("ENTERS".to_owned()), Just("LEAVES".to_owned()), hostile()];
    let command = prop_oneof![Just("acquire".to_owned()), hostile()];
    let steps = prop_oneof![
        (id(), 0..3u64).prop_map(|(id, life)| Action::Start(id, life)),
        (id(), command).prop_map(|(id, text)| Action::Command(id, text)),
        id().prop_map(Action::Timer),
        id().prop_map(Action::Saved),
    ];
    let stays = collection::vec((id(), 0..2u64, 0..4u64), 0..4);
    let membership = prop_oneof![
        (id(), 0..5u64, stays).prop_map(|(id, epoch, stays)| Action::View(id, epoch, stays)),
        (id(), -2..9i64).prop_map(|(id, millis)| Action::Lease(id, millis)),
    ];
    let rules = ["VW-1", "VW-2", "VW-3", "VW-5", "VW-6"].map(String::from).to_vec();
    let rule = prop_oneof![sample::select(rules), hostile()];
    let queue = prop_oneof![hostile(), Just("2#1, 3#2@4, 1#17".to_owned()), Just(String::new())];
    let effects = prop_oneof![
        (id(), hostile(), class).prop_map(|(to, kind, class)| Action::Send(to, kind, class)),
        (id(), hostile(), 0..4u64).prop_map(|(to, kind, number)| Action::Parcel(to, kind, number)),
        hostile().prop_map(Action::Multicast),
        hostile().prop_map(Action::Labelled),
        (0..4usize, queue).prop_map(|(count, names)| Action::Queue(count, names)),
        (rule, hostile()).prop_map(|(rule, text)| Action::Rule(rule, text)),
        event.prop_map(Action::Emit),
        (id(), 0..4u64).prop_map(|(from, number)| Action::Hand(from, number)),
        Just(Action::Set),
    ];
    let world = prop_oneof![
        (which(), why).prop_map(|(which, why)| Action::Lose(which, why)),
        which().prop_map(Action::Double),
        id().prop_map(Action::Crash),
        id().prop_map(Action::End),
        id().prop_map(Action::Pause),
        id().prop_map(Action::Resume),
        change.prop_map(Action::Change),
    ];
    prop_oneof![
        2 => (0..4i64).prop_map(Action::Wait),
        3 => steps,
        2 => membership,
        4 => effects,
        4 => which().prop_map(Action::Deliver),
        1 => which().prop_map(Action::Hold),
        2 => world,
    ]
}
