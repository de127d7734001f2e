//! A group with a membership service, in which everything may happen that the rules of views allow.
//!
//! The service commits a view without a stay only once that member's lease is over or its process is gone. Views are told at any
//! later moment and in any order; letters arrive in any order, and none is lost unless one of its ends has crashed. A lease is
//! told to a member only after the view in which its stay began.

use super::Viewable;
use super::gusts::Gust;
use super::slips::Slip;
use super::users::{Account, Tally, User};
use crate::effects::{Effect, Note, Sink};
use crate::group::Epoch;
use crate::mutex::prelude::*;
use crate::mutex::storm::Fences;
use crate::mutex::{Links, Report};
use crate::node::Incarnation;
use crate::view::{Stay, View};
use crate::wrap::{Envelope, Viewed, ViewedTimer};
use std::format;
use std::string::String;
use std::vec;

/// After so many steps in peace it is not the storm that keeps a group busy.
const STEPS_IN_PEACE: usize = 3_000;

/// Longer than any storm.
const LEASE: Duration = Duration::from_secs(1);

pub(super) type Mail<P> = Envelope<<P as Protocol>::Message, Report>;

/// Everything there is, and what users know of it.
pub(super) struct World<P: Succession> {
    make: fn(NodeId, Group) -> P,
    facts: Facts,
    slip: Option<Slip>,
    now: Time,
    nodes: Vec<Node<P>>,
    /// Every view that the service has decided; the first is view 1.
    views: Vec<View>,
    letters: Vec<Letter<Mail<P>>>,
    timers: Vec<(NodeId, ViewedTimer<P::Timer>)>,
    fences: Fences,
    pub(super) tally: Tally,
    /// What happened, if anybody wants to read it.
    trace: Option<String>,
}

/// A place for processes, one life after the other.
struct Node<P: Succession> {
    /// The process, unless it has crashed.
    process: Option<Viewed<P>>,
    life: Incarnation,
    /// Up to when it has a lease, as the service knows.
    leased: Option<Time>,
    /// The latest view that this life was told of.
    known: Option<View>,
    account: Account,
}

struct Letter<M> {
    from: NodeId,
    life: Incarnation,
    to: NodeId,
    mail: M,
}

/// What a step did, and said if that is wanted.
struct Clerk<P: Succession> {
    effects: Vec<Effect<Viewed<P>>>,
    notes: Option<String>,
}

impl<P: Succession> Sink<Viewed<P>> for Clerk<P> {
    fn effect(&mut self, effect: Effect<Viewed<P>>) {
        self.effects.push(effect);
    }

    fn note(&mut self, note: Note<'_>) {
        if let (Some(notes), Note::Rule { rule, text }) = (&mut self.notes, note) {
            *notes += &format!("    {rule} {text}\n");
        }
    }
}

impl<P: Viewable> World<P> {
    /// So many nodes, all in the first view and with a lease.
    pub(super) fn new(
        nodes: usize,
        make: fn(NodeId, Group) -> P,
        facts: Facts,
        slip: Option<Slip>,
        traced: bool,
    ) -> Self {
        let node = |_| Node { process: None, life: Incarnation(0), leased: None, known: None, account: Account::IDLE };
        Self {
            make,
            facts,
            slip,
            now: Time::ZERO,
            nodes: (0..nodes).map(node).collect(),
            views: Vec::new(),
            letters: Vec::new(),
            timers: Vec::new(),
            fences: Fences::default(),
            tally: Tally::default(),
            trace: traced.then(String::new),
        }
    }

    /// The whole storm and the peace after it. The error says who broke its word, and how it came about if that is traced.
    pub(super) fn sail(&mut self, gusts: &[Gust]) -> Result<(), String> {
        let outcome = self.found().and_then(|()| gusts.iter().try_for_each(|gust| self.blow(*gust)));
        let outcome = outcome.and_then(|()| self.rest());
        outcome.map_err(|breach| format!("{breach}\n\n{}", self.trace.take().unwrap_or_default()))
    }

    fn found(&mut self) -> Result<(), String> {
        (0..self.nodes.len()).try_for_each(|place| self.restart(place))?;
        self.commit(0, usize::MAX)?;
        self.tell_and_renew_all()
    }

    fn tell_and_renew_all(&mut self) -> Result<(), String> {
        let latest = self.views.len() - 1;
        for place in 0..self.nodes.len() {
            self.tell(place, latest)?;
            self.renew(place)?;
        }
        Ok(())
    }

