//! Locks side by side, under every order of commands and deliveries.

use super::table::Table;
use crate::mutex::maekawa::Form;
use crate::mutex::quorum::Quorums;
use crate::mutex::voting::Asks;
use crate::mutex::{
    Central, Command, Event, Lamport, Maekawa, Raymond, ReadersWriters, RicartAgrawala, RicartAgrawalaRing,
    RoucairolCarvalho, TokenRequest, TokenRing, Voting,
};
use crate::wrap::OneOfMany;
use crate::wrap::prelude::*;
use proptest::prelude::{Strategy, any, prop, prop_assert, prop_oneof, proptest};

const NAMES: [&str; 3] = ["a", "b", "c"];

#[derive(Clone, Copy, Debug)]
enum Action {
    /// The node asks to enter if it is outside, or leaves if it is inside; if it waits, it may give up.
    Turn { node: usize, name: &'static str, give_up: bool, patient: bool },
    /// One of the messages under way arrives.
    Deliver(usize),
}

fn action() -> impl Strategy<Value = Action> {
    let turn = (1..=3_usize, prop::sample::select(&NAMES[..]), prop::bool::weighted(0.2), prop::bool::weighted(0.8));
    prop_oneof![
        2 => turn.prop_map(|(node, name, give_up, patient)| Action::Turn { node, name, give_up, patient }),
        5 => any::<usize>().prop_map(Action::Deliver),
    ]
}

impl<P: OneOfMany<Command = Command, Event = Event>> Table<P> {
    fn act(&mut self, action: Action) {
        match action {
            Action::Turn { node, name, give_up, patient } => {
                let me = NodeId::from_index(node - 1);
                let waits = self.waiting.contains(&(name, me));
                let command = match (self.inside.get(name) == Some(&me), waits, give_up) {
                    (true, _, _) => Command::Release,
                    (false, true, true) => Command::Cancel,
                    (false, true, false) => return,
                    (false, false, _) => {
                        if patient {
                            Command::Acquire
                        } else {
                            Command::Try
                        }
                    }
                };
                self.ask(node, command, name);
            }
            Action::Deliver(_) if self.under_way.is_empty() => {}
            Action::Deliver(place) => self.deliver(place % self.under_way.len()),
        }
    }

    /// Everyone inside leaves and every message arrives, until nothing is left to happen.
    fn come_to_rest(&mut self) {
        loop {
            self.deliver_all(|_| true);
            let Some((name, node)) = self.inside.iter().next().map(|(name, node)| (*name, *node)) else { return };
            self.ask(node.index() + 1, Command::Release, name);
        }
    }
}

/// The table itself checks that one is inside at a time and that fences grow.
fn assert_safe_and_served<P>(mut table: Table<P>, actions: Vec<Action>) -> Table<P>
where
    P: OneOfMany<Command = Command, Event = Event>,
{
    for action in actions {
        table.act(action);
    }
    table.come_to_rest();
    assert!(table.waiting.is_empty(), "not served: {:?}", table.waiting);
    table
}

fn assert_safe_and_live<P: OneOfMany<Command = Command, Event = Event>>(table: Table<P>, actions: Vec<Action>) {
    for node in &assert_safe_and_served(table, actions).nodes {
        assert_eq!(node.live(), 0, "idle instances are forgotten");
    }
}

proptest! {
    #[test]
    fn named_locks_of_ricart_and_agrawala_are_safe_and_live(actions in prop::collection::vec(action(), 0..300)) {
        assert_safe_and_live(Table::new(3, RicartAgrawala::new), actions);
    }

    #[test]
    fn named_locks_of_a_coordinator_are_safe_and_live(actions in prop::collection::vec(action(), 0..300)) {
        assert_safe_and_live(Table::new(3, Central::new), actions);
    }

    #[test]
    fn named_locks_of_lamport_are_safe_and_live(actions in prop::collection::vec(action(), 0..300)) {
        assert_safe_and_live(Table::new(3, Lamport::new).in_order(), actions);
    }

    #[test]
    fn named_locks_round_a_ring_are_safe_and_live(actions in prop::collection::vec(action(), 0..300)) {
        assert_safe_and_live(Table::new(3, RicartAgrawalaRing::new), actions);
    }

    #[test]
    fn named_locks_of_readers_and_writers_are_safe_and_live(actions in prop::collection::vec(action(), 0..300)) {
        assert_safe_and_live(Table::new(3, ReadersWriters::new), actions);
    }

    /// Whoever has permissions keeps what it has of the name, so that it need not ask again.
    #[test]
    fn named_locks_of_roucairol_and_carvalho_are_safe_and_live(actions in prop::collection::vec(action(), 0..300)) {
        let table = assert_safe_and_served(Table::new(3, RoucairolCarvalho::new), actions);
        let kept = table.nodes.iter().flat_map(|node| NAMES.iter().filter_map(|name| node.get(name)));
        for instance in kept {
            assert!(!instance.is_idle(), "idle instances are forgotten");
        }
    }

    #[test]
    fn named_locks_of_a_ring_on_call_are_safe_and_live(actions in prop::collection::vec(action(), 0..300)) {
        assert_safe_and_live(Table::new(3, TokenRing::on_call), actions);
    }

    /// Where the token is, and what was asked, must not be forgotten.
    #[test]
    fn named_locks_of_a_token_that_is_asked_for_are_safe_and_served(
        actions in prop::collection::vec(action(), 0..300)
    ) {
        assert_safe_and_served(Table::new(3, TokenRequest::new), actions);
    }

    /// A name whose token is back at the root is forgotten by all.
    #[test]
    fn named_locks_of_a_token_on_a_tree_are_safe_and_served(actions in prop::collection::vec(action(), 0..300)) {
        let table = assert_safe_and_served(Table::new(3, Raymond::new), actions);
        let [root, children @ ..] = &table.nodes[..] else { return Ok(()) };
        for child in children {
            prop_assert!(child.live() <= root.live(), "a child knows of a name whose token the root has");
        }
    }

    #[test]
    fn named_locks_of_maekawa_are_safe_and_live(actions in prop::collection::vec(action(), 0..300)) {
        let make = |me, group| Maekawa::new(me, group, Form::DeadlockFree, Quorums::Grid);
        assert_safe_and_live(Table::new(3, make), actions);
    }

    /// Whoever only tries needs no timer, which is all that is missing here.
    #[test]
    fn named_votes_are_safe_and_forgotten(actions in prop::collection::vec(action(), 0..300)) {
        let tries = |action| match action {
            Action::Turn { node, name, give_up, .. } => Action::Turn { node, name, give_up, patient: false },
            Action::Deliver(place) => Action::Deliver(place),
        };
        let bounds = Bounds { message: Duration::from_millis(1), processing: Duration::ZERO };
        let make = |me, group| Voting::new(me, group, Asks::All, bounds);
        assert_safe_and_live(Table::new(3, make), actions.into_iter().map(tries).collect());
    }
}
