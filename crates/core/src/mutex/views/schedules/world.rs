//! A simulated group with a membership service, in which everything may happen that the rules of
//! views allow.
//!
//! The service commits a view that ends a member's stay only after that member's lease has ended or
//! its process has crashed. Views arrive at any later moment and in any order. Messages arrive in
//! any order, or in the order of sending on each link if the algorithm assumes FIFO links; none is
//! lost unless its sender has crashed or its receiver is down. A member receives a lease only after
//! the view in which its stay began.

use super::ViewAlgorithm;
use super::actions::Action;
use super::bugs::Bug;
use super::clients::{Client, Counts, State};
use crate::effects::{Effect, Note, Sink};
use crate::group::Epoch;
use crate::mutex::prelude::*;
use crate::mutex::random_schedule::Fences;
use crate::mutex::{Links, Report};
use crate::node::Incarnation;
use crate::view::{Stay, View};
use crate::wrap::{Envelope, Viewed, ViewedTimer};
use std::format;
use std::string::String;
use std::vec;

/// Maximum number of steps after the schedule. A client that is not idle after them counts as one
/// that waits forever.
const MAX_STEPS_TO_REST: usize = 3_000;

/// Sets of nodes, with a bit per node index.
const NO_NODES: usize = 0;
const ALL_NODES: usize = usize::MAX;

/// Longer than any schedule, so a lease ends only when an action ends it.
const LEASE: Duration = Duration::from_secs(1);

pub(super) type ViewEnvelope<P> = Envelope<<P as Protocol>::Message, Report>;

/// The whole simulation: nodes, service, network and clients.
pub(super) struct World<P: ViewTransition> {
    new_node: fn(NodeId, Group) -> P,
    facts: Facts,
    bug: Option<Bug>,
    now: Time,
    nodes: Vec<Node<P>>,
    /// All views that the service has committed; the first is view 1.
    views: Vec<View>,
    in_flight: Vec<InFlight<ViewEnvelope<P>>>,
    timers: Vec<(NodeId, ViewedTimer<P::Timer>)>,
    fences: Fences,
    pub(super) counts: Counts,
    /// The trace, if the world records one.
    trace: Option<String>,
}

/// A node and its processes, one incarnation after the other.
struct Node<P: ViewTransition> {
    /// The process, unless it has crashed.
    process: Option<Viewed<P>>,
    incarnation: Incarnation,
    /// The end of its lease, as the service knows it.
    lease_end: Option<Time>,
    /// The latest view that this incarnation has received.
    known_view: Option<View>,
    client: Client,
}

/// A message in transit.
struct InFlight<M> {
    from: NodeId,
    /// The incarnation of the sender.
    incarnation: Incarnation,
    to: NodeId,
    message: M,
}

/// Collects the effects of a step, and its notes if the world records a trace.
struct Recorder<P: ViewTransition> {
    effects: Vec<Effect<Viewed<P>>>,
    notes: Option<String>,
}

impl<P: ViewTransition> Sink<Viewed<P>> for Recorder<P> {
    fn effect(&mut self, effect: Effect<Viewed<P>>) {
        self.effects.push(effect);
    }

    fn note(&mut self, note: Note<'_>) {
        if let (Some(notes), Note::Rule { rule, text }) = (&mut self.notes, note) {
            *notes += &format!("    {rule} {text}\n");
        }
    }
}

impl<P: ViewAlgorithm> World<P> {
    /// Creates a world of `nodes` nodes. [`run`](Self::run) starts them in the first view, with a
    /// lease each.
    pub(super) fn new(nodes: usize, new_node: fn(NodeId, Group) -> P, facts: Facts, bug: Option<Bug>) -> Self {
        let node = |_| Node {
            process: None,
            incarnation: Incarnation(0),
            lease_end: None,
            known_view: None,
            client: Client::IDLE,
        };
        Self {
            new_node,
            facts,
            bug,
            now: Time::ZERO,
            nodes: (0..nodes).map(node).collect(),
            views: Vec::new(),
            in_flight: Vec::new(),
            timers: Vec::new(),
            fences: Fences::default(),
            counts: Counts::default(),
            trace: None,
        }
    }

