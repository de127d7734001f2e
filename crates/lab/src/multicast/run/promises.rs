//! What an ordered multicast may promise, by name.

use quorate_journal::property::Kind;
use serde::{Deserialize, Serialize};

/// One thing that a multicast may promise.
///
/// A *survivor of a view* is a node that began the view and goes on into a later one, or is up and in the view at the end. In a
/// group without views everyone is in the one view from the start, and whoever comes back from a crash is no member.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Property {
    /// A node delivers a message at most once, only if its sender sent it, and as it was sent.
    Integrity,
    /// What one survivor of a view delivers in it, every survivor of the view does.
    Agreement,
    /// What a survivor of a view sent in it, it delivers itself.
    Validity,
    /// Whoever delivers a message has delivered all that its sender sent before, in the view.
    Fifo,
    /// Whoever delivers a message has delivered all that its sender had sent or delivered before, in the view.
    Causal,
    /// Two who both deliver two messages deliver them in the same order.
    ///
    /// Judged among the survivors of a view, because one that dies may have delivered what the others never heard of, and the
    /// others are then free to choose another order. Where delivery is uniform there is no such excuse, and the dead are
    /// judged as well.
    Total,
    /// What anybody delivers in a view, even one that dies, every survivor of the view does.
    Uniform,
    /// Those who go from one view into the same next one have delivered the same in between; a message is delivered in the
    /// view it was sent in; all who begin a view agree on who is in and on the state; nobody goes back.
    ViewSynchrony,
    /// In the end all that survivors of a view sent, and all that those sent who left as they had asked, is delivered by every
    /// survivor; whoever is in the last view has begun it; every request to send is answered.
    Delivered,
}

impl Property {
    /// All of them, in the order in which they are reported.
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

    /// When it is judged. What somebody has not delivered yet, it may still deliver: only the end tells.
    pub const fn kind(self) -> Kind {
        match self {
            Self::Integrity | Self::Fifo | Self::Causal | Self::Total | Self::ViewSynchrony => Kind::Always,
            Self::Agreement | Self::Validity | Self::Uniform | Self::Delivered => Kind::Eventually,
        }
    }
}

/// Which of them an algorithm promises, or somebody wants to know of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Promises {
    pub integrity: bool,
    pub agreement: bool,
    pub validity: bool,
    pub fifo: bool,
    pub causal: bool,
    pub total: bool,
    pub uniform: bool,
    /// [`Property::ViewSynchrony`]. The group has views.
    pub views: bool,
    pub delivered: bool,
    /// Several send, so their messages should meet: two of different senders are under way at once.
    pub contention: bool,
}

impl Promises {
    pub const NOTHING: Self = Self {
        integrity: false,
        agreement: false,
        validity: false,
        fifo: false,
        causal: false,
        total: false,
        uniform: false,
        views: false,
        delivered: false,
        contention: false,
    };

    /// What the plainest multicast keeps: nothing is made up, and one's own words are heard.
    pub const BASIC: Self = Self { integrity: true, validity: true, ..Self::NOTHING };

    /// What every reliable multicast keeps, in no particular order.
    pub const RELIABLE: Self = Self { agreement: true, delivered: true, ..Self::BASIC };

    pub const EVERYTHING: Self =
        Self { fifo: true, causal: true, total: true, uniform: true, views: true, ..Self::RELIABLE };

    pub fn of(properties: &[Property]) -> Self {
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
            contention: false,
        }
    }

    pub const fn has(&self, property: Property) -> bool {
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
