//! The task that accepts connections and hands each one to the task of the peer that opened it.

use crate::context::Context;
use crate::frame::Refusal;
use crate::handshake::{HandshakeError, describe_rejection, receive_hello, send_refusal};
use crate::peers::PeerRegistry;
use crate::rate_limited_log::WINDOW;
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;
use tokio::task::{AbortHandle, JoinSet};
use tokio::time::{MissedTickBehavior, interval, sleep, timeout};

/// Delay before the next accept after an accept failed, for example because the process has no file
/// descriptors left.
const ACCEPT_RETRY_DELAY: Duration = Duration::from_millis(50);

/// Accepts connections and runs the first part of their handshake.
pub(crate) struct Listener {
    pub(crate) context: Arc<Context>,
    pub(crate) socket: TcpListener,
    pub(crate) peers: Arc<PeerRegistry>,
}

impl Listener {
    /// Accepts connections until the future is dropped. The number of concurrent handshakes is
    /// bounded: a further connection ends the oldest handshake, because an honest peer finishes its
    /// handshake quickly.
    pub(crate) async fn run(self) {
        let Self { context, socket, peers } = self;
        let mut handshakes = JoinSet::new();
        let mut oldest_first: VecDeque<AbortHandle> = VecDeque::new();
        let mut report_suppressed = interval(WINDOW);
        report_suppressed.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            let accepted = tokio::select! {
                accepted = socket.accept() => accepted,
                Some(_) = handshakes.join_next() => continue,
                _ = report_suppressed.tick() => {
                    context.log.report_suppressed();
                    continue;
                }
            };
            let (stream, from) = match accepted {
                Ok(accepted) => accepted,
                Err(error) => {
                    context.log.warn(format_args!(
                        "Cannot accept a connection: {error}. Existing connections are not affected; trying again."
                    ));
                    sleep(ACCEPT_RETRY_DELAY).await;
                    continue;
                }
            };
            oldest_first.retain(|handshake| !handshake.is_finished());
            if oldest_first.len() >= context.limits.max_pending_connections
                && let Some(oldest) = oldest_first.pop_front()
            {
                oldest.abort();
                context.log.warn(format_args!(
                    "Too many connections have not finished their handshake; closed the oldest to accept one from \
                     {from}."
                ));
            }
            let (context, peers) = (Arc::clone(&context), Arc::clone(&peers));
            oldest_first.push_back(handshakes.spawn(async move {
                match receive_hello_and_queue(&context, &peers, stream).await {
                    Ok(()) => {}
                    // A port scan, or a peer whose dial crossed ours.
                    Err(HandshakeError::ClosedSilently) => context.log.info(format_args!(
                        "A connection from {from} was closed by the other side before it sent anything."
                    )),
                    // A node that joins the group dials before all members have added it.
                    Err(error @ HandshakeError::Refused(Refusal::NotAPeer)) => {
                        context.log.info(describe_rejection(from, &error));
                    }
                    Err(error) => context.log.warn(describe_rejection(from, &error)),
                }
            }));
        }
    }
}

/// Receives the Hello of a connection and queues the connection for that peer's task.
async fn receive_hello_and_queue(
    context: &Context,
    peers: &PeerRegistry,
    stream: TcpStream,
) -> Result<(), HandshakeError> {
    let pending = timeout(context.limits.handshake_timeout, receive_hello(context, stream)).await;
    let pending = pending.map_err(|_| HandshakeError::TimedOut)??;
    let Some(queue) = peers.incoming_queue(pending.header.sender) else {
        send_refusal(pending.stream, context, Refusal::NotAPeer).await;
        return Err(HandshakeError::Refused(Refusal::NotAPeer));
    };
    match queue.try_send(pending) {
        Ok(()) => Ok(()),
        Err(mpsc::error::TrySendError::Full(pending)) => {
            send_refusal(pending.stream, context, Refusal::TooManyPending).await;
            Err(HandshakeError::Refused(Refusal::TooManyPending))
        }
        Err(mpsc::error::TrySendError::Closed(pending)) => {
            send_refusal(pending.stream, context, Refusal::Stopping).await;
            Err(HandshakeError::Refused(Refusal::Stopping))
        }
    }
}
