//! A small network with every fault that links and nodes can have, and a protocol that records what
//! it receives.

use crate::barrier::Barrier;
use crate::wrap::prelude::*;
use crate::wrap::{Frame, Reliable, ReliableTimer, RetransmissionTimeouts, Transmission};
use std::format;
use std::string::{String, ToString};

/// The inner protocol under test: sends words on command; saves every word that it receives, and
/// emits it as an event.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct WordProtocol {
    pub(super) group: Group,
}

/// A message of the inner protocol. Its content is only its identity: the sender's incarnation, and
/// the word's index among those to the same peer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Word {
    pub(super) incarnation: u64,
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

/// All words that were received and saved, with their senders.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Log(pub(super) Vec<(NodeId, Word)>);

impl Durable for Log {
    type Write = (NodeId, Word);
    fn apply(&mut self, write: (NodeId, Word)) {
        self.0.push(write);
    }
}

// The class and the node are arbitrary; a test expects to find them in the frame of a word as well.
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
                // The event does not wait for the save: a test must also see deliveries that never
                // become durable.
                out.emit_ahead(Event::Received { from, word: message });
            }
            Input::Timer(()) => out.emit(Event::TimerFired),
            Input::Saved(count) => out.emit(Event::Saved(count)),
            Input::Start { .. }
            | Input::Suspect(_)
            | Input::Trust(_)
            | Input::DiskFull
            | Input::DiskFree
            | Input::EndOfTurn
            | Input::View(_)
            | Input::Lease(_) => {}
        }
    }
}

pub(super) type ReliableWords = Reliable<WordProtocol>;

pub(super) struct Network {
    pub(super) nodes: Vec<Node>,
    pub(super) in_flight: Vec<AddressedFrame>,
    /// All frames ever sent.
    pub(super) sent: Vec<AddressedFrame>,
    /// All frames that ever arrived, duplicates included.
    pub(super) arrived: Vec<AddressedFrame>,
    trace: String,
}

#[derive(Clone, Debug)]
pub(super) struct AddressedFrame {
    pub(super) from: NodeId,
    pub(super) to: NodeId,
    pub(super) frame: Frame<Word>,
}

pub(super) struct Node {
    pub(super) me: NodeId,
    pub(super) incarnation: Incarnation,
    pub(super) reliable: ReliableWords,
    barrier: Barrier<ReliableWords>,
    timers: Vec<ReliableTimer<()>>,
    /// Saves that a crash would lose.
    unsynced: VecDeque<(NodeId, Word)>,
    pub(super) durable: Log,
    /// Number of words sent, by this node's incarnation and the receiver.
    pub(super) sent_words: BTreeMap<(u64, NodeId), u64>,
    /// Words received with their senders, by this node's incarnation.
    pub(super) received: BTreeMap<u64, Vec<(NodeId, Word)>>,
}

/// One random step of the network. Indices of nodes, of frames in flight and of a node's timers
/// wrap around.
#[derive(Clone, Copy, Debug)]
pub(super) enum Action {
    Send {
        from: usize,
        to: usize,
        order: Order,
    },
    Deliver(usize),
    /// Delivers a copy of a frame, which itself stays in flight.
    Duplicate(usize),
    Lose(usize),
    Fire {
        node: usize,
        timer: usize,
    },
    Sync(usize),
    Crash(usize),
}

#[derive(Default)]
struct StepRecorder {
    effects: Vec<Effect<ReliableWords>>,
    /// The effects and notes, as short texts.
    texts: Vec<String>,
}

