//! Properties that hold under every schedule of losses, duplicates, reorderings and crashes.

use super::network::{Action, Envelope, Network, Node, Word};
use crate::wrap::prelude::*;
use crate::wrap::{Copy, Frame, Pair};
use proptest::prelude::{Just, Strategy, any, prop, prop_assert_eq, prop_oneof, proptest};

/// Every incarnation of a receiver receives the words of every incarnation of a sender in order,
/// without gap or duplicate. All words before the first one have been saved by former incarnations
/// of the receiver.
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
    for run in words.chunk_by(|previous, next| previous.incarnation == next.incarnation) {
        let [first, ..] = run else { continue };
        for (serial, word) in (first.serial..).zip(run) {
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

/// Every word of a sender's current incarnation has reached the receiver's current incarnation, or
/// one that saved it.
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

/// Late copies of all frames that ever arrived, of current and past incarnations, change nothing. A
/// frame that arrives for the first time only now may carry the last words of a past incarnation:
/// these are in order too.
fn assert_late_copies_are_ignored(network: &mut Network) {
    let before = all_received(network);
    for envelope in network.arrived.clone().into_iter().rev() {
        network.arrive(envelope);
    }
    network.settle();
    assert_eq!(all_received(network), before);
    for envelope in network.sent.clone().into_iter().rev() {
        network.arrive(envelope);
        assert_order(network);
    }
}

fn order() -> impl Strategy<Value = Order> {
    prop_oneof![4 => Just(Order::AfterSaves), 1 => Just(Order::Ahead)]
}

fn action() -> impl Strategy<Value = Action> {
    let index = || any::<usize>();
    prop_oneof![
        6 => (index(), index(), order()).prop_map(|(from, to, order)| Action::Send { from, to, order }),
        8 => index().prop_map(Action::Deliver),
        2 => index().prop_map(Action::Duplicate),
        3 => index().prop_map(Action::Lose),
        3 => (index(), index()).prop_map(|(node, timer)| Action::Fire { node, timer }),
        4 => index().prop_map(Action::Sync),
        1 => index().prop_map(Action::Crash),
    ]
}

/// Actions without crashes, so that runs grow long.
fn action_without_crash() -> impl Strategy<Value = Action> {
    action().prop_filter("no crashes", |action| !matches!(action, Action::Crash(_)))
}

/// A frame with numbers around the limits of the window and of the number range, from a node
/// outside the group.
fn hostile_frame() -> impl Strategy<Value = Envelope> {
    let edge = || prop_oneof![0..4_u64, 1_020..1_030_u64, u64::MAX - 3..=u64::MAX, any::<u64>()];
    let pair = (edge(), edge()).prop_map(|(mine, yours)| Pair { mine: Incarnation(mine), yours: Incarnation(yours) });
    let word = Word { incarnation: u64::MAX, serial: u64::MAX };
    let frame = (pair, edge(), edge(), any::<bool>()).prop_map(move |(pair, base, number, is_data)| match is_data {
        true => Frame::Data { pair, base, number, copy: Copy::First, message: word },
        false => Frame::Ack { pair, below: number },
    });
    (3..9_usize, 0..2_usize, frame).prop_map(|(from, to, frame)| Envelope {
        from: NodeId::from_index(from),
        to: NodeId::from_index(to),
        frame,
    })
}

proptest! {
    #[test]
    fn links_are_reliable_under_every_schedule(actions in prop::collection::vec(action(), 0..120)) {
        assert_reliable(actions);
    }

    #[test]
    fn without_crashes_every_word_is_received_exactly_once(
        actions in prop::collection::vec(action_without_crash(), 0..200),
    ) {
        let mut network = Network::new(3);
        for action in actions {
            network.act(action);
        }
        network.settle();
        for receiver in &network.nodes {
            for sender in &network.nodes {
                let received: Vec<_> = words_of(&receiver.received[&0], sender.me).map(|word| word.serial).collect();
                let sent_words = sender.sent_words.get(&(0, receiver.me)).copied().unwrap_or(0);
                prop_assert_eq!(received, (0..sent_words).collect::<Vec<_>>());
            }
        }
    }

    /// Longer runs with a random generator, from no crash at all to one in nine steps. The seed
    /// replays a run.
    #[test]
    fn links_are_reliable_in_long_random_runs(seed in 1_u64.., crash_percent in 0..12_u64) {
        let mut random = Random(seed);
        assert_reliable((0..400).map(|_| random.action(crash_percent)));
    }

    /// A malicious node outside the group can only forge its own messages.
    #[test]
    fn hostile_frames_do_not_disturb_other_links(
        steps in prop::collection::vec(prop_oneof![action().prop_map(Ok), hostile_frame().prop_map(Err)], 0..120),
    ) {
        let mut network = Network::new(2);
        for step in steps {
            match step {
                Ok(action) => network.act(action),
                Err(envelope) => network.arrive(envelope),
            }
            assert_order(&network);
        }
        network.settle();
        assert_order(&network);
        assert_all_arrived(&network);
    }

    /// Neither a faulty peer nor a node outside the group can make a node panic.
    #[test]
    fn no_frame_makes_a_node_panic(envelopes in prop::collection::vec((hostile_frame(), any::<bool>()), 0..60)) {
        let mut network = Network::new(2);
        network.run("1 says 2, 1 says 2, 2 says 1, 1 crashes, 1 says 2");
        for (envelope, is_from_peer) in envelopes {
            let from = if is_from_peer { NodeId::from_index(1) } else { envelope.from };
            network.arrive(Envelope { from, to: NodeId::from_index(0), ..envelope });
        }
    }
}

/// Marsaglia's xorshift, a random generator that a seed determines.
struct Random(u64);

impl Random {
    /// A number from 0 to `bound` - 1.
    fn below(&mut self, bound: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % bound
    }

    fn action(&mut self, crash_percent: u64) -> Action {
        let index = self.below(1 << 16) as usize;
        match self.below(100) {
            percentile if percentile < crash_percent => Action::Crash(index),
            0..25 => Action::Send { from: index, to: self.below(2) as usize, order: Order::AfterSaves },
            25..65 => Action::Deliver(index),
            65..72 => Action::Duplicate(index),
            72..80 => Action::Lose(index),
            80..90 => Action::Fire { node: index, timer: self.below(8) as usize },
            90.. => Action::Sync(index),
        }
    }
}
