//! The group on stage: processes are started, told what users ask, hurt as planned and stopped in the end.

use crate::agenda::Agenda;
use crate::child::{Heard, Report, Serial};
use crate::error::LiveError;
use crate::launch::Launch;
use crate::lines::{self, Said};
use crate::member::{Member, Stage as Readiness, State};
use crate::schedule::Act;
use crate::world::WorldJournal;
use quorate_core::{NodeId, Time};
use quorate_drive::Clock;
use quorate_journal::moment::Happening;
use quorate_journal::workload::{Ending, News};
use quorate_lab::FamilyLab;
use std::collections::VecDeque;
use std::io;
use std::path::PathBuf;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::time::{Duration, Instant};

/// How long processes may take to get ready or to end, on a machine that has much else to do.
const READY: Duration = Duration::from_secs(60);

/// Users who begin so soon after zero begin at zero.
const PUNCTUAL: quorate_core::Duration = quorate_core::Duration::from_millis(10);

/// How long nodes have to find each other before users begin.
fn meeting_time(nodes: usize) -> quorate_core::Duration {
    quorate_core::Duration::from_millis(50 + 5 * nodes as u64)
}

/// How long it takes until that many processes are ready and have found each other, unless the machine is busy. Zero is
/// so long after the first was started, so that all times are those of the users.
pub(crate) fn lead(nodes: usize) -> quorate_core::Duration {
    meeting_time(nodes) + quorate_core::Duration::from_millis(40 + 12 * nodes as u64)
}

/// How long until a process is tried again whose address was still taken.
const RETRY: Duration = Duration::from_millis(20);

pub(crate) struct Stage<F: FamilyLab> {
    launch: Launch,
    members: Vec<Member>,
    reports: Receiver<Report>,
    reporter: Sender<Report>,
    serial: u64,
    clock: Clock,
    /// When the users begin, by the clock that all processes share.
    zero: Time,
    /// There from the moment when users begin.
    world: Option<WorldJournal>,
    news: VecDeque<(NodeId, News<F::Event>)>,
    retries: Agenda<NodeId>,
    journals: Vec<PathBuf>,
    /// Whether everybody who gets ready is stopped at once.
    is_ending: bool,
    pub(crate) counts: Counts,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct Counts {
    pub processes: u64,
    pub kills: u64,
    pub stops: u64,
    pub cuts: u64,
}

impl<F: FamilyLab> Stage<F> {
    pub(crate) fn new(nodes: usize, launch: Launch, clock: Clock) -> Self {
        let (reporter, reports) = mpsc::channel();
        Self {
            launch,
            members: (0..nodes).map(|index| Member::new(NodeId::from_index(index))).collect(),
            reports,
            reporter,
            serial: 0,
            clock,
            zero: Time::ZERO,
            world: None,
            news: VecDeque::new(),
            retries: Agenda::new(),
            journals: Vec::new(),
            is_ending: false,
            counts: Counts::default(),
        }
    }

    /// Starts every process, and returns when all nodes have begun, or as soon as it is over.
    pub(crate) fn start_all(&mut self, is_over: &dyn Fn() -> bool) -> Result<(), LiveError> {
        for index in 0..self.members.len() {
            if is_over() {
                return Ok(());
            }
            self.start(NodeId::from_index(index))?;
        }
        while self.members.iter().any(|member| !matches!(member.state, State::Up(_))) && !is_over() {
            self.listen(Duration::from_millis(50))?;
        }
        Ok(())
    }

    /// Gives nodes a moment to find each other before anybody asks them anything: how long a first connection takes is
    /// no property of an algorithm.
    pub(crate) fn meet(&mut self) -> Result<(), LiveError> {
        let deadline = self.clock.now() + meeting_time(self.members.len());
        let deadline = deadline.max(Time::ZERO);
        while let Some(left) = Some(deadline.since(self.clock.now()).nanos()).filter(|left| *left > 0) {
            self.listen(Duration::from_nanos(left))?;
        }
        Ok(())
    }

    /// Users begin now: at zero, if everybody was ready in time.
    pub(crate) fn raise_curtain(
        &mut self,
        begin: impl FnOnce(Time, &str) -> Result<WorldJournal, LiveError>,
    ) -> Result<(), LiveError> {
        let now = self.clock.now();
        self.zero = if now.since(Time::ZERO) < PUNCTUAL { Time::ZERO } else { now };
        self.world = Some(begin(self.zero, self.launch.group())?);
        Ok(())
    }

