//! A small network with every fault that links and nodes can have, and a protocol that records what
//! it receives.

use crate::barrier::Barrier;
use crate::wrap::prelude::*;
use crate::wrap::{Copy, Frame, Reliable, ReliableTimer, Retransmission};
use std::format;
use std::string::{String, ToString};

/// Sends words on command; saves every word that it receives, and emits it as an event.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct WordProtocol {
    pub(super) group: Group,
}

/// A word identifies itself: the sender's incarnation, and its index among the words to the same
/// peer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Word {
    pub(super) life: u64,
    pub(super) serial: u64,
}

pub(super) enum Command {
    Send { to: NodeId, word: Word, order: Order },
    SendToAll { word: Word, order: Order },
    SetTimer,
    CancelTimer,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Event {
    Received { from: NodeId, word: Word },
    TimerFired,
    Saved(u64),
}

/// All words that were received and survived.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Log(pub(super) Vec<(NodeId, Word)>);

impl Durable for Log {
    type Write = (NodeId, Word);
    fn apply(&mut self, write: (NodeId, Word)) {
        self.0.push(write);
    }
}

impl Describe for Word {
    fn kind(&self) -> &'static str {
        "word"
    }

    fn class(&self) -> Class {
        Class::Announcement
    }

    fn on_behalf_of(&self) -> Option<NodeId> {
        Some(NodeId::from_index(0))
    }
}

impl Protocol for WordProtocol {
    type Command = Command;
    type Message = Word;
    type Timer = ();
    type Event = Event;
    type Durable = Log;

    fn step(&mut self, _now: Time, input: Input<Self>, out: &mut Effects<'_, Self>) {
        match input {
            Input::Command(Command::Send { to, word, order }) => out.put(Effect::Send { to, message: word, order }),
            Input::Command(Command::SendToAll { word, order }) => {
                out.put(Effect::Multicast { to: self.group.clone(), message: word, order });
            }
            Input::Command(Command::SetTimer) => out.set_timer((), Span::exactly(Duration::from_millis(1))),
            Input::Command(Command::CancelTimer) => out.cancel_timer(()),
            Input::Message { from, message } => {
                out.save((from, message));
                // Ahead of the disk, so that a test sees deliveries that never became durable.
                out.emit_ahead(Event::Received { from, word: message });
            }
            Input::Timer(()) => out.emit(Event::TimerFired),
            Input::Saved(count) => out.emit(Event::Saved(count)),
            Input::Start { .. }
            | Input::Suspect(_)
            | Input::Trust(_)
            | Input::DiskFull
            | Input::DiskFree
            | Input::View(_)
            | Input::Lease(_) => {}
        }
    }
}

pub(super) type ReliableWords = Reliable<WordProtocol>;

pub(super) struct Network {
    pub(super) nodes: Vec<Node>,
    pub(super) in_flight: Vec<Envelope>,
    pub(super) sent: Vec<Envelope>,
    pub(super) arrived: Vec<Envelope>,
    trace: String,
}

#[derive(Clone, Debug)]
pub(super) struct Envelope {
    pub(super) from: NodeId,
    pub(super) to: NodeId,
    pub(super) frame: Frame<Word>,
}

pub(super) struct Node {
    pub(super) me: NodeId,
    pub(super) life: Incarnation,
    pub(super) subject: ReliableWords,
    barrier: Barrier<ReliableWords>,
    timers: Vec<ReliableTimer<()>>,
    unsynced: VecDeque<(NodeId, Word)>,
    pub(super) durable: Log,
    pub(super) sent_words: BTreeMap<(u64, NodeId), u64>,
    pub(super) received: BTreeMap<u64, Vec<(NodeId, Word)>>,
}

#[derive(Clone, Copy, Debug)]
pub(super) enum Action {
    Send { from: usize, to: usize, order: Order },
    Deliver(usize),
    Duplicate(usize),
    Lose(usize),
    Fire { node: usize, timer: usize },
    Sync(usize),
    Crash(usize),
}

#[derive(Default)]
struct StepRecorder {
    effects: Vec<Effect<ReliableWords>>,
    sent_words: Vec<String>,
}

