//! Properties that hold under every schedule of losses, duplicates, reorderings and crashes.
//!
//! A word is a message of the inner protocol. Its serial counts the words of one incarnation to one
//! peer from 0.

use super::network::{Action, AddressedFrame, Network, Node, Word};
use crate::wrap::prelude::*;
use crate::wrap::{Frame, IncarnationPair, Transmission};
use proptest::prelude::{Just, Strategy, any, prop, prop_assert_eq, prop_oneof, proptest};

/// Asserts that every incarnation of a receiver receives the words of every incarnation of a sender
/// in order, without gap or duplicate, and that former incarnations of the receiver have saved all
/// words before the first one that this incarnation received.
fn assert_order(network: &Network) {
    for receiver in &network.nodes {
        for received in receiver.received.values() {
            for sender in &network.nodes {
                let words: Vec<_> = words_of(received, sender.me).collect();
                assert_words_in_order(&words, receiver, sender.me);
            }
        }
    }
}

fn assert_words_in_order(words: &[Word], receiver: &Node, sender: NodeId) {
    let saved: BTreeSet<_> = words_of(&receiver.durable.0, sender).collect();
    for words_of_one_incarnation in words.chunk_by(|previous, next| previous.incarnation == next.incarnation) {
        let [first, ..] = words_of_one_incarnation else { continue };
        for (serial, word) in (first.serial..).zip(words_of_one_incarnation) {
            assert_eq!(word.serial, serial, "a gap or a duplicate in the words of {sender}: {words:?}");
        }
        let earlier = (0..first.serial).map(|serial| Word { incarnation: first.incarnation, serial });
        for word in earlier {
            assert!(saved.contains(&word), "{word:?} of {sender} was acknowledged and is lost");
        }
    }
    assert!(
        words.is_sorted(),
        "words of a past incarnation of {sender} were delivered after those of a later one: {words:?}"
    );
}

/// Asserts that every word of a sender's current incarnation has reached the receiver's current
/// incarnation, or one that saved it.
fn assert_all_arrived(network: &Network) {
    for receiver in &network.nodes {
        for sender in &network.nodes {
            let mut known: BTreeSet<_> = words_of(&receiver.durable.0, sender.me).collect();
            known.extend(words_of(&receiver.received[&receiver.incarnation.0], sender.me));
            let sent_words = sender.sent_words.get(&(sender.incarnation.0, receiver.me)).copied().unwrap_or(0);
            for serial in 0..sent_words {
                let word = Word { incarnation: sender.incarnation.0, serial };
                assert!(known.contains(&word), "{} never received {word:?} of {}", receiver.me, sender.me);
            }
        }
    }
}

fn words_of(received: &[(NodeId, Word)], sender: NodeId) -> impl Iterator<Item = Word> + '_ {
    received.iter().filter(move |(from, _)| *from == sender).map(|(_, word)| *word)
}

fn all_received(network: &Network) -> Vec<Vec<(NodeId, Word)>> {
    network.nodes.iter().flat_map(|node| node.received.values().cloned()).collect()
}

fn assert_reliable(actions: impl IntoIterator<Item = Action>) {
    let mut network = Network::new(2);
    for action in actions {
        network.act(action);
        assert_order(&network);
    }
    network.settle();
    assert_order(&network);
    assert_all_arrived(&network);
    assert_late_copies_are_ignored(&mut network);
}

/// Asserts that late copies of all frames that ever arrived, of current and past incarnations,
/// change nothing. A frame that arrives for the first time only now may carry the last words of a
/// past incarnation, which must be in order too.
fn assert_late_copies_are_ignored(network: &mut Network) {
    let received_before = all_received(network);
    for addressed in network.arrived.clone().into_iter().rev() {
        network.arrive(addressed);
    }
    network.settle();
    assert_eq!(all_received(network), received_before);
    for addressed in network.sent.clone().into_iter().rev() {
        network.arrive(addressed);
        assert_order(network);
    }
}

fn any_order() -> impl Strategy<Value = Order> {
    prop_oneof![4 => Just(Order::AfterSaves), 1 => Just(Order::Ahead)]
}

fn any_action() -> impl Strategy<Value = Action> {
    let index = || any::<usize>();
    prop_oneof![
        6 => (index(), index(), any_order()).prop_map(|(from, to, order)| Action::Send { from, to, order }),
        8 => index().prop_map(Action::Deliver),
        2 => index().prop_map(Action::Duplicate),
        3 => index().prop_map(Action::Lose),
        3 => (index(), index()).prop_map(|(node, timer)| Action::Fire { node, timer }),
        4 => index().prop_map(Action::Sync),
        1 => index().prop_map(Action::Crash),
    ]
}

