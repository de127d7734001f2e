//! A storm for every algorithm of the family: users ask what they like, sense or nonsense, and messages arrive in
//! any order.
//!
//! Whatever happens, at most one node is inside, fences grow, and nobody is told what it did not ask for. When the
//! storm is over and whoever is inside has left, everyone who asked has an answer. The fixtures prove that a storm
//! finds those who break this.

use super::central::WhenBusy;
use super::quorum::Quorums;
use super::voting::Asks;
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

/// Enough for every node to come and go a few times.
pub(super) const GUSTS: usize = 100;

/// What users ask who do not share.
pub(super) const EXCLUSIVE: [Command; 4] = [Command::Acquire, Command::Try, Command::Cancel, Command::Release];

/// After so many steps in peace it is not the storm that keeps a group busy.
const STEPS_IN_PEACE: usize = 2_000;

/// What happens to a group before it is left in peace.
#[derive(Clone, Debug)]
pub(super) struct Storm {
    nodes: usize,
    gusts: Vec<Gust>,
}

/// One thing that happens. Numbers beyond the last node or message begin again at the first, so that every gust
/// still means something when proptest makes a storm smaller.
#[derive(Clone, Debug)]
enum Gust {
    Ask(usize, Command),
    /// One of the messages under way arrives, if there is any.
    Arrive(usize),
    Fire(usize),
}

/// Storms over one to five nodes, with fewer gusts than that, in which users know these commands.
pub(super) fn storms(gusts: usize, commands: &'static [Command]) -> impl Strategy<Value = Storm> {
    let ask = (0..5_usize, prop::sample::select(commands));
    let gust = prop_oneof![
        2 => ask.prop_map(|(node, command)| Gust::Ask(node, command)),
        3 => (0..60_usize).prop_map(Gust::Arrive),
    ];
    (1..=5_usize, prop::collection::vec(gust, 0..gusts)).prop_map(|(nodes, gusts)| Storm { nodes, gusts })
}

/// The same for algorithms that set timers, which fire at any time.
pub(super) fn timed_storms(gusts: usize, commands: &'static [Command]) -> impl Strategy<Value = Storm> {
    let fires = prop::collection::vec(prop::option::weighted(0.2, 0..10_usize), gusts);
    (storms(gusts, commands), fires).prop_map(|(storm, fires)| {
        let gusts = storm.gusts.into_iter().zip(fires);
        let gusts = gusts.map(|(gust, fire)| fire.map_or(gust, Gust::Fire)).collect();
        Storm { gusts, ..storm }
    })
}

impl Storm {
    /// Strikes a group. Returns the nodes as they are at rest, or how one of them broke its word.
    pub(super) fn strike<P>(&self, make: impl Fn(NodeId, Group) -> P, facts: &Facts) -> Result<Vec<P>, Wreck>
    where
        P: Protocol<Command = Command, Event = Event, Message: Describe>,
    {
        let mut log = Log::new(self.nodes, make, *facts);
        match log.sail(&self.gusts) {
            Ok(()) => Ok(log.stage.nodes),
            Err(breach) => Err(Wreck { breach, script: log.script, trace: log.stage.trace }),
        }
    }
}

#[derive(Debug)]
pub(super) struct Wreck {
    breach: String,
    /// What happened until then. `run_script` plays it again.
    script: String,
    trace: String,
}

impl fmt::Display for Wreck {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}\n\nscript:\n{}\ntrace:\n{}", self.breach, self.script, self.trace)
    }
}

/// A group in a storm, with what its users know of it.
struct Log<P: Protocol> {
    stage: ScriptGroup<P>,
    users: Vec<User>,
    facts: Facts,
    fences: Fences,
    script: String,
}

/// How a user stands, told by commands and events alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum User {
    Outside,
    Waiting(Patience, Access),
    Inside(Access),
}

impl User {
    /// How the user stands once it has given the command, or why the command makes no sense.
    fn asks(self, command: Command) -> Result<Self, Refusal> {
        match (self, command) {
            (Self::Outside, Command::Acquire) => Ok(Self::Waiting(Patience::Wait, Access::Exclusive)),
            (Self::Outside, Command::Try) => Ok(Self::Waiting(Patience::Try, Access::Exclusive)),
            (Self::Outside, Command::Share) => Ok(Self::Waiting(Patience::Wait, Access::Shared)),
            (Self::Waiting(..), Command::Cancel) | (Self::Inside(_), Command::Release) => Ok(self),
            (Self::Outside, Command::Cancel) => Err(Refusal::NotWaiting),
            (Self::Outside | Self::Waiting(..), Command::Release) => Err(Refusal::NotInside),
            (Self::Waiting(..), Command::Acquire | Command::Try | Command::Share) => Err(Refusal::AlreadyWaiting),
            (Self::Inside(_), Command::Acquire | Command::Try | Command::Share | Command::Cancel) => {
                Err(Refusal::AlreadyInside)
            }
        }
    }
}