    /// Makes [`run`](Self::run) add a trace to its error.
    pub(super) fn with_trace(mut self) -> Self {
        self.trace = Some(String::new());
        self
    }

    /// Runs all actions and lets the group come to rest. The error describes the first violation,
    /// with the trace if there is one.
    pub(super) fn run(&mut self, actions: &[Action]) -> Result<(), String> {
        let outcome = self.start_all().and_then(|()| actions.iter().try_for_each(|action| self.apply(*action)));
        let outcome = outcome.and_then(|()| self.run_to_rest());
        outcome.map_err(|violation| format!("{violation}\n\n{}", self.trace.take().unwrap_or_default()))
    }

    fn start_all(&mut self) -> Result<(), String> {
        (0..self.nodes.len()).try_for_each(|index| self.restart(index))?;
        self.commit(NO_NODES, ALL_NODES)?;
        self.refresh_all()
    }

    /// Delivers the latest view to all nodes and renews their leases.
    fn refresh_all(&mut self) -> Result<(), String> {
        let latest = self.views.len() - 1;
        for index in 0..self.nodes.len() {
            self.deliver_view(index, latest)?;
            self.renew(index)?;
        }
        Ok(())
    }

    fn apply(&mut self, action: Action) -> Result<(), String> {
        self.now += Duration::from_nanos(1);
        let count = self.nodes.len();
        match action {
            Action::Command(node, pick) => self.give_command(node % count, pick),
            Action::Deliver(_) | Action::Lose(_) if self.in_flight.is_empty() => Ok(()),
            Action::Deliver(pick) => self.deliver(pick % self.in_flight.len()),
            Action::Lose(pick) => {
                self.lose(pick % self.in_flight.len());
                Ok(())
            }
            Action::Fire(_) if self.timers.is_empty() => Ok(()),
            Action::Fire(pick) => self.fire(pick % self.timers.len()),
            // The latest view in three of four cases, else any view.
            Action::DeliverView(node, pick) if pick % 4 > 0 => self.deliver_view(node % count, self.views.len() - 1),
            Action::DeliverView(node, pick) => self.deliver_view(node % count, pick / 4 % self.views.len()),
            Action::Renew(node) => self.renew(node % count),
            Action::ExpireLease(node) => self.expire_lease(node % count),
            Action::Commit { removed, added } => self.commit(removed, added),
            Action::RefreshAll { removes_crashed } => {
                if removes_crashed {
                    self.commit(self.absent_nodes(), NO_NODES)?;
                }
                self.refresh_all()
            }
            Action::Crash(node) => {
                self.crash(node % count);
                Ok(())
            }
            Action::Restart(node) => self.restart(node % count),
        }
    }

    /// Lets the group come to rest: makes exactly the live nodes members with a lease, releases
    /// every entry, delivers all messages, and fires timers if nothing else can happen, until no
    /// client waits.
    fn run_to_rest(&mut self) -> Result<(), String> {
        self.commit(self.absent_nodes(), ALL_NODES)?;
        // Nodes receive the view one after the other, so the later ones have messages of that view
        // before they know it.
        for index in (0..self.nodes.len()).rev() {
            self.deliver_view(index, self.views.len() - 1)?;
            self.renew(index)?;
            (0..self.in_flight.len()).try_for_each(|_| self.deliver(0))?;
        }
        for _ in 0..MAX_STEPS_TO_REST {
            self.now += Duration::from_nanos(1);
            let entry_holder = self.nodes.iter().position(|node| node.client.can_release());
            let has_busy_client = self.nodes.iter().any(|node| !node.client.is_idle());
            match entry_holder {
                Some(index) => self.command(index, Command::Release)?,
                None if !self.in_flight.is_empty() => self.deliver(0)?,
                None if has_busy_client && !self.timers.is_empty() => self.fire(0)?,
                None => break,
            }
        }
        match self.nodes.iter().position(|node| !node.client.is_idle()) {
            Some(index) => Err(format!("{} waits forever", NodeId::from_index(index))),
            None => Ok(()),
        }
    }

    /// Returns the set of nodes that are down, or whose current incarnation is not in the latest
    /// view. Bit `i` stands for the node with index `i`.
    fn absent_nodes(&self) -> usize {
        let is_absent = |index: &usize| self.stay_in_latest(*index).is_none();
        (0..self.nodes.len()).filter(is_absent).fold(0, |set, index| set | 1 << index)
    }

