//! What clients and servers of the benchmark say to each other, and what the benchmark and its
//! servers do: frames over TCP, and lines of JSON on standard input and output.

use quorate_core::NodeId;
use quorate_replica::registers::{Answer, Change, Read, Registers};
use quorate_replica::sessions::{self, Sessions};
use quorate_replica::{Addresses, Members, Refusal, SessionId};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::net::SocketAddr;

/// The state machine of the servers.
pub(super) type Machine = Sessions<Registers>;

/// The number of a request on its connection, chosen by the client.
pub(super) type CallId = u32;

/// A client's request.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
pub(super) enum Request {
    Propose { call: CallId, command: sessions::Command<Change> },
    Query { call: CallId, query: Read },
    Attach { call: CallId, session: SessionId },
}

/// A server's message to a client.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
pub(super) enum Reply {
    /// The leader, as far as the server knows. The first message on a connection, and repeated
    /// when the leader changes.
    Leader(Option<NodeId>),
    Answered {
        call: CallId,
        answer: sessions::Answer<Answer>,
    },
    Attached {
        call: CallId,
    },
    /// The request was not executed here.
    Refused {
        call: CallId,
        refusal: Refusal,
    },
    /// The request may or may not be executed.
    Unknown {
        call: CallId,
    },
}

/// A line from the benchmark to a server.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Order {
    /// The addresses of the founders, or of all members for a server that joins. The first line.
    Start(Addresses),
    /// Report the counters.
    Count,
    /// Report when all entries that are committed now are applied.
    CatchUp,
    /// Change the members.
    Change { members: Members, addresses: Addresses },
}

/// A line from a server to the benchmark. Times are nanoseconds since the machine was booted.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Notice {
    /// The server has opened its data folder and listens.
    Listening {
        members: SocketAddr,
        clients: SocketAddr,
    },
    Leads {
        term: u64,
        at_nanos: i64,
    },
    Follows {
        term: u64,
        leader: Option<NodeId>,
    },
    Counted(Counters),
    CaughtUp,
    /// The change of members is complete.
    Changed,
    /// The last order to catch up or to change the members was refused, or its outcome is unknown.
    NotDone {
        reason: String,
    },
    /// The server ends.
    Failed {
        reason: String,
    },
}

/// The counters of a server.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct Counters {
    /// The highest index of an entry whose command was answered here.
    pub(super) answered_index: u64,
    /// Number of appends to the log on the disk, each with one sync.
    pub(super) syncs: u64,
    /// Number of messages sent to other servers.
    pub(super) messages_sent: u64,
    /// Number of messages received from other servers, by kind.
    pub(super) received: BTreeMap<String, u64>,
    /// Processor time of the process in nanoseconds.
    pub(super) processor_nanos: u64,
}
