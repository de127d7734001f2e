//! The properties that an ordered multicast may promise, and sets of them.

use quorate_journal::property::PropertyKind;
use serde::{Deserialize, Serialize};

/// A property that a multicast may promise.
///
/// A *survivor of a view* is a node that began the view and moves on to a later one, or is up and
/// in the view at the end. In a group without views all members are in the only view from the
/// start, and a restarted node is no longer a member.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Property {
    /// A node delivers a message at most once, only if its sender sent it, and with the payload
    /// that was sent.
    Integrity,
    /// A message that one survivor of a view delivers in it is delivered by every survivor of the
    /// view.
    Agreement,
    /// Every survivor of a view delivers the messages that it sent in the view.
    Validity,
    /// A node that delivers a message has delivered all earlier messages of its sender in the view.
    Fifo,
    /// A node that delivers a message has delivered all messages that its sender had sent or
    /// delivered before in the view.
    Causal,
    /// Two nodes that both deliver two messages deliver them in the same order.
    ///
    /// Judged among the survivors of a view and the nodes whose process ended in an orderly way: a
    /// node that crashes may have delivered messages that no other node received, and the survivors
    /// may then choose another order. With uniform delivery, crashed nodes are judged as well.
    Total,
    /// A message that any node delivers in a view, even one that crashes, is delivered by every
    /// survivor of the view.
    Uniform,
    /// Nodes that move from one view to the same next view have delivered the same messages of the
    /// earlier view; a message is delivered in the view in which it was sent; all nodes that begin
    /// a view are members of it, and agree on its members and on the state that they begin it with;
    /// no node returns to an earlier view.
    ViewSynchrony,
    /// In the end, every survivor of a view has delivered all messages of survivors and of members
    /// that left voluntarily; every member of the last view has begun it; every request to send is
    /// answered.
    Delivered,
}

impl Property {
    /// All properties, in report order.
    pub const ALL: [Self; 9] = [
        Self::Integrity,
        Self::Agreement,
        Self::Validity,
        Self::Fifo,
        Self::Causal,
        Self::Total,
        Self::Uniform,
        Self::ViewSynchrony,
        Self::Delivered,
    ];

    pub const fn name(self) -> &'static str {
        match self {
            Self::Integrity => "integrity",
            Self::Agreement => "agreement",
            Self::Validity => "validity",
            Self::Fifo => "fifo",
            Self::Causal => "causal",
            Self::Total => "total",
            Self::Uniform => "uniform",
            Self::ViewSynchrony => "view-synchrony",
            Self::Delivered => "delivered",
        }
    }

    /// When the property is judged. Missing deliveries can only be judged at the end.
    pub const fn kind(self) -> PropertyKind {
        match self {
            Self::Integrity | Self::Fifo | Self::Causal | Self::Total | Self::ViewSynchrony => PropertyKind::Always,
            Self::Agreement | Self::Validity | Self::Uniform | Self::Delivered => PropertyKind::Eventually,
        }
    }
}

/// A set of properties: those that an algorithm promises, or those that a run is judged by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PropertySet {
    pub integrity: bool,
    pub agreement: bool,
    pub validity: bool,
    pub fifo: bool,
    pub causal: bool,
    pub total: bool,
    pub uniform: bool,
    /// Whether the set contains [`Property::ViewSynchrony`]. If so, the group has views.
    pub views: bool,
    pub delivered: bool,
    /// Whether messages of two senders must be in flight at once in some run: the `contended`
    /// verdict. This is no [`Property`] and no promise, so neither [`Self::ALL`] nor
    /// [`Self::contains`] covers it.
    pub expects_contention: bool,
}

impl PropertySet {
    pub const NONE: Self = Self {
        integrity: false,
        agreement: false,
        validity: false,
        fifo: false,
        causal: false,
        total: false,
        uniform: false,
        views: false,
        delivered: false,
        expects_contention: false,
    };

    /// The promises of the simplest multicast: integrity, and that senders deliver their own
    /// messages.
    pub const BASIC: Self = Self { integrity: true, validity: true, ..Self::NONE };

    /// The promises of every reliable multicast without an order.
    pub const RELIABLE: Self = Self { agreement: true, delivered: true, ..Self::BASIC };

    pub const ALL: Self = Self { fifo: true, causal: true, total: true, uniform: true, views: true, ..Self::RELIABLE };

    pub fn from_slice(properties: &[Property]) -> Self {
        let has = |property| properties.contains(&property);
        Self {
            integrity: has(Property::Integrity),
            agreement: has(Property::Agreement),
            validity: has(Property::Validity),
            fifo: has(Property::Fifo),
            causal: has(Property::Causal),
            total: has(Property::Total),
            uniform: has(Property::Uniform),
            views: has(Property::ViewSynchrony),
            delivered: has(Property::Delivered),
            expects_contention: false,
        }
    }

    pub const fn contains(&self, property: Property) -> bool {
        match property {
            Property::Integrity => self.integrity,
            Property::Agreement => self.agreement,
            Property::Validity => self.validity,
            Property::Fifo => self.fifo,
            Property::Causal => self.causal,
            Property::Total => self.total,
            Property::Uniform => self.uniform,
            Property::ViewSynchrony => self.views,
            Property::Delivered => self.delivered,
        }
    }
}
