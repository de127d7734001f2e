//! The load: clients on a thread of this process, and what they measure.

use super::client::{Client, ClientResult, Connection};
use super::group::{ClientAddresses, ServerGroup};
use anyhow::Context;
use quorate_core::NodeId;
use quorate_net::tls::Security;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};
use tokio::time::timeout;

/// A client that has no answer this long after the end of the load never gets one.
const LAST_ANSWER_TIMEOUT: Duration = Duration::from_secs(15);

/// Number of files that a process needs besides the connections of the clients.
const OTHER_FILES: u64 = 64;

/// The clients to start, and how they use the servers.
pub(super) struct LoadOptions {
    pub(super) clients: u64,
    /// Whether the clients use all members instead of the leader.
    pub(super) is_spread: bool,
    /// How long a client waits for a connection, and for an answer, before it uses another server.
    pub(super) connect_timeout: Duration,
    pub(super) answer_timeout: Duration,
}

/// Clients that run until [`finish`](Self::finish) is called.
pub(super) struct Load {
    state: Arc<LoadState>,
    clients: u64,
    thread: JoinHandle<anyhow::Result<LoadResult>>,
}

/// What the clients and the benchmark share.
pub(super) struct LoadState {
    pub(super) addresses: ClientAddresses,
    pub(super) security: Security,
    pub(super) is_spread: bool,
    pub(super) connect_timeout: Duration,
    pub(super) answer_timeout: Duration,
    namespace: Option<PathBuf>,
    is_stopped: AtomicBool,
    tally: Mutex<Tally>,
}

/// What the clients have measured.
#[derive(Default)]
pub(super) struct Tally {
    pub(super) answered: u64,
    /// Number of clients with an answer.
    answered_clients: u64,
    /// Number of times that a client has lost a server, or given it up.
    pub(super) moves: u64,
    /// Requests that were answered with an error.
    pub(super) failures: Vec<String>,
    /// The times from each request to its answer, in nanoseconds, since they were last cleared.
    pub(super) latencies_nanos: Vec<u64>,
    last_answer_at: Option<Instant>,
    /// The longest time without an answer to any client, since it was last cleared.
    pub(super) longest_pause: Duration,
    fault: Option<WatchedFault>,
}

/// An answer to a client.
pub(super) struct Answer {
    pub(super) server: NodeId,
    /// Whether this is the first answer to its client.
    pub(super) is_first: bool,
    /// When the copy of the request that was answered was sent.
    pub(super) sent_at: Instant,
    pub(super) at: Instant,
    /// The time since the first copy was sent.
    pub(super) latency: Duration,
}

/// A fault whose end the clients watch for.
struct WatchedFault {
    victim: NodeId,
    since: Instant,
    first_answer_at: Option<Instant>,
}

/// The result of a load.
pub(super) struct LoadResult {
    pub(super) acknowledged: u64,
    /// Number of acknowledged requests that a linearizable read at the end did not find.
    pub(super) lost: u64,
    /// Requests that were answered with an error, or never.
    pub(super) failures: Vec<String>,
}

impl Tally {
    pub(super) fn record(&mut self, answer: Answer) {
        self.answered += 1;
        self.answered_clients += u64::from(answer.is_first);
        self.latencies_nanos.push(answer.latency.as_nanos() as u64);
        let pause = self.last_answer_at.map_or(Duration::ZERO, |last| answer.at.saturating_duration_since(last));
        self.longest_pause = self.longest_pause.max(pause);
        self.last_answer_at = Some(answer.at);
        // The victim may have sent an answer just before the fault. A copy that was sent to another
        // server after the fault is answered only when a later entry is committed.
        if let Some(fault) = &mut self.fault
            && answer.server != fault.victim
            && answer.sent_at >= fault.since
        {
            fault.first_answer_at.get_or_insert(answer.at);
        }
    }

