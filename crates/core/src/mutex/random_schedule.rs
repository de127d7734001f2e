//! Random schedules for algorithms of the family: clients give commands, valid or not, and messages
//! arrive in any order that the algorithm's links permit.
//!
//! In every schedule, no entry overlaps with one that it conflicts with; if the algorithm has
//! fences, the fence of an entry is larger than those of earlier conflicting ones; and no client
//! receives an event that its commands do not explain. After the schedule, when all entries are
//! released, every request has an answer. Faulty variants of Ricart–Agrawala in `fixtures` prove
//! that random schedules find overlapping entries and requests without an answer.

use super::central::WhenBusy;
use super::quorum::Quorums;
use super::voting::RequestMode;
use super::{
    Access, COMMANDS, Central, Command, Event, Facts, Lamport, Links, Maekawa, Model, Patience, ReadersWriters,
    Refusal, RicartAgrawala, RicartAgrawalaImplicit, RicartAgrawalaModulo, RicartAgrawalaRing, TokenRing, Voting,
    central, lamport, maekawa, readers_writers, ricart_agrawala, ricart_agrawala_implicit, ricart_agrawala_modulo,
    ricart_agrawala_ring, token_ring, voting,
};
use crate::bounds::Bounds;
use crate::fixtures::{Flaw, RicartAgrawala1981};
use crate::mutex::prelude::*;
use crate::testing::{ScriptGroup, run_script};
use core::fmt;
use expect_test::{Expect, expect};
use proptest::prelude::{Strategy, prop, prop_assert, prop_assert_eq, prop_oneof, proptest};
use proptest::test_runner::{Config, RngAlgorithm, TestCaseError, TestError, TestRng, TestRunner};
use std::format;
use std::string::{String, ToString};
use std::vec;

/// Enough actions for every node to enter and release a few times.
pub(super) const MAX_ACTIONS: usize = 100;

/// The commands of clients that do not use shared access.
pub(super) const EXCLUSIVE_COMMANDS: [Command; 4] = [Command::Acquire, Command::Try, Command::Cancel, Command::Release];

/// Maximum number of steps after the schedule. A client that is not idle after them counts as one
/// that waits forever.
const MAX_STEPS_TO_REST: usize = 2_000;

/// A sequence of actions on a group, after which the group comes to rest.
#[derive(Clone, Debug)]
pub(super) struct Schedule {
    nodes: usize,
    actions: Vec<Action>,
}

/// One action. Indices beyond the last node, message or timer wrap around, so that every action
/// stays meaningful when proptest shrinks a schedule.
#[derive(Clone, Debug)]
enum Action {
    Command(usize, Command),
    /// One of the messages in transit arrives, if there is any.
    Deliver(usize),
    /// One of the timers that are set fires, if it may fire now.
    Fire(usize),
}

/// Schedules for one to five nodes with fewer than `action_limit` actions, in which clients use
/// these commands. Three of five actions, on average, deliver a message.
pub(super) fn schedules(action_limit: usize, commands: &'static [Command]) -> impl Strategy<Value = Schedule> {
    let command = (0..5_usize, prop::sample::select(commands));
    let action = prop_oneof![
        2 => command.prop_map(|(node, command)| Action::Command(node, command)),
        3 => (0..60_usize).prop_map(Action::Deliver),
    ];
    (1..=5_usize, prop::collection::vec(action, 0..action_limit))
        .prop_map(|(nodes, actions)| Schedule { nodes, actions })
}

/// Schedules for algorithms with timers, which fire at any time that the algorithm's model permits.
pub(super) fn timed_schedules(action_limit: usize, commands: &'static [Command]) -> impl Strategy<Value = Schedule> {
    // A fifth of the actions, on average, fire a timer instead.
    let timers = prop::collection::vec(prop::option::weighted(0.2, 0..10_usize), action_limit);
    (schedules(action_limit, commands), timers).prop_map(|(schedule, timers)| {
        let actions = schedule.actions.into_iter().zip(timers);
        let actions = actions.map(|(action, timer)| timer.map_or(action, Action::Fire)).collect();
        Schedule { actions, ..schedule }
    })
}