impl<P> Log<P>
where
    P: Protocol<Command = Command, Event = Event, Message: Describe>,
{
    fn new(nodes: usize, make: impl Fn(NodeId, Group) -> P, facts: Facts) -> Self {
        let users = vec![User::Outside; nodes];
        let stage = ScriptGroup::new(nodes, make);
        Self { stage, users, facts, fences: Fences::default(), script: String::new() }
    }

    /// The whole storm and the peace after it. The error says who broke its word.
    fn sail(&mut self, gusts: &[Gust]) -> Result<(), String> {
        for gust in gusts {
            match gust {
                Gust::Ask(node, command) => self.ask(NodeId::from_index(node % self.users.len()), *command)?,
                Gust::Arrive(_) if self.stage.in_flight() == 0 => {}
                Gust::Arrive(place) => self.arrive(place % self.stage.in_flight())?,
                Gust::Fire(_) if self.stage.timers() == 0 => {}
                Gust::Fire(place) => self.fire(place % self.stage.timers())?,
            }
        }
        self.rest()
    }

    /// Whoever is inside leaves, everything arrives, and timers fire where nothing else happens, until nobody waits
    /// and nothing is under way.
    fn rest(&mut self) -> Result<(), String> {
        for _ in 0..STEPS_IN_PEACE {
            match self.find(|user| matches!(user, User::Inside(_))) {
                Some(node) => self.ask(node, Command::Release)?,
                None if self.stage.in_flight() > 0 => self.arrive(0)?,
                None if self.stage.timers() > 0 && self.find(|user| user != User::Outside).is_some() => self.fire(0)?,
                None => break,
            }
        }
        match self.find(|user| user != User::Outside) {
            Some(node) => Err(format!("{node} waits for ever")),
            None => Ok(()),
        }
    }

    fn find(&self, stands: impl Fn(User) -> bool) -> Option<NodeId> {
        self.users.iter().position(|user| stands(*user)).map(NodeId::from_index)
    }

    fn fire(&mut self, place: usize) -> Result<(), String> {
        // A script names the oldest timer of a node; a younger one does not fire before it here either.
        let Some(node) = self.stage.oldest_timer(place) else { return Ok(()) };
        if self.facts.model == Model::Synchronous && !self.stage.is_due(place) {
            return Ok(());
        }
        self.script += &format!("{node} fires\n");
        let (node, events) = self.stage.fire(place);
        events.into_iter().try_for_each(|event| self.hear(node, None, event))
    }

    fn arrive(&mut self, place: usize) -> Result<(), String> {
        let place = match self.facts.links {
            Links::AnyOrder => place,
            Links::Fifo => self.stage.oldest_on_link(place),
        };
        self.script += &format!("{}\n", self.stage.step_to_deliver(place));
        let (node, events) = self.stage.deliver(place);
        events.into_iter().try_for_each(|event| self.hear(node, None, event))
    }

    fn ask(&mut self, node: NodeId, command: Command) -> Result<(), String> {
        self.script += &format!("{node} {command}\n");
        let under_way = self.stage.in_flight();
        let user = match self.users[node.index()].asks(command) {
            Ok(user) => user,
            Err(why) => {
                let is_flawed = self.facts.profile.flaw.is_some();
                return match self.stage.command(node, command)[..] {
                    // A fixture may give a reason of its own.
                    [Event::Refused(told)] if self.stage.in_flight() == under_way && (told == why || is_flawed) => {
                        Ok(())
                    }
                    _ => Err(format!("{node} does not just refuse to {command}: {why}")),
                };
            }
        };
        self.users[node.index()] = user;
        let events = self.stage.command(node, command);
        events.into_iter().try_for_each(|event| self.hear(node, Some(command), event))?;
        match command {
            Command::Cancel | Command::Release if self.users[node.index()] != User::Outside => {
                Err(format!("{node} does not {command} at once"))
            }
            Command::Acquire | Command::Try | Command::Share | Command::Cancel | Command::Release => Ok(()),
        }
    }

    /// A node tells its user something, perhaps in answer to a command that makes sense.
    fn hear(&mut self, node: NodeId, command: Option<Command>, event: Event) -> Result<(), String> {
        let user = match (self.users[node.index()], event, command) {
            (
                User::Waiting(_, access),
                Event::Entered { fence, .. },
                None | Some(Command::Acquire | Command::Try | Command::Share),
            ) => {
                self.admit(node, access, fence)?;
                User::Inside(access)
            }
            (User::Waiting(Patience::Try, _), Event::Denied, None | Some(Command::Try))
            | (User::Waiting(..), Event::Cancelled, Some(Command::Cancel))
            | (User::Inside(_), Event::Left, Some(Command::Release)) => User::Outside,
            (user, event, _) => return Err(format!("{node}, which is {user:?}, says '{event}'")),
        };
        self.users[node.index()] = user;
        Ok(())
    }

    fn admit(&mut self, node: NodeId, access: Access, fence: Fence) -> Result<(), String> {
        let access = if self.facts.shares { access } else { Access::Exclusive };
        let conflicts = |user| matches!(user, User::Inside(other) if access.conflicts(other) || !self.facts.shares);
        if let Some(other) = self.find(conflicts) {
            return Err(format!("{node} enters while {other} is inside"));
        }
        match self.fences.admit(access, fence) {
            Err(breach) if self.facts.fences => Err(format!("{node} {breach}")),
            Err(_) | Ok(()) => Ok(()),
        }
    }
}