    /// The longest time without an answer, including the time from the last one until now.
    pub(super) fn pause_until(&self, now: Instant) -> Duration {
        let pause = self.last_answer_at.map_or(Duration::ZERO, |last| now.saturating_duration_since(last));
        self.longest_pause.max(pause)
    }

    /// Watches for the first answer to a request that is sent after this moment to another server
    /// than the victim.
    pub(super) fn watch(&mut self, victim: NodeId) -> Instant {
        let since = Instant::now();
        self.fault = Some(WatchedFault { victim, since, first_answer_at: None });
        since
    }

    /// The time from the watched fault to the first answer after it.
    pub(super) fn outage(&self) -> Option<Duration> {
        let fault = self.fault.as_ref()?;
        Some(fault.first_answer_at?.saturating_duration_since(fault.since))
    }
}

impl LoadState {
    pub(super) fn tally(&self) -> MutexGuard<'_, Tally> {
        // A poisoned lock still guards valid figures.
        self.tally.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn is_stopped(&self) -> bool {
        self.is_stopped.load(Ordering::Relaxed)
    }
}

impl Load {
    pub(super) fn start(group: &ServerGroup, options: LoadOptions) -> anyhow::Result<Self> {
        let LoadOptions { clients, is_spread, connect_timeout, answer_timeout } = options;
        require_open_files(clients)?;
        let state = Arc::new(LoadState {
            addresses: group.clients.clone(),
            security: group.client_security()?,
            is_spread,
            connect_timeout,
            answer_timeout,
            namespace: group.client_namespace(),
            is_stopped: AtomicBool::new(false),
            tally: Mutex::default(),
        });
        let shared = Arc::clone(&state);
        let thread = thread::Builder::new().name("clients".into()).spawn(move || run_clients(&shared, clients));
        let thread = thread.map_err(|error| anyhow::anyhow!("cannot start the clients: {error}."))?;
        Ok(Self { state, clients, thread })
    }

    pub(super) fn tally(&self) -> MutexGuard<'_, Tally> {
        self.state.tally()
    }

    /// Waits until every client has an answer, and all together this many for each.
    pub(super) fn warm_up(&self, group: &mut ServerGroup, answers: u64) -> anyhow::Result<()> {
        let is_warm =
            |tally: &Tally| tally.answered_clients == self.clients && tally.answered >= answers * self.clients;
        group.wait_until("not all clients were answered", |_| is_warm(&self.tally()) || self.has_ended())?;
        self.fail_if_ended()
    }

    fn has_ended(&self) -> bool {
        self.thread.is_finished()
    }

    fn fail_if_ended(&self) -> anyhow::Result<()> {
        anyhow::ensure!(!self.has_ended(), "the clients ended early: {}", self.tally().failures.join("; "));
        Ok(())
    }

    /// Stops the clients after their last answer, and reads what they have written.
    pub(super) fn finish(self) -> anyhow::Result<LoadResult> {
        self.state.is_stopped.store(true, Ordering::Relaxed);
        self.thread.join().map_err(|_| anyhow::anyhow!("the thread of the clients panicked."))?
    }
}

/// Fails if the system does not permit as many open files as the connections of these clients need,
/// here and in the server that all of them may use.
fn require_open_files(clients: u64) -> anyhow::Result<()> {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let limit = getrlimit(Resource::Nofile);
    let raised = setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, ..limit });
    let permitted = if raised.is_ok() { limit.maximum } else { limit.current };
    let needed = clients + OTHER_FILES;
    anyhow::ensure!(
        permitted.is_none_or(|permitted| permitted >= needed),
        "{clients} clients need {needed} open files, and the system permits {}. Raise the limit with ulimit -n.",
        permitted.unwrap_or(u64::MAX)
    );
    Ok(())
}