    fn blow(&mut self, gust: Gust) -> Result<(), String> {
        self.now += Duration::from_nanos(1);
        let count = self.nodes.len();
        match gust {
            Gust::Ask(node, pick) => self.ask(node % count, pick),
            Gust::Arrive(_) | Gust::Lose(_) if self.letters.is_empty() => Ok(()),
            Gust::Arrive(pick) => self.arrive(pick % self.letters.len()),
            Gust::Lose(pick) => {
                self.lose(pick % self.letters.len());
                Ok(())
            }
            Gust::Fire(_) if self.timers.is_empty() => Ok(()),
            Gust::Fire(pick) => self.fire(pick % self.timers.len()),
            // Mostly the latest, now and then any.
            Gust::Tell(node, pick) if pick % 4 > 0 => self.tell(node % count, self.views.len() - 1),
            Gust::Tell(node, pick) => self.tell(node % count, pick / 4 % self.views.len()),
            Gust::Renew(node) => self.renew(node % count),
            Gust::Freeze(node) => self.freeze(node % count),
            Gust::Commit { out, back } => self.commit(out, back),
            Gust::Rounds { decides } => {
                if decides {
                    self.commit(self.gone(), 0)?;
                }
                self.tell_and_renew_all()
            }
            Gust::Crash(node) => {
                self.crash(node % count);
                Ok(())
            }
            Gust::Restart(node) => self.restart(node % count),
        }
    }

    /// Everyone who lives is in and has a lease, and nobody else; whoever is inside leaves, everything arrives, and timers fire
    /// where nothing else happens, until nobody waits.
    fn rest(&mut self) -> Result<(), String> {
        self.commit(self.gone(), usize::MAX)?;
        // One hears of it after the other, and the later ones have letters from that view before they know of it.
        for place in (0..self.nodes.len()).rev() {
            self.tell(place, self.views.len() - 1)?;
            self.renew(place)?;
            (0..self.letters.len()).try_for_each(|_| self.arrive(0))?;
        }
        for _ in 0..STEPS_IN_PEACE {
            self.now += Duration::from_nanos(1);
            let inside = self.nodes.iter().position(|node| node.account.is_at_home());
            let somebody_waits = self.nodes.iter().any(|node| !node.account.is_content());
            match inside {
                Some(place) => self.command(place, Command::Release)?,
                None if !self.letters.is_empty() => self.arrive(0)?,
                None if somebody_waits && !self.timers.is_empty() => self.fire(0)?,
                None => break,
            }
        }
        match self.nodes.iter().position(|node| !node.account.is_content()) {
            Some(place) => Err(format!("{} waits for ever", NodeId::from_index(place))),
            None => Ok(()),
        }
    }

    /// The set of those who are not in the latest view with the life that they live now.
    fn gone(&self) -> usize {
        let is_gone = |place: &usize| self.stay_in_latest(*place).is_none();
        (0..self.nodes.len()).filter(is_gone).fold(0, |set, place| set | 1 << place)
    }

    /// The stay of a node in the latest view, if that is a stay of the life that it lives now.
    fn stay_in_latest(&self, place: usize) -> Option<Stay> {
        let node = &self.nodes[place];
        node.process.as_ref()?;
        self.views.last()?.stay(NodeId::from_index(place)).filter(|stay| stay.incarnation == node.life)
    }

    /// Views without a member wait for the end of its lease. A view that nobody is in is not made.
    fn commit(&mut self, out: usize, back: usize) -> Result<(), String> {
        let is_in = |set: usize, node: NodeId| set >> node.index() & 1 == 1;
        let before: BTreeMap<NodeId, Stay> = self.views.last().into_iter().flat_map(View::stays).collect();
        let epoch = Epoch(self.views.len() as u64 + 1);
        let mut members: BTreeMap<_, _> = before.iter().filter(|(node, _)| !is_in(out, **node)).collect();
        let came: BTreeMap<_, _> = (0..self.nodes.len())
            .map(NodeId::from_index)
            .filter(|node| {
                is_in(back, *node) && !members.contains_key(node) && self.nodes[node.index()].process.is_some()
            })
            .map(|node| (node, Stay { incarnation: self.nodes[node.index()].life, since: epoch }))
            .collect();
        members.extend(&came);
        if members.is_empty() {
            return Ok(());
        }
        let view = View::new(epoch, members.into_iter().map(|(node, stay)| (*node, *stay)));
        for (node, stay) in before {
            if view.stay(node) != Some(stay) && stay.incarnation == self.nodes[node.index()].life {
                self.end_lease(node.index())?;
            }
        }
        self.note(|| format!("the service decides {view}\n"));
        self.views.push(view);
        Ok(())
    }

    fn end_lease(&mut self, place: usize) -> Result<(), String> {
        if self.slip == Some(Slip::EvictsTooEarly) { Ok(()) } else { self.freeze(place) }
    }

