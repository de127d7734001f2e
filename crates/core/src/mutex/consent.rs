//! What all algorithms share in which a node enters once every other consents.
//!
//! It is the heart of Ricart–Agrawala without its messages: how old our own request is, whether it goes before another,
//! whom we keep waiting meanwhile, and what a consent carries. Each algorithm adds how consent is asked for and given,
//! and says by which of its rules.

use super::prelude::*;

/// Where a node stands with its own request and with those of others. `M` is what an algorithm knows of the consents
/// that a waiting request lacks.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Consent<M> {
    place: Fixed<Place>,
    clock: Clock,
    fence: Fence,
    phase: Phase<Waiting<M>, Claim>,
    /// The requests that wait for ours to end.
    deferred: BTreeSet<Stamp>,
}

#[derive(Debug)]
struct Place {
    me: NodeId,
    group: Group,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Waiting<M> {
    claim: Claim,
    patience: Patience,
    missing: M,
}

/// A request, as far as it matters who goes first.
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

/// What becomes of a request that arrives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// We consent.
    Pass,
    /// We consent when our own request, which goes first, has ended.
    Defer { ours: Stamp },
    /// It is a try, and our own request goes first: we never consent.
    Deny,
}

/// A consent: you may enter, as far as I am concerned.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Reply {
    pub to: Stamp,
    pub clock: Clock,
    pub fence: Fence,
}

impl Reply {
    pub(crate) const fn floor(&self) -> Floor {
        Floor { clock: self.clock, fence: self.fence }
    }
}

/// Not now: the answer to a try that would have to wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Denial {
    pub to: Stamp,
    pub clock: Clock,
}

impl<M> Consent<M> {
    /// A node of this group, which wants nothing and has heard of nothing.
    pub(crate) fn new(me: NodeId, group: Group) -> Self {
        Self {
            place: Fixed::new(Place { me, group }),
            clock: Clock::default(),
            fence: Fence::default(),
            phase: Phase::Idle,
            deferred: BTreeSet::new(),
        }
    }

    pub(crate) const fn standing(&self) -> Standing {
        match &self.phase {
            Phase::Idle => Standing::Idle,
            Phase::Waiting(Waiting { claim: Claim { stamp, access }, patience, .. }) => {
                Standing::Waiting { asked: stamp.clock, patience: *patience, access: *access }
            }
            Phase::Inside(claim) => Standing::Inside(claim.access),
        }
    }

    /// A member of a new view: inside if it is there, and nobody has asked for anything yet.
    pub(crate) fn begin(&mut self, me: NodeId, past: &Past) {
        *self = Self::new(me, past.group().clone());
        if let Some(access) = past.access(me) {
            self.phase = Phase::Inside(Claim { stamp: past.stamp_of(me), access });
        }
    }

    pub(crate) fn me(&self) -> NodeId {
        self.place.me
    }

    pub(crate) fn group(&self) -> &Group {
        &self.place.group
    }

