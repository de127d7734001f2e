//! Plays a counterexample with real nodes, so that observers see it as they see any run: a journal writes it down.

use crate::local::{Checked, shown};
use crate::membership::Roll;
use crate::stage::{Content, Envelope, Own, Stage, VALID};
use crate::tables::NOTHING;
use crate::trail::{Act, Letter, Step};
use crate::users::Users;
use quorate_core::{Duration, Incarnation, NodeId, Time};
use quorate_journal::moment::{Happening, Loss, MessageId, Observer, Taken};
use quorate_journal::puppets::Puppets;

/// A run that breaks a property.
#[derive(Clone, Debug)]
pub struct Counterexample {
    pub(crate) steps: Vec<Step>,
    /// Where the part begins that repeats for ever.
    pub(crate) cycle: Option<usize>,
    /// How fast the nodes' clocks run.
    pub(crate) rates: Vec<i32>,
    pub(crate) timed: bool,
    pub(crate) views: bool,
}

impl Counterexample {
    /// How many steps it has; that time passes is one.
    pub fn len(&self) -> usize {
        self.steps.len()
    }

    /// Whether the nodes need not even do anything.
    pub fn is_empty(&self) -> bool {
        self.steps.is_empty()
    }

    /// After how many steps it begins to repeat itself for ever, if it does.
    pub fn cycle(&self) -> Option<usize> {
        self.cycle
    }
}

/// What the journal says where nothing happens but that time goes on.
const TIME: &str = "time passes";
/// What the journal says where the part begins that repeats.
const CYCLE: &str = "from here on the run repeats for ever";

pub(crate) fn play<P, U, O>(stage: &Stage<P, U>, example: &Counterexample, observer: O) -> Result<O, String>
where
    P: Checked,
    U: Users<Command = P::Command, Event = P::Event>,
    O: Observer<P::Command, P::Event>,
{
    // Where time does not count, the nodes were told that it stands still. Most do not look, and a journal with
    // instants reads better.
    let nodes_look = !example.timed && perform(stage, example, Clocks::Running, ()).is_err();
    let clocks = if nodes_look { Clocks::Stopped } else { Clocks::Running };
    perform(stage, example, clocks, observer)
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Clocks {
    Running,
    Stopped,
}

fn perform<P, U, O>(stage: &Stage<P, U>, example: &Counterexample, clocks: Clocks, observer: O) -> Result<O, String>
where
    P: Checked,
    U: Users<Command = P::Command, Event = P::Event>,
    O: Observer<P::Command, P::Event>,
{
    let puppets = Puppets::new(example.rates.len(), |node| stage.make(node), observer);
    let mut play = Play { stage, example, clocks, puppets, time: Time::ZERO };
    play.begin()?;
    for (place, step) in example.steps.iter().enumerate() {
        if example.cycle == Some(place) {
            play.happen(&Happening::Changed { text: CYCLE })?;
        }
        play.step(step)?;
    }
    Ok(play.puppets.into_observer())
}

struct Play<'a, P: Checked, U: Users<Command = P::Command, Event = P::Event>, M, O> {
    stage: &'a Stage<P, U>,
    example: &'a Counterexample,
    clocks: Clocks,
    puppets: Puppets<P, M, O>,
    time: Time,
}

