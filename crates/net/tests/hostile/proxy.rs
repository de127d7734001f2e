//! A network that damages, cuts, records and counts connections.

use crate::within;
use std::collections::VecDeque;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Notify, mpsc, watch};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Harm {
    /// It ends when so many bytes have gone this way.
    Cut(Way, usize),
    /// The byte at this place is another one when it arrives.
    Flip(Way, usize, u8),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Way {
    There,
    Back,
}

pub(crate) struct Proxy {
    pub(crate) address: SocketAddr,
    plans: Plans,
    harmed: mpsc::UnboundedReceiver<Harm>,
    open: watch::Receiver<usize>,
    there: Arc<Mutex<Vec<Vec<u8>>>>,
    cut: Arc<Notify>,
}

type Plans = Arc<Mutex<VecDeque<Harm>>>;

impl Proxy {
    pub(crate) async fn to(target: SocketAddr) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (plans, there, cut) = (Plans::default(), Arc::default(), Arc::new(Notify::new()));
        let (sender, harmed) = mpsc::unbounded_channel();
        let (counter, open) = watch::channel(0);
        let desk = Desk {
            plans: Arc::clone(&plans),
            harmed: sender,
            open: counter,
            there: Arc::clone(&there),
            cut: Arc::clone(&cut),
        };
        tokio::spawn(accept(listener, target, Arc::new(desk)));
        Self { address, plans, harmed, open, there, cut }
    }

    pub(crate) fn plan(&self, harms: impl IntoIterator<Item = Harm>) {
        self.plans.lock().unwrap().extend(harms);
    }

    pub(crate) async fn harmed(&mut self) -> Harm {
        self.harmed.recv().await.unwrap()
    }

    pub(crate) fn cut_all(&self) {
        self.cut.notify_waiters();
    }

    pub(crate) fn open(&self) -> watch::Receiver<usize> {
        self.open.clone()
    }

    pub(crate) fn said(&self) -> Vec<Vec<u8>> {
        self.there.lock().unwrap().clone()
    }
}

struct Desk {
    plans: Plans,
    harmed: mpsc::UnboundedSender<Harm>,
    open: watch::Sender<usize>,
    there: Arc<Mutex<Vec<Vec<u8>>>>,
    cut: Arc<Notify>,
}

async fn accept(listener: TcpListener, target: SocketAddr, desk: Arc<Desk>) {
    while let Ok((near, _)) = listener.accept().await {
        let Ok(far) = TcpStream::connect(target).await else { continue };
        near.set_nodelay(true).unwrap();
        far.set_nodelay(true).unwrap();
        tokio::spawn(carry(near, far, Arc::clone(&desk)));
    }
}

async fn carry(near: TcpStream, far: TcpStream, desk: Arc<Desk>) {
    desk.open.send_modify(|open| *open += 1);
    let plan = desk.plans.lock().unwrap().pop_front();
    let record = {
        let mut there = desk.there.lock().unwrap();
        there.push(Vec::new());
        there.len() - 1
    };
    let (near_read, near_write) = near.into_split();
    let (far_read, far_write) = far.into_split();
    let is_harmed = Mutex::new(false);
    let there = Pump { plan, way: Way::There, is_harmed: &is_harmed, record: Some((&desk.there, record)) };
    let back = Pump { plan, way: Way::Back, is_harmed: &is_harmed, record: None };
    tokio::select! {
        () = there.run(near_read, far_write) => {}
        () = back.run(far_read, near_write) => {}
        () = desk.cut.notified() => {}
    }
    let is_harmed = *is_harmed.lock().unwrap();
    match plan {
        Some(harm) if is_harmed => desk.harmed.send(harm).unwrap_or_default(),
        // It was over before its time: the next one gets what it was spared.
        Some(harm) => desk.plans.lock().unwrap().push_front(harm),
        None => {}
    }
    desk.open.send_modify(|open| *open -= 1);
}

struct Pump<'a> {
    plan: Option<Harm>,
    way: Way,
    is_harmed: &'a Mutex<bool>,
    record: Option<(&'a Mutex<Vec<Vec<u8>>>, usize)>,
}

impl Pump<'_> {
    async fn run(self, mut from: OwnedReadHalf, mut to: OwnedWriteHalf) {
        let mut buffer = vec![0; 16 << 10];
        let mut passed = 0;
        loop {
            let Ok(read @ 1..) = from.read(&mut buffer).await else { return };
            if let Some((records, index)) = self.record {
                records.lock().unwrap()[index].extend_from_slice(&buffer[..read]);
            }
            let passing = self.harm(&mut buffer[..read], passed);
            if to.write_all(&buffer[..passing]).await.is_err() || passing < read {
                return;
            }
            passed += read;
        }
    }

    fn harm(&self, bytes: &mut [u8], passed: usize) -> usize {
        let end = passed + bytes.len();
        match self.plan {
            Some(Harm::Cut(way, after)) if way == self.way && after < end => {
                *self.is_harmed.lock().unwrap() = true;
                after - passed
            }
            Some(Harm::Flip(way, at, mask)) if way == self.way && (passed..end).contains(&at) => {
                *self.is_harmed.lock().unwrap() = true;
                bytes[at - passed] ^= mask;
                bytes.len()
            }
            Some(Harm::Cut(..) | Harm::Flip(..)) | None => bytes.len(),
        }
    }
}

/// An address where every connection is closed at once, so that only the other side can dial.
pub(crate) async fn hole() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move { while listener.accept().await.is_ok() {} });
    address
}

pub(crate) async fn connections(proxies: &[&Proxy], count: usize) {
    let mut open: Vec<_> = proxies.iter().map(|proxy| proxy.open()).collect();
    within(&format!("the moment with {count} connections"), async {
        loop {
            if open.iter_mut().map(|open| *open.borrow_and_update()).sum::<usize>() == count {
                return;
            }
            let changes = open.iter_mut().map(|open| Box::pin(open.changed()));
            first_of(changes.collect()).await;
        }
    })
    .await;
}

async fn first_of<F: Future + Unpin>(mut waiting: Vec<F>) {
    std::future::poll_fn(|context| {
        let is_done = waiting.iter_mut().any(|one| std::pin::Pin::new(one).poll(context).is_ready());
        if is_done { std::task::Poll::Ready(()) } else { std::task::Poll::Pending }
    })
    .await;
}