    fn tell(&mut self, place: usize, view: usize) -> Result<(), String> {
        let id = NodeId::from_index(place);
        let node = &mut self.nodes[place];
        if node.process.is_none() {
            return Ok(());
        }
        let view = self.views[view].clone();
        let is_news = node.known.as_ref().is_none_or(|known| known.epoch() < view.epoch());
        let loses = matches!(node.account.user, User::Inside(_, stay) if is_news && view.stay(id) != Some(stay));
        if is_news {
            let before = node.known.replace(view.clone());
            self.tally.news(node.account.user, before, &view, id);
        }
        if self.slip == Some(Slip::WaitsForNobody) && is_news {
            self.forge_reports(id, &view)?;
        }
        let events = self.step(id, Input::View(view));
        let (lost, others): (Vec<_>, Vec<_>) = events.into_iter().partition(|event| *event == Event::Lost);
        if lost.len() != usize::from(loses) {
            return Err(format!("{id} tells {} times that it lost its entry", lost.len()));
        }
        if loses {
            self.nodes[place].account.lose();
        }
        self.hear_all(id, others)
    }

    /// Reports of everyone who has something to report, none of which they sent.
    fn forge_reports(&mut self, id: NodeId, view: &View) -> Result<(), String> {
        for from in view.veterans().filter(|node| *node != id) {
            let message = Slip::empty_report(view.epoch());
            self.take(id, Input::Message { from, message })?;
        }
        Ok(())
    }

    /// The service renews only stays of its latest view, and tells a member of it only if that knows of its stay.
    fn renew(&mut self, place: usize) -> Result<(), String> {
        let id = NodeId::from_index(place);
        let stay = self.stay_in_latest(place);
        let known = self.nodes[place].known.as_ref().and_then(|known| known.stay(id));
        let is_known = known == stay || self.slip == Some(Slip::RenewsUnknownStays);
        if stay.is_none() || !is_known {
            return Ok(());
        }
        let until = self.now + LEASE;
        self.nodes[place].leased = Some(until);
        self.take(id, Input::Lease(until))
    }

    fn freeze(&mut self, place: usize) -> Result<(), String> {
        let node = &mut self.nodes[place];
        if node.process.is_none() || node.leased.take().is_none() {
            return Ok(());
        }
        let id = NodeId::from_index(place);
        self.take(id, Input::Lease(self.now))
    }

    fn crash(&mut self, place: usize) {
        self.note(|| format!("{} crashes\n", NodeId::from_index(place)));
        let id = NodeId::from_index(place);
        let node = &mut self.nodes[place];
        (node.process, node.leased, node.known) = (None, None, None);
        node.account = Account::IDLE;
        self.timers.retain(|(owner, _)| *owner != id);
    }

    fn restart(&mut self, place: usize) -> Result<(), String> {
        if self.nodes[place].process.is_some() {
            return Ok(());
        }
        let id = NodeId::from_index(place);
        let node = &mut self.nodes[place];
        node.life = Incarnation(node.life.0 + 1);
        node.process = Some(Viewed::new(id, (self.make)(id, Group::from_iter([id]))));
        self.take(id, Input::Start { durable: (), incarnation: self.nodes[place].life })
    }

    fn ask(&mut self, place: usize, pick: usize) -> Result<(), String> {
        let node = &self.nodes[place];
        match node.account.whim(pick).filter(|_| node.process.is_some()) {
            Some(command) => self.command(place, command),
            None => Ok(()),
        }
    }

    fn command(&mut self, place: usize, command: Command) -> Result<(), String> {
        self.nodes[place].account.asks(command);
        self.take(NodeId::from_index(place), Input::Command(command))
    }

    fn lose(&mut self, place: usize) {
        let Some(&place) = self.alike(place).last() else { return };
        let Letter { from, life, to, .. } = &self.letters[place];
        let (sender, receiver) = (&self.nodes[from.index()], &self.nodes[to.index()]);
        if sender.process.is_none() || sender.life != *life || receiver.process.is_none() {
            self.letters.remove(place);
        }
    }

    fn arrive(&mut self, place: usize) -> Result<(), String> {
        let place = self.alike(place).first().copied().unwrap_or(place);
        let Letter { from, to, mail, .. } = self.letters.remove(place);
        let receiver = &self.nodes[to.index()];
        if receiver.process.is_none() {
            return Ok(());
        }
        let message = match self.slip {
            Some(slip) => slip.spoil::<P>(mail, receiver.known.as_ref()),
            None => mail,
        };
        self.take(to, Input::Message { from, message })
    }

