//! Judges each promise of a multicast by the facets (packed histories) of all clients.
//!
//! Messages are numbered from 1: first those of the first sender, each sender's in sending order. A
//! set of messages is a word with one bit per message.

use super::history::{Facet, HistoryEvent};

type MessageSet = u16;
/// The number of possible message numbers, including the unused 0.
const MESSAGE_NUMBERS: usize = 16;

fn bit(number: u8) -> MessageSet {
    1 << (number & 0xf)
}

fn all_histories(facets: &[u64]) -> impl Iterator<Item = Facet> + Clone {
    facets.iter().copied().map(Facet)
}

fn survivors(facets: &[u64]) -> impl Iterator<Item = Facet> + Clone {
    all_histories(facets).filter(|history| !history.is_gone())
}

/// Each client, the offset of its messages (the number of messages of earlier senders), and their
/// count.
fn senders(facets: &[u64]) -> impl Iterator<Item = (Facet, u8, u8)> {
    let mut next = 0;
    all_histories(facets).map(move |history| {
        let offset = next;
        next += history.messages();
        (history, offset, history.messages())
    })
}

fn deliveries(events: impl Iterator<Item = HistoryEvent>) -> impl Iterator<Item = u8> {
    events.filter_map(|event| match event {
        HistoryEvent::Delivers(number) => Some(number),
        HistoryEvent::Sends | HistoryEvent::DeliversUnknown | HistoryEvent::WrongView | HistoryEvent::BeginsView(_) => {
            None
        }
    })
}

/// The messages that a client has delivered.
fn delivered_by(history: Facet) -> MessageSet {
    deliveries(history.events()).fold(0, |set, number| set | bit(number))
}

/// The messages that a client has sent, given the offset of its first message.
fn sent_by(history: Facet, offset: u8) -> MessageSet {
    let count = history.events().filter(|event| *event == HistoryEvent::Sends).count() as u8;
    (1..=count).fold(0, |set, index| set | bit(offset + index))
}

/// Whether every client delivers each message only after all messages that must precede it.
fn all_respect(facets: &[u64], must_precede: impl Fn(u8) -> MessageSet) -> bool {
    all_histories(facets).all(|history| {
        let mut delivered_before = 0;
        deliveries(history.events()).all(|number| {
            let is_in_order = must_precede(number) & !delivered_before == 0;
            delivered_before |= bit(number);
            is_in_order
        })
    })
}

/// A node delivers a message at most once, and only if it was sent.
pub(super) fn integrity(facets: &[u64]) -> bool {
    let sent = senders(facets).fold(0, |set, (history, offset, _)| set | sent_by(history, offset));
    all_histories(facets).all(|history| {
        let mut delivered_before = 0;
        history.events().all(|event| match event {
            HistoryEvent::Delivers(number) => {
                let is_correct = sent & !delivered_before & bit(number) != 0;
                delivered_before |= bit(number);
                is_correct
            }
            HistoryEvent::DeliversUnknown => false,
            HistoryEvent::Sends | HistoryEvent::WrongView | HistoryEvent::BeginsView(_) => true,
        })
    })
}

/// A client that delivers a message has delivered all earlier messages of its sender.
pub(super) fn fifo(facets: &[u64]) -> bool {
    let mut earlier = [0; MESSAGE_NUMBERS];
    for (_, offset, count) in senders(facets) {
        let mut set = 0;
        for number in offset + 1..=offset + count {
            earlier[usize::from(number & 0xf)] = set;
            set |= bit(number);
        }
    }
    all_respect(facets, |number| earlier[usize::from(number & 0xf)])
}

/// A client that delivers a message has delivered all messages that its sender had sent or
/// delivered before, and transitively their causes, because the sender itself may have violated
/// causal order.
pub(super) fn causal(facets: &[u64]) -> bool {
    let mut causes: [MessageSet; MESSAGE_NUMBERS] = [0; MESSAGE_NUMBERS];
    for (history, offset, _) in senders(facets) {
        let (mut known, mut number) = (0, offset);
        for event in history.events() {
            match event {
                HistoryEvent::Sends => {
                    number += 1;
                    causes[usize::from(number & 0xf)] = known;
                    known |= bit(number);
                }
                HistoryEvent::Delivers(delivered) => known |= bit(delivered),
                HistoryEvent::DeliversUnknown | HistoryEvent::WrongView | HistoryEvent::BeginsView(_) => {}
            }
        }
    }
    loop {
        let mut grown = causes;
        for set in &mut grown {
            let direct = *set;
            let direct_causes = causes.iter().enumerate().filter(|(number, _)| direct >> number & 1 == 1);
            *set = direct_causes.fold(direct, |set, (_, causes)| set | causes);
        }
        if grown == causes {
            break;
        }
        causes = grown;
    }
    all_respect(facets, |number| causes[usize::from(number & 0xf)])
}

/// Two clients that both deliver two messages, in views that they survive, deliver them in the same
/// order.
pub(super) fn total_order_of_survivors(facets: &[u64]) -> bool {
    all_agree(all_histories(facets).map(|history| Sequence::from_events(history.surviving_events())))
}