impl Sink<ReliableWords> for StepRecorder {
    fn effect(&mut self, effect: Effect<ReliableWords>) {
        self.sent_words.push(match &effect {
            Effect::Send { to, message, order } => format!("{}{} → {to}", print(message), ahead(*order)),
            Effect::Multicast { .. } => "a multicast".into(),
            Effect::Save((_, word)) => format!("saves {}.{}", word.life, word.serial),
            Effect::SetTimer { timer: ReliableTimer::Retransmit(peer), span } => format!("waits {span} for {peer}"),
            Effect::SetTimer { timer: ReliableTimer::Inner(()), span } => format!("sets its timer to {span}"),
            Effect::CancelTimer(ReliableTimer::Retransmit(peer)) => format!("stops waiting for {peer}"),
            Effect::CancelTimer(ReliableTimer::Inner(())) => "cancels its timer".into(),
            Effect::Emit { event: Event::Received { from, word }, .. } => {
                format!("RECEIVES {}.{} from {from}", word.life, word.serial)
            }
            Effect::Emit { event: Event::TimerFired, .. } => "TIMER FIRES".into(),
            Effect::Emit { event: Event::Saved(count), .. } => format!("HAS SAVED {count}"),
        });
        self.effects.push(effect);
    }

    fn note(&mut self, note: Note<'_>) {
        self.sent_words.push(match note {
            Note::Rule { rule, text } => format!("{rule} {text}"),
            Note::Delivered { from, parcel: PayloadId { incarnation, number } } => {
                format!("parcel {incarnation}.{number} of {from}")
            }
            Note::Membership(note) => format!("{note:?}"),
            Note::HoldBack { count, names } => format!("{count} wait: {names}"),
        });
    }
}

fn ahead(order: Order) -> &'static str {
    match order {
        Order::AfterSaves => "",
        Order::Ahead => " ahead",
    }
}

fn print(frame: &Frame<Word>) -> String {
    match frame {
        Frame::Data { pair, base, number, copy, message } => {
            let again = match copy {
                Copy::First => "",
                Copy::Again => " again",
            };
            format!("[{pair} base {base} number {number}: {}.{}]{again}", message.life, message.serial)
        }
        Frame::Ack { pair, below } => format!("[{pair} ack below {below}]"),
    }
}

impl Network {
    pub(super) fn new(size: usize) -> Self {
        let group = Group::of_size(size);
        let nodes = group.iter().map(|me| Node::new(me, group.clone())).collect();
        let (in_flight, sent, arrived) = (Vec::new(), Vec::new(), Vec::new());
        let mut network = Self { nodes, in_flight, sent, arrived, trace: String::new() };
        for me in group.iter() {
            network.start(me);
        }
        network.trace.clear();
        network
    }

    /// Runs a script, whose steps are separated by commas or lines, and returns the trace since the
    /// last call.
    ///
    /// ```text
    /// 1 says 2       node 1 sends its next word to node 2 (likewise `1 says all`, `1 says 2 ahead`)
    /// 1 > 2          the oldest frame in flight from 1 to 2 arrives
    /// 1 > 2 last     the newest frame arrives instead
    /// copy 1 > 2     the network duplicates the oldest frame
    /// lose 1 > 2     the network loses the oldest frame
    /// 1 waits 2      the retransmission timer of 1 for 2 fires
    /// 2 syncs        all pending saves of 2 become durable
    /// 2 crashes      2 loses its pending saves and restarts
    /// ```
    pub(super) fn run(&mut self, script: &str) -> String {
        for line in script.split(['\n', ',']).map(str::trim).filter(|line| !line.is_empty()) {
            self.run_step(line);
        }
        core::mem::take(&mut self.trace)
    }

