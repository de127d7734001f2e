//! Replays a counterexample with real nodes, so that observers see it like any run, and a journal
//! can record it.

use crate::clients::Clients;
use crate::local::{Checkable, local_time};
use crate::membership::PackedView;
use crate::path::{MessageRef, Step, StepKind};
use crate::step_table::{Content, Envelope, LEASE_VALID, Move, StepTable};
use crate::tables::NONE;
use quorate_core::{Duration, Incarnation, NodeId, Time};
use quorate_journal::moment::{Loss, MessageId, ObservedInput, Observer, WorldEvent};
use quorate_journal::replay_nodes::ReplayNodes;

/// A run that violates a property.
#[derive(Clone, Debug)]
pub struct Counterexample {
    pub(crate) steps: Vec<Step>,
    /// Index of the first step of the part that repeats forever.
    pub(crate) cycle_start: Option<usize>,
    /// By how much each node's clock is faster than true time, in parts per million; negative if it
    /// is slower.
    pub(crate) drifts_ppm: Vec<i32>,
    pub(crate) is_timed: bool,
    pub(crate) has_views: bool,
}

impl Counterexample {
    /// Number of steps, including those that only advance time.
    pub fn len(&self) -> usize {
        self.steps.len()
    }

    /// Whether the initial state itself violates the property.
    pub fn is_empty(&self) -> bool {
        self.steps.is_empty()
    }

    /// Number of steps after which the run repeats forever; `None` if it is finite.
    pub fn cycle_start(&self) -> Option<usize> {
        self.cycle_start
    }
}

/// Journal text of a step that only advances time.
const TIME_PASSES: &str = "time passes";
/// Journal text where the repeating part begins.
const CYCLE_BEGINS: &str = "from here on the run repeats forever";

pub(crate) fn replay<P, C, O>(step_table: &StepTable<P, C>, example: &Counterexample, observer: O) -> Result<O, String>
where
    P: Checkable,
    C: Clients<Command = P::Command, Event = P::Event>,
    O: Observer<P::Command, P::Event>,
{
    // Where time is not modelled, the search stepped the nodes at time zero. A journal in which the
    // nodes' clocks run is easier to read, so they run unless a trial replay with running clocks
    // fails. In that case the nodes read the time, and their clocks stop at zero.
    let nodes_read_time = !example.is_timed && replay_with(step_table, example, Clocks::Running, ()).is_err();
    let clocks = if nodes_read_time { Clocks::Stopped } else { Clocks::Running };
    replay_with(step_table, example, clocks, observer)
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Clocks {
    Running,
    Stopped,
}

fn replay_with<P, C, O>(
    step_table: &StepTable<P, C>,
    example: &Counterexample,
    clocks: Clocks,
    observer: O,
) -> Result<O, String>
where
    P: Checkable,
    C: Clients<Command = P::Command, Event = P::Event>,
    O: Observer<P::Command, P::Event>,
{
    let nodes = ReplayNodes::new(example.drifts_ppm.len(), |node| step_table.make_node(node), observer);
    let mut replay = Replay { step_table, example, clocks, nodes, time: Time::ZERO };
    replay.begin()?;
    for (index, step) in example.steps.iter().enumerate() {
        if example.cycle_start == Some(index) {
            replay.apply_event(&WorldEvent::Changed { text: CYCLE_BEGINS })?;
        }
        replay.step(step)?;
    }
    Ok(replay.nodes.into_observer())
}

/// A replay in progress; `M` creates its nodes.
struct Replay<'a, P: Checkable, C: Clients<Command = P::Command, Event = P::Event>, M, O> {
    step_table: &'a StepTable<P, C>,
    example: &'a Counterexample,
    clocks: Clocks,
    nodes: ReplayNodes<P, M, O>,
    /// True time of the current step.
    time: Time,
}