/// Like [`total_order_of_survivors`], for all clients including crashed ones.
pub(super) fn total_order_of_all(facets: &[u64]) -> bool {
    all_agree(all_histories(facets).map(|history| Sequence::from_events(history.events())))
}

/// The deliveries of one client: for each message, the set of messages delivered before it.
#[derive(Clone, Copy, Default)]
struct Sequence {
    delivered: MessageSet,
    before: [MessageSet; MESSAGE_NUMBERS],
}

impl Sequence {
    fn from_events(events: impl Iterator<Item = HistoryEvent>) -> Self {
        let mut sequence = Self::default();
        for number in deliveries(events).filter(|number| *number > 0) {
            if sequence.delivered & bit(number) == 0 {
                sequence.before[usize::from(number & 0xf)] = sequence.delivered;
                sequence.delivered |= bit(number);
            }
        }
        sequence
    }

    fn agrees_with(&self, other: &Self) -> bool {
        let common = self.delivered & other.delivered;
        let pairs = self.before.iter().zip(&other.before).enumerate();
        pairs.filter(|(number, _)| common >> number & 1 == 1).all(|(_, (mine, theirs))| (mine ^ theirs) & common == 0)
    }
}

/// Whether all sequences agree pairwise.
fn all_agree(sequences: impl Iterator<Item = Sequence> + Clone) -> bool {
    let mut rest = sequences;
    while let Some(sequence) = rest.next() {
        if !rest.clone().all(|other| sequence.agrees_with(&other)) {
            return false;
        }
    }
    true
}

/// A message that one survivor delivers is delivered by every survivor.
pub(super) fn agreement(facets: &[u64]) -> bool {
    let mut delivered_sets = survivors(facets).map(delivered_by);
    let Some(first) = delivered_sets.next() else { return true };
    delivered_sets.all(|other| other == first)
}

/// Every survivor delivers the messages that it sent.
pub(super) fn validity(facets: &[u64]) -> bool {
    senders(facets)
        .all(|(history, offset, _)| history.is_gone() || sent_by(history, offset) & !delivered_by(history) == 0)
}

/// A message that any client delivers, even one that crashes, is delivered by every survivor.
pub(super) fn uniform(facets: &[u64]) -> bool {
    let delivered_by_any = all_histories(facets).fold(0, |set, history| set | delivered_by(history));
    survivors(facets).all(|history| delivered_by(history) == delivered_by_any)
}

/// Clients that begin a view have delivered the same messages before it; a message is delivered in
/// the view in which it was sent; all clients that begin a view are members of it and agree on the
/// state; no client returns to an earlier view. A client records a violation of any rule but the
/// first as `WrongView`.
pub(super) fn view_synchrony(facets: &[u64]) -> bool {
    // Indexed by view: 0 is the second one, because the first begins without an event. There are
    // fewer views than message numbers.
    let mut delivered_before_view: [Option<MessageSet>; MESSAGE_NUMBERS] = [None; MESSAGE_NUMBERS];
    all_histories(facets).all(|history| {
        let mut delivered = 0;
        history.events().all(|event| match event {
            HistoryEvent::Delivers(number) => {
                delivered |= bit(number);
                true
            }
            HistoryEvent::BeginsView(index) => {
                *delivered_before_view[usize::from(index & 0xf)].get_or_insert(delivered) == delivered
            }
            HistoryEvent::WrongView => false,
            HistoryEvent::Sends | HistoryEvent::DeliversUnknown => true,
        })
    })
}

/// Every survivor has delivered all messages that survivors sent, and every member of the last view
/// has begun it: each crash causes one view change.
pub(super) fn all_delivered(facets: &[u64]) -> bool {
    let survivors_with_messages = senders(facets).filter(|(history, _, _)| !history.is_gone());
    let sent = survivors_with_messages.fold(0, |set, (history, offset, _)| set | sent_by(history, offset));
    let view_changes = all_histories(facets).filter(|history| history.is_gone()).count();
    survivors(facets).all(|history| {
        sent & !delivered_by(history) == 0 && (!history.has_views() || history.view_changes() == view_changes)
    })
}

#[cfg(test)]
mod tests {
    use super::super::history::HistoryEvent::{self, BeginsView, Delivers, DeliversUnknown, Sends, WrongView};
    use super::super::history::{GONE, HAS_VIEWS, History};
    use super::{
        agreement, all_delivered, causal, fifo, integrity, total_order_of_all, total_order_of_survivors, uniform,
        validity, view_synchrony,
    };

    /// The facet of a client with this many messages to send.
    fn facet(messages: u8, events: &[HistoryEvent]) -> u64 {
        let mut history = History::default();
        events.iter().for_each(|event| history.add(*event));
        let (is_gone, has_views) = (false, false);
        history.to_facet(messages, is_gone, has_views)
    }

    fn crashed(facet: u64) -> u64 {
        facet | GONE
    }