/// The largest fences of entries so far: of those that share, and of those that do not.
#[derive(Debug, Default)]
pub(super) struct Fences {
    shared: Option<Fence>,
    exclusive: Option<Fence>,
}

impl Fences {
    /// An entry. Its fence is larger than those of all before it that conflict with it.
    pub(super) fn admit(&mut self, access: Access, fence: Fence) -> Result<(), String> {
        let (exclusive, shared) = (self.exclusive, self.shared);
        let (kept, last) = match access {
            Access::Exclusive => (&mut self.exclusive, exclusive.max(shared)),
            Access::Shared => (&mut self.shared, exclusive),
        };
        *kept = (*kept).max(Some(fence));
        match last.filter(|last| fence <= *last) {
            Some(last) => Err(format!("enters with {fence} after {last}")),
            None => Ok(()),
        }
    }
}

/// Lets storms loose on a fixture, always the same ones and short ones first, and shows the first that breaks it.
fn finds(flaw: Flaw, expected: Expect) {
    let strike = |storm: Storm| {
        let make = |me, group| RicartAgrawala1981::new(me, group, flaw);
        storm.strike(make, &flaw.facts())
    };
    let run = |gusts| {
        let config = Config { cases: 1_000, failure_persistence: None, ..Config::default() };
        let mut runner = TestRunner::new_with_rng(config, TestRng::deterministic_rng(RngAlgorithm::ChaCha));
        runner.run(&storms(gusts, &EXCLUSIVE), |storm| strike(storm).map(drop).map_err(sunk))
    };
    match (1..=GUSTS).find_map(|gusts| run(gusts).err()) {
        Some(TestError::Fail(_, storm)) => {
            let wreck = strike(storm).expect_err("a storm does the same each time");
            expected.assert_eq(&format!("{}\n\n{}", wreck.breach, wreck.trace));
        }
        Some(TestError::Abort(reason)) => panic!("there was no storm: {reason}"),
        None => panic!("{flaw:?} stands every storm"),
    }
}

pub(super) fn sunk(wreck: Wreck) -> TestCaseError {
    TestCaseError::fail(wreck.to_string())
}

/// Lets storms loose on a group. At rest nobody has anything left that a later entry might trip over.
fn stands<P>(storms: impl Strategy<Value = Storm>, make: impl Fn(NodeId, Group) -> P, facts: &Facts)
where
    P: OneOfMany<Command = Command, Event = Event, Message: Describe> + fmt::Debug,
{
    proptest!(|(storm in storms)| {
        let nodes = storm.strike(&make, facts).map_err(sunk)?;
        prop_assert!(nodes.iter().all(P::is_idle), "something is left behind: {nodes:#?}");
    });
}

