//! Named locks side by side, under arbitrary orders of commands and deliveries.

use super::lock_group::LockGroup;
use crate::mutex::maekawa::Form;
use crate::mutex::quorum::Quorums;
use crate::mutex::voting::RequestMode;
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
    /// The node requests the lock if it is idle, or releases it if it is the holder; if it waits,
    /// it may cancel. `is_blocking` is whether it requests by `Acquire` or by `Try`.
    UseLock { node: usize, name: &'static str, cancels_if_waiting: bool, is_blocking: bool },
    /// One of the messages in flight arrives; the index wraps around.
    Deliver(usize),
}

fn any_action() -> impl Strategy<Value = Action> {
    let lock_use =
        (1..=3_usize, prop::sample::select(&NAMES[..]), prop::bool::weighted(0.2), prop::bool::weighted(0.8));
    prop_oneof![
        2 => lock_use.prop_map(|(node, name, cancels_if_waiting, is_blocking)| Action::UseLock { node, name, cancels_if_waiting, is_blocking }),
        5 => any::<usize>().prop_map(Action::Deliver),
    ]
}

impl<P: OneOfMany<Command = Command, Event = Event>> LockGroup<P> {
    fn act(&mut self, action: Action) {
        match action {
            Action::UseLock { node, name, cancels_if_waiting, is_blocking } => {
                let me = NodeId::from_index(node - 1);
                let is_waiting = self.waiting.contains(&(name, me));
                let is_holder = self.holders.get(name) == Some(&me);
                let command = match (is_holder, is_waiting, cancels_if_waiting) {
                    (true, _, _) => Command::Release,
                    (false, true, true) => Command::Cancel,
                    (false, true, false) => return,
                    (false, false, _) => {
                        if is_blocking {
                            Command::Acquire
                        } else {
                            Command::Try
                        }
                    }
                };
                self.command(node, command, name);
            }
            Action::Deliver(_) if self.in_flight.is_empty() => {}
            Action::Deliver(index) => self.deliver(index % self.in_flight.len()),
        }
    }

    /// Delivers every message and lets every holder release, until all locks are free.
    fn run_until_idle(&mut self) {
        loop {
            self.deliver_all(|_| true);
            let Some((name, node)) = self.holders.iter().next().map(|(name, node)| (*name, *node)) else { return };
            self.command(node.index() + 1, Command::Release, name);
        }
    }
}

/// Runs the actions, and asserts that every request is served in the end. The group itself asserts
/// that each lock has at most one holder and that fences increase.
fn assert_safe_and_served<P>(mut locks: LockGroup<P>, actions: Vec<Action>) -> LockGroup<P>
where
    P: OneOfMany<Command = Command, Event = Event>,
{
    for action in actions {
        locks.act(action);
    }
    locks.run_until_idle();
    assert!(locks.waiting.is_empty(), "not served: {:?}", locks.waiting);
    locks
}

/// Runs the actions, and asserts that every request is served and that no node has an instance
/// left.
fn assert_safe_served_and_forgotten<P>(locks: LockGroup<P>, actions: Vec<Action>)
where
    P: OneOfMany<Command = Command, Event = Event>,
{
    for node in &assert_safe_and_served(locks, actions).nodes {
        assert_eq!(node.instance_count(), 0, "idle instances are forgotten");
    }
}

proptest! {
    #[test]
    fn named_locks_of_ricart_and_agrawala_are_safe_served_and_forgotten(actions in prop::collection::vec(any_action(), 0..300)) {
        assert_safe_served_and_forgotten(LockGroup::new(3, RicartAgrawala::new), actions);
    }

    #[test]
    fn named_locks_of_a_coordinator_are_safe_served_and_forgotten(actions in prop::collection::vec(any_action(), 0..300)) {
        assert_safe_served_and_forgotten(LockGroup::new(3, Central::new), actions);
    }

    #[test]
    fn named_locks_of_lamport_are_safe_served_and_forgotten(actions in prop::collection::vec(any_action(), 0..300)) {
        assert_safe_served_and_forgotten(LockGroup::new(3, Lamport::new).with_fifo_links(), actions);
    }

    #[test]
    fn named_locks_round_a_ring_are_safe_served_and_forgotten(actions in prop::collection::vec(any_action(), 0..300)) {
        assert_safe_served_and_forgotten(LockGroup::new(3, RicartAgrawalaRing::new), actions);
    }

    #[test]
    fn named_locks_of_readers_and_writers_are_safe_served_and_forgotten(actions in prop::collection::vec(any_action(), 0..300)) {
        assert_safe_served_and_forgotten(LockGroup::new(3, ReadersWriters::new), actions);
    }

    /// A node forgets its permissions for a name together with the instance, and requests them
    /// again.
    #[test]
    fn named_locks_of_roucairol_and_carvalho_are_safe_served_and_forgotten(actions in prop::collection::vec(any_action(), 0..300)) {
        assert_safe_served_and_forgotten(LockGroup::new(3, RoucairolCarvalho::new), actions);
    }

    #[test]
    fn named_locks_of_an_on_demand_ring_are_safe_served_and_forgotten(actions in prop::collection::vec(any_action(), 0..300)) {
        assert_safe_served_and_forgotten(LockGroup::new(3, TokenRing::new_on_demand), actions);
    }

    /// Instances may remain, because a node has to remember where the token is and which requests
    /// are pending.
    #[test]
    fn named_locks_of_a_requested_token_are_safe_and_served(
        actions in prop::collection::vec(any_action(), 0..300)
    ) {
        assert_safe_and_served(LockGroup::new(3, TokenRequest::new), actions);
    }

    /// A child keeps an instance only while the token is away from the root, and then the root
    /// keeps its own as well. So no child has more instances than the root.
    #[test]
    fn named_locks_of_a_token_on_a_tree_are_safe_and_served(actions in prop::collection::vec(any_action(), 0..300)) {
        let locks = assert_safe_and_served(LockGroup::new(3, Raymond::new), actions);
        let [root, children @ ..] = &locks.nodes[..] else { return Ok(()) };
        for child in children {
            prop_assert!(child.instance_count() <= root.instance_count(), "a child has more instances than the root");
        }
    }

    #[test]
    fn named_locks_of_maekawa_are_safe_served_and_forgotten(actions in prop::collection::vec(any_action(), 0..300)) {
        let new_lock = |me, group| Maekawa::new(me, group, Form::DeadlockFree, Quorums::Grid);
        assert_safe_served_and_forgotten(LockGroup::new(3, new_lock), actions);
    }

    /// Timers do not fire in a `LockGroup`, so all requests are tries, which need no timer.
    #[test]
    fn named_locks_of_voting_are_safe_served_and_forgotten(actions in prop::collection::vec(any_action(), 0..300)) {
        let without_blocking = |action| match action {
            Action::UseLock { node, name, cancels_if_waiting, .. } => Action::UseLock { node, name, cancels_if_waiting, is_blocking: false },
            Action::Deliver(index) => Action::Deliver(index),
        };
        let bounds = Bounds { message: Duration::from_millis(1), processing: Duration::ZERO };
        let new_lock = |me, group| Voting::new(me, group, RequestMode::AllAtOnce, bounds);
        assert_safe_served_and_forgotten(LockGroup::new(3, new_lock), actions.into_iter().map(without_blocking).collect());
    }
}
