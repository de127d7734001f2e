//! The task that is the node: it takes what has come, lets it be recorded and saved, and puts what came of it on the links.

use crate::complaints::Weight;
use crate::context::Context;
use crate::frame::BatchReader;
use crate::inbox::{Letter, Parcel};
use crate::link::{Receipt, Reception};
use crate::post::{Post, Trouble};
use crate::settings::Overflow;
use quorate_core::{Codec, Incarnation, NodeId, Protocol, Time, WriteOf};
use quorate_drive::{Engine, Failure, Found, Record, Sender};
use quorate_journal::Recordable;
use quorate_store::{Report, Storable};
use serde::Serialize;
use std::collections::{BTreeMap, VecDeque};
use std::future::poll_fn;
use std::pin::Pin;
use std::sync::Arc;
use std::task::Poll;
use tokio::sync::{Notify, mpsc};
use tokio::time::{Instant, Sleep, sleep_until};

/// So many letters are taken before anything goes out.
const MOST_LETTERS: usize = 64;
/// So many commands have their turn after them, however many messages wait.
const MOST_COMMANDS: usize = 16;
/// A timer is looked at as often as this: the clock that wakes us stands still while the machine sleeps, and the node's own
/// does not.
const LONGEST_SLEEP: std::time::Duration = std::time::Duration::from_secs(1);

/// The node, with everything it hears from and speaks to.
pub(crate) struct Worker<P: Protocol, D: quorate_core::Durable, O, C, H> {
    pub(crate) engine: Engine<P, D, O>,
    pub(crate) post: Post<P, C>,
    pub(crate) letters: mpsc::UnboundedReceiver<Letter>,
    pub(crate) parcels: mpsc::Receiver<Parcel>,
    pub(crate) commands: mpsc::Receiver<P::Command>,
    pub(crate) reports: mpsc::UnboundedReceiver<Report>,
    /// Rings when a link that was crowded is no longer.
    pub(crate) drained: Arc<Notify>,
    pub(crate) hear: H,
    pub(crate) own: VecDeque<(u64, P::Message)>,
    pub(crate) receptions: BTreeMap<NodeId, Reception>,
    pub(crate) incarnation: Incarnation,
    pub(crate) context: Arc<Context>,
}

#[derive(Debug)]
pub(crate) enum End {
    Stopped,
    Failed(Failure),
    Overflow(String),
}

enum Next<P: Protocol> {
    Letter(Letter),
    Parcel(Parcel),
    Command(P::Command),
    Own(u64, P::Message),
    Report(Report),
    Timer,
    Drained,
}