    /// Returns the stay of a node in the latest view, if its current incarnation has one.
    fn stay_in_latest(&self, index: usize) -> Option<Stay> {
        let node = &self.nodes[index];
        node.process.as_ref()?;
        self.views.last()?.stay(NodeId::from_index(index)).filter(|stay| stay.incarnation == node.incarnation)
    }

    /// Commits a view without the removed nodes and with the added ones that run, unless it would
    /// be empty. First ends the leases of the members whose stay ends. Both sets have a bit per
    /// node index.
    fn commit(&mut self, removed: usize, added: usize) -> Result<(), String> {
        let is_in = |set: usize, node: NodeId| set >> node.index() & 1 == 1;
        let before: BTreeMap<NodeId, Stay> = self.views.last().into_iter().flat_map(View::stays).collect();
        let epoch = Epoch(self.views.len() as u64 + 1);
        let mut members: BTreeMap<_, _> = before.iter().filter(|(node, _)| !is_in(removed, **node)).collect();
        let new_stays: BTreeMap<_, _> = (0..self.nodes.len())
            .map(NodeId::from_index)
            .filter(|node| {
                is_in(added, *node) && !members.contains_key(node) && self.nodes[node.index()].process.is_some()
            })
            .map(|node| (node, Stay { incarnation: self.nodes[node.index()].incarnation, since: epoch }))
            .collect();
        members.extend(&new_stays);
        if members.is_empty() {
            return Ok(());
        }
        let view = View::new(epoch, members.into_iter().map(|(node, stay)| (*node, *stay)));
        for (node, stay) in before {
            if view.stay(node) != Some(stay) && stay.incarnation == self.nodes[node.index()].incarnation {
                self.end_lease(node.index())?;
            }
        }
        self.add_to_trace(|| format!("the service commits {view}\n"));
        self.views.push(view);
        Ok(())
    }

    /// Ends the lease of a member that the service removes, unless the injected bug omits this.
    fn end_lease(&mut self, index: usize) -> Result<(), String> {
        if self.bug == Some(Bug::EvictsTooEarly) { Ok(()) } else { self.expire_lease(index) }
    }

    /// Delivers a view, given by its index, to a node, and checks that the node emits `Lost`
    /// exactly if the view ends the stay of its entry.
    fn deliver_view(&mut self, index: usize, view_index: usize) -> Result<(), String> {
        let id = NodeId::from_index(index);
        let node = &mut self.nodes[index];
        if node.process.is_none() {
            return Ok(());
        }
        let view = self.views[view_index].clone();
        let is_new = node.known_view.as_ref().is_none_or(|known_view| known_view.epoch() < view.epoch());
        let loses_entry = matches!(node.client.state, State::Inside(_, stay) if is_new && view.stay(id) != Some(stay));
        if is_new {
            let before = node.known_view.replace(view.clone());
            self.counts.record_view(node.client.state, before, &view, id);
        }
        if self.bug == Some(Bug::ForgesReports) && is_new {
            self.forge_reports(id, &view)?;
        }
        let events = self.step(id, Input::View(view));
        let (lost, others): (Vec<_>, Vec<_>) = events.into_iter().partition(|event| *event == Event::Lost);
        if lost.len() != usize::from(loses_entry) {
            return Err(format!("{id} emits `Lost` {} times instead of {}", lost.len(), usize::from(loses_entry)));
        }
        if loses_entry {
            self.nodes[index].client.lose_entry();
        }
        self.check_events(id, others)
    }

    /// Delivers forged empty reports in the name of all other members that report at this view.
    fn forge_reports(&mut self, id: NodeId, view: &View) -> Result<(), String> {
        for from in view.continuing_members().filter(|node| *node != id) {
            let message = Bug::empty_report(view.epoch());
            self.handle(id, Input::Message { from, message })?;
        }
        Ok(())
    }

