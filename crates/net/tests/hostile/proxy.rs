//! A TCP proxy that damages, cuts, records and counts connections.

use crate::within;
use std::collections::VecDeque;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Notify, mpsc, watch};

/// Damage to one connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Damage {
    /// The connection ends after this many bytes in this direction.
    Cut(Direction, usize),
    /// The bits of this mask are flipped in the byte at this offset in this direction.
    Flip(Direction, usize, u8),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Direction {
    /// From the dialling node to the accepting one.
    ToTarget,
    FromTarget,
}

pub(crate) struct Proxy {
    pub(crate) address: SocketAddr,
    planned_damages: PlannedDamages,
    /// The damage to each damaged connection that has ended.
    damaged: mpsc::UnboundedReceiver<Damage>,
    open_connections: watch::Receiver<usize>,
    /// The bytes that the dialling node sent, by connection.
    recorded: Arc<Mutex<Vec<Vec<u8>>>>,
    /// Notified when all connections must end.
    must_cut: Arc<Notify>,
    is_frozen: Arc<watch::Sender<bool>>,
}

/// The damages to later connections, one for each, in order.
type PlannedDamages = Arc<Mutex<VecDeque<Damage>>>;

impl Proxy {
    /// Creates a proxy that forwards connections to this address.
    pub(crate) async fn to(target: SocketAddr) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (planned_damages, recorded, must_cut) =
            (PlannedDamages::default(), Arc::default(), Arc::new(Notify::new()));
        let (sender, damaged) = mpsc::unbounded_channel();
        let (open_counter, open_connections) = watch::channel(0);
        let is_frozen = Arc::new(watch::Sender::new(false));
        let state = ProxyState {
            planned_damages: Arc::clone(&planned_damages),
            damaged: sender,
            open_connections: open_counter,
            recorded: Arc::clone(&recorded),
            must_cut: Arc::clone(&must_cut),
            is_frozen: Arc::clone(&is_frozen),
        };
        tokio::spawn(accept(listener, target, Arc::new(state)));
        Self { address, planned_damages, damaged, open_connections, recorded, must_cut, is_frozen }
    }

    /// Plans the damages to the next connections, one for each, in order.
    pub(crate) fn plan(&self, damages: impl IntoIterator<Item = Damage>) {
        self.planned_damages.lock().unwrap().extend(damages);
    }

    /// Waits until a damaged connection has ended, and returns the damage.
    pub(crate) async fn next_damaged(&mut self) -> Damage {
        self.damaged.recv().await.unwrap()
    }

    pub(crate) fn cut_all(&self) {
        self.must_cut.notify_waiters();
    }

    /// From now on, the connections stay open and forward nothing, or they forward again.
    pub(crate) fn set_frozen(&self, is_frozen: bool) {
        self.is_frozen.send_replace(is_frozen);
    }

    pub(crate) fn open_connections(&self) -> watch::Receiver<usize> {
        self.open_connections.clone()
    }

    pub(crate) fn recorded(&self) -> Vec<Vec<u8>> {
        self.recorded.lock().unwrap().clone()
    }
}

struct ProxyState {
    planned_damages: PlannedDamages,
    damaged: mpsc::UnboundedSender<Damage>,
    open_connections: watch::Sender<usize>,
    recorded: Arc<Mutex<Vec<Vec<u8>>>>,
    must_cut: Arc<Notify>,
    is_frozen: Arc<watch::Sender<bool>>,
}

async fn accept(listener: TcpListener, target: SocketAddr, state: Arc<ProxyState>) {
    while let Ok((dialling, _)) = listener.accept().await {
        let Ok(accepting) = TcpStream::connect(target).await else { continue };
        dialling.set_nodelay(true).unwrap();
        accepting.set_nodelay(true).unwrap();
        tokio::spawn(forward_connection(dialling, accepting, Arc::clone(&state)));
    }
}

