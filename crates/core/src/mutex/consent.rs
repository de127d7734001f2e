//! The state shared by the algorithms in which a node enters once all other nodes consent.
//!
//! This is Ricart–Agrawala without its messages: the stamp of our own request, its priority over
//! other requests, the requests we defer, and the contents of a consent. Each algorithm adds the
//! messages by which nodes request and send consents, and names the rules it applies.

use super::prelude::*;

/// A node's own request and the requests it defers. `M` is the algorithm's record of the consents
/// that a waiting request still lacks.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct ConsentState<M> {
    config: Fixed<Config>,
    clock: Clock,
    /// The largest fence that this node knows.
    fence: Fence,
    phase: Phase<Waiting<M>, Claim>,
    /// The requests that wait until ours ends.
    deferred_requests: BTreeSet<Stamp>,
}

#[derive(Debug)]
struct Config {
    me: NodeId,
    group: Group,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Waiting<M> {
    claim: Claim,
    patience: Patience,
    /// The consents that the request still lacks.
    missing_consents: M,
}

/// The part of a request that decides which of two requests goes first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Claim {
    pub(crate) stamp: Stamp,
    pub(crate) access: Access,
}

impl Claim {
    pub(crate) const fn exclusive(stamp: Stamp) -> Self {
        Self { stamp, access: Access::Exclusive }
    }
}

/// Our answer to a request that arrives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Decision {
    /// Consent now.
    Consent,
    /// Consent once our own request, which goes first, has ended.
    Defer { ours: Stamp },
    /// Deny: the request is a try, and our own request goes first.
    Deny,
}

/// A consent: the sender has no objection to the entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Reply {
    /// The stamp of the request that this answers.
    #[cfg_attr(feature = "serde", serde(rename = "to"))]
    pub request: Stamp,
    /// The sender's clock.
    pub clock: Clock,
    /// The largest fence that the sender knows.
    pub fence: Fence,
}

impl Reply {
    pub(crate) const fn floor(&self) -> Floor {
        Floor { clock: self.clock, fence: self.fence }
    }
}

/// The denial of a try that would have to wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Denial {
    /// The stamp of the try that this answers.
    #[cfg_attr(feature = "serde", serde(rename = "to"))]
    pub request: Stamp,
    /// The sender's clock.
    pub clock: Clock,
}

impl<M> ConsentState<M> {
    /// An idle node of this group that has received no message yet.
    pub(crate) fn new(me: NodeId, group: Group) -> Self {
        Self {
            config: Fixed::new(Config { me, group }),
            clock: Clock::default(),
            fence: Fence::default(),
            phase: Phase::Idle,
            deferred_requests: BTreeSet::new(),
        }
    }

    pub(crate) const fn client_state(&self) -> ClientState {
        match &self.phase {
            Phase::Idle => ClientState::Idle,
            Phase::Waiting(Waiting { claim: Claim { stamp, access }, patience, .. }) => {
                ClientState::Waiting { requested_at: stamp.clock, patience: *patience, access: *access }
            }
            Phase::Inside(claim) => ClientState::Inside(claim.access),
        }
    }

    /// Resets the node to a member of a new view: in the critical section if it was there before,
    /// otherwise idle. The caller then raises the floor, since the clock and fence are reset too.
    pub(crate) fn begin_view(&mut self, me: NodeId, start: &ViewStart) {
        *self = Self::new(me, start.group().clone());
        if let Some(access) = start.inside_access(me) {
            self.phase = Phase::Inside(Claim { stamp: start.inside_stamp(me), access });
        }
    }

    pub(crate) fn me(&self) -> NodeId {
        self.config.me
    }

    pub(crate) fn group(&self) -> &Group {
        &self.config.group
    }