    /// Renews a node's lease, if the node is in the latest view and knows of its stay there.
    fn renew(&mut self, index: usize) -> Result<(), String> {
        let id = NodeId::from_index(index);
        let stay = self.stay_in_latest(index);
        let known_stay = self.nodes[index].known_view.as_ref().and_then(|known_view| known_view.stay(id));
        let is_known = known_stay == stay || self.bug == Some(Bug::RenewsUnknownStays);
        if stay.is_none() || !is_known {
            return Ok(());
        }
        let until = self.now + LEASE;
        self.nodes[index].lease_end = Some(until);
        self.handle(id, Input::Lease(until))
    }

    fn expire_lease(&mut self, index: usize) -> Result<(), String> {
        let node = &mut self.nodes[index];
        if node.process.is_none() || node.lease_end.take().is_none() {
            return Ok(());
        }
        let id = NodeId::from_index(index);
        self.handle(id, Input::Lease(self.now))
    }

    fn crash(&mut self, index: usize) {
        self.add_to_trace(|| format!("{} crashes\n", NodeId::from_index(index)));
        let id = NodeId::from_index(index);
        let node = &mut self.nodes[index];
        (node.process, node.lease_end, node.known_view) = (None, None, None);
        node.client = Client::IDLE;
        self.timers.retain(|(owner, _)| *owner != id);
    }

    fn restart(&mut self, index: usize) -> Result<(), String> {
        if self.nodes[index].process.is_some() {
            return Ok(());
        }
        let id = NodeId::from_index(index);
        let node = &mut self.nodes[index];
        node.incarnation = Incarnation(node.incarnation.0 + 1);
        node.process = Some(Viewed::new(id, (self.new_node)(id, Group::from_iter([id]))));
        self.handle(id, Input::Start { durable: (), incarnation: self.nodes[index].incarnation })
    }

    fn give_command(&mut self, index: usize, pick: usize) -> Result<(), String> {
        let node = &self.nodes[index];
        match node.client.choose_command(pick).filter(|_| node.process.is_some()) {
            Some(command) => self.command(index, command),
            None => Ok(()),
        }
    }

    fn command(&mut self, index: usize, command: Command) -> Result<(), String> {
        self.nodes[index].client.record_command(command);
        self.handle(NodeId::from_index(index), Input::Command(command))
    }

    /// Loses a message if its sender has crashed since or its receiver is down. A FIFO link loses
    /// its newest message, so that no gap arises.
    fn lose(&mut self, index: usize) {
        let Some(&index) = self.indices_on_same_link(index).last() else { return };
        let InFlight { from, incarnation, to, .. } = &self.in_flight[index];
        let (sender, receiver) = (&self.nodes[from.index()], &self.nodes[to.index()]);
        if sender.process.is_none() || sender.incarnation != *incarnation || receiver.process.is_none() {
            self.in_flight.remove(index);
        }
    }

    /// Delivers a message, on a FIFO link the oldest. A crashed receiver ignores it.
    fn deliver(&mut self, index: usize) -> Result<(), String> {
        let index = self.indices_on_same_link(index).first().copied().unwrap_or(index);
        let InFlight { from, to, message, .. } = self.in_flight.remove(index);
        let receiver = &self.nodes[to.index()];
        if receiver.process.is_none() {
            return Ok(());
        }
        let message = match self.bug {
            Some(bug) => bug.apply::<P>(message, receiver.known_view.as_ref()),
            None => message,
        };
        self.handle(to, Input::Message { from, message })
    }

    /// Returns the indices of all messages on the same link if links are FIFO, otherwise only this
    /// index.
    fn indices_on_same_link(&self, index: usize) -> Vec<usize> {
        let ends = |index: usize| (self.in_flight[index].from, self.in_flight[index].to);
        match self.facts.links {
            Links::AnyOrder => vec![index],
            Links::Fifo => (0..self.in_flight.len()).filter(|other| ends(*other) == ends(index)).collect(),
        }
    }

    fn fire(&mut self, index: usize) -> Result<(), String> {
        let (node, timer) = self.timers.remove(index);
        self.handle(node, Input::Timer(timer))
    }

    /// Gives a node an input, and its events to its client.
    fn handle(&mut self, id: NodeId, input: Input<Viewed<P>>) -> Result<(), String> {
        let events = self.step(id, input);
        self.check_events(id, events)
    }

