//! What each promise of a multicast says about what the users show.
//!
//! Messages are numbered from 1, those of the first sender first, each sender's in the order in which it sends them. A set of them
//! is a word with one bit each.

use super::memoir::{Said, Shown};

type Set = u16;
/// How many numbers there can be, and the one that is not given.
const NUMBERS: usize = 16;

fn bit(number: u8) -> Set {
    1 << (number & 0xf)
}

fn all(facets: &[u64]) -> impl Iterator<Item = Shown> + Clone {
    facets.iter().copied().map(Shown)
}

fn survivors(facets: &[u64]) -> impl Iterator<Item = Shown> + Clone {
    all(facets).filter(|shown| !shown.is_gone())
}

/// The users with the messages that each has to send: how many come before, and how many there are.
fn owners(facets: &[u64]) -> impl Iterator<Item = (Shown, u8, u8)> {
    let mut next = 0;
    all(facets).map(move |shown| {
        let before = next;
        next += shown.messages();
        (shown, before, shown.messages())
    })
}

fn deliveries(story: impl Iterator<Item = Said>) -> impl Iterator<Item = u8> {
    story.filter_map(|said| match said {
        Said::Delivers(number) => Some(number),
        Said::Sends | Said::Foreign | Said::Astray | Said::Begins(_) => None,
    })
}

fn heard(shown: Shown) -> Set {
    deliveries(shown.story()).fold(0, |set, number| set | bit(number))
}

/// What a user has sent, if so many messages come before its first one.
fn sent(shown: Shown, before: u8) -> Set {
    let count = shown.story().filter(|said| *said == Said::Sends).count() as u8;
    (1..=count).fold(0, |set, place| set | bit(before + place))
}

/// Whether everyone delivers each message only after all that must come before it.
fn keep(facets: &[u64], must_precede: impl Fn(u8) -> Set) -> bool {
    all(facets).all(|shown| {
        let mut before = 0;
        deliveries(shown.story()).all(|number| {
            let is_next = must_precede(number) & !before == 0;
            before |= bit(number);
            is_next
        })
    })
}

/// A node delivers a message at most once, and only if it was sent.
pub(super) fn integrity(facets: &[u64]) -> bool {
    let sent = owners(facets).fold(0, |set, (shown, before, _)| set | sent(shown, before));
    all(facets).all(|shown| {
        let mut before = 0;
        shown.story().all(|said| match said {
            Said::Delivers(number) => {
                let is_right = sent & !before & bit(number) != 0;
                before |= bit(number);
                is_right
            }
            Said::Foreign => false,
            Said::Sends | Said::Astray | Said::Begins(_) => true,
        })
    })
}

/// Whoever delivers a message has delivered all that its sender sent before.
pub(super) fn fifo(facets: &[u64]) -> bool {
    let mut earlier = [0; NUMBERS];
    for (_, before, count) in owners(facets) {
        let mut set = 0;
        for number in before + 1..=before + count {
            earlier[usize::from(number & 0xf)] = set;
            set |= bit(number);
        }
    }
    keep(facets, |number| earlier[usize::from(number & 0xf)])
}

/// Whoever delivers a message has delivered all that its sender had sent or delivered before; and so on, since its sender may not
/// have done so itself.
pub(super) fn causal(facets: &[u64]) -> bool {
    let mut causes: [Set; NUMBERS] = [0; NUMBERS];
    for (shown, before, _) in owners(facets) {
        let (mut known, mut number) = (0, before);
        for said in shown.story() {
            match said {
                Said::Sends => {
                    number += 1;
                    causes[usize::from(number & 0xf)] = known;
                    known |= bit(number);
                }
                Said::Delivers(number) => known |= bit(number),
                Said::Foreign | Said::Astray | Said::Begins(_) => {}
            }
        }
    }
    loop {
        let mut grown = causes;
        for set in &mut grown {
            let direct = *set;
            let of_causes = causes.iter().enumerate().filter(|(number, _)| direct >> number & 1 == 1);
            *set = of_causes.fold(direct, |set, (_, causes)| set | causes);
        }
        if grown == causes {
            break;
        }
        causes = grown;
    }
    keep(facets, |number| causes[usize::from(number & 0xf)])
}

/// Two who both deliver two messages, in views that they survive, deliver them in the same order.
pub(super) fn total_of_survivors(facets: &[u64]) -> bool {
    in_one_order(all(facets).map(|shown| Sequence::of(shown.testimony())))
}