    fn run_step(&mut self, line: &str) {
        let words: Vec<_> = line.split_whitespace().collect();
        match words[..] {
            [from, "says", "all"] => self.send_word_to_all(number(from), Order::AfterSaves),
            [from, "says", to] => self.send_word(number(from), number(to), Order::AfterSaves),
            [from, "says", to, "ahead"] => self.send_word(number(from), number(to), Order::Ahead),
            [from, ">", to] => self.deliver(self.find(from, to, false)),
            [from, ">", to, "last"] => self.deliver(self.find(from, to, true)),
            ["copy", from, ">", to] => self.in_flight.push(self.in_flight[self.find(from, to, false)].clone()),
            ["lose", from, ">", to] => {
                self.in_flight.remove(self.find(from, to, false));
            }
            [node, "waits", peer] => self.fire(number(node), ReliableTimer::Retransmit(number(peer))),
            [node, "wakes"] => self.fire(number(node), ReliableTimer::Inner(())),
            [node, "sets"] => self.command(number(node), Command::SetTimer),
            [node, "cancels"] => self.command(number(node), Command::CancelTimer),
            [node, "syncs"] => self.sync(number(node)),
            [node, "crashes"] => self.crash(number(node)),
            _ => panic!("'{line}' is not a step of this script language"),
        }
    }

    fn find(&self, from: &str, to: &str, last: bool) -> usize {
        let (from, to) = (number(from), number(to));
        let fits = |one: &Envelope| one.from == from && one.to == to;
        let place = if last { self.in_flight.iter().rposition(fits) } else { self.in_flight.iter().position(fits) };
        place.unwrap_or_else(|| panic!("no frame is in flight from {from} to {to}; trace so far:\n{}", self.trace))
    }

    pub(super) fn act(&mut self, action: Action) {
        let (size, frames) = (self.nodes.len(), self.in_flight.len());
        let node = |place: usize| NodeId::from_index(place % size);
        match action {
            Action::Send { from, to, order } => self.send_word(node(from), node(to), order),
            Action::Deliver(place) if frames > 0 => self.deliver(place % frames),
            Action::Duplicate(place) if frames > 0 => self.arrive(self.in_flight[place % frames].clone()),
            Action::Lose(place) if frames > 0 => {
                self.in_flight.remove(place % frames);
            }
            Action::Deliver(_) | Action::Duplicate(_) | Action::Lose(_) => {}
            Action::Fire { node: place, timer } => {
                let timers = &self.nodes[node(place).index()].timers;
                if !timers.is_empty() {
                    self.fire(node(place), timers[timer % timers.len()]);
                }
            }
            Action::Sync(place) => self.sync(node(place)),
            Action::Crash(place) => self.crash(node(place)),
        }
    }

    /// Delivers every frame, syncs every disk and fires every timer until nothing is left to
    /// happen.
    pub(super) fn settle(&mut self) {
        for _ in 0..200 {
            for place in 0..self.nodes.len() {
                self.sync(NodeId::from_index(place));
            }
            for envelope in core::mem::take(&mut self.in_flight) {
                self.arrive(envelope);
            }
            if self.in_flight.is_empty() && self.nodes.iter().all(|node| node.unsynced.is_empty()) {
                let waiting = self.nodes.iter().find_map(|node| Some((node.me, *node.timers.first()?)));
                let Some((node, timer)) = waiting else { return };
                self.fire(node, timer);
            }
        }
        panic!("the links do not become idle:\n{}", self.trace);
    }

    fn send_word(&mut self, from: NodeId, to: NodeId, order: Order) {
        let word = self.nodes[from.index()].next_word(to);
        self.step(from, format!("{from} says {}.{} to {to}", word.life, word.serial), |_| {
            Input::Command(Command::Send { to, word, order })
        });
    }

    /// Requires that the sender has sent equally many words to every peer before.
    fn send_word_to_all(&mut self, from: NodeId, order: Order) {
        let peers = self.nodes.iter().map(|node| node.me).filter(|peer| *peer != from).collect::<Vec<_>>();
        let words = peers.into_iter().map(|peer| self.nodes[from.index()].next_word(peer)).collect::<Vec<_>>();
        let word = words[0];
        assert!(words.iter().all(|other| *other == word), "every peer must have received equally many words before");
        self.command(from, Command::SendToAll { word, order });
    }

    fn command(&mut self, node: NodeId, command: Command) {
        self.step(node, format!("{node} command"), |_| Input::Command(command));
    }

    fn deliver(&mut self, place: usize) {
        let envelope = self.in_flight.remove(place);
        self.arrive(envelope);
    }

    pub(super) fn arrive(&mut self, envelope: Envelope) {
        self.arrived.push(envelope.clone());
        let Envelope { from, to, frame } = envelope;
        let cause = format!("{to} gets {} from {from}", print(&frame));
        self.step(to, cause, |_| Input::Message { from, message: frame });
    }