/// Runs the clients on this thread until the load is stopped.
fn run_clients(state: &Arc<LoadState>, clients: u64) -> anyhow::Result<LoadResult> {
    if let Some(namespace) = &state.namespace {
        enter(namespace)?;
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| anyhow::anyhow!("cannot start the clients: {error}."))?;
    runtime.block_on(async {
        let running: Vec<_> =
            (1..=clients).map(|index| tokio::spawn(Client::new(index, Arc::clone(state)).run())).collect();
        let mut results = Vec::new();
        for (index, mut client) in (1..).zip(running) {
            let mut result = None;
            while result.is_none() {
                // The clock starts when the load is stopped.
                let was_stopped = state.is_stopped();
                result = timeout(LAST_ANSWER_TIMEOUT, &mut client).await.ok().map(Result::ok);
                if result.is_none() && was_stopped {
                    state.tally().failures.push(format!("client {index} has waited for an answer in vain"));
                    client.abort();
                    break;
                }
            }
            results.extend(result.flatten());
        }
        let lost = count_lost(state, &results).await?;
        let failures = std::mem::take(&mut state.tally().failures);
        Ok(LoadResult { acknowledged: results.iter().map(|result| result.answered).sum(), lost, failures })
    })
}

/// Reads what each client has written, and counts the acknowledged requests that are missing.
async fn count_lost(state: &LoadState, results: &[ClientResult]) -> anyhow::Result<u64> {
    let deadline = Instant::now() + LAST_ANSWER_TIMEOUT;
    let addresses = state.addresses.list();
    let mut servers = addresses.iter().cycle();
    loop {
        let (server, address) = servers.next().context("there is no server to read from.")?;
        let reading = async {
            let mut connection = Connection::open(&state.security, *server, *address, &mut None).await?;
            let mut lost = 0;
            for result in results {
                lost += result.lost_requests(connection.read(result.key).await?);
            }
            anyhow::Ok(lost)
        };
        match timeout(Duration::from_secs(5), reading).await {
            Ok(Ok(lost)) => return Ok(lost),
            _ => anyhow::ensure!(Instant::now() < deadline, "the servers did not answer the reads at the end."),
        }
    }
}

/// Moves this thread into a network namespace.
#[cfg(target_os = "linux")]
fn enter(namespace: &Path) -> anyhow::Result<()> {
    use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};
    use std::os::fd::AsFd;
    let entered = std::fs::File::open(namespace)
        .and_then(|file| Ok(move_into_link_name_space(file.as_fd(), Some(LinkNameSpaceType::Network))?));
    entered.map_err(|error| anyhow::anyhow!("cannot enter the network of the clients: {error}."))
}

#[cfg(not(target_os = "linux"))]
fn enter(_namespace: &Path) -> anyhow::Result<()> {
    anyhow::bail!("only Linux has network namespaces.")
}

#[cfg(test)]
mod tests {
    use super::{Answer, Tally};
    use quorate_core::NodeId;
    use std::time::Duration;

    const MILLISECOND: Duration = Duration::from_millis(1);

    #[test]
    fn an_outage_ends_with_an_answer_of_another_server_to_a_later_request() {
        let [victim, other] = [0, 1].map(NodeId::from_index);
        let mut tally = Tally::default();
        let fault_at = tally.watch(victim);
        let mut answer = |server, sent_at, milliseconds: u32| {
            let at = fault_at + MILLISECOND * milliseconds;
            tally.record(Answer { server, is_first: false, sent_at, at, latency: at - sent_at });
            tally.outage()
        };
        assert_eq!(answer(other, fault_at - MILLISECOND, 1), None, "it may have been committed before the fault");
        assert_eq!(answer(victim, fault_at + MILLISECOND, 2), None, "the victim had not noticed the fault yet");
        assert_eq!(answer(other, fault_at + MILLISECOND, 7), Some(MILLISECOND * 7));
        assert_eq!(answer(other, fault_at + MILLISECOND * 7, 8), Some(MILLISECOND * 7));
        assert_eq!(tally.longest_pause, MILLISECOND * 5);
        assert_eq!(tally.pause_until(fault_at + MILLISECOND * 20), MILLISECOND * 12);
        tally.watch(other);
        assert_eq!(tally.outage(), None);
    }
}
