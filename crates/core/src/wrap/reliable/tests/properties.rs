//! What holds under every schedule of losses, repetitions, reorderings and crashes.

use super::world::{Action, Envelope, Node, Word, World};
use crate::wrap::prelude::*;
use crate::wrap::{Copy, Frame, Pair};
use proptest::prelude::{Just, Strategy, any, prop, prop_assert_eq, prop_oneof, proptest};

/// Every life of a receiver hears the words of every life of a sender in order, without gap or repetition, from
/// one on before which former lives have kept every word.
fn assert_order(world: &World) {
    for receiver in &world.nodes {
        for heard in receiver.heard.values() {
            for sender in &world.nodes {
                let words: Vec<_> = words_of(heard, sender.me).collect();
                assert_run(&words, receiver, sender.me);
            }
        }
    }
}

fn assert_run(words: &[Word], receiver: &Node, sender: NodeId) {
    let kept: BTreeSet<_> = words_of(&receiver.durable.0, sender).collect();
    for run in words.chunk_by(|one, next| one.life == next.life) {
        let [first, ..] = run else { continue };
        for (serial, word) in (first.serial..).zip(run) {
            assert_eq!(word.serial, serial, "a gap or a repetition in what {sender} said: {words:?}");
        }
        let earlier = (0..first.serial).map(|serial| Word { life: first.life, serial });
        for word in earlier {
            assert!(kept.contains(&word), "{word:?} of {sender} was acknowledged and is lost");
        }
    }
    assert!(words.is_sorted(), "a past life of {sender} was heard after a later one: {words:?}");
}

/// Everything that a living sender said, a living receiver has heard, in this life or in one that kept it.
fn assert_all_arrived(world: &World) {
    for receiver in &world.nodes {
        for sender in &world.nodes {
            let mut known: BTreeSet<_> = words_of(&receiver.durable.0, sender.me).collect();
            known.extend(words_of(&receiver.heard[&receiver.life.0], sender.me));
            let said = sender.said.get(&(sender.life.0, receiver.me)).copied().unwrap_or(0);
            for serial in 0..said {
                let word = Word { life: sender.life.0, serial };
                assert!(known.contains(&word), "{} never heard {word:?} of {}", receiver.me, sender.me);
            }
        }
    }
}

fn words_of(heard: &[(NodeId, Word)], sender: NodeId) -> impl Iterator<Item = Word> + '_ {
    heard.iter().filter(move |(from, _)| *from == sender).map(|(_, word)| *word)
}

fn all_heard(world: &World) -> Vec<Vec<(NodeId, Word)>> {
    world.nodes.iter().flat_map(|node| node.heard.values().cloned()).collect()
}

fn assert_reliable(actions: impl IntoIterator<Item = Action>) {
    let mut world = World::new(2);
    for action in actions {
        world.act(action);
        assert_order(&world);
    }
    world.settle();
    assert_order(&world);
    assert_all_arrived(&world);
    assert_deaf_to_the_past(&mut world);
}

/// Late copies of all that ever arrived, in present and past lives, change nothing. What arrives for the first
/// time only now may be the last words of a past life: they come in order too.
fn assert_deaf_to_the_past(world: &mut World) {
    let before = all_heard(world);
    for envelope in world.arrived.clone().into_iter().rev() {
        world.arrive(envelope);
    }
    world.settle();
    assert_eq!(all_heard(world), before);
    for envelope in world.sent.clone().into_iter().rev() {
        world.arrive(envelope);
        assert_order(world);
    }
}

fn order() -> impl Strategy<Value = Order> {
    prop_oneof![4 => Just(Order::AfterSaves), 1 => Just(Order::Ahead)]
}

