//! Random scripts.

use super::{Act, hostile};
use proptest::collection;
use proptest::prelude::{Just, Strategy, prop_oneof};
use proptest::sample;
use quorate_core::Class;
use quorate_journal::moment::Loss;

/// A script for a group of this size, with hostile names and texts.
pub(crate) fn any_tale(nodes: u32) -> impl Strategy<Value = Vec<Act>> {
    collection::vec(act(nodes), 0..60)
}

pub(crate) fn act(nodes: u32) -> impl Strategy<Value = Act> {
    let who = move || 1..=nodes;
    let which = || 0..6usize;
    let class = sample::select(vec![Class::Algorithm, Class::Announcement, Class::Control]);
    let why = sample::select(vec![Loss::Chance, Loss::Cut, Loss::Down]);
    let changes = ["cut 1 | 2,3", "cut 2 > 3", "end of cut 1 | 2,3", "end of cut 2 > 3", "heal", "skew 2 by 3ms"];
    let change = prop_oneof![sample::select(changes.map(String::from).to_vec()), hostile()];
    let told = prop_oneof![Just("ENTERS".to_owned()), Just("LEAVES".to_owned()), hostile()];
    let asked = prop_oneof![Just("acquire".to_owned()), hostile()];
    let steps = prop_oneof![
        (who(), 0..3u64).prop_map(|(who, life)| Act::Start(who, life)),
        (who(), asked).prop_map(|(who, text)| Act::Command(who, text)),
        who().prop_map(Act::Timer),
        who().prop_map(Act::Saved),
    ];
    let stays = collection::vec((who(), 0..2u64, 0..4u64), 0..4);
    let membership = prop_oneof![
        (who(), 0..5u64, stays).prop_map(|(who, epoch, stays)| Act::View(who, epoch, stays)),
        (who(), -2..9i64).prop_map(|(who, millis)| Act::Lease(who, millis)),
    ];
    let rules = ["VW-1", "VW-2", "VW-3", "VW-5", "VW-6"].map(String::from).to_vec();
    let rule = prop_oneof![sample::select(rules), hostile()];
    let queue = prop_oneof![hostile(), Just("2#1, 3#2@4, 1#17".to_owned()), Just(String::new())];
    let effects = prop_oneof![
        (who(), hostile(), class).prop_map(|(to, kind, class)| Act::Send(to, kind, class)),
        (who(), hostile(), 0..4u64).prop_map(|(to, kind, number)| Act::Parcel(to, kind, number)),
        hostile().prop_map(Act::Multicast),
        hostile().prop_map(Act::Letter),
        (0..4usize, queue).prop_map(|(count, names)| Act::Queue(count, names)),
        (rule, hostile()).prop_map(|(rule, text)| Act::Rule(rule, text)),
        told.prop_map(Act::Emit),
        (who(), 0..4u64).prop_map(|(from, number)| Act::Hand(from, number)),
        Just(Act::Set),
    ];
    let world = prop_oneof![
        (which(), why).prop_map(|(which, why)| Act::Lose(which, why)),
        which().prop_map(Act::Double),
        who().prop_map(Act::Crash),
        who().prop_map(Act::End),
        who().prop_map(Act::Pause),
        who().prop_map(Act::Resume),
        change.prop_map(Act::Change),
    ];
    prop_oneof![
        2 => (0..4i64).prop_map(Act::Wait),
        3 => steps,
        2 => membership,
        4 => effects,
        4 => which().prop_map(Act::Deliver),
        1 => which().prop_map(Act::Hold),
        2 => world,
    ]
}