    pub(crate) fn now(&self) -> Time {
        Time::from_nanos(self.clock.now().nanos().saturating_sub(self.zero.nanos()))
    }

    pub(crate) fn next_news(&mut self) -> Option<(NodeId, News<F::Event>)> {
        self.news.pop_front()
    }

    /// Which life a node is in, from 0.
    pub(crate) fn life(&self, node: NodeId) -> u64 {
        self.members.get(node.index()).map_or(0, Member::life)
    }

    /// Gives a node a command. Whoever is down or not ready takes none.
    pub(crate) fn command(&self, node: NodeId, command: &F::Command) -> Result<(), LiveError> {
        let Some(child) = self.members.get(node.index()).and_then(Member::taker) else { return Ok(()) };
        let line = serde_json::to_string(command);
        child.tell(line.map_err(|error| LiveError::Refused { node, reason: error.to_string() })?);
        Ok(())
    }

    /// Hears what processes have to say, for so long at most if they say nothing.
    pub(crate) fn listen(&mut self, timeout: Duration) -> Result<(), LiveError> {
        let next = self
            .retries
            .next()
            .map_or(timeout, |at| timeout.min(Duration::from_nanos(at.since(self.clock.now()).nanos())));
        match self.reports.recv_timeout(next) {
            Ok(report) => self.hear(report)?,
            Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {}
        }
        while let Ok(report) = self.reports.try_recv() {
            self.hear(report)?;
        }
        while let Some(node) = self.retries.due(self.clock.now()) {
            self.try_again(node)?;
        }
        self.complain_of_the_late()
    }

    /// Does something to the group, now or as soon as it can be done.
    pub(crate) fn act(&mut self, act: Act) -> Result<(), LiveError> {
        let node = match act {
            Act::Sever(cut) => {
                self.counts.cuts += 1;
                if let Some(networks) = self.launch.networks() {
                    networks.sever(&cut)?;
                }
                return self.tell_world(Happening::Changed { text: &format!("cut {cut}") });
            }
            Act::Mend(cut) => {
                if let Some(networks) = self.launch.networks() {
                    networks.mend(&cut)?;
                }
                return self.tell_world(Happening::Changed { text: &format!("end of cut {cut}") });
            }
            Act::Kill(node) | Act::Start(node) | Act::Stop(node) | Act::Continue(node) => node,
        };
        if let Some(member) = self.members.get_mut(node.index()) {
            member.acts.push_back(act);
        }
        self.act_on(node)
    }

    /// Whether anything is still to be done to a node, or a node is between two states.
    pub(crate) fn is_settled(&self) -> bool {
        let rests = |member: &Member| match member.state {
            State::Up(_) | State::Down | State::Stopped(_) => member.acts.is_empty(),
            State::Starting { .. } | State::Refused { .. } | State::Dying(_) => false,
        };
        self.members.iter().all(rests)
    }

    pub(crate) fn troubles(&self) -> Vec<String> {
        self.members.iter().filter_map(Member::trouble).collect()
    }

    /// Stops every process in good order, and returns where all journals are.
    pub(crate) fn stop_all(&mut self, ending: Ending) -> Result<Vec<PathBuf>, LiveError> {
        self.is_ending = true;
        for index in 0..self.members.len() {
            self.stop(NodeId::from_index(index))?;
        }
        let deadline = Instant::now() + READY;
        while let Some(node) = self.members.iter().find(|member| !matches!(member.state, State::Down)).map(|m| m.node) {
            if Instant::now() > deadline {
                return Err(self.late(node, "did not end"));
            }
            self.listen(Duration::from_millis(100))?;
        }
        self.world.as_mut().map_or(Ok(()), |world| world.end(ending))?;
        let world = self.world.as_ref().map(|world| world.path().to_owned());
        Ok(self.journals.drain(..).chain(world).collect())
    }

    fn stop(&mut self, node: NodeId) -> Result<(), LiveError> {
        let Some(member) = self.members.get_mut(node.index()) else { return Ok(()) };
        member.acts.clear();
        if let State::Stopped(_) = member.state {
            self.proceed(node)?;
        }
        let Some(member) = self.members.get_mut(node.index()) else { return Ok(()) };
        match &member.state {
            State::Up(child) => child.tell("stop".into()),
            State::Refused { .. } => member.state = State::Down,
            State::Down | State::Starting { .. } | State::Stopped(_) | State::Dying(_) => {}
        }
        Ok(())
    }