impl Schedule {
    /// Runs the schedule on a group. Returns the nodes at rest, or the first violation.
    pub(super) fn run<P>(&self, new_node: impl Fn(NodeId, Group) -> P, facts: &Facts) -> Result<Vec<P>, Failure>
    where
        P: Protocol<Command = Command, Event = Event, Message: Describe>,
    {
        let mut run = ScheduleRun::new(self.nodes, new_node, *facts);
        match run.execute(&self.actions) {
            Ok(()) => Ok(run.group.nodes),
            Err(violation) => Err(Failure { violation, script: run.script, trace: run.group.trace }),
        }
    }
}

#[derive(Debug)]
pub(super) struct Failure {
    violation: String,
    /// The steps up to the violation, as a script for `run_script`.
    script: String,
    trace: String,
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}\n\nscript:\n{}\ntrace:\n{}", self.violation, self.script, self.trace)
    }
}

/// A group that runs a schedule, with the state of each client.
struct ScheduleRun<P: Protocol> {
    group: ScriptGroup<P>,
    clients: Vec<Client>,
    facts: Facts,
    fences: Fences,
    script: String,
}

/// The state of a client, derived from commands and events alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Client {
    Idle,
    Waiting(Patience, Access),
    Inside(Access),
}

impl Client {
    /// Returns the state after this command, or the reason why the command is not valid. A cancel
    /// or release changes the state only by the event that answers it.
    fn state_after(self, command: Command) -> Result<Self, Refusal> {
        match (self, command) {
            (Self::Idle, Command::Acquire) => Ok(Self::Waiting(Patience::Wait, Access::Exclusive)),
            (Self::Idle, Command::Try) => Ok(Self::Waiting(Patience::Try, Access::Exclusive)),
            (Self::Idle, Command::Share) => Ok(Self::Waiting(Patience::Wait, Access::Shared)),
            (Self::Waiting(..), Command::Cancel) | (Self::Inside(_), Command::Release) => Ok(self),
            (Self::Idle, Command::Cancel) => Err(Refusal::NotWaiting),
            (Self::Idle | Self::Waiting(..), Command::Release) => Err(Refusal::NotInside),
            (Self::Waiting(..), Command::Acquire | Command::Try | Command::Share) => Err(Refusal::AlreadyWaiting),
            (Self::Inside(_), Command::Acquire | Command::Try | Command::Share | Command::Cancel) => {
                Err(Refusal::AlreadyInside)
            }
        }
    }
}

