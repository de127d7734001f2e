//! A connection between two nodes that have met: one future that reads, one that writes.

use crate::frame::{BatchReader, Body, FRAME_LIMIT, Frame, FrameError};
use crate::inbox::Inbox;
use crate::line::{Line, Work};
use crate::link::LinkError;
use crate::settings::Limits;
use crate::stream::Stream;
use bytes::{Bytes, BytesMut};
use quorate_core::{Incarnation, NodeId};
use std::io;
use std::pin::pin;
use std::sync::Arc;
use thiserror::Error;
use tokio::io::{AsyncReadExt, AsyncWriteExt, ReadHalf, WriteHalf};
use tokio::time::{Instant, sleep_until, timeout};

/// So many bytes are read at once, if there are so many.
const READ_BYTES: usize = 128 << 10;
/// With less room than this a new buffer is taken. Most reads find the rest of the last one.
const LEAST_ROOM: usize = 16 << 10;

/// Why a connection is over. Messages that were not acknowledged go over the next one.
#[derive(Debug, Error)]
pub(crate) enum Parting {
    #[error("the peer closed it")]
    Closed,
    #[error("the peer said goodbye ({0})")]
    Bye(String),
    #[error("it broke: {0}")]
    Broken(io::Error),
    #[error("nothing came from the peer for {0:?}")]
    Silent(std::time::Duration),
    #[error("the peer took nothing for {0:?}")]
    Stuck(std::time::Duration),
    #[error("{0}")]
    Frame(#[from] FrameError),
    #[error("{0}")]
    Link(#[from] LinkError),
    #[error("the peer introduced itself a second time on the same connection")]
    SecondGreeting,
    #[error("this node is stopping")]
    Stopping,
}

pub(crate) struct Reader {
    pub(crate) peer: NodeId,
    pub(crate) life: Incarnation,
    pub(crate) line: Arc<Line>,
    pub(crate) inbox: Inbox,
}

impl Reader {
    /// Reads until the connection is over. While the node has no place for a batch, nothing is read.
    pub(crate) async fn read(&self, mut stream: ReadHalf<Stream>, mut received: BytesMut) -> Parting {
        loop {
            loop {
                match Frame::next(&mut received, FRAME_LIMIT) {
                    Ok(Some(frame)) => {
                        if let Err(parting) = self.open(frame).await {
                            return parting;
                        }
                    }
                    Ok(None) => break,
                    Err(error) => return error.into(),
                }
            }
            if received.capacity() - received.len() < LEAST_ROOM {
                received.reserve(READ_BYTES);
            }
            match stream.read_buf(&mut received).await {
                Ok(0) => return Parting::Closed,
                Ok(_) => self.line.listened(),
                Err(error) => return Parting::Broken(error),
            }
        }
    }

    async fn open(&self, frame: Frame) -> Result<(), Parting> {
        self.line.hear(&frame.header)?;
        match frame.body {
            Body::Batch(body) => {
                // A batch is taken whole or not at all.
                BatchReader::new(&body).try_for_each(|message| message.map(|_| ()))?;
                let is_taken = self.inbox.hand_over(&self.line, self.peer, self.life, body).await;
                if is_taken { Ok(()) } else { Err(Parting::Stopping) }
            }
            Body::Ack | Body::Ping => Ok(()),
            Body::Bye(reason) => Err(Parting::Bye(reason)),
            Body::Hello(_) | Body::Welcome(_) | Body::Refuse(_) => Err(Parting::SecondGreeting),
        }
    }
}

/// Writes what the link has until the connection is over, and watches that the peer is heard from.
pub(crate) async fn write(line: &Line, mut stream: WriteHalf<Stream>, limits: &Limits) -> Parting {
    let mut last_written = Instant::now();
    line.listened();
    // The alarm is set rarely and checked when it rings: to set it costs more than to write a small frame.
    let mut alarm = pin!(sleep_until(last_written + limits.ping_every));
    loop {
        let is_owing = match line.work() {
            Work::Frame(frame) => {
                if let Err(parting) = put(&mut stream, &frame, limits).await {
                    return parting;
                }
                last_written = Instant::now();
                continue;
            }
            Work::Close(farewell) => {
                let _ = put(&mut stream, &farewell, limits).await;
                let _ = stream.shutdown().await;
                return Parting::Stopping;
            }
            Work::Owing => true,
            Work::Nothing => false,
        };
        if is_owing {
            let due = Instant::now() + limits.acknowledge_within;
            if due < alarm.deadline() {
                alarm.as_mut().reset(due);
            }
        }
        tokio::select! {
            biased;
            () = line.woken() => continue,
            () = &mut alarm => {}
        }
        if line.silence() >= limits.silence {
            return Parting::Silent(limits.silence);
        }
        if is_owing || last_written.elapsed() >= limits.ping_every {
            if let Err(parting) = put(&mut stream, &line.sign_of_life(), limits).await {
                return parting;
            }
            last_written = Instant::now();
        }
        alarm.as_mut().reset(last_written + limits.ping_every);
    }
}

/// Writes a frame. A peer that takes nothing at all for a while is given up; one that is slow is not.
async fn put(stream: &mut WriteHalf<Stream>, frame: &Bytes, limits: &Limits) -> Result<(), Parting> {
    let mut rest: &[u8] = frame;
    while !rest.is_empty() {
        let written = in_time(stream.write(rest), limits).await?;
        if written == 0 {
            return Err(Parting::Broken(io::ErrorKind::WriteZero.into()));
        }
        rest = rest.get(written..).unwrap_or_default();
    }
    in_time(stream.flush(), limits).await
}

async fn in_time<T>(writing: impl Future<Output = io::Result<T>>, limits: &Limits) -> Result<T, Parting> {
    match timeout(limits.silence, writing).await {
        Ok(done) => done.map_err(Parting::Broken),
        Err(_) => Err(Parting::Stuck(limits.silence)),
    }
}