    fn tell_world(&mut self, what: Happening<'_>) -> Result<(), LiveError> {
        self.world.as_mut().map_or(Ok(()), |world| world.tell(what))
    }

    fn start(&mut self, node: NodeId) -> Result<(), LiveError> {
        let Some(member) = self.members.get_mut(node.index()) else { return Ok(()) };
        let life = member.lives;
        member.lives += 1;
        self.journals.push(self.launch.journal(node, life));
        self.spawn(node, Instant::now())
    }

    fn spawn(&mut self, node: NodeId, since: Instant) -> Result<(), LiveError> {
        let Some(member) = self.members.get_mut(node.index()) else { return Ok(()) };
        self.serial += 1;
        let which = (member.life(), Serial(self.serial));
        let child = self.launch.start(node, which, member.address.as_deref(), &self.reporter)?;
        member.state = State::Starting { child, stage: Readiness::Silent, since };
        self.counts.processes += 1;
        Ok(())
    }

    fn try_again(&mut self, node: NodeId) -> Result<(), LiveError> {
        let Some(member) = self.members.get(node.index()) else { return Ok(()) };
        let State::Refused { since } = member.state else { return Ok(()) };
        let journal = self.launch.journal(node, member.life());
        match std::fs::remove_file(&journal) {
            Err(reason) if reason.kind() != io::ErrorKind::NotFound => Err(LiveError::File { path: journal, reason }),
            Ok(()) | Err(_) => self.spawn(node, since),
        }
    }

    fn hear(&mut self, report: Report) -> Result<(), LiveError> {
        let Report { node, serial, what } = report;
        let Some(member) = self.members.get_mut(node.index()) else { return Ok(()) };
        if !member.is(serial) {
            return Ok(());
        }
        match what {
            Heard::Line(line) => self.understand(node, line)?,
            Heard::Closed => self.closed(node)?,
        }
        self.act_on(node)
    }

    fn understand(&mut self, node: NodeId, line: String) -> Result<(), LiveError> {
        match lines::read::<F::Event>(&line).ok_or(LiveError::Babble { node, line })? {
            Said::Listening(address) => self.listening(node, address),
            Said::Started(_) => self.started(node),
            Said::Event(event) => {
                self.news.push_back((node, News::Told(event)));
                Ok(())
            }
            Said::Refused(reason) => Err(LiveError::Refused { node, reason }),
            Said::Stopped | Said::Aside => Ok(()),
        }
    }

    /// When all listen, all are told where; whoever comes back is told at once.
    fn listening(&mut self, node: NodeId, address: String) -> Result<(), LiveError> {
        if let Some(member) = self.members.get_mut(node.index()) {
            member.address = Some(address);
            if let State::Starting { stage, .. } = &mut member.state {
                *stage = Readiness::Listening;
            }
        }
        let entry = |member: &Member| Some(format!("{}={}", member.node, member.address.as_deref()?));
        let Some(entries) = self.members.iter().map(entry).collect::<Option<Vec<_>>>() else { return Ok(()) };
        let all = entries.join(",");
        for member in &mut self.members {
            if let State::Starting { child, stage: stage @ Readiness::Listening, .. } = &mut member.state {
                child.tell(all.clone());
                *stage = Readiness::Informed;
            }
        }
        Ok(())
    }

    fn started(&mut self, node: NodeId) -> Result<(), LiveError> {
        let Some(member) = self.members.get_mut(node.index()) else { return Ok(()) };
        member.state = match std::mem::replace(&mut member.state, State::Down) {
            State::Starting { child, .. } => State::Up(child),
            other => other,
        };
        if member.lives > 1 {
            self.news.push_back((node, News::Restarted));
        }
        if self.is_ending { self.stop(node) } else { Ok(()) }
    }