impl<P> ScheduleRun<P>
where
    P: Protocol<Command = Command, Event = Event, Message: Describe>,
{
    fn new(nodes: usize, new_node: impl Fn(NodeId, Group) -> P, facts: Facts) -> Self {
        let clients = vec![Client::Idle; nodes];
        let group = ScriptGroup::new(nodes, new_node);
        Self { group, clients, facts, fences: Fences::default(), script: String::new() }
    }

    /// Runs all actions and lets the group come to rest. The error describes the first violation.
    fn execute(&mut self, actions: &[Action]) -> Result<(), String> {
        for action in actions {
            match action {
                Action::Command(node, command) => {
                    self.command(NodeId::from_index(node % self.clients.len()), *command)?;
                }
                Action::Deliver(_) if self.group.in_flight_count() == 0 => {}
                Action::Deliver(index) => self.deliver(index % self.group.in_flight_count())?,
                Action::Fire(_) if self.group.timer_count() == 0 => {}
                Action::Fire(index) => self.fire(index % self.group.timer_count())?,
            }
        }
        self.run_to_rest()
    }

    /// Releases every entry, delivers all messages, and fires timers if nothing else can happen,
    /// until no client waits and no message is in transit.
    fn run_to_rest(&mut self) -> Result<(), String> {
        for _ in 0..MAX_STEPS_TO_REST {
            match self.find_client(|client| matches!(client, Client::Inside(_))) {
                Some(node) => self.command(node, Command::Release)?,
                None if self.group.in_flight_count() > 0 => self.deliver(0)?,
                None if self.group.timer_count() > 0 && self.find_client(|client| client != Client::Idle).is_some() => {
                    self.fire(0)?;
                }
                None => break,
            }
        }
        match self.find_client(|client| client != Client::Idle) {
            Some(node) => Err(format!("{node} waits forever")),
            None => Ok(()),
        }
    }

    fn find_client(&self, is_wanted: impl Fn(Client) -> bool) -> Option<NodeId> {
        self.clients.iter().position(|client| is_wanted(*client)).map(NodeId::from_index)
    }

    /// Fires a timer, unless an assumption of the algorithm forbids that it fires now.
    fn fire(&mut self, index: usize) -> Result<(), String> {
        // A script names a node and fires its oldest timer, so a younger timer does not fire before
        // it here either.
        let Some(node) = self.group.oldest_timer(index) else { return Ok(()) };
        if self.facts.model == Model::Synchronous && !self.group.is_due(index) {
            return Ok(());
        }
        self.script += &format!("{node} fires\n");
        let (node, events) = self.group.fire(index);
        events.into_iter().try_for_each(|event| self.check_event(node, None, event))
    }

    fn deliver(&mut self, index: usize) -> Result<(), String> {
        let index = match self.facts.links {
            Links::AnyOrder => index,
            Links::Fifo => self.group.oldest_on_link(index),
        };
        self.script += &format!("{}\n", self.group.step_to_deliver(index));
        let (node, events) = self.group.deliver(index);
        events.into_iter().try_for_each(|event| self.check_event(node, None, event))
    }

    /// Gives a command. An invalid one must only be refused, and a cancel or release must take
    /// effect in the same step.
    fn command(&mut self, node: NodeId, command: Command) -> Result<(), String> {
        self.script += &format!("{node} {command}\n");
        let in_flight = self.group.in_flight_count();
        let client = match self.clients[node.index()].state_after(command) {
            Ok(client) => client,
            Err(expected) => {
                let is_faulty = self.facts.profile.flaw.is_some();
                return match self.group.command(node, command)[..] {
                    // A faulty variant may give another reason.
                    [Event::Refused(given)]
                        if self.group.in_flight_count() == in_flight && (given == expected || is_faulty) =>
                    {
                        Ok(())
                    }
                    _ => Err(format!("{node} should only refuse to {command}: {expected}")),
                };
            }
        };
        self.clients[node.index()] = client;
        let events = self.group.command(node, command);
        events.into_iter().try_for_each(|event| self.check_event(node, Some(command), event))?;
        match command {
            Command::Cancel | Command::Release if self.clients[node.index()] != Client::Idle => {
                Err(format!("{node} does not {command} at once"))
            }
            Command::Acquire | Command::Try | Command::Share | Command::Cancel | Command::Release => Ok(()),
        }
    }

    /// Checks an event of a node, which may be the answer to a valid command.
    fn check_event(&mut self, node: NodeId, command: Option<Command>, event: Event) -> Result<(), String> {
        let client = match (self.clients[node.index()], event, command) {
            (
                Client::Waiting(_, access),
                Event::Entered { fence, .. },
                None | Some(Command::Acquire | Command::Try | Command::Share),
            ) => {
                self.check_entry(node, access, fence)?;
                Client::Inside(access)
            }
            (Client::Waiting(Patience::Try, _), Event::Denied, None | Some(Command::Try))
            | (Client::Waiting(..), Event::Cancelled, Some(Command::Cancel))
            | (Client::Inside(_), Event::Left, Some(Command::Release)) => Client::Idle,
            (client, event, _) => return Err(format!("{node}, whose client is {client:?}, emits '{event}'")),
        };
        self.clients[node.index()] = client;
        Ok(())
    }

    /// Checks that an entry conflicts with no other entry and that its fence is larger than those
    /// of earlier entries that conflict with it.
    fn check_entry(&mut self, node: NodeId, access: Access, fence: Fence) -> Result<(), String> {
        // Without shared access, the algorithm treats a share as an acquire.
        let access = if self.facts.has_shared_access { access } else { Access::Exclusive };
        let conflicts = |client| matches!(client, Client::Inside(other) if access.conflicts_with(other));
        if let Some(other) = self.find_client(conflicts) {
            return Err(format!("{node} enters while {other} is in the critical section"));
        }
        match self.fences.record_and_check(access, fence) {
            Err(violation) if self.facts.has_fences => Err(format!("{node} {violation}")),
            Err(_) | Ok(()) => Ok(()),
        }
    }
}