fn action() -> impl Strategy<Value = Action> {
    let place = || any::<usize>();
    prop_oneof![
        6 => (place(), place(), order()).prop_map(|(from, to, order)| Action::Say { from, to, order }),
        8 => place().prop_map(Action::Deliver),
        2 => place().prop_map(Action::Repeat),
        3 => place().prop_map(Action::Lose),
        3 => (place(), place()).prop_map(|(node, timer)| Action::Fire { node, timer }),
        4 => place().prop_map(Action::Sync),
        1 => place().prop_map(Action::Crash),
    ]
}

/// Without crashes, so that runs grow long.
fn action_of_the_living() -> impl Strategy<Value = Action> {
    action().prop_filter("nobody crashes", |action| !matches!(action, Action::Crash(_)))
}

/// A frame with numbers at every edge, from someone the others know or nobody knows.
fn hostile() -> impl Strategy<Value = Envelope> {
    let edge = || prop_oneof![0..4_u64, 1_020..1_030_u64, u64::MAX - 3..=u64::MAX, any::<u64>()];
    let pair = (edge(), edge()).prop_map(|(mine, yours)| Pair { mine: Incarnation(mine), yours: Incarnation(yours) });
    let word = Word { life: u64::MAX, serial: u64::MAX };
    let frame = (pair, edge(), edge(), any::<bool>()).prop_map(move |(pair, base, number, data)| match data {
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
    fn without_crashes_every_word_is_heard_exactly_once(
        actions in prop::collection::vec(action_of_the_living(), 0..200),
    ) {
        let mut world = World::new(3);
        for action in actions {
            world.act(action);
        }
        world.settle();
        for receiver in &world.nodes {
            for sender in &world.nodes {
                let heard: Vec<_> = words_of(&receiver.heard[&0], sender.me).map(|word| word.serial).collect();
                let said = sender.said.get(&(0, receiver.me)).copied().unwrap_or(0);
                prop_assert_eq!(heard, (0..said).collect::<Vec<_>>());
            }
        }
    }

    /// Longer runs by dice, from no crash at all to one in nine steps. The seed replays a run.
    #[test]
    fn links_are_reliable_whatever_the_seed(seed in 1_u64.., crashes in 0..12_u64) {
        let mut dice = Dice(seed);
        assert_reliable((0..400).map(|_| dice.action(crashes)));
    }

    /// An impostor may only speak for himself.
    #[test]
    fn hostile_frames_disturb_nobody_else(
        steps in prop::collection::vec(prop_oneof![action().prop_map(Ok), hostile().prop_map(Err)], 0..120),
    ) {
        let mut world = World::new(2);
        for step in steps {
            match step {
                Ok(action) => world.act(action),
                Err(envelope) => world.arrive(envelope),
            }
            assert_order(&world);
        }
        world.settle();
        assert_order(&world);
        assert_all_arrived(&world);
    }

    /// A peer that has lost its senses can hurt what it says itself, and nothing else.
    #[test]
    fn no_frame_makes_a_node_panic(envelopes in prop::collection::vec((hostile(), any::<bool>()), 0..60)) {
        let mut world = World::new(2);
        world.play("1 says 2, 1 says 2, 2 says 1, 1 crashes, 1 says 2");
        for (envelope, of_a_peer) in envelopes {
            let from = if of_a_peer { NodeId::from_index(1) } else { envelope.from };
            world.arrive(Envelope { from, to: NodeId::from_index(0), ..envelope });
        }
    }
}

/// Marsaglia's xorshift: dice that a seed determines.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % sides
    }

    fn action(&mut self, crashes: u64) -> Action {
        let place = self.roll(1 << 16) as usize;
        match self.roll(100) {
            roll if roll < crashes => Action::Crash(place),
            0..25 => Action::Say { from: place, to: self.roll(2) as usize, order: Order::AfterSaves },
            25..65 => Action::Deliver(place),
            65..72 => Action::Repeat(place),
            72..80 => Action::Lose(place),
            80..90 => Action::Fire { node: place, timer: self.roll(8) as usize },
            90.. => Action::Sync(place),
        }
    }
}