    /// Where links keep the order, a letter stands for all between the same two.
    fn alike(&self, place: usize) -> Vec<usize> {
        let ends = |place: usize| (self.letters[place].from, self.letters[place].to);
        match self.facts.links {
            Links::AnyOrder => vec![place],
            Links::Fifo => (0..self.letters.len()).filter(|other| ends(*other) == ends(place)).collect(),
        }
    }

    fn fire(&mut self, place: usize) -> Result<(), String> {
        let (node, timer) = self.timers.remove(place);
        self.take(node, Input::Timer(timer))
    }

    /// A node takes an input, and tells its user what that may hear.
    fn take(&mut self, id: NodeId, input: Input<Viewed<P>>) -> Result<(), String> {
        let events = self.step(id, input);
        self.hear_all(id, events)
    }

    /// A node takes an input. What it tells its user is for the caller to judge.
    fn step(&mut self, id: NodeId, input: Input<Viewed<P>>) -> Vec<Event> {
        let Some(process) = &mut self.nodes[id.index()].process else { return Vec::new() };
        let mut clerk = Clerk { effects: Vec::new(), notes: self.trace.as_ref().map(|_| String::new()) };
        let cue = self.trace.as_ref().map(|_| format!("{id} {input:?}\n"));
        process.step(self.now, input, &mut Effects::new(&mut clerk));
        if let (Some(trace), Some(cue), Some(notes)) = (&mut self.trace, cue, clerk.notes) {
            *trace += &cue;
            *trace += &notes;
        }
        let life = self.nodes[id.index()].life;
        let mut events = Vec::new();
        for effect in clerk.effects {
            match effect {
                Effect::Send { to, message, .. } => self.letters.push(Letter { from: id, life, to, mail: message }),
                Effect::Multicast { to, message, .. } => {
                    let letters = to.others(id).map(|to| Letter { from: id, life, to, mail: message.clone() });
                    self.letters.extend(letters);
                }
                Effect::Emit { event, .. } => {
                    self.note(|| format!("    {event}\n"));
                    events.push(event);
                }
                // Leases end when the service says so.
                Effect::SetTimer { timer: ViewedTimer::Lease, .. } | Effect::CancelTimer(ViewedTimer::Lease) => {}
                Effect::SetTimer { timer, .. } => {
                    self.timers.retain(|armed| *armed != (id, timer.clone()));
                    self.timers.push((id, timer));
                }
                Effect::CancelTimer(timer) => self.timers.retain(|armed| *armed != (id, timer.clone())),
                Effect::Save(never) => match never {},
            }
        }
        events
    }

    /// A node tells its user these, and then the two agree on whether the user is inside.
    fn hear_all(&mut self, id: NodeId, events: Vec<Event>) -> Result<(), String> {
        events.into_iter().try_for_each(|event| self.hear(id, event))?;
        let node = &self.nodes[id.index()];
        let standing = node.process.as_ref().map(|process| process.inner().standing());
        if node.account.is_inside() == matches!(standing, Some(Standing::Inside(_))) {
            Ok(())
        } else {
            Err(format!("{id}, whose user is {:?}, is {standing:?}", node.account.user))
        }
    }

    fn hear(&mut self, id: NodeId, event: Event) -> Result<(), String> {
        let node = &mut self.nodes[id.index()];
        let stay = node.known.as_ref().and_then(|known| known.stay(id));
        match node.account.hear(event, stay, node.leased).map_err(|breach| format!("the user of {id} {breach}"))? {
            Some((access, fence)) => self.admit(id, access, fence),
            None => Ok(()),
        }
    }

    /// Who enters is alone, unless all share, and has the largest fence.
    fn admit(&mut self, id: NodeId, access: Access, fence: Fence) -> Result<(), String> {
        let access = if self.facts.shares { access } else { Access::Exclusive };
        let in_its_way = |place: &usize| match self.nodes[*place].account.user {
            User::Inside(other, stay) => {
                let conflicts = !self.facts.shares || access.conflicts(other);
                conflicts && (self.stay_in_latest(*place) == Some(stay) || self.nodes[*place].leased.is_some())
            }
            User::Outside | User::Waiting(..) => false,
        };
        let mut others = (0..self.nodes.len()).filter(|place| *place != id.index());
        if let Some(other) = others.find(in_its_way) {
            return Err(format!("{id} enters while {} is inside", NodeId::from_index(other)));
        }
        self.tally.later_entries += u64::from(fence.epoch > View::FIRST);
        self.fences.admit(access, fence).map_err(|breach| format!("{id} {breach}"))
    }

    fn note(&mut self, line: impl FnOnce() -> String) {
        if let Some(trace) = &mut self.trace {
            *trace += &line();
        }
    }
}