/// The largest fence of the shared entries so far, and that of the exclusive ones.
#[derive(Debug, Default)]
pub(super) struct Fences {
    shared: Option<Fence>,
    exclusive: Option<Fence>,
}

impl Fences {
    /// Records the fence of a new entry, and checks that it is larger than those of all earlier
    /// entries that conflict with it.
    pub(super) fn record_and_check(&mut self, access: Access, fence: Fence) -> Result<(), String> {
        let (exclusive, shared) = (self.exclusive, self.shared);
        let (largest_of_kind, largest_conflicting) = match access {
            Access::Exclusive => (&mut self.exclusive, exclusive.max(shared)),
            Access::Shared => (&mut self.shared, exclusive),
        };
        *largest_of_kind = (*largest_of_kind).max(Some(fence));
        match largest_conflicting.filter(|earlier| fence <= *earlier) {
            Some(earlier) => Err(format!("enters with fence {fence} after fence {earlier}")),
            None => Ok(()),
        }
    }
}

/// Runs schedules on a faulty variant, always the same ones and short ones first. Compares the
/// first violation, which proptest shrinks, with the expected one.
fn assert_finds(flaw: Flaw, expected: Expect) {
    let run_schedule = |schedule: Schedule| {
        let new_node = |me, group| RicartAgrawala1981::new(me, group, flaw);
        schedule.run(new_node, &flaw.facts())
    };
    let run_schedules = |action_limit| {
        let config = Config { cases: 1_000, failure_persistence: None, ..Config::default() };
        let mut runner = TestRunner::new_with_rng(config, TestRng::deterministic_rng(RngAlgorithm::ChaCha));
        runner.run(&schedules(action_limit, &EXCLUSIVE_COMMANDS), |schedule| {
            run_schedule(schedule).map(drop).map_err(test_error)
        })
    };
    match (1..=MAX_ACTIONS).find_map(|action_limit| run_schedules(action_limit).err()) {
        Some(TestError::Fail(_, schedule)) => {
            let failure = run_schedule(schedule).expect_err("a schedule is deterministic");
            expected.assert_eq(&format!("{}\n\n{}", failure.violation, failure.trace));
        }
        Some(TestError::Abort(reason)) => panic!("proptest ran no schedule: {reason}"),
        None => panic!("no schedule finds the bug {flaw:?}"),
    }
}

pub(super) fn test_error(failure: Failure) -> TestCaseError {
    TestCaseError::fail(failure.to_string())
}

/// Runs schedules on a group. At rest, no node may have leftovers of earlier requests.
fn assert_correct<P>(schedules: impl Strategy<Value = Schedule>, new_node: impl Fn(NodeId, Group) -> P, facts: &Facts)
where
    P: OneOfMany<Command = Command, Event = Event, Message: Describe> + fmt::Debug,
{
    proptest!(|(schedule in schedules)| {
        let nodes = schedule.run(&new_node, facts).map_err(test_error)?;
        prop_assert!(nodes.iter().all(P::holds_only_floor), "a node has leftovers: {nodes:#?}");
    });
}

/// Feeds a node of a group with random inputs. Each step checks the node's own assertions.
pub(super) fn assert_no_panic<P: Protocol>(
    nodes: usize,
    new_node: impl Fn(NodeId, Group) -> P,
    inputs: impl Strategy<Value = Input<P>>,
) where
    Input<P>: fmt::Debug,
{
    proptest!(|(me in 0..nodes, inputs in prop::collection::vec(inputs, 0..60))| {
        let mut node = new_node(NodeId::from_index(me), Group::of_size(nodes));
        for input in inputs {
            node.step(Time::ZERO, input, &mut Effects::new(&mut Vec::new()));
        }
    });
}