/// Actions other than crashes.
fn any_action_but_crash() -> impl Strategy<Value = Action> {
    any_action().prop_filter("no crashes", |action| !matches!(action, Action::Crash(_)))
}

/// A frame with numbers around the limits of the window and of the number range, from a node
/// outside the group.
fn any_hostile_frame() -> impl Strategy<Value = AddressedFrame> {
    // The window of a receiver has 1,024 numbers.
    let any_boundary = || prop_oneof![0..4_u64, 1_020..1_030_u64, u64::MAX - 3..=u64::MAX, any::<u64>()];
    let pair = (any_boundary(), any_boundary()).prop_map(|(sender, receiver)| IncarnationPair {
        sender: Incarnation(sender),
        receiver: Incarnation(receiver),
    });
    let word = Word { incarnation: u64::MAX, serial: u64::MAX };
    let frame = (pair, any_boundary(), any_boundary(), any::<bool>()).prop_map(move |(pair, base, number, is_data)| {
        match is_data {
            true => Frame::Data { pair, base, number, transmission: Transmission::First, message: word },
            false => Frame::Ack { pair, below: number },
        }
    });
    (3..9_usize, 0..2_usize, frame).prop_map(|(from, to, frame)| AddressedFrame {
        from: NodeId::from_index(from),
        to: NodeId::from_index(to),
        frame,
    })
}

proptest! {
    #[test]
    fn links_are_reliable_under_every_schedule(actions in prop::collection::vec(any_action(), 0..120)) {
        assert_reliable(actions);
    }

    #[test]
    fn without_crashes_every_word_is_received_exactly_once(
        actions in prop::collection::vec(any_action_but_crash(), 0..200),
    ) {
        let mut network = Network::new(3);
        for action in actions {
            network.act(action);
        }
        network.settle();
        let incarnation = Incarnation::FIRST.0;
        for receiver in &network.nodes {
            for sender in &network.nodes {
                let received: Vec<_> = words_of(&receiver.received[&incarnation], sender.me).map(|word| word.serial).collect();
                let sent_words = sender.sent_words.get(&(incarnation, receiver.me)).copied().unwrap_or(0);
                prop_assert_eq!(received, (0..sent_words).collect::<Vec<_>>());
            }
        }
    }

    /// Longer runs, in which up to 11% of the steps are crashes. The seed determines a run.
    #[test]
    fn links_are_reliable_in_long_random_runs(seed in 1_u64.., crash_percent in 0..12_u64) {
        let mut random = Random(seed);
        assert_reliable((0..400).map(|_| random.action(crash_percent)));
    }

    /// A malicious node outside the group cannot forge the messages of members.
    #[test]
    fn hostile_frames_do_not_disturb_other_links(
        steps in prop::collection::vec(prop_oneof![any_action().prop_map(Ok), any_hostile_frame().prop_map(Err)], 0..120),
    ) {
        let mut network = Network::new(2);
        for step in steps {
            match step {
                Ok(action) => network.act(action),
                Err(addressed) => network.arrive(addressed),
            }
            assert_order(&network);
        }
        network.settle();
        assert_order(&network);
        assert_all_arrived(&network);
    }

    /// Neither a faulty peer nor a node outside the group can make a node panic.
    #[test]
    fn no_frame_makes_a_node_panic(addressed_frames in prop::collection::vec((any_hostile_frame(), any::<bool>()), 0..60)) {
        let mut network = Network::new(2);
        // Node 1 restarts, and then has one unacknowledged word for node 2.
        network.run("1 says 2, 1 says 2, 2 says 1, 1 crashes, 1 says 2");
        for (addressed, is_from_peer) in addressed_frames {
            let from = if is_from_peer { NodeId::from_index(1) } else { addressed.from };
            network.arrive(AddressedFrame { from, to: NodeId::from_index(0), ..addressed });
        }
    }
}

/// Marsaglia's xorshift, a random generator that a seed determines. From 0 it gives only zeros.
struct Random(u64);

impl Random {
    /// Returns a random number less than `bound`.
    fn below(&mut self, bound: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % bound
    }

    fn action(&mut self, crash_percent: u64) -> Action {
        // The network wraps indices around.
        let index = self.below(1 << 16) as usize;
        match self.below(100) {
            draw if draw < crash_percent => Action::Crash(index),
            0..25 => Action::Send { from: index, to: self.below(2) as usize, order: Order::AfterSaves },
            25..65 => Action::Deliver(index),
            65..72 => Action::Duplicate(index),
            72..80 => Action::Lose(index),
            80..90 => Action::Fire { node: index, timer: self.below(8) as usize },
            90.. => Action::Sync(index),
        }
    }
}