async fn forward_connection(dialling: TcpStream, accepting: TcpStream, state: Arc<ProxyState>) {
    state.open_connections.send_modify(|open| *open += 1);
    let planned_damage = state.planned_damages.lock().unwrap().pop_front();
    let record_index = {
        let mut recorded = state.recorded.lock().unwrap();
        recorded.push(Vec::new());
        recorded.len() - 1
    };
    let (dialling_read, dialling_write) = dialling.into_split();
    let (accepting_read, accepting_write) = accepting.into_split();
    let is_damaged = Mutex::new(false);
    let forward = Pump {
        planned_damage,
        direction: Direction::ToTarget,
        is_damaged: &is_damaged,
        record: Some((&state.recorded, record_index)),
        is_frozen: state.is_frozen.subscribe(),
    };
    let (direction, is_frozen) = (Direction::FromTarget, state.is_frozen.subscribe());
    let backward = Pump { planned_damage, direction, is_damaged: &is_damaged, record: None, is_frozen };
    tokio::select! {
        () = forward.run(dialling_read, accepting_write) => {}
        () = backward.run(accepting_read, dialling_write) => {}
        () = state.must_cut.notified() => {}
    }
    let is_damaged = *is_damaged.lock().unwrap();
    match planned_damage {
        Some(damage) if is_damaged => state.damaged.send(damage).unwrap_or_default(),
        // The connection ended before the damage took effect: apply it to the next one.
        Some(damage) => state.planned_damages.lock().unwrap().push_front(damage),
        None => {}
    }
    state.open_connections.send_modify(|open| *open -= 1);
}

/// Forwards one direction of a connection.
struct Pump<'a> {
    planned_damage: Option<Damage>,
    direction: Direction,
    is_damaged: &'a Mutex<bool>,
    /// Where to record the bytes: the records and the index of this connection's record.
    record: Option<(&'a Mutex<Vec<Vec<u8>>>, usize)>,
    is_frozen: watch::Receiver<bool>,
}

impl Pump<'_> {
    async fn run(mut self, mut from: OwnedReadHalf, mut to: OwnedWriteHalf) {
        let mut buffer = vec![0; 16 << 10];
        let mut passed_bytes = 0;
        loop {
            let Ok(read @ 1..) = from.read(&mut buffer).await else { return };
            let _ = self.is_frozen.wait_for(|is_frozen| !is_frozen).await;
            if let Some((records, index)) = self.record {
                records.lock().unwrap()[index].extend_from_slice(&buffer[..read]);
            }
            let kept_bytes = self.apply_damage(&mut buffer[..read], passed_bytes);
            if to.write_all(&buffer[..kept_bytes]).await.is_err() || kept_bytes < read {
                return;
            }
            passed_bytes += read;
        }
    }

    /// Applies the planned damage to bytes that follow `passed_bytes` others. Returns how many of
    /// them to forward.
    fn apply_damage(&self, bytes: &mut [u8], passed_bytes: usize) -> usize {
        let end = passed_bytes + bytes.len();
        match self.planned_damage {
            Some(Damage::Cut(direction, after)) if direction == self.direction && after < end => {
                *self.is_damaged.lock().unwrap() = true;
                after - passed_bytes
            }
            Some(Damage::Flip(direction, offset, mask))
                if direction == self.direction && (passed_bytes..end).contains(&offset) =>
            {
                *self.is_damaged.lock().unwrap() = true;
                bytes[offset - passed_bytes] ^= mask;
                bytes.len()
            }
            Some(Damage::Cut(..) | Damage::Flip(..)) | None => bytes.len(),
        }
    }
}

/// The address of a listener that closes every connection immediately. A node that dials it never
/// connects to its peer, so only the peer's dials succeed.
pub(crate) async fn closing_listener() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move { while listener.accept().await.is_ok() {} });
    address
}

/// Waits until the proxies together have this many open connections.
pub(crate) async fn wait_for_connections(proxies: &[&Proxy], count: usize) {
    let mut open_counts: Vec<_> = proxies.iter().map(|proxy| proxy.open_connections()).collect();
    within(&format!("a total of {count} connections"), async {
        loop {
            if open_counts.iter_mut().map(|open| *open.borrow_and_update()).sum::<usize>() == count {
                return;
            }
            let changes = open_counts.iter_mut().map(|open| Box::pin(open.changed()));
            wait_for_first(changes.collect()).await;
        }
    })
    .await;
}

async fn wait_for_first<F: Future + Unpin>(mut waiting: Vec<F>) {
    std::future::poll_fn(|context| {
        let is_done = waiting.iter_mut().any(|future| std::pin::Pin::new(future).poll(context).is_ready());
        if is_done { std::task::Poll::Ready(()) } else { std::task::Poll::Pending }
    })
    .await;
}