    fn in_views(facet: u64) -> u64 {
        facet | HAS_VIEWS
    }

    #[test]
    fn duplicate_unsent_and_unknown_messages_violate_integrity() {
        let sender = facet(1, &[Sends, Delivers(1)]);
        assert!(integrity(&[sender, facet(0, &[Delivers(1)])]));
        assert!(!integrity(&[sender, facet(0, &[Delivers(1), Delivers(1)])]));
        assert!(!integrity(&[sender, facet(0, &[Delivers(2)])]));
        assert!(!integrity(&[facet(1, &[]), facet(0, &[Delivers(1)])]));
        assert!(!integrity(&[sender, facet(0, &[DeliversUnknown])]));
        assert!(integrity(&[crashed(sender), facet(0, &[Delivers(1)])]), "messages of crashed senders count");
    }

    #[test]
    fn fifo_requires_each_senders_order_without_gaps() {
        let senders = [facet(2, &[Sends, Sends]), facet(1, &[Sends])];
        let is_fifo = |events: &[HistoryEvent]| fifo(&[senders[0], senders[1], facet(0, events)]);
        assert!(is_fifo(&[Delivers(3), Delivers(1), Delivers(2)]));
        assert!(is_fifo(&[Delivers(1), Delivers(3)]));
        assert!(!is_fifo(&[Delivers(2), Delivers(1)]));
        assert!(!is_fifo(&[Delivers(2)]), "a gap cannot be filled later");
    }

    #[test]
    fn a_message_is_delivered_after_its_causes() {
        let (first, reply) = (facet(1, &[Sends, Delivers(1)]), facet(1, &[Delivers(1), Sends, Delivers(2)]));
        let is_causal = |events: &[HistoryEvent]| causal(&[first, reply, facet(0, events)]);
        assert!(is_causal(&[Delivers(1), Delivers(2)]));
        assert!(!is_causal(&[Delivers(2), Delivers(1)]));
        assert!(!is_causal(&[Delivers(2)]));
        assert!(
            causal(&[first, facet(1, &[Sends, Delivers(1)]), facet(0, &[Delivers(2), Delivers(1)])]),
            "concurrent messages have no order"
        );
        let third = facet(1, &[Delivers(2), Sends]);
        assert!(!causal(&[first, reply, third]), "the third client delivered the reply without its cause");
    }

    #[test]
    fn total_order_compares_common_messages() {
        let senders = [facet(1, &[Sends]), facet(1, &[Sends])];
        let (one, other) = (facet(0, &[Delivers(1), Delivers(2)]), facet(0, &[Delivers(2), Delivers(1)]));
        let both = |one, other| [senders[0], senders[1], one, other];
        assert!(total_order_of_survivors(&both(one, one)));
        assert!(!total_order_of_survivors(&both(one, other)));
        assert!(total_order_of_survivors(&both(one, facet(0, &[Delivers(2)]))), "one message may be missing");
        assert!(
            total_order_of_survivors(&both(one, crashed(other))) && !total_order_of_all(&both(one, crashed(other)))
        );
        let survived = crashed(facet(0, &[Delivers(2), Delivers(1), BeginsView(0)]));
        assert!(
            !total_order_of_survivors(&both(one, survived)),
            "the crashed client survived the view in which it delivered both"
        );
    }

    #[test]
    fn survivors_deliver_the_same_messages_and_their_own() {
        let (sender, delivers, misses) = (facet(1, &[Sends, Delivers(1)]), facet(0, &[Delivers(1)]), facet(0, &[]));
        assert!(agreement(&[sender, delivers]) && !agreement(&[sender, misses]));
        assert!(agreement(&[crashed(sender), misses]) && !uniform(&[crashed(sender), misses]));
        assert!(uniform(&[crashed(sender), delivers]) && uniform(&[crashed(sender), crashed(misses)]));
        assert!(!validity(&[facet(1, &[Sends]), delivers]) && validity(&[crashed(facet(1, &[Sends])), delivers]));
        assert!(!all_delivered(&[sender, misses]) && all_delivered(&[crashed(sender), misses]));
    }

    #[test]
    fn members_of_a_view_delivered_the_same_before_it() {
        let (before, after) = (facet(0, &[Delivers(1), BeginsView(0)]), facet(0, &[BeginsView(0), Delivers(1)]));
        assert!(view_synchrony(&[before, before]) && !view_synchrony(&[before, after]));
        assert!(!view_synchrony(&[before, crashed(after)]), "the crashed client was a member when the view began");
        assert!(view_synchrony(&[before, facet(0, &[])]), "the second client has not begun the view yet");
        assert!(!view_synchrony(&[facet(0, &[WrongView])]));
    }

    #[test]
    fn each_crash_causes_a_view() {
        let (first_view, second_view) = (in_views(facet(0, &[])), in_views(facet(0, &[BeginsView(0)])));
        assert!(
            all_delivered(&[first_view, first_view])
                && !all_delivered(&[first_view, crashed(first_view)])
                && all_delivered(&[second_view, crashed(first_view)])
        );
    }
}