impl Sink<ReliableWords> for StepRecorder {
    fn effect(&mut self, effect: Effect<ReliableWords>) {
        self.texts.push(match &effect {
            Effect::Send { to, message, order } => format!("{}{} → {to}", frame_text(message), order_text(*order)),
            Effect::Multicast { .. } => "a multicast".into(),
            Effect::Save((_, word)) => format!("saves {}.{}", word.incarnation, word.serial),
            Effect::SetTimer { timer: ReliableTimer::Retransmit(peer), span } => format!("waits {span} for {peer}"),
            Effect::SetTimer { timer: ReliableTimer::Inner(()), span } => format!("sets its timer to {span}"),
            Effect::CancelTimer(ReliableTimer::Retransmit(peer)) => format!("stops waiting for {peer}"),
            Effect::CancelTimer(ReliableTimer::Inner(())) => "cancels its timer".into(),
            Effect::Emit { event: Event::Received { from, word }, .. } => {
                format!("RECEIVES {}.{} from {from}", word.incarnation, word.serial)
            }
            Effect::Emit { event: Event::TimerFired, .. } => "TIMER FIRES".into(),
            Effect::Emit { event: Event::Saved(count), .. } => format!("HAS SAVED {count}"),
        });
        self.effects.push(effect);
    }

    fn note(&mut self, note: Note<'_>) {
        self.texts.push(match note {
            Note::Rule { rule, text } => format!("{rule} {text}"),
            Note::Delivered { from, payload: PayloadId { incarnation, number } } => {
                format!("payload {incarnation}.{number} of {from}")
            }
            Note::Membership(note) => format!("{note:?}"),
            Note::HoldBack { count, names } => format!("{count} wait: {names}"),
        });
    }
}

fn order_text(order: Order) -> &'static str {
    match order {
        Order::AfterSaves => "",
        Order::Ahead => " ahead",
    }
}