/// Feeds a node of a group whatever its user and its peers may say. Each step asserts what the node itself answers for.
pub(super) fn trips_over_nothing<P: Protocol>(
    nodes: usize,
    make: impl Fn(NodeId, Group) -> P,
    inputs: impl Strategy<Value = Input<P>>,
) where
    Input<P>: fmt::Debug,
{
    proptest!(|(me in 0..nodes, inputs in prop::collection::vec(inputs, 0..60))| {
        let mut node = make(NodeId::from_index(me), Group::of_size(nodes));
        for input in inputs {
            node.step(Time::ZERO, input, &mut Effects::new(&mut Vec::new()));
        }
    });
}

macro_rules! every_storm {
    ($($(#[$meta:meta])* $name:ident($storms:ident, $make:expr, $facts:expr);)*) => {$(
        $(#[$meta])*
        #[test]
        fn $name() {
            stands($storms(GUSTS, &COMMANDS), $make, &$facts);
        }
    )*};
}

every_storm! {
    central_stands_every_storm(storms, Central::new, central::FACTS);
    central_stands_every_storm_if_it_denies(timed_storms, denying, central::DENY_FACTS);
    central_stands_every_storm_if_it_denies_and_queues(storms, queueing, central::DENY_AND_QUEUE_FACTS);
    lamport_stands_every_storm(storms, Lamport::new, lamport::FACTS);
    ricart_agrawala_stands_every_storm(storms, RicartAgrawala::new, ricart_agrawala::FACTS);
    ricart_agrawala_ring_stands_every_storm(storms, RicartAgrawalaRing::new, ricart_agrawala_ring::FACTS);
    silence_stands_every_storm_in_which_nothing_is_late(timed_storms, implicit, ricart_agrawala_implicit::FACTS);
    readers_and_writers_stand_every_storm(storms, ReadersWriters::new, readers_writers::FACTS);
    maekawa_stands_every_storm(storms, in_a(Quorums::Grid), maekawa::FACTS);
    /// Three nodes are a triangle; other groups stand in a grid.
    lines_of_a_plane_stand_every_storm(
        storms, in_a(Quorums::Plane), maekawa::facts(maekawa::Form::DeadlockFree, Quorums::Plane)
    );
    voting_stands_every_storm(timed_storms, voting(Asks::All), voting::facts(Asks::All));
    sequential_voting_stands_every_storm(timed_storms, voting(Asks::Sequential), voting::facts(Asks::Sequential));
    /// When nobody wants in, everything is as in the beginning.
    a_ring_on_call_stands_every_storm(storms, TokenRing::on_call, token_ring::FACTS);
}

const BOUNDS: Bounds = Bounds { message: Duration::from_millis(5), processing: Duration::from_millis(1) };

fn denying(me: NodeId, group: Group) -> Central {
    Central::when_busy(me, group, WhenBusy::deny(&BOUNDS))
}

fn queueing(me: NodeId, group: Group) -> Central {
    Central::when_busy(me, group, WhenBusy::DenyAndQueue)
}

fn implicit(me: NodeId, group: Group) -> RicartAgrawalaImplicit {
    RicartAgrawalaImplicit::new(me, group, BOUNDS)
}

fn in_a(quorums: Quorums) -> impl Fn(NodeId, Group) -> Maekawa {
    move |me, group| Maekawa::new(me, group, maekawa::Form::DeadlockFree, quorums)
}

fn voting(asks: Asks) -> impl Fn(NodeId, Group) -> Voting {
    move |me, group| Voting::new(me, group, asks, BOUNDS)
}

proptest! {
    #[test]
    fn ricart_agrawala_modulo_stands_every_storm(storm in storms(GUSTS, &COMMANDS)) {
        let nodes = storm.strike(RicartAgrawalaModulo::new, &ricart_agrawala_modulo::FACTS).map_err(sunk)?;
        prop_assert!(nodes.iter().all(RicartAgrawalaModulo::is_idle), "something is left behind: {nodes:#?}");
    }

    /// The paper is right as far as it goes: it lets nobody give up.
    #[test]
    fn the_paper_stands_storms_in_which_nobody_gives_up(
        storm in storms(GUSTS, &[Command::Acquire, Command::Try, Command::Release])
    ) {
        let make = |me, group| RicartAgrawala1981::new(me, group, Flaw::BareReplies);
        storm.strike(make, &Flaw::BareReplies.facts()).map_err(sunk)?;
    }

    /// So the script that a wreck prints can become a test of its own.
    #[test]
    fn the_script_of_a_storm_replays_it(storm in storms(GUSTS, &COMMANDS)) {
        let mut log = Log::new(storm.nodes, RicartAgrawala::new, ricart_agrawala::FACTS);
        prop_assert_eq!(log.sail(&storm.gusts), Ok(()));
        prop_assert_eq!(run_script(storm.nodes, RicartAgrawala::new, &log.script), log.stage.trace);
    }
}

macro_rules! a_storm_finds {
    ($($name:ident($flaw:expr, $trace:expr);)*) => {$(
        #[test]
        fn $name() {
            finds($flaw, $trace);
        }
    )*};
}

a_storm_finds! {
    a_storm_finds_two_inside_where_replies_name_no_request(Flaw::BareReplies, expect![[r#"
        2 enters while 1 is inside

        1 acquire: RA-1 asks everyone with (1, 1); request → all
        1 cancel: cancelled
        2 acquire: RA-1 asks everyone with (1, 2); request → all
        1 acquire: RA-1 asks everyone with (2, 1); request → all
        2 hears request from 1: RA-2 lets (1, 1) pass; reply → 1
        1 hears request from 2: RA-2 lets (1, 2) pass; reply → 2
        1 acquire: refused: a request is already under way
        1 hears reply from 2: RA-3 has every reply; ENTERS (fence 0.0)
        2 hears reply from 1: RA-3 has every reply; ENTERS (fence 0.0)
    "#]]);

    a_storm_finds_two_inside_where_clocks_alone_decide(Flaw::ClockOnly, expect![[r#"
        1 enters while 2 is inside

        2 acquire: RA-1 asks everyone with (1, 2); request → all
        1 acquire: RA-1 asks everyone with (1, 1); request → all
        1 hears request from 2: RA-2 lets (1, 2) pass; reply → 2
        2 hears request from 1: RA-2 lets (1, 1) pass; reply → 1
        2 hears reply from 1: RA-3 has every reply; ENTERS (fence 0.0)
        1 hears reply from 2: RA-3 has every reply; ENTERS (fence 0.0)
    "#]]);

    a_storm_finds_two_inside_where_node_numbers_alone_decide(Flaw::NodeOnly, expect![[r#"
        1 enters while 2 is inside

        2 acquire: RA-1 asks everyone with (1, 2); request → all
        1 hears request from 2: RA-2 lets (1, 2) pass; reply → 2
        1 acquire: RA-1 asks everyone with (3, 1); request → all
        2 hears request from 1: RA-2 lets (3, 1) pass; reply → 1
        2 hears reply from 1: RA-3 has every reply; ENTERS (fence 0.0)
        1 hears reply from 2: RA-3 has every reply; ENTERS (fence 0.0)
    "#]]);

    a_storm_finds_one_who_waits_for_ever_where_only_the_first_one_deferred_is_answered(Flaw::FirstOnly, expect![[r#"
        4 waits for ever

        3 acquire: RA-1 asks everyone with (1, 3); request → all
        4 acquire: RA-1 asks everyone with (1, 4); request → all
        1 acquire: RA-1 asks everyone with (1, 1); request → all
        1 hears request from 3: RA-2 defers (1, 3)
        2 hears request from 3: RA-2 lets (1, 3) pass; reply → 3
        4 hears request from 3: RA-2 lets (1, 3) pass; reply → 3
        1 hears request from 4: RA-2 defers (1, 4)
        2 hears request from 4: RA-2 lets (1, 4) pass; reply → 4
        3 hears request from 4: RA-2 defers (1, 4)
        2 hears request from 1: RA-2 lets (1, 1) pass; reply → 1
        3 hears request from 1: RA-2 lets (1, 1) pass; reply → 1
        4 hears request from 1: RA-2 lets (1, 1) pass; reply → 1
        3 hears reply from 2: nothing
        3 hears reply from 4: nothing
        4 hears reply from 2: nothing
        1 hears reply from 2: nothing
        1 hears reply from 3: nothing
        1 hears reply from 4: RA-3 has every reply; ENTERS (fence 0.0)
        1 release: LEAVES; RA-4 lets 3 pass at last; reply → 3
        3 hears reply from 1: RA-3 has every reply; ENTERS (fence 0.0)
        3 release: LEAVES; RA-4 lets 4 pass at last; reply → 4
        4 hears reply from 3: nothing
    "#]]);
}