/// The same of everyone, the dead included.
pub(super) fn total_of_all(facets: &[u64]) -> bool {
    in_one_order(all(facets).map(|shown| Sequence::of(shown.story())))
}

#[derive(Clone, Copy, Default)]
struct Sequence {
    heard: Set,
    before: [Set; NUMBERS],
}

impl Sequence {
    fn of(story: impl Iterator<Item = Said>) -> Self {
        let mut sequence = Self::default();
        for number in deliveries(story).filter(|number| *number > 0) {
            if sequence.heard & bit(number) == 0 {
                sequence.before[usize::from(number & 0xf)] = sequence.heard;
                sequence.heard |= bit(number);
            }
        }
        sequence
    }

    fn agrees(&self, other: &Self) -> bool {
        let both = self.heard & other.heard;
        let pairs = self.before.iter().zip(&other.before).enumerate();
        pairs.filter(|(number, _)| both >> number & 1 == 1).all(|(_, (mine, theirs))| (mine ^ theirs) & both == 0)
    }
}

fn in_one_order(sequences: impl Iterator<Item = Sequence> + Clone) -> bool {
    let mut rest = sequences;
    while let Some(one) = rest.next() {
        if !rest.clone().all(|other| one.agrees(&other)) {
            return false;
        }
    }
    true
}

/// What one survivor delivers, every survivor does.
pub(super) fn agreement(facets: &[u64]) -> bool {
    let mut heard = survivors(facets).map(heard);
    let Some(first) = heard.next() else { return true };
    heard.all(|other| other == first)
}

/// What a survivor sent, it delivers itself.
pub(super) fn validity(facets: &[u64]) -> bool {
    owners(facets).all(|(shown, before, _)| shown.is_gone() || sent(shown, before) & !heard(shown) == 0)
}

/// What anybody delivers, even one that dies, every survivor does.
pub(super) fn uniform(facets: &[u64]) -> bool {
    let by_anybody = all(facets).fold(0, |set, shown| set | heard(shown));
    survivors(facets).all(|shown| heard(shown) == by_anybody)
}

/// Those who begin a view have delivered the same before it; a message is delivered in the view it was sent in; all who begin a
/// view agree on the state; nobody goes back.
pub(super) fn view_synchrony(facets: &[u64]) -> bool {
    let mut at_views: [Option<Set>; NUMBERS] = [None; NUMBERS];
    all(facets).all(|shown| {
        let mut heard = 0;
        shown.story().all(|said| match said {
            Said::Delivers(number) => {
                heard |= bit(number);
                true
            }
            Said::Begins(later) => *at_views[usize::from(later & 0xf)].get_or_insert(heard) == heard,
            Said::Astray => false,
            Said::Sends | Said::Foreign => true,
        })
    })
}

/// All that survivors sent is delivered by every survivor, and whoever is in the last view has begun it: each one that is gone
/// made a view necessary.
pub(super) fn delivered(facets: &[u64]) -> bool {
    let live = owners(facets).filter(|(shown, _, _)| !shown.is_gone());
    let sent = live.fold(0, |set, (shown, before, _)| set | sent(shown, before));
    let views = all(facets).filter(|shown| shown.is_gone()).count();
    survivors(facets).all(|shown| sent & !heard(shown) == 0 && (!shown.has_views() || shown.later_views() == views))
}

#[cfg(test)]
mod tests {
    use super::super::memoir::Said::{self, Astray, Begins, Delivers, Foreign, Sends};
    use super::super::memoir::{GONE, Memoir, VIEWED};
    use super::{
        agreement, causal, delivered, fifo, integrity, total_of_all, total_of_survivors, uniform, validity,
        view_synchrony,
    };

    /// What a user shows that has so many messages to send.
    fn shows(messages: u8, story: &[Said]) -> u64 {
        let mut memoir = Memoir::default();
        story.iter().for_each(|said| memoir.add(*said));
        memoir.shown(messages, false, false)
    }

    fn gone(shown: u64) -> u64 {
        shown | GONE
    }

    fn in_views(shown: u64) -> u64 {
        shown | VIEWED
    }