fn frame_text(frame: &Frame<Word>) -> String {
    match frame {
        Frame::Data { pair, base, number, transmission, message } => {
            let suffix = match transmission {
                Transmission::First => "",
                Transmission::Again => " again",
            };
            format!("[{pair} base {base} number {number}: {}.{}]{suffix}", message.incarnation, message.serial)
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
    /// 1 says 2        node 1 sends its next word to node 2
    /// 1 says 2 ahead  likewise, without waiting for earlier saves
    /// 1 says all      likewise, to all other nodes
    /// 1 > 2           the oldest frame in flight from 1 to 2 arrives
    /// 1 > 2 last      the newest frame arrives instead
    /// copy 1 > 2      the network duplicates the oldest frame
    /// lose 1 > 2      the network loses the oldest frame
    /// 1 resends to 2  the retransmission timer of 1 for 2 fires
    /// 1 sets          node 1 sets the timer of its inner protocol
    /// 1 cancels       node 1 cancels that timer
    /// 1 wakes         that timer fires
    /// 2 syncs         all pending saves of 2 become durable
    /// 2 crashes       2 loses its pending saves and restarts
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
            [from, "says", "all"] => self.send_word_to_all(node_id(from), Order::AfterSaves),
            [from, "says", to] => self.send_word(node_id(from), node_id(to), Order::AfterSaves),
            [from, "says", to, "ahead"] => self.send_word(node_id(from), node_id(to), Order::Ahead),
            [from, ">", to] => self.deliver(self.oldest_index(from, to)),
            [from, ">", to, "last"] => self.deliver(self.newest_index(from, to)),
            ["copy", from, ">", to] => self.in_flight.push(self.in_flight[self.oldest_index(from, to)].clone()),
            ["lose", from, ">", to] => {
                self.in_flight.remove(self.oldest_index(from, to));
            }
            [node, "resends", "to", peer] => self.fire(node_id(node), ReliableTimer::Retransmit(node_id(peer))),
            [node, "wakes"] => self.fire(node_id(node), ReliableTimer::Inner(())),
            [node, "sets"] => self.command(node_id(node), Command::SetTimer),
            [node, "cancels"] => self.command(node_id(node), Command::CancelTimer),
            [node, "syncs"] => self.sync(node_id(node)),
            [node, "crashes"] => self.crash(node_id(node)),
            _ => panic!("'{line}' is not a step of this script language"),
        }
    }

    fn oldest_index(&self, from: &str, to: &str) -> usize {
        self.indices_on_link(from, to)[0]
    }

    fn newest_index(&self, from: &str, to: &str) -> usize {
        *self.indices_on_link(from, to).last().expect("not empty")
    }

    /// The indices of the frames in flight from one node to another, oldest first. Panics if there
    /// is none.
    fn indices_on_link(&self, from: &str, to: &str) -> Vec<usize> {
        let (from, to) = (node_id(from), node_id(to));
        let frames = self.in_flight.iter().enumerate();
        let indices: Vec<_> =
            frames.filter(|(_, frame)| (frame.from, frame.to) == (from, to)).map(|(i, _)| i).collect();
        assert!(!indices.is_empty(), "no frame is in flight from {from} to {to}; trace so far:\n{}", self.trace);
        indices
    }

    pub(super) fn act(&mut self, action: Action) {
        let (size, frames) = (self.nodes.len(), self.in_flight.len());
        let node = |index: usize| NodeId::from_index(index % size);
        match action {
            Action::Send { from, to, order } => self.send_word(node(from), node(to), order),
            Action::Deliver(index) if frames > 0 => self.deliver(index % frames),
            Action::Duplicate(index) if frames > 0 => self.arrive(self.in_flight[index % frames].clone()),
            Action::Lose(index) if frames > 0 => {
                self.in_flight.remove(index % frames);
            }
            Action::Deliver(_) | Action::Duplicate(_) | Action::Lose(_) => {}
            Action::Fire { node: index, timer } => {
                let timers = &self.nodes[node(index).index()].timers;
                if !timers.is_empty() {
                    self.fire(node(index), timers[timer % timers.len()]);
                }
            }
            Action::Sync(index) => self.sync(node(index)),
            Action::Crash(index) => self.crash(node(index)),
        }
    }

    /// Delivers every frame, syncs every disk and fires every timer until the network is idle.
    pub(super) fn settle(&mut self) {
        // Many more rounds than any test needs.
        for _ in 0..200 {
            for index in 0..self.nodes.len() {
                self.sync(NodeId::from_index(index));
            }
            for addressed in core::mem::take(&mut self.in_flight) {
                self.arrive(addressed);
            }
            if self.in_flight.is_empty() && self.nodes.iter().all(|node| node.unsynced.is_empty()) {
                let first_timer = self.nodes.iter().find_map(|node| Some((node.me, *node.timers.first()?)));
                let Some((node, timer)) = first_timer else { return };
                self.fire(node, timer);
            }
        }
        panic!("the links do not become idle:\n{}", self.trace);
    }

    fn send_word(&mut self, from: NodeId, to: NodeId, order: Order) {
        let word = self.nodes[from.index()].next_word(to);
        self.step(from, format!("{from} says {}.{} to {to}", word.incarnation, word.serial), |_| {
            Input::Command(Command::Send { to, word, order })
        });
    }

    fn send_word_to_all(&mut self, from: NodeId, order: Order) {
        let peers = self.nodes.iter().map(|node| node.me).filter(|peer| *peer != from).collect::<Vec<_>>();
        let words = peers.into_iter().map(|peer| self.nodes[from.index()].next_word(peer)).collect::<Vec<_>>();
        let word = words[0];
        assert!(words.iter().all(|other| *other == word), "every peer must have been sent equally many words before");
        self.command(from, Command::SendToAll { word, order });
    }

    fn command(&mut self, node: NodeId, command: Command) {
        self.step(node, format!("{node} command"), |_| Input::Command(command));
    }

    fn deliver(&mut self, index: usize) {
        let addressed = self.in_flight.remove(index);
        self.arrive(addressed);
    }

    /// Delivers a frame, whether or not it was sent.
    pub(super) fn arrive(&mut self, addressed: AddressedFrame) {
        self.arrived.push(addressed.clone());
        let AddressedFrame { from, to, frame } = addressed;
        let cause = format!("{to} gets {} from {from}", frame_text(&frame));
        self.step(to, cause, |_| Input::Message { from, message: frame });
    }

    fn fire(&mut self, node: NodeId, timer: ReliableTimer<()>) {
        let timers = &mut self.nodes[node.index()].timers;
        let index = timers.iter().position(|pending| *pending == timer).expect("the timer is set");
        timers.remove(index);
        self.step(node, format!("{node}'s timer fires"), |_| Input::Timer(timer));
    }

    fn sync(&mut self, me: NodeId) {
        let node = &mut self.nodes[me.index()];
        if node.unsynced.is_empty() {
            return;
        }
        node.unsynced.drain(..).for_each(|write| node.durable.apply(write));
        let saved = node.barrier.saves_requested();
        node.barrier.mark_durable(saved);
        let mut released_effects = Vec::new();
        while let Some(effect) = node.barrier.release() {
            released_effects.push(effect);
        }
        for effect in released_effects {
            self.execute(me, effect);
        }
        self.step(me, format!("{me} has synced"), |_| Input::Saved(saved));
    }

    fn crash(&mut self, me: NodeId) {
        let node = &mut self.nodes[me.index()];
        node.incarnation = node.incarnation.next();
        node.reliable = Node::new_reliable(node.me, node.reliable.inner().group.clone());
        node.barrier = Barrier::default();
        node.timers.clear();
        node.unsynced.clear();
        self.start(me);
    }

    fn start(&mut self, me: NodeId) {
        let incarnation = self.nodes[me.index()].incarnation;
        self.nodes[me.index()].received.insert(incarnation.0, Vec::new());
        self.step(me, format!("{me} starts"), |node| Input::Start { durable: node.durable.clone(), incarnation });
    }

    fn step(&mut self, me: NodeId, cause: String, make_input: impl FnOnce(&Node) -> Input<ReliableWords>) {
        let mut recorder = StepRecorder::default();
        let node = &mut self.nodes[me.index()];
        let input = make_input(node);
        node.reliable.step(Time::ZERO, input, &mut Effects::new(&mut recorder));
        self.trace += &format!("{cause}: {}\n", recorder.texts.join("; "));
        for effect in recorder.effects {
            if let Some(effect) = self.nodes[me.index()].barrier.admit(effect) {
                self.execute(me, effect);
            }
        }
    }

    fn execute(&mut self, me: NodeId, effect: Effect<ReliableWords>) {
        let size = self.nodes.len();
        let node = &mut self.nodes[me.index()];
        match effect {
            // A message to a node outside the group is dropped.
            Effect::Send { to, .. } if to.index() >= size => {}
            Effect::Send { to, message, .. } => {
                let addressed = AddressedFrame { from: me, to, frame: message };
                self.sent.push(addressed.clone());
                self.in_flight.push(addressed);
            }
            Effect::Multicast { .. } => panic!("numbers differ between peers, so links never multicast"),
            Effect::Save(write) => node.unsynced.push_back(write),
            Effect::SetTimer { timer, .. } => {
                node.timers.retain(|pending| *pending != timer);
                node.timers.push(timer);
            }
            Effect::CancelTimer(timer) => node.timers.retain(|pending| *pending != timer),
            Effect::Emit { event: Event::Received { from, word }, .. } => {
                node.received.entry(node.incarnation.0).or_default().push((from, word));
            }
            Effect::Emit { event: Event::TimerFired | Event::Saved(_), .. } => {}
        }
    }
}

impl Node {
    fn new(me: NodeId, group: Group) -> Self {
        Self {
            me,
            incarnation: Incarnation::FIRST,
            reliable: Self::new_reliable(me, group),
            barrier: Barrier::default(),
            timers: Vec::new(),
            unsynced: VecDeque::new(),
            durable: Log::default(),
            sent_words: BTreeMap::new(),
            received: BTreeMap::new(),
        }
    }

    fn new_reliable(me: NodeId, group: Group) -> ReliableWords {
        Reliable::new(me, WordProtocol { group }, RetransmissionTimeouts::default())
    }

    fn next_word(&mut self, to: NodeId) -> Word {
        let count = self.sent_words.entry((self.incarnation.0, to)).or_default();
        let word = Word { incarnation: self.incarnation.0, serial: *count };
        *count += 1;
        word
    }
}

pub(super) fn node_id(word: &str) -> NodeId {
    word.parse().ok().and_then(NodeId::new).unwrap_or_else(|| panic!("'{}' is not a node's number", word.to_string()))
}