    /// Gives a node an input and returns its events.
    fn step(&mut self, id: NodeId, input: Input<Viewed<P>>) -> Vec<Event> {
        let Some(process) = &mut self.nodes[id.index()].process else { return Vec::new() };
        let mut recorder = Recorder { effects: Vec::new(), notes: self.trace.as_ref().map(|_| String::new()) };
        let heading = self.trace.as_ref().map(|_| format!("{id} {input:?}\n"));
        process.step(self.now, input, &mut Effects::new(&mut recorder));
        if let (Some(trace), Some(heading), Some(notes)) = (&mut self.trace, heading, recorder.notes) {
            *trace += &heading;
            *trace += &notes;
        }
        let incarnation = self.nodes[id.index()].incarnation;
        let mut events = Vec::new();
        for effect in recorder.effects {
            match effect {
                Effect::Send { to, message, .. } => {
                    self.in_flight.push(InFlight { from: id, incarnation, to, message });
                }
                Effect::Multicast { to, message, .. } => {
                    let messages =
                        to.others(id).map(|to| InFlight { from: id, incarnation, to, message: message.clone() });
                    self.in_flight.extend(messages);
                }
                Effect::Emit { event, .. } => {
                    self.add_to_trace(|| format!("    {event}\n"));
                    events.push(event);
                }
                // Leases end when the service ends them.
                Effect::SetTimer { timer: ViewedTimer::Lease, .. } | Effect::CancelTimer(ViewedTimer::Lease) => {}
                Effect::SetTimer { timer, .. } => {
                    self.timers.retain(|pending| *pending != (id, timer.clone()));
                    self.timers.push((id, timer));
                }
                Effect::CancelTimer(timer) => self.timers.retain(|pending| *pending != (id, timer.clone())),
                Effect::Save(never) => match never {},
            }
        }
        events
    }

    /// Gives events to the client, and then checks that node and client agree on whether the client
    /// is in the critical section.
    fn check_events(&mut self, id: NodeId, events: Vec<Event>) -> Result<(), String> {
        events.into_iter().try_for_each(|event| self.check_event(id, event))?;
        let node = &self.nodes[id.index()];
        let client_state = node.process.as_ref().map(|process| process.inner().client_state());
        if node.client.is_inside() == matches!(client_state, Some(ClientState::Inside(_))) {
            Ok(())
        } else {
            Err(format!("{id}, whose client is {:?}, is {client_state:?}", node.client.state))
        }
    }

    fn check_event(&mut self, id: NodeId, event: Event) -> Result<(), String> {
        let node = &mut self.nodes[id.index()];
        let stay = node.known_view.as_ref().and_then(|known_view| known_view.stay(id));
        let entry = node.client.apply_event(event, stay, node.lease_end);
        match entry.map_err(|violation| format!("the client of {id} {violation}"))? {
            Some((access, fence)) => self.check_entry(id, access, fence),
            None => Ok(()),
        }
    }

    /// Checks that an entry conflicts with no entry of a current member or of a node with a lease,
    /// and that its fence is larger than those of earlier entries that conflict with it.
    fn check_entry(&mut self, id: NodeId, access: Access, fence: Fence) -> Result<(), String> {
        let access = if self.facts.has_shared_access { access } else { Access::Exclusive };
        let is_in_the_way = |index: &usize| match self.nodes[*index].client.state {
            State::Inside(other, stay) => {
                let conflicts = !self.facts.has_shared_access || access.conflicts_with(other);
                conflicts && (self.stay_in_latest(*index) == Some(stay) || self.nodes[*index].lease_end.is_some())
            }
            State::Idle | State::Waiting(..) => false,
        };
        let mut others = (0..self.nodes.len()).filter(|index| *index != id.index());
        if let Some(other) = others.find(is_in_the_way) {
            return Err(format!("{id} enters while {} is in the critical section", NodeId::from_index(other)));
        }
        self.counts.entries_in_later_views += u64::from(fence.epoch > View::FIRST);
        self.fences.record_and_check(access, fence).map_err(|violation| format!("{id} {violation}"))
    }

    fn add_to_trace(&mut self, line: impl FnOnce() -> String) {
        if let Some(trace) = &mut self.trace {
            *trace += &line();
        }
    }
}