impl<P, C, M, O> Replay<'_, P, C, M, O>
where
    P: Checkable,
    C: Clients<Command = P::Command, Event = P::Event>,
    M: Fn(NodeId) -> P,
    O: Observer<P::Command, P::Event>,
{
    fn begin(&mut self) -> Result<(), String> {
        for (index, drift) in self.example.drifts_ppm.iter().enumerate() {
            if *drift != 0 {
                let text = format!("drift {} by {drift}ppm", NodeId::from_index(index));
                self.apply_event(&WorldEvent::Changed { text: &text })?;
            }
        }
        for index in 0..self.example.drifts_ppm.len() {
            self.give_input(index, &ObservedInput::Start { incarnation: Incarnation::FIRST, is_disk_blank: false })?;
            if self.example.has_views {
                self.give_input(
                    index,
                    &ObservedInput::View(&PackedView::founding(self.example.drifts_ppm.len()).unpack()),
                )?;
                self.give_input(index, &ObservedInput::Lease(LEASE_VALID))?;
            }
        }
        Ok(())
    }

    fn step(&mut self, step: &Step) -> Result<(), String> {
        self.time = if self.example.is_timed { step.time } else { self.time + Duration::from_millis(1) };
        match step.kind {
            StepKind::Deliver(message) if self.is_notice(message) => self.notify(message, step),
            // A notice to a node that is down has no effect.
            StepKind::Drop(message) if self.is_notice(message) => Ok(()),
            StepKind::Deliver(message) => {
                let (id, to) = self.find_message(message)?;
                // The replayed nodes take `kind` and `is_wrapped` from the message itself. Message
                // ids count over a sender's incarnations, so `incarnation` is always the first.
                self.give_input(
                    to.index(),
                    &ObservedInput::Message { id, kind: "", is_wrapped: false, incarnation: Incarnation::FIRST },
                )?;
                self.compare_state(to, step)
            }
            StepKind::Drop(message) => {
                let (id, to) = self.find_message(message)?;
                self.apply_event(&WorldEvent::Lost { id, to, cause: Loss::Down })
            }
            StepKind::Lose(message) => {
                let (id, to) = self.find_message(message)?;
                self.apply_event(&WorldEvent::Lost { id, to, cause: Loss::Chance })
            }
            StepKind::Duplicate(message) => {
                let (id, _) = self.find_message(message)?;
                self.apply_event(&WorldEvent::Duplicated { id })
            }
            StepKind::Move { node, number } => {
                self.make_move(node, number, step)?;
                self.compare_state(NodeId::from_index(node), step)
            }
            StepKind::Advance => self.apply_event(&WorldEvent::Changed { text: TIME_PASSES }),
            StepKind::Decide(packed) => {
                self.apply_event(&WorldEvent::Changed { text: &format!("{} is decided", packed.unpack()) })
            }
        }
    }

    fn make_move(&mut self, node: usize, number: u32, step: &Step) -> Result<(), String> {
        let id = NodeId::from_index(node);
        match self.step_table.move_at(number) {
            Move::Command(command) => self.give_input(node, &ObservedInput::Command(command)),
            Move::Timer(timer) => self.give_input(node, &ObservedInput::Timer(timer)),
            Move::Sync => match self.nodes.saves_after_sync(id) {
                Some(count) => self.give_input(node, &ObservedInput::Saved(count)),
                None => Err(format!("cannot sync the disk of node {id}: it has no pending writes")),
            },
            Move::Crash { survivors } => {
                let lost_writes = self.nodes.pending_writes(id).saturating_sub(*survivors);
                self.apply_event(&WorldEvent::Crashed { node: id, lost_writes })
            }
            Move::Restart => {
                // A check models lost writes, but no lost disks.
                let incarnation = self.step_table.local(step.local_after).incarnation;
                self.give_input(node, &ObservedInput::Start { incarnation, is_disk_blank: false })
            }
            Move::Lease { until } => self.give_input(node, &ObservedInput::Lease(*until)),
        }
    }

    /// Whether the message comes from the environment: a view, or a notice of a crash or restart.
    fn is_notice(&self, message: MessageRef) -> bool {
        !matches!(self.step_table.envelope(message.envelope).content, Content::Message(_))
    }

    /// Gives a node a view, or a notice of another node's crash or restart. If only clients are
    /// notified, the node takes no input.
    fn notify(&mut self, message: MessageRef, step: &Step) -> Result<(), String> {
        let Envelope { to, content, .. } = self.step_table.envelope(message.envelope);
        let input = match content {
            Content::Message(_) => None,
            Content::View(view) => Some(ObservedInput::View(view)),
            Content::Crashed(other) => self.step_table.notifies_nodes().then_some(ObservedInput::Suspect(*other)),
            Content::Restarted(other) => self.step_table.notifies_nodes().then_some(ObservedInput::Trust(*other)),
        };
        if let Some(input) = input {
            self.give_input(to.index(), &input)?;
        }
        self.compare_state(*to, step)
    }

    fn find_message(&self, message: MessageRef) -> Result<(MessageId, NodeId), String> {
        let wanted = self.step_table.envelope(message.envelope);
        self.nodes
            .in_flight()
            .filter(|(id, to, _)| id.sender == wanted.from && *to == wanted.to)
            .filter(|(_, _, sent)| matches!(&wanted.content, Content::Message(content) if content == *sent))
            .nth(message.older_count)
            .map(|(id, to, _)| (id, to))
            .ok_or_else(|| {
                format!("the counterexample refers to a message of node {} that is not in flight", wanted.from)
            })
    }

    fn give_input(&mut self, node: usize, input: &ObservedInput<'_, P::Command>) -> Result<(), String> {
        let now = match self.clocks {
            Clocks::Running => local_time(self.time, self.example.drifts_ppm.get(node).copied().unwrap_or(0)),
            Clocks::Stopped => Time::ZERO,
        };
        let id = NodeId::from_index(node);
        let mut next_input = Some(*input);
        while let Some(input) = next_input {
            self.nodes.give_input(self.time, now, id, &input)?;
            let ends_turn = matches!(input, ObservedInput::EndOfTurn);
            let uses_end_of_turn = self.nodes.node(id).is_some_and(P::uses_end_of_turn);
            next_input = match self.nodes.saves_after_sync(id).filter(|_| self.step_table.has_prompt_disks()) {
                Some(count) => Some(ObservedInput::Saved(count)),
                None => (uses_end_of_turn && !ends_turn).then_some(ObservedInput::EndOfTurn),
            };
        }
        Ok(())
    }

    fn apply_event(&mut self, event: &WorldEvent<'_>) -> Result<(), String> {
        self.nodes.apply_world_event(self.time, event)
    }

    /// Fails if the protocol of the node is in another state than the search recorded. Compares
    /// nothing if the search recorded no state for the step, or the node is down.
    fn compare_state(&self, node: NodeId, step: &Step) -> Result<(), String> {
        if step.local_after == NONE {
            return Ok(());
        }
        match (&self.step_table.local(step.local_after).protocol, self.nodes.node(node)) {
            (Some(expected), Some(found)) if expected != found => {
                Err(format!("node {node} is in a different state than in the search"))
            }
            _ => Ok(()),
        }
    }
}