impl<P, D, O, C, H> Worker<P, D, O, C, H>
where
    P: Recordable,
    WriteOf<P>: Serialize + Send + 'static,
    D: Storable<Write = WriteOf<P>> + Send + 'static,
    O: Record<P::Command, P::Event>,
    C: Codec<P>,
    H: FnMut(Vec<P::Event>),
{
    /// Boots the node and lets it work until it is told to stop or cannot go on.
    pub(crate) async fn work(&mut self, found: Found<P::Durable>) -> End {
        self.engine.wake();
        self.engine.start(found, &mut self.post);
        let mut alarm = Alarm::new();
        loop {
            if let Err(end) = self.settle() {
                return end;
            }
            alarm.set(self.engine.next_timer(), || self.engine.wake());
            let Some(first) = self.next(&mut alarm).await else { return End::Stopped };
            self.engine.wake();
            let mut next = Some(first);
            let mut room = MOST_LETTERS;
            while let Some(taken) = next {
                if !self.take(taken) {
                    // What was asked and done before the order to stop still counts.
                    self.take_commands(usize::MAX);
                    return self.settle().err().unwrap_or(End::Stopped);
                }
                room -= 1;
                next = if room > 0 { self.waiting() } else { None };
            }
            self.engine.fire(&mut self.post);
            self.take_commands(MOST_COMMANDS);
        }
    }

    /// The end of a turn: it is recorded, then saved, then seen by others.
    fn settle(&mut self) -> Result<(), End> {
        if let Err(failure) = self.engine.settle(&mut self.post) {
            return Err(End::Failed(self.explained(failure)));
        }
        self.own.extend(self.post.own.drain(..));
        let left = self.post.leave();
        if !self.post.events.is_empty() {
            (self.hear)(std::mem::take(&mut self.post.events));
        }
        left.map_err(|Trouble(why)| End::Overflow(why))
    }

    /// A disk that ended has said why before.
    fn explained(&mut self, failure: Failure) -> Failure {
        let Failure::Disk(None) = failure else { return failure };
        while let Ok(report) = self.reports.try_recv() {
            if let Report::Failed(error) = report {
                return Failure::Disk(Some(error));
            }
        }
        failure
    }

    /// Takes commands that wait, unless users should wait.
    fn take_commands(&mut self, most: usize) {
        for _ in 0..most {
            if self.post.is_crowded() {
                return;
            }
            let Ok(command) = self.commands.try_recv() else { return };
            self.engine.command(command, &mut self.post);
        }
    }

    /// The node is about to end, in good order: what it saved goes to its disk, and the journal is complete. Tells if that
    /// went wrong.
    pub(crate) fn end(&mut self) -> Result<(), Failure> {
        let unsaved = self.engine.close_disk();
        while let Ok(report) = self.reports.try_recv() {
            match report {
                Report::Failed(error) => return Err(Failure::Disk(Some(error))),
                Report::Full(error) => tracing::warn!("{error}"),
                Report::Saved { .. } | Report::Free => {}
            }
        }
        if unsaved > 0 {
            tracing::warn!(
                "{unsaved} writes found no place on the disk. Nothing that rests on them was told to anybody."
            );
        }
        self.engine.end()
    }

    /// Waits for whatever comes next. Nothing if nobody is left who could stop the node.
    async fn next(&mut self, alarm: &mut Alarm) -> Option<Next<P>> {
        if !self.own.is_empty() {
            // Everyone else has a chance, even if a node goes on talking to itself.
            tokio::task::yield_now().await;
            return self.waiting();
        }
        let is_crowded = self.post.is_crowded();
        tokio::select! {
            biased;
            letter = self.letters.recv() => letter.map(Next::Letter),
            Some(report) = self.reports.recv() => Some(Next::Report(report)),
            Some(parcel) = self.parcels.recv() => Some(Next::Parcel(parcel)),
            () = alarm.ring() => Some(Next::Timer),
            Some(command) = self.commands.recv(), if !is_crowded => Some(Next::Command(command)),
            () = self.drained.notified(), if is_crowded => Some(Next::Drained),
        }
    }

    /// What has come already, if anything has.
    fn waiting(&mut self) -> Option<Next<P>> {
        if let Ok(letter) = self.letters.try_recv() {
            return Some(Next::Letter(letter));
        }
        if let Ok(report) = self.reports.try_recv() {
            return Some(Next::Report(report));
        }
        if let Ok(parcel) = self.parcels.try_recv() {
            return Some(Next::Parcel(parcel));
        }
        if let Some((number, message)) = self.own.pop_front() {
            return Some(Next::Own(number, message));
        }
        if self.post.is_crowded() {
            return None;
        }
        self.commands.try_recv().ok().map(Next::Command)
    }

    /// Tells whether the node goes on.
    fn take(&mut self, next: Next<P>) -> bool {
        match next {
            Next::Letter(Letter::Stop) => return false,
            Next::Letter(Letter::View(view)) => self.engine.view(view, &mut self.post),
            Next::Letter(Letter::Suspect(node, is_suspect)) => self.engine.suspect(node, is_suspect, &mut self.post),
            Next::Parcel(parcel) => return self.open_in_turn(&parcel),
            Next::Command(command) => self.engine.command(command, &mut self.post),
            Next::Own(number, message) => {
                let sender = Sender { node: self.post.me, incarnation: self.incarnation, number };
                self.engine.message(sender, message, &mut self.post);
            }
            Next::Report(report) => self.engine.disk(report, &mut self.post),
            Next::Timer | Next::Drained => {}
        }
        true
    }

    /// Word that a process is gone was given before anything that its next life says, and is taken before it: else it would be word of
    /// that life. It may have come between the looks at the letters and at the parcels. Tells whether the node goes on.
    fn open_in_turn(&mut self, parcel: &Parcel) -> bool {
        while let Ok(letter) = self.letters.try_recv() {
            if !self.take(Next::Letter(letter)) {
                return false;
            }
        }
        self.open(parcel);
        true
    }

    /// Takes the messages of a batch that were not taken before.
    fn open(&mut self, parcel: &Parcel) {
        let Parcel { line, from, incarnation, body, .. } = parcel;
        let reception = self.receptions.entry(*from).or_default();
        if !reception.open(*incarnation) {
            // A late batch of a life that is over.
            return;
        }
        for message in BatchReader::new(body) {
            let (number, bytes) = match message {
                Ok(message) => message,
                // Whoever reads from the connection has seen to it that this does not happen.
                Err(error) => {
                    tracing::error!("A batch from node {from} cannot be read to its end: {error}");
                    break;
                }
            };
            if reception.receive(number) == Receipt::Repeated {
                continue;
            }
            match self.post.codec.decode(bytes) {
                Ok(message) => {
                    let sender = Sender { node: *from, incarnation: *incarnation, number };
                    self.engine.message(sender, message, &mut self.post);
                }
                Err(malformed) => {
                    let sentence = format!(
                        "Message {number} from node {from} cannot be read: {malformed}. Do both nodes run the same release?"
                    );
                    match self.post.overflow {
                        Overflow::End => self.post.trouble = Some(Trouble(sentence)),
                        Overflow::Drop => {
                            self.context.complaints.weigh(Weight::Error, format_args!("{sentence} It is skipped."));
                        }
                    }
                }
            }
        }
        line.heard(*incarnation, reception, body.len());
    }
}

struct Alarm {
    due: Option<Time>,
    sleep: Pin<Box<Sleep>>,
}

impl Alarm {
    fn new() -> Self {
        Self { due: None, sleep: Box::pin(sleep_until(Instant::now())) }
    }

    /// Set to the instant of the next timer. The real timer is touched only if that changes.
    fn set(&mut self, due: Option<Time>, now: impl FnOnce() -> Time) {
        if let Some(due) = due.filter(|due| self.due != Some(*due)) {
            let wait = std::time::Duration::from_nanos(due.since(now()).nanos());
            self.sleep.as_mut().reset(Instant::now() + wait.min(LONGEST_SLEEP));
        }
        self.due = due;
    }

    /// Rings once when it is due, and never if it is not set.
    async fn ring(&mut self) {
        poll_fn(|context| match self.due {
            None => Poll::Pending,
            Some(_) => self.sleep.as_mut().poll(context),
        })
        .await;
        // Whatever is due then has fired, or the alarm is set again.
        self.due = None;
    }
}