    /// A process is gone: as planned, in good order, too early, or never quite there.
    fn closed(&mut self, node: NodeId) -> Result<(), LiveError> {
        let is_ending = self.is_ending;
        let Some(member) = self.members.get_mut(node.index()) else { return Ok(()) };
        // One that comes back may find its address taken for a moment.
        let comes_back = member.address.is_some();
        match std::mem::replace(&mut member.state, State::Down) {
            State::Dying(mut child) => {
                child.wait().map_err(|reason| LiveError::Signal { node, what: "killed", reason })?;
                let journal = self.launch.journal(node, member.life());
                self.news.push_back((node, News::Crashed));
                if std::fs::metadata(&journal).map_or(0, |file| file.len()) == 0 {
                    // It died before it did anything that anybody could have seen, and nobody can tell its story.
                    self.journals.retain(|path| *path != journal);
                    return Ok(());
                }
                self.tell_world(Happening::Crashed { node, lost_writes: 0 })
            }
            State::Starting { child, stage: Readiness::Silent, since } if comes_back && since.elapsed() < READY => {
                drop(child);
                member.state = State::Refused { since };
                let retry = quorate_core::Duration::from_nanos(RETRY.as_nanos() as u64);
                self.retries.put(self.clock.now() + retry, node);
                Ok(())
            }
            State::Starting { mut child, .. } | State::Up(mut child) | State::Stopped(mut child) => {
                let status = child.wait().map_err(|reason| LiveError::Signal { node, what: "waited for", reason })?;
                if is_ending && status.success() {
                    Ok(())
                } else {
                    Err(LiveError::Died { node, status, log: child.log() })
                }
            }
            State::Down | State::Refused { .. } => Ok(()),
        }
    }

    fn act_on(&mut self, node: NodeId) -> Result<(), LiveError> {
        while let Some(act) = self.members.get_mut(node.index()).and_then(Member::next_act) {
            match act {
                Act::Kill(_) => self.kill(node)?,
                Act::Start(_) => self.start(node)?,
                Act::Stop(_) => self.pause(node)?,
                Act::Continue(_) => self.proceed(node)?,
                Act::Sever(_) | Act::Mend(_) => {}
            }
        }
        Ok(())
    }

    /// Its crash is told when it is gone, and everything that it said has been heard.
    fn kill(&mut self, node: NodeId) -> Result<(), LiveError> {
        let Some(member) = self.members.get_mut(node.index()) else { return Ok(()) };
        if let State::Up(mut child) = std::mem::replace(&mut member.state, State::Down) {
            child.kill().map_err(|reason| LiveError::Signal { node, what: "killed", reason })?;
            member.state = State::Dying(child);
            self.counts.kills += 1;
        }
        Ok(())
    }

    /// The journal says that it is stopped when it is, and that it goes on before it does, so that no step of it lies
    /// in between.
    fn pause(&mut self, node: NodeId) -> Result<(), LiveError> {
        let Some(member) = self.members.get_mut(node.index()) else { return Ok(()) };
        if let State::Up(child) = std::mem::replace(&mut member.state, State::Down) {
            child.stop().map_err(|reason| LiveError::Signal { node, what: "stopped", reason })?;
            member.state = State::Stopped(child);
            self.counts.stops += 1;
            self.tell_world(Happening::Paused { node })?;
        }
        Ok(())
    }

    fn proceed(&mut self, node: NodeId) -> Result<(), LiveError> {
        self.tell_world(Happening::Resumed { node })?;
        let Some(member) = self.members.get_mut(node.index()) else { return Ok(()) };
        if let State::Stopped(child) = std::mem::replace(&mut member.state, State::Down) {
            child.proceed().map_err(|reason| LiveError::Signal { node, what: "let go on", reason })?;
            member.state = State::Up(child);
        }
        Ok(())
    }

    fn complain_of_the_late(&mut self) -> Result<(), LiveError> {
        let is_late = |member: &&Member| match &member.state {
            State::Starting { since, .. } | State::Refused { since } => since.elapsed() > READY,
            State::Down | State::Up(_) | State::Stopped(_) | State::Dying(_) => false,
        };
        let late = self.members.iter().find(is_late).map(|member| member.node);
        late.map_or(Ok(()), |node| Err(self.late(node, "did not get ready")))
    }

    fn late(&mut self, node: NodeId, what: &'static str) -> LiveError {
        let child = self.members.get_mut(node.index()).and_then(Member::child);
        let log = child.map(|child| child.log()).unwrap_or_default();
        LiveError::Late { node, what, seconds: READY.as_secs(), log }
    }
}