    pub(crate) fn others(&self) -> impl Iterator<Item = NodeId> + '_ {
        self.place.group.others(self.place.me)
    }

    pub(crate) const fn understand(&self, command: Command) -> Wish {
        self.phase.understand(command)
    }

    /// Our user, who wants nothing so far, wants in. The request is younger than every one heard of.
    pub(crate) fn ask(&mut self, patience: Patience, access: Access, missing: M) -> Stamp {
        let stamp = Stamp { clock: self.clock.tick(), node: self.place.me };
        self.phase = Phase::Waiting(Waiting { claim: Claim { stamp, access }, patience, missing });
        stamp
    }

    /// A request arrives. If it is deferred, [`end`](Self::end) will tell of it.
    pub(crate) fn judge(&mut self, asked: Claim, patience: Patience) -> Verdict {
        self.clock.witness(asked.stamp.clock);
        match (self.ahead_of(asked), patience) {
            (None, Patience::Wait | Patience::Try) => Verdict::Pass,
            (Some(ours), Patience::Wait) => {
                self.deferred.insert(asked.stamp);
                Verdict::Defer { ours }
            }
            (Some(_), Patience::Try) => Verdict::Deny,
        }
    }

    /// Our own request if it goes before this one: if the two conflict, and we are inside with ours or it is older.
    pub(crate) fn ahead_of(&self, asked: Claim) -> Option<Stamp> {
        let ours = match &self.phase {
            Phase::Inside(claim) => Some(*claim),
            Phase::Waiting(ours) if ours.claim.stamp < asked.stamp => Some(ours.claim),
            Phase::Waiting(_) | Phase::Idle => None,
        };
        ours.filter(|ours| ours.access.conflicts(asked.access)).map(|ours| ours.stamp)
    }

    #[cfg(any(test, feature = "fixtures"))]
    pub(crate) fn waits_with(&self) -> Option<Stamp> {
        self.phase.waiting().map(|ours| ours.claim.stamp)
    }

    pub(crate) fn is_inside_with(&self, stamp: Stamp) -> bool {
        self.phase.inside().is_some_and(|ours| ours.stamp == stamp)
    }

    /// The request that we wait with, if we do, and what is missing so far.
    pub(crate) const fn waiting(&mut self) -> Option<(Stamp, Patience, &mut M)> {
        match &mut self.phase {
            Phase::Waiting(ours) => Some((ours.claim.stamp, ours.patience, &mut ours.missing)),
            Phase::Idle | Phase::Inside(_) => None,
        }
    }

    /// Our consent to a request, with all that its node must know.
    pub(crate) const fn reply(&self, to: Stamp) -> Reply {
        Reply { to, clock: self.clock, fence: self.fence }
    }

    pub(crate) const fn denial(&self, to: Stamp) -> Denial {
        Denial { to, clock: self.clock }
    }

    /// A consent arrives. Tells what is missing so far if it is for the request that we wait with: one that answers
    /// a request given up long ago counts for nothing.
    pub(crate) fn hear(&mut self, reply: Reply) -> Option<&mut M> {
        self.raise(&reply.floor());
        self.waiting().filter(|(stamp, ..)| *stamp == reply.to).map(|(_, _, missing)| missing)
    }

    /// A denial arrives. Tells what is missing so far if it is for the try that we wait with.
    pub(crate) fn hear_denial(&mut self, denial: Denial) -> Option<&mut M> {
        self.clock.witness(denial.clock);
        let ours = self.waiting().filter(|(stamp, patience, _)| (*stamp, *patience) == (denial.to, Patience::Try));
        ours.map(|(_, _, missing)| missing)
    }

    /// Enters if we wait and nothing is missing any more. The fence is larger than every one that those who consent
    /// know of.
    pub(crate) fn enter_if(&mut self, complete: impl FnOnce(&M) -> bool) -> Option<(Stamp, Fence)> {
        let Phase::Waiting(Waiting { claim, missing, .. }) = &self.phase else { return None };
        if !complete(missing) {
            return None;
        }
        let claim = *claim;
        self.phase = Phase::Inside(claim);
        self.fence = self.fence.next();
        Some((claim.stamp, self.fence))
    }

    /// Our user left, gave up or was denied. Returns our consents to those who waited for that.
    pub(crate) fn end(&mut self) -> impl Iterator<Item = Reply> + use<M> {
        self.phase.end();
        let (clock, fence) = (self.clock, self.fence);
        core::mem::take(&mut self.deferred).into_iter().map(move |to| Reply { to, clock, fence })
    }

    /// Whether our user wants nothing, and so nobody waits for us.
    pub(crate) const fn is_idle(&self) -> bool {
        self.phase.is_idle()
    }

    /// What is known, and what a later instance for the same name must not fall below.
    pub(crate) const fn floor(&self) -> Floor {
        Floor { clock: self.clock, fence: self.fence }
    }

    pub(crate) fn raise(&mut self, floor: &Floor) {
        self.clock.witness(floor.clock);
        self.fence.raise(floor.fence);
    }

    /// Whether what must hold between steps does. `complete` tells when nothing is missing.
    pub(crate) fn assert_invariants(&self, complete: impl FnOnce(&M) -> bool) {
        let ours = match &self.phase {
            Phase::Idle => {
                debug_assert!(self.deferred.is_empty(), "nobody waits for one who wants nothing");
                return;
            }
            Phase::Waiting(Waiting { claim, missing, .. }) => {
                debug_assert!(!complete(missing), "who has everyone's consent is inside");
                claim.stamp
            }
            Phase::Inside(claim) => claim.stamp,
        };
        debug_assert!(ours.clock <= self.clock, "our stamp is of our own past");
    }
}

/// Forgets and remembers an algorithm's instance by its `consent`, which has all that it knows.
macro_rules! one_of_many {
    ($algorithm:ty) => {
        impl $crate::wrap::OneOfMany for $algorithm {
            type Floor = $crate::mutex::Floor;

            fn is_idle(&self) -> bool {
                self.consent.is_idle()
            }

            fn floor(&self) -> Self::Floor {
                self.consent.floor()
            }

            fn raise(&mut self, floor: &Self::Floor) {
                self.consent.raise(floor);
            }
        }
    };
}
pub(super) use one_of_many;

/// The same, and how it goes from one view to the next: those who wait ask the members of the new one anew, in the old order.
macro_rules! one_of_many_in_views {
    ($algorithm:ty) => {
        $crate::mutex::consent::one_of_many!($algorithm);

        impl $crate::mutex::Succession for $algorithm {
            fn standing(&self) -> $crate::mutex::Standing {
                self.consent.standing()
            }

            fn begin(&mut self, me: $crate::NodeId, past: &$crate::mutex::Past) {
                self.consent.begin(me, past);
            }
        }
    };
}
pub(super) use one_of_many_in_views;
