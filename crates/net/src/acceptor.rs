//! The task that listens: whoever connects has a moment to say who it is.

use crate::complaints::WINDOW;
use crate::context::Context;
use crate::frame::Refusal;
use crate::greeting::{GreetingError, Guest, complaint, receive, refuse};
use quorate_core::NodeId;
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;
use tokio::task::{AbortHandle, JoinSet};
use tokio::time::{MissedTickBehavior, interval, sleep, timeout};

/// Where guests are led, by who they say they are.
pub(crate) type Doors = BTreeMap<NodeId, mpsc::Sender<Guest>>;

/// How long to wait when the system has no connection to give, for want of file descriptors for example.
const RESPITE: Duration = Duration::from_millis(50);

/// Listens until it is dropped. Only so many strangers are heard at a time; the oldest makes way for the next, since
/// whoever means well is done in no time.
pub(crate) async fn listen(context: Arc<Context>, listener: TcpListener, doors: Doors) {
    let doors = Arc::new(doors);
    let mut strangers = JoinSet::new();
    let mut order: VecDeque<AbortHandle> = VecDeque::new();
    let mut sum_up = interval(WINDOW);
    sum_up.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            Some(_) = strangers.join_next() => continue,
            _ = sum_up.tick() => {
                context.complaints.sum_up();
                continue;
            }
        };
        let (stream, from) = match accepted {
            Ok(accepted) => accepted,
            Err(error) => {
                context
                    .complaints
                    .write(format_args!("A connection could not be accepted: {error}. The group goes on."));
                sleep(RESPITE).await;
                continue;
            }
        };
        order.retain(|stranger| !stranger.is_finished());
        if order.len() >= context.limits.strangers
            && let Some(oldest) = order.pop_front()
        {
            oldest.abort();
            context.complaints.write(format_args!(
                "Too many connections have not introduced themselves; the oldest was closed for one from {from}."
            ));
        }
        let (context, doors) = (Arc::clone(&context), Arc::clone(&doors));
        order.push_back(strangers.spawn(async move {
            match lead_in(&context, &doors, stream).await {
                Ok(()) => {}
                // A port that is scanned, or a peer whose dial crossed ours.
                Err(GreetingError::Silent) => context.complaints.mention(format_args!(
                    "A connection from {from} was closed by the other side before it said anything."
                )),
                Err(error) => context.complaints.write(complaint(from, &error)),
            }
        }));
    }
}

async fn lead_in(context: &Context, doors: &Doors, stream: TcpStream) -> Result<(), GreetingError> {
    let guest = timeout(context.limits.introduction, receive(context, stream)).await;
    let guest = guest.map_err(|_| GreetingError::Late)??;
    // The terms let nobody in who is not of the group.
    let Some(door) = doors.get(&guest.header.sender) else { return Err(GreetingError::NoGreeting) };
    match door.try_send(guest) {
        Ok(()) => Ok(()),
        Err(mpsc::error::TrySendError::Full(guest)) => {
            refuse(guest.stream, context, Refusal::Crowded).await;
            Err(GreetingError::Refused(Refusal::Crowded))
        }
        Err(mpsc::error::TrySendError::Closed(guest)) => {
            refuse(guest.stream, context, Refusal::Stopping).await;
            Err(GreetingError::Refused(Refusal::Stopping))
        }
    }
}