    #[test]
    fn nothing_is_told_twice_or_unsent_or_made_up() {
        let sender = shows(1, &[Sends, Delivers(1)]);
        assert!(integrity(&[sender, shows(0, &[Delivers(1)])]));
        assert!(!integrity(&[sender, shows(0, &[Delivers(1), Delivers(1)])]));
        assert!(!integrity(&[sender, shows(0, &[Delivers(2)])]));
        assert!(!integrity(&[shows(1, &[]), shows(0, &[Delivers(1)])]));
        assert!(!integrity(&[sender, shows(0, &[Foreign])]));
        assert!(integrity(&[gone(sender), shows(0, &[Delivers(1)])]), "the dead have sent what they sent");
    }

    #[test]
    fn the_order_of_each_sender_is_kept_without_gaps() {
        let senders = [shows(2, &[Sends, Sends]), shows(1, &[Sends])];
        let told = |story: &[Said]| fifo(&[senders[0], senders[1], shows(0, story)]);
        assert!(told(&[Delivers(3), Delivers(1), Delivers(2)]));
        assert!(told(&[Delivers(1), Delivers(3)]));
        assert!(!told(&[Delivers(2), Delivers(1)]));
        assert!(!told(&[Delivers(2)]), "what is missing cannot come any more");
    }

    #[test]
    fn what_was_heard_comes_before_what_was_said_then() {
        let (first, reply) = (shows(1, &[Sends, Delivers(1)]), shows(1, &[Delivers(1), Sends, Delivers(2)]));
        let told = |story: &[Said]| causal(&[first, reply, shows(0, story)]);
        assert!(told(&[Delivers(1), Delivers(2)]));
        assert!(!told(&[Delivers(2), Delivers(1)]));
        assert!(!told(&[Delivers(2)]));
        assert!(causal(&[first, shows(1, &[Sends, Delivers(1)]), shows(0, &[Delivers(2), Delivers(1)])]), "unheard");
        let third = shows(1, &[Delivers(2), Sends]);
        assert!(!causal(&[first, reply, third]), "it heard the reply alone");
    }

    #[test]
    fn two_agree_on_the_order_of_two() {
        let senders = [shows(1, &[Sends]), shows(1, &[Sends])];
        let (one, other) = (shows(0, &[Delivers(1), Delivers(2)]), shows(0, &[Delivers(2), Delivers(1)]));
        let both = |one, other| [senders[0], senders[1], one, other];
        assert!(total_of_survivors(&both(one, one)));
        assert!(!total_of_survivors(&both(one, other)));
        assert!(total_of_survivors(&both(one, shows(0, &[Delivers(2)]))), "one of them may be missing");
        assert!(total_of_survivors(&both(one, gone(other))) && !total_of_all(&both(one, gone(other))));
        let went_on = gone(shows(0, &[Delivers(2), Delivers(1), Begins(0)]));
        assert!(!total_of_survivors(&both(one, went_on)), "it survived that view");
    }

    #[test]
    fn survivors_hear_the_same_and_themselves() {
        let (sender, hears, deaf) = (shows(1, &[Sends, Delivers(1)]), shows(0, &[Delivers(1)]), shows(0, &[]));
        assert!(agreement(&[sender, hears]) && !agreement(&[sender, deaf]));
        assert!(agreement(&[gone(sender), deaf]) && !uniform(&[gone(sender), deaf]));
        assert!(uniform(&[gone(sender), hears]) && uniform(&[gone(sender), gone(deaf)]));
        assert!(!validity(&[shows(1, &[Sends]), hears]) && validity(&[gone(shows(1, &[Sends])), hears]));
        assert!(!delivered(&[sender, deaf]) && delivered(&[gone(sender), deaf]));
    }

    #[test]
    fn those_who_begin_a_view_have_heard_the_same() {
        let (hears, deaf) = (shows(0, &[Delivers(1), Begins(0)]), shows(0, &[Begins(0), Delivers(1)]));
        assert!(view_synchrony(&[hears, hears]) && !view_synchrony(&[hears, deaf]));
        assert!(!view_synchrony(&[hears, gone(deaf)]), "it was there when the view began");
        assert!(view_synchrony(&[hears, shows(0, &[])]), "not yet");
        assert!(!view_synchrony(&[shows(0, &[Astray])]));
    }

    #[test]
    fn each_death_makes_a_view() {
        let (here, there) = (in_views(shows(0, &[])), in_views(shows(0, &[Begins(0)])));
        assert!(delivered(&[here, here]) && !delivered(&[here, gone(here)]) && delivered(&[there, gone(here)]));
    }
}