    pub(crate) fn others(&self) -> impl Iterator<Item = NodeId> + '_ {
        self.config.group.others(self.config.me)
    }

    pub(crate) const fn interpret(&self, command: Command) -> Intent {
        self.phase.interpret(command)
    }

    /// Starts a request for our idle client. Its stamp is larger than every stamp received so far.
    pub(crate) fn request(&mut self, patience: Patience, access: Access, missing_consents: M) -> Stamp {
        let stamp = Stamp { clock: self.clock.tick(), node: self.config.me };
        self.phase = Phase::Waiting(Waiting { claim: Claim { stamp, access }, patience, missing_consents });
        stamp
    }

    /// Decides about a request that arrives, and records a deferred one. [`end`](Self::end) returns
    /// the replies to deferred requests.
    pub(crate) fn on_request(&mut self, request: Claim, patience: Patience) -> Decision {
        self.clock.witness(request.stamp.clock);
        match (self.own_request_ahead_of(request), patience) {
            (None, Patience::Wait | Patience::Try) => Decision::Consent,
            (Some(ours), Patience::Wait) => {
                self.deferred_requests.insert(request.stamp);
                Decision::Defer { ours }
            }
            (Some(_), Patience::Try) => Decision::Deny,
        }
    }

    /// Returns the stamp of our own request if it goes before `other`: the two conflict, and we are
    /// in the critical section or our request is older.
    pub(crate) fn own_request_ahead_of(&self, other: Claim) -> Option<Stamp> {
        let ours = match &self.phase {
            Phase::Inside(claim) => Some(*claim),
            Phase::Waiting(ours) if ours.claim.stamp < other.stamp => Some(ours.claim),
            Phase::Waiting(_) | Phase::Idle => None,
        };
        ours.filter(|ours| ours.access.conflicts_with(other.access)).map(|ours| ours.stamp)
    }

    #[cfg(any(test, feature = "fixtures"))]
    pub(crate) fn waiting_stamp(&self) -> Option<Stamp> {
        self.phase.waiting().map(|ours| ours.claim.stamp)
    }

    pub(crate) fn is_inside_with(&self, stamp: Stamp) -> bool {
        self.phase.inside().is_some_and(|ours| ours.stamp == stamp)
    }

    /// Returns our waiting request and the consents it still lacks, or `None` if we do not wait.
    pub(crate) const fn waiting(&mut self) -> Option<(Stamp, Patience, &mut M)> {
        match &mut self.phase {
            Phase::Waiting(ours) => Some((ours.claim.stamp, ours.patience, &mut ours.missing_consents)),
            Phase::Idle | Phase::Inside(_) => None,
        }
    }

    /// Returns our consent to a request, with our clock and fence.
    pub(crate) const fn reply(&self, request: Stamp) -> Reply {
        Reply { request, clock: self.clock, fence: self.fence }
    }

    pub(crate) const fn denial(&self, request: Stamp) -> Denial {
        Denial { request, clock: self.clock }
    }

    /// Handles a consent. Returns the record of missing consents if the consent answers our pending
    /// request. A consent for a cancelled request only advances our clock and fence.
    pub(crate) fn on_reply(&mut self, reply: Reply) -> Option<&mut M> {
        self.raise_floor(&reply.floor());
        self.waiting().filter(|(stamp, ..)| *stamp == reply.request).map(|(_, _, missing)| missing)
    }

    /// Handles a denial. Returns the record of missing consents if the denial answers the try we
    /// wait with.
    pub(crate) fn on_denial(&mut self, denial: Denial) -> Option<&mut M> {
        self.clock.witness(denial.clock);
        let ours = self.waiting().filter(|(stamp, patience, _)| (*stamp, *patience) == (denial.request, Patience::Try));
        ours.map(|(_, _, missing)| missing)
    }

    /// Enters if we wait and no consent is missing, which `is_complete` decides. Returns the stamp
    /// of our request and the fence of the entry, or `None` if the node does not enter. The fence
    /// is larger than every fence known to the nodes that consented.
    pub(crate) fn enter_if(&mut self, is_complete: impl FnOnce(&M) -> bool) -> Option<(Stamp, Fence)> {
        let Phase::Waiting(Waiting { claim, missing_consents, .. }) = &self.phase else { return None };
        if !is_complete(missing_consents) {
            return None;
        }
        let claim = *claim;
        self.phase = Phase::Inside(claim);
        self.fence = self.fence.next();
        Some((claim.stamp, self.fence))
    }

    /// Ends our request or entry: the client released or cancelled, or the try was denied. Returns
    /// our consents to the deferred requests.
    pub(crate) fn end(&mut self) -> impl Iterator<Item = Reply> + use<M> {
        self.phase.end();
        let (clock, fence) = (self.clock, self.fence);
        core::mem::take(&mut self.deferred_requests).into_iter().map(move |request| Reply { request, clock, fence })
    }

    /// Returns whether our client is idle. An idle node defers no request.
    pub(crate) const fn is_idle(&self) -> bool {
        self.phase.is_idle()
    }

    /// Returns the clock and fence that a later state of the same resource must start from.
    pub(crate) const fn floor(&self) -> Floor {
        Floor { clock: self.clock, fence: self.fence }
    }

    pub(crate) fn raise_floor(&mut self, floor: &Floor) {
        self.clock.witness(floor.clock);
        self.fence.raise(floor.fence);
    }

    /// Asserts the invariants that hold between steps. `is_complete` returns whether no consent is
    /// missing.
    pub(crate) fn assert_invariants(&self, is_complete: impl FnOnce(&M) -> bool) {
        let ours = match &self.phase {
            Phase::Idle => {
                debug_assert!(self.deferred_requests.is_empty(), "an idle node defers no request");
                return;
            }
            Phase::Waiting(Waiting { claim, missing_consents, .. }) => {
                debug_assert!(!is_complete(missing_consents), "a node with all consents is in the critical section");
                claim.stamp
            }
            Phase::Inside(claim) => claim.stamp,
        };
        debug_assert!(ours.clock <= self.clock, "our stamp is not ahead of our clock");
    }
}

/// Implements [`OneOfMany`](crate::wrap::OneOfMany), so that the wrapper `Many` can run the
/// algorithm once per resource, for an algorithm that needs no state but its `consent` between two
/// requests.
macro_rules! one_of_many {
    ($algorithm:ty) => {
        impl $crate::wrap::OneOfMany for $algorithm {
            type Floor = $crate::mutex::Floor;

            fn holds_only_floor(&self) -> bool {
                self.consent.is_idle()
            }

            fn floor(&self) -> Self::Floor {
                self.consent.floor()
            }

            fn raise_floor(&mut self, floor: &Self::Floor) {
                self.consent.raise_floor(floor);
            }
        }
    };
}
pub(super) use one_of_many;

/// Implements `OneOfMany` and also `ViewTransition`: a waiting node becomes idle, and
/// `InViews::resume` repeats its request to the members of the new view, with a stamp that keeps
/// the old order.
macro_rules! one_of_many_in_views {
    ($algorithm:ty) => {
        $crate::mutex::consent::one_of_many!($algorithm);

        impl $crate::mutex::ViewTransition for $algorithm {
            fn client_state(&self) -> $crate::mutex::ClientState {
                self.consent.client_state()
            }

            fn begin_view(&mut self, me: $crate::NodeId, start: &$crate::mutex::ViewStart) {
                self.consent.begin_view(me, start);
            }
        }
    };
}
pub(super) use one_of_many_in_views;