macro_rules! every_schedule {
    ($($(#[$meta:meta])* $name:ident($schedules:ident, $new_node:expr, $facts:expr);)*) => {$(
        $(#[$meta])*
        #[test]
        fn $name() {
            assert_correct($schedules(MAX_ACTIONS, &COMMANDS), $new_node, &$facts);
        }
    )*};
}

every_schedule! {
    central_is_correct_in_every_schedule(schedules, Central::new, central::FACTS);
    central_that_denies_is_correct_in_every_schedule(timed_schedules, denying_central, central::DENY_FACTS);
    central_that_denies_and_queues_is_correct_in_every_schedule(schedules, queueing_central, central::DENY_AND_QUEUE_FACTS);
    lamport_is_correct_in_every_schedule(schedules, Lamport::new, lamport::FACTS);
    ricart_agrawala_is_correct_in_every_schedule(schedules, RicartAgrawala::new, ricart_agrawala::FACTS);
    ricart_agrawala_ring_is_correct_in_every_schedule(schedules, RicartAgrawalaRing::new, ricart_agrawala_ring::FACTS);
    implicit_replies_are_correct_in_every_schedule_without_late_messages(timed_schedules, implicit_node, ricart_agrawala_implicit::FACTS);
    readers_and_writers_are_correct_in_every_schedule(schedules, ReadersWriters::new, readers_writers::FACTS);
    maekawa_is_correct_in_every_schedule(schedules, maekawa_node(Quorums::Grid), maekawa::FACTS);
    /// Three nodes form a triangle; other groups use a grid.
    maekawa_in_a_plane_is_correct_in_every_schedule(
        schedules, maekawa_node(Quorums::Plane), maekawa::facts(maekawa::Form::DeadlockFree, Quorums::Plane)
    );
    voting_is_correct_in_every_schedule(timed_schedules, voting_node(RequestMode::AllAtOnce), voting::facts(RequestMode::AllAtOnce));
    sequential_voting_is_correct_in_every_schedule(timed_schedules, voting_node(RequestMode::Sequential), voting::facts(RequestMode::Sequential));
    /// When all clients are idle, all nodes are in their initial state.
    a_token_ring_on_demand_is_correct_in_every_schedule(schedules, TokenRing::new_on_demand, token_ring::FACTS);
}

const BOUNDS: Bounds = Bounds { message: Duration::from_millis(5), processing: Duration::from_millis(1) };

fn denying_central(me: NodeId, group: Group) -> Central {
    Central::with_when_busy(me, group, WhenBusy::deny(&BOUNDS))
}

fn queueing_central(me: NodeId, group: Group) -> Central {
    Central::with_when_busy(me, group, WhenBusy::DenyAndQueue)
}

fn implicit_node(me: NodeId, group: Group) -> RicartAgrawalaImplicit {
    RicartAgrawalaImplicit::new(me, group, BOUNDS)
}

fn maekawa_node(quorums: Quorums) -> impl Fn(NodeId, Group) -> Maekawa {
    move |me, group| Maekawa::new(me, group, maekawa::Form::DeadlockFree, quorums)
}

fn voting_node(request_mode: RequestMode) -> impl Fn(NodeId, Group) -> Voting {
    move |me, group| Voting::new(me, group, request_mode, BOUNDS)
}

proptest! {
    #[test]
    fn ricart_agrawala_modulo_is_correct_in_every_schedule(schedule in schedules(MAX_ACTIONS, &COMMANDS)) {
        let nodes = schedule.run(RicartAgrawalaModulo::new, &ricart_agrawala_modulo::FACTS).map_err(test_error)?;
        prop_assert!(nodes.iter().all(RicartAgrawalaModulo::is_idle), "a node is not idle: {nodes:#?}");
    }

    /// The algorithm of the paper, in which replies name no request, is correct without
    /// cancellations, which the paper does not have.
    #[test]
    fn the_paper_is_correct_in_schedules_without_cancellations(
        schedule in schedules(MAX_ACTIONS, &[Command::Acquire, Command::Try, Command::Release])
    ) {
        let new_node = |me, group| RicartAgrawala1981::new(me, group, Flaw::BareReplies);
        schedule.run(new_node, &Flaw::BareReplies.facts()).map_err(test_error)?;
    }

    /// If this holds, the script of a failure can become a test of its own.
    #[test]
    fn the_script_of_a_schedule_replays_it(schedule in schedules(MAX_ACTIONS, &COMMANDS)) {
        let mut run = ScheduleRun::new(schedule.nodes, RicartAgrawala::new, ricart_agrawala::FACTS);
        prop_assert_eq!(run.execute(&schedule.actions), Ok(()));
        prop_assert_eq!(run_script(schedule.nodes, RicartAgrawala::new, &run.script), run.group.trace);
    }
}

macro_rules! a_schedule_finds {
    ($($name:ident($flaw:expr, $trace:expr);)*) => {$(
        #[test]
        fn $name() {
            assert_finds($flaw, $trace);
        }
    )*};
}

a_schedule_finds! {
    a_schedule_finds_two_holders_where_replies_name_no_request(Flaw::BareReplies, expect![[r#"
        2 enters while 1 is in the critical section

        1 acquire: RA-1 asks all nodes with (1, 1); request → all
        1 cancel: cancelled
        2 acquire: RA-1 asks all nodes with (1, 2); request → all
        1 acquire: RA-1 asks all nodes with (2, 1); request → all
        2 receives request from 1: RA-2 replies to (1, 1); reply → 1
        1 receives request from 2: RA-2 replies to (1, 2); reply → 2
        1 acquire: refused: a request is already pending
        1 receives reply from 2: RA-3 has every reply; ENTERS (fence 0.0)
        2 receives reply from 1: RA-3 has every reply; ENTERS (fence 0.0)
    "#]]);

    a_schedule_finds_two_holders_where_clocks_alone_decide(Flaw::ClockOnly, expect![[r#"
        1 enters while 2 is in the critical section

        2 acquire: RA-1 asks all nodes with (1, 2); request → all
        1 acquire: RA-1 asks all nodes with (1, 1); request → all
        1 receives request from 2: RA-2 replies to (1, 2); reply → 2
        2 receives request from 1: RA-2 replies to (1, 1); reply → 1
        2 receives reply from 1: RA-3 has every reply; ENTERS (fence 0.0)
        1 receives reply from 2: RA-3 has every reply; ENTERS (fence 0.0)
    "#]]);

    a_schedule_finds_two_holders_where_node_numbers_alone_decide(Flaw::NodeOnly, expect![[r#"
        1 enters while 2 is in the critical section

        2 acquire: RA-1 asks all nodes with (1, 2); request → all
        1 receives request from 2: RA-2 replies to (1, 2); reply → 2
        1 acquire: RA-1 asks all nodes with (3, 1); request → all
        2 receives request from 1: RA-2 replies to (3, 1); reply → 1
        2 receives reply from 1: RA-3 has every reply; ENTERS (fence 0.0)
        1 receives reply from 2: RA-3 has every reply; ENTERS (fence 0.0)
    "#]]);

    a_schedule_finds_an_endless_wait_where_only_the_first_deferred_request_is_answered(Flaw::FirstOnly, expect![[r#"
        4 waits forever

        3 acquire: RA-1 asks all nodes with (1, 3); request → all
        4 acquire: RA-1 asks all nodes with (1, 4); request → all
        1 acquire: RA-1 asks all nodes with (1, 1); request → all
        1 receives request from 3: RA-2 defers (1, 3)
        2 receives request from 3: RA-2 replies to (1, 3); reply → 3
        4 receives request from 3: RA-2 replies to (1, 3); reply → 3
        1 receives request from 4: RA-2 defers (1, 4)
        2 receives request from 4: RA-2 replies to (1, 4); reply → 4
        3 receives request from 4: RA-2 defers (1, 4)
        2 receives request from 1: RA-2 replies to (1, 1); reply → 1
        3 receives request from 1: RA-2 replies to (1, 1); reply → 1
        4 receives request from 1: RA-2 replies to (1, 1); reply → 1
        3 receives reply from 2: nothing
        3 receives reply from 4: nothing
        4 receives reply from 2: nothing
        1 receives reply from 2: nothing
        1 receives reply from 3: nothing
        1 receives reply from 4: RA-3 has every reply; ENTERS (fence 0.0)
        1 release: LEAVES; RA-4 replies to 3, whose request it deferred; reply → 3
        3 receives reply from 1: RA-3 has every reply; ENTERS (fence 0.0)
        3 release: LEAVES; RA-4 replies to 4, whose request it deferred; reply → 4
        4 receives reply from 3: nothing
    "#]]);
}