impl<P, U, M, O> Play<'_, P, U, M, O>
where
    P: Checked,
    U: Users<Command = P::Command, Event = P::Event>,
    M: Fn(NodeId) -> P,
    O: Observer<P::Command, P::Event>,
{
    fn begin(&mut self) -> Result<(), String> {
        for (index, rate) in self.example.rates.iter().enumerate() {
            if *rate != 0 {
                let text = format!("drift {} by {rate}ppm", NodeId::from_index(index));
                self.happen(&Happening::Changed { text: &text })?;
            }
        }
        for index in 0..self.example.rates.len() {
            self.take(index, &Taken::Start { incarnation: Incarnation::FIRST, blank: false })?;
            if self.example.views {
                self.take(index, &Taken::View(&Roll::founding(self.example.rates.len()).view()))?;
                self.take(index, &Taken::Lease(VALID))?;
            }
        }
        Ok(())
    }

    fn step(&mut self, step: &Step) -> Result<(), String> {
        self.time = if self.example.timed { step.time } else { self.time + Duration::from_millis(1) };
        match step.act {
            Act::Deliver(letter) if self.is_news(letter) => self.tell(letter, step),
            // Nobody is there to be told.
            Act::Drop(letter) if self.is_news(letter) => Ok(()),
            Act::Deliver(letter) => {
                let (id, to) = self.find(letter)?;
                self.take(to.index(), &Taken::Message { id, kind: "", wrapped: false, life: Incarnation::FIRST })?;
                self.compare(to, step)
            }
            Act::Drop(letter) => {
                let (id, to) = self.find(letter)?;
                self.happen(&Happening::Lost { id, to, why: Loss::Down })
            }
            Act::Lose(letter) => {
                let (id, to) = self.find(letter)?;
                self.happen(&Happening::Lost { id, to, why: Loss::Chance })
            }
            Act::Duplicate(letter) => {
                let (id, _) = self.find(letter)?;
                self.happen(&Happening::Duplicated { id })
            }
            Act::Own { node, number } => {
                self.own(node, number, step)?;
                self.compare(NodeId::from_index(node), step)
            }
            Act::Advance => self.happen(&Happening::Changed { text: TIME }),
            Act::Decide(roll) => self.happen(&Happening::Changed { text: &format!("{} is decided", roll.view()) }),
        }
    }

    fn own(&mut self, node: usize, number: u32, step: &Step) -> Result<(), String> {
        let id = NodeId::from_index(node);
        match self.stage.own_move(number) {
            Own::Command(command) => self.take(node, &Taken::Command(command)),
            Own::Timer(timer) => self.take(node, &Taken::Timer(timer)),
            Own::Sync => match self.puppets.unsynced(id) {
                Some(count) => self.take(node, &Taken::Saved(count)),
                None => Err(format!("node {id} has nothing to sync")),
            },
            Own::Crash { survivors } => {
                let lost_writes = self.puppets.pending_writes(id).saturating_sub(*survivors);
                self.happen(&Happening::Crashed { node: id, lost_writes })
            }
            Own::Restart => {
                let incarnation = self.stage.local(step.after).incarnation;
                self.take(node, &Taken::Start { incarnation, blank: false })
            }
            Own::Lease { until } => self.take(node, &Taken::Lease(*until)),
        }
    }

    /// Whether a letter is no message of another node.
    fn is_news(&self, letter: Letter) -> bool {
        !matches!(self.stage.envelope(letter.envelope).content, Content::Message(_))
    }

    /// A node is told of a view, or of another's life; its user alone may be.
    fn tell(&mut self, letter: Letter, step: &Step) -> Result<(), String> {
        let Envelope { to, content, .. } = self.stage.envelope(letter.envelope);
        let taken = match content {
            Content::Message(_) => None,
            Content::View(view) => Some(Taken::View(view)),
            Content::Gone(other) => self.stage.tells_nodes().then_some(Taken::Suspect(*other)),
            Content::Back(other) => self.stage.tells_nodes().then_some(Taken::Trust(*other)),
        };
        if let Some(taken) = taken {
            self.take(to.index(), &taken)?;
        }
        self.compare(*to, step)
    }

    fn find(&self, letter: Letter) -> Result<(MessageId, NodeId), String> {
        let wanted = self.stage.envelope(letter.envelope);
        self.puppets
            .under_way()
            .filter(|(id, to, _)| id.sender == wanted.from && *to == wanted.to)
            .filter(|(_, _, message)| matches!(&wanted.content, Content::Message(wanted) if wanted == *message))
            .nth(letter.older)
            .map(|(id, to, _)| (id, to))
            .ok_or_else(|| format!("no such message of node {} is under way", wanted.from))
    }

    fn take(&mut self, node: usize, taken: &Taken<'_, P::Command>) -> Result<(), String> {
        let now = match self.clocks {
            Clocks::Running => shown(self.time, self.example.rates.get(node).copied().unwrap_or(0)),
            Clocks::Stopped => Time::ZERO,
        };
        let id = NodeId::from_index(node);
        self.puppets.take(self.time, now, id, taken)?;
        while self.stage.has_prompt_disks()
            && let Some(count) = self.puppets.unsynced(id)
        {
            self.puppets.take(self.time, now, id, &Taken::Saved(count))?;
        }
        Ok(())
    }

    fn happen(&mut self, what: &Happening<'_>) -> Result<(), String> {
        self.puppets.happen(self.time, what)
    }

    /// Each node must come to the state that the search saw.
    fn compare(&self, node: NodeId, step: &Step) -> Result<(), String> {
        if step.after == NOTHING {
            return Ok(());
        }
        match (&self.stage.local(step.after).protocol, self.puppets.node(node)) {
            (Some(expected), Some(found)) if expected != found => {
                Err(format!("node {node} does not do again what the search saw"))
            }
            _ => Ok(()),
        }
    }
}
