//! The peers of a node, which may change while it runs.
//!
//! The node's task owns [`Peers`] and changes the set. Other tasks look peers up in the
//! [`PeerRegistry`].
//!
//! A removed peer leaves nothing behind: its link with all sequence numbers, its election, its
//! duplicate filter and its task are dropped. (Only a suspicion that the protocol may still hold is
//! remembered; see `NodeTask::suspected`.) If the peer is added again, it gets a link of a later
//! [`Generation`], which the handshake tells the other end. That end then drops what belongs to the
//! old link, as it does for a new incarnation. So neither end has to remember anything, and no
//! number or message of the old link can be mistaken for one of the new link.

use crate::connection_election::ConnectionElection;
use crate::context::Context;
use crate::frame::{Generation, LinkEnd};
use crate::handshake::PendingConnection;
use crate::inbox::{ControlInput, Inbox};
use crate::link::{LinkLimits, Origin};
use crate::link_handle::{CommonLinkState, LinkHandle, LinkStats};
use crate::peer::{Peer, PeerReachability};
use quorate_core::NodeId;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::{mpsc, watch};

/// Maximum number of incoming connections of one peer that wait until the peer's task accepts or
/// refuses them.
const MAX_PENDING_PER_PEER: usize = 8;

/// The current peers, for all tasks of the node and its handles.
#[derive(Default)]
pub(crate) struct PeerRegistry(Mutex<BTreeMap<NodeId, RegisteredPeer>>);

struct RegisteredPeer {
    link: Arc<LinkHandle>,
    /// The queue of connections that the peer opened, which its task accepts or refuses.
    incoming: mpsc::Sender<PendingConnection>,
    address: watch::Sender<String>,
}

impl PeerRegistry {
    fn peers(&self) -> MutexGuard<'_, BTreeMap<NodeId, RegisteredPeer>> {
        // A poisoned lock still guards a valid map, because no method panics while it changes it.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The queue of connections that this node opened, if it is a peer.
    pub(crate) fn incoming_queue(&self, node: NodeId) -> Option<mpsc::Sender<PendingConnection>> {
        self.peers().get(&node).map(|peer| peer.incoming.clone())
    }

    pub(crate) fn link_stats(&self) -> BTreeMap<NodeId, LinkStats> {
        self.peers().iter().map(|(node, peer)| (*node, peer.link.stats())).collect()
    }

    pub(crate) fn close_links(&self) {
        self.peers().values().for_each(|peer| peer.link.close());
    }
}

/// Changes the set of peers.
pub(crate) struct Peers {
    pub(crate) context: Arc<Context>,
    pub(crate) registry: Arc<PeerRegistry>,
    pub(crate) common: Arc<CommonLinkState>,
    pub(crate) inbox: Inbox,
    /// The queue for reports that a peer's process crashed or restarted, if the node wants them.
    /// Weak, so that the node ends when its last handle is dropped.
    pub(crate) suspicions: Option<mpsc::WeakUnboundedSender<ControlInput>>,
    /// Starts the tasks of new peers.
    pub(crate) new_tasks: mpsc::UnboundedSender<Peer>,
    /// The generation of the links that the next change creates.
    pub(crate) generation: Generation,
}

/// The effect of a change of the set of peers.
pub(crate) struct PeerChanges {
    pub(crate) added: Vec<(NodeId, Arc<LinkHandle>)>,
    pub(crate) removed: Vec<NodeId>,
}

impl Peers {
    /// Replaces the set of peers. A peer in both sets keeps its link, and its task dials a changed
    /// address. The caller closes the links of the removed peers. `suspected` are the nodes that
    /// connections of this node have reported as crashed.
    pub(crate) fn replace(
        &mut self,
        mut addresses: BTreeMap<NodeId, String>,
        suspected: &BTreeSet<NodeId>,
    ) -> PeerChanges {
        addresses.remove(&self.context.terms.me);
        let registry = Arc::clone(&self.registry);
        let mut peers = registry.peers();
        let removed: Vec<NodeId> = peers.keys().filter(|node| !addresses.contains_key(node)).copied().collect();
        for peer in removed.iter().filter_map(|node| peers.remove(node)) {
            peer.link.mark_removed();
        }
        let mut added = Vec::new();
        for (node, address) in addresses {
            if let Some(peer) = peers.get(&node) {
                peer.address.send_if_modified(|known| {
                    let is_new = *known != address;
                    *known = address;
                    is_new
                });
            } else {
                let peer = self.start(node, address, suspected.contains(&node));
                added.push((node, Arc::clone(&peer.link)));
                peers.insert(node, peer);
            }
        }
        self.generation = self.generation.next();
        PeerChanges { added, removed }
    }

    /// Creates the link to a new peer and starts its task.
    fn start(&self, node: NodeId, address: String, is_suspected: bool) -> RegisteredPeer {
        let (context, limits) = (&self.context, self.context.limits);
        let (me, group) = (context.terms.me, context.terms.group.number());
        let end = LinkEnd { incarnation: context.incarnation, generation: self.generation };
        let link_limits = LinkLimits {
            crowded_bytes: limits.crowded_bytes,
            max_held_bytes: limits.max_held_bytes,
            max_message_bytes: limits.max_message_bytes,
        };
        let origin = Origin { group, node: me, end };
        let link = Arc::new(LinkHandle::new(origin, node, link_limits, Arc::clone(&self.common)));
        let (incoming, incoming_receiver) = mpsc::channel(MAX_PENDING_PER_PEER);
        let (address, address_receiver) = watch::channel(address);
        let task = Peer {
            context: Arc::clone(context),
            node,
            address: address_receiver,
            link: Arc::clone(&link),
            end,
            election: ConnectionElection::new(me, end, node),
            incoming: incoming_receiver,
            inbox: self.inbox.clone(),
            last_error: String::new(),
            suspicions: self.suspicions.as_ref().and_then(mpsc::WeakUnboundedSender::upgrade),
            reachability: if is_suspected { PeerReachability::Down } else { PeerReachability::Unknown },
            has_connected_at_address: false,
        };
        // Sending fails only if the node has ended.
        let _ = self.new_tasks.send(task);
        RegisteredPeer { link, incoming, address }
    }
}