    fn fire(&mut self, node: NodeId, timer: ReliableTimer<()>) {
        let timers = &mut self.nodes[node.index()].timers;
        let place = timers.iter().position(|set| *set == timer).expect("the timer is set");
        timers.remove(place);
        self.step(node, format!("{node}'s timer fires"), |_| Input::Timer(timer));
    }

    fn sync(&mut self, place: NodeId) {
        let node = &mut self.nodes[place.index()];
        if node.unsynced.is_empty() {
            return;
        }
        node.unsynced.drain(..).for_each(|write| node.durable.apply(write));
        let saved = node.barrier.saves_requested();
        node.barrier.durable(saved);
        let mut released = Vec::new();
        while let Some(effect) = node.barrier.release() {
            released.push(effect);
        }
        for effect in released {
            self.carry_out(place, effect);
        }
        self.step(place, format!("{place} has synced"), |_| Input::Saved(saved));
    }

    fn crash(&mut self, place: NodeId) {
        let node = &mut self.nodes[place.index()];
        node.life = node.life.next();
        node.subject = Node::subject(node.me, node.subject.inner().group.clone());
        node.barrier = Barrier::default();
        node.timers.clear();
        node.unsynced.clear();
        self.start(place);
    }

    fn start(&mut self, place: NodeId) {
        let incarnation = self.nodes[place.index()].life;
        self.nodes[place.index()].received.insert(incarnation.0, Vec::new());
        self.step(place, format!("{place} starts"), |node| Input::Start { durable: node.durable.clone(), incarnation });
    }

    fn step(&mut self, place: NodeId, cause: String, input: impl FnOnce(&Node) -> Input<ReliableWords>) {
        let mut recorder = StepRecorder::default();
        let node = &mut self.nodes[place.index()];
        let input = input(node);
        node.subject.step(Time::ZERO, input, &mut Effects::new(&mut recorder));
        self.trace += &format!("{cause}: {}\n", recorder.sent_words.join("; "));
        for effect in recorder.effects {
            if let Some(effect) = self.nodes[place.index()].barrier.admit(effect) {
                self.carry_out(place, effect);
            }
        }
    }

    fn carry_out(&mut self, place: NodeId, effect: Effect<ReliableWords>) {
        let size = self.nodes.len();
        let node = &mut self.nodes[place.index()];
        match effect {
            // A message to a node outside the group is dropped.
            Effect::Send { to, .. } if to.index() >= size => {}
            Effect::Send { to, message, .. } => {
                let envelope = Envelope { from: place, to, frame: message };
                self.sent.push(envelope.clone());
                self.in_flight.push(envelope);
            }
            Effect::Multicast { .. } => panic!("numbers differ between peers, so links never multicast"),
            Effect::Save(write) => node.unsynced.push_back(write),
            Effect::SetTimer { timer, .. } => {
                node.timers.retain(|set| *set != timer);
                node.timers.push(timer);
            }
            Effect::CancelTimer(timer) => node.timers.retain(|set| *set != timer),
            Effect::Emit { event: Event::Received { from, word }, .. } => {
                node.received.entry(node.life.0).or_default().push((from, word));
            }
            Effect::Emit { event: Event::TimerFired | Event::Saved(_), .. } => {}
        }
    }
}

impl Node {
    fn new(me: NodeId, group: Group) -> Self {
        Self {
            me,
            life: Incarnation::FIRST,
            subject: Self::subject(me, group),
            barrier: Barrier::default(),
            timers: Vec::new(),
            unsynced: VecDeque::new(),
            durable: Log::default(),
            sent_words: BTreeMap::new(),
            received: BTreeMap::new(),
        }
    }

    fn subject(me: NodeId, group: Group) -> ReliableWords {
        Reliable::new(me, WordProtocol { group }, Retransmission::default())
    }

    fn next_word(&mut self, to: NodeId) -> Word {
        let count = self.sent_words.entry((self.life.0, to)).or_default();
        let word = Word { life: self.life.0, serial: *count };
        *count += 1;
        word
    }
}

pub(super) fn number(word: &str) -> NodeId {
    word.parse().ok().and_then(NodeId::new).unwrap_or_else(|| panic!("'{}' is not a node's number", word.to_string()))
}
