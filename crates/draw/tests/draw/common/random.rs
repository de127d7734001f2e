//! Random scripts.

use super::{Action, hostile_text};
use proptest::collection;
use proptest::prelude::{Just, Strategy, prop_oneof};
use proptest::sample;
use quorate_core::Class;
use quorate_journal::moment::Loss;

/// A script for a group of this size, with hostile names and texts.
pub(crate) fn any_script(nodes: u32) -> impl Strategy<Value = Vec<Action>> {
    collection::vec(any_action(nodes), 0..60)
}

pub(crate) fn any_action(nodes: u32) -> impl Strategy<Value = Action> {
    let id = move || 1..=nodes;
    let message_index = || 0..6usize;
    let class = sample::select(vec![Class::Algorithm, Class::Announcement, Class::Control]);
    let cause = sample::select(vec![Loss::Chance, Loss::Cut, Loss::Down]);
    let changes = ["cut 1 | 2,3", "cut 2 > 3", "end of cut 1 | 2,3", "end of cut 2 > 3", "heal", "skew 2 by 3ms"];
    let change = prop_oneof![sample::select(changes.map(String::from).to_vec()), hostile_text()];
    let event = prop_oneof![Just("ENTERS".to_owned()), Just("LEAVES".to_owned()), hostile_text()];
    let command = prop_oneof![Just("acquire".to_owned()), hostile_text()];
    let steps = prop_oneof![
        (id(), 0..3u64).prop_map(|(id, incarnation)| Action::Start(id, incarnation)),
        (id(), command).prop_map(|(id, text)| Action::Command(id, text)),
        id().prop_map(Action::Timer),
        id().prop_map(Action::Saved),
        id().prop_map(Action::EndOfTurn),
    ];
    // Each member, its incarnation and the view it joined in.
    let stays = collection::vec((id(), 0..2u64, 0..4u64), 0..4);
    let membership = prop_oneof![
        (id(), 0..5u64, stays).prop_map(|(id, epoch, stays)| Action::View(id, epoch, stays)),
        (id(), -2..9i64).prop_map(|(id, millis)| Action::Lease(id, millis)),
    ];
    // The view rules that a scene interprets, and VW-6, which it does not.
    let rules = ["VW-1", "VW-2", "VW-3", "VW-5", "VW-6"].map(String::from).to_vec();
    let rule = prop_oneof![sample::select(rules), hostile_text()];
    // Held-back messages are named by sender, number and, after `@`, view.
    let queue = prop_oneof![hostile_text(), Just("2#1, 3#2@4, 1#17".to_owned()), Just(String::new())];
    let effects = prop_oneof![
        (id(), hostile_text(), class).prop_map(|(to, kind, class)| Action::Send(to, kind, class)),
        (id(), hostile_text(), 0..4u64).prop_map(|(to, kind, number)| Action::SendFrame(to, kind, number)),
        hostile_text().prop_map(Action::Multicast),
        hostile_text().prop_map(Action::LabelledMulticast),
        (0..4usize, queue).prop_map(|(count, names)| Action::SetHoldBackQueue(count, names)),
        (rule, hostile_text()).prop_map(|(rule, text)| Action::Rule(rule, text)),
        event.prop_map(Action::Emit),
        (id(), 0..4u64).prop_map(|(from, number)| Action::DeliverPayload(from, number)),
        Just(Action::SetTimer),
    ];
    let world = prop_oneof![
        (message_index(), cause).prop_map(|(index, cause)| Action::Lose(index, cause)),
        message_index().prop_map(Action::Duplicate),
        id().prop_map(Action::Crash),
        id().prop_map(Action::Stop),
        id().prop_map(Action::Pause),
        id().prop_map(Action::Resume),
        change.prop_map(Action::Change),
    ];
    prop_oneof![
        2 => (0..4i64).prop_map(Action::Wait),
        3 => steps,
        2 => membership,
        4 => effects,
        4 => message_index().prop_map(Action::Deliver),
        1 => message_index().prop_map(Action::ReceiveFrame),
        2 => world,
    ]
}
