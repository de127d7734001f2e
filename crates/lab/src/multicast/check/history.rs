//! The history of one client, packed into a word: the client's facet, which properties inspect.
//!
//! ```text
//! bit 0        the client is gone: its node crashed, may not act, or was removed by the group
//! bit 1        the group has views
//! bits 4–7     total number of messages that the client has to send
//! bits 8–63    the client's events in four bits each, the first one lowest
//! ```

use quorate_core::{Epoch, View};

/// Maximum number of messages of all clients together. Each message has its own number.
pub(super) const MAX_MESSAGES: usize = 10;
/// Maximum number of sends and deliveries in the history of one client, besides its views.
pub(super) const MAX_EVENTS: usize = SLOTS - VIEW_CODES.len();
/// Maximum number of view changes in a run, because each view after the first needs a code.
pub(super) const MAX_VIEW_CHANGES: u8 = VIEW_CODES.len() as u8;

/// Number of events that fit into a history.
const SLOTS: usize = 14;
/// Codes of events. A delivery has the number of its message as its code, and 0 is an empty slot.
const DELIVERS_UNKNOWN: u64 = 11;
const WRONG_VIEW: u64 = 12;
const SENDS: u64 = 13;
const VIEW_CODES: [u64; 2] = [14, 15];

/// Flags: bits 0 and 1 of a facet.
pub(super) const GONE: u64 = 1;
pub(super) const HAS_VIEWS: u64 = 2;

/// An event in the history of a client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum HistoryEvent {
    Sends,
    /// The client delivers the message with this number, among those of all clients, from 1.
    Delivers(u8),
    /// The client delivers a message that no client has to send.
    DeliversUnknown,
    /// The client delivers a message in the wrong view, or begins a wrong view: an old one, one of
    /// which its node is not a member, one with the wrong state, or one without a code.
    WrongView,
    /// The client begins a view after the first one, numbered from 0.
    BeginsView(u8),
}

impl HistoryEvent {
    fn pack(self) -> u64 {
        match self {
            Self::Delivers(number) => u64::from(number),
            Self::DeliversUnknown => DELIVERS_UNKNOWN,
            Self::WrongView => WRONG_VIEW,
            Self::Sends => SENDS,
            Self::BeginsView(index) => VIEW_CODES.get(usize::from(index)).copied().unwrap_or(WRONG_VIEW),
        }
    }

    fn unpack(packed: u64) -> Option<Self> {
        match packed & 0xf {
            0 => None,
            DELIVERS_UNKNOWN => Some(Self::DeliversUnknown),
            WRONG_VIEW => Some(Self::WrongView),
            SENDS => Some(Self::Sends),
            view if view > SENDS => Some(Self::BeginsView((view - SENDS - 1) as u8)),
            number => Some(Self::Delivers(number as u8)),
        }
    }
}

/// The events of one client, packed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct History(u64);

impl History {
    /// Appends an event; a full history ignores it. All correct histories fit, so an ignored event
    /// follows a violation, such as a duplicate delivery.
    pub(super) fn add(&mut self, event: HistoryEvent) {
        let slot = (0..SLOTS).find(|slot| self.0 >> (4 * slot) & 0xf == 0);
        if let Some(slot) = slot {
            self.0 |= event.pack() << (4 * slot);
        }
    }

    /// Records that a view begins. The first view is implicit. A view without a code, which
    /// [`MAX_VIEW_CHANGES`] excludes, is recorded as [`HistoryEvent::WrongView`].
    pub(super) fn begin_view(&mut self, view: Epoch) {
        if let Some(index) = view.0.checked_sub(View::FIRST.0 + 1) {
            self.add(HistoryEvent::BeginsView(u8::try_from(index).unwrap_or(u8::MAX)));
        }
    }

    /// Packs the history with these flags into one word, which [`Facet`] reads.
    pub(super) fn to_facet(self, messages: u8, is_gone: bool, has_views: bool) -> u64 {
        let flag = |bit, is_set: bool| if is_set { bit } else { 0 };
        self.0 << 8 | u64::from(messages & 0xf) << 4 | flag(GONE, is_gone) | flag(HAS_VIEWS, has_views)
    }
}

/// The packed history of a client with its flags, as properties see it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Facet(pub(super) u64);

impl Facet {
    pub(super) fn is_gone(self) -> bool {
        self.0 & GONE != 0
    }

    pub(super) fn has_views(self) -> bool {
        self.0 & HAS_VIEWS != 0
    }

    pub(super) fn messages(self) -> u8 {
        (self.0 >> 4 & 0xf) as u8
    }

    pub(super) fn events(self) -> impl Iterator<Item = HistoryEvent> {
        // The first two slots contain the flags and the number of messages.
        (2..SLOTS + 2).map_while(move |slot| HistoryEvent::unpack(self.0 >> (4 * slot)))
    }

    /// The events in views that the client survived: all of its events, or those before its last
    /// view if it is gone.
    pub(super) fn surviving_events(self) -> impl Iterator<Item = HistoryEvent> {
        let last_view =
            || self.events().enumerate().filter(|(_, event)| matches!(event, HistoryEvent::BeginsView(_))).last();
        let count = if self.is_gone() { last_view().map_or(0, |(slot, _)| slot) } else { SLOTS };
        self.events().take(count)
    }

    /// How often the group's view had changed when the client's last view began. A client may skip
    /// views, and never returns to an earlier one.
    pub(super) fn view_changes(self) -> usize {
        let change_counts = self.events().filter_map(|event| match event {
            HistoryEvent::BeginsView(index) => Some(usize::from(index) + 1),
            HistoryEvent::Sends
            | HistoryEvent::Delivers(_)
            | HistoryEvent::DeliversUnknown
            | HistoryEvent::WrongView => None,
        });
        change_counts.last().unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::{Facet, History, HistoryEvent, MAX_EVENTS, MAX_MESSAGES};
    use quorate_core::Epoch;

    #[test]
    fn a_history_keeps_the_order_of_events() {
        let mut events = vec![
            HistoryEvent::Sends,
            HistoryEvent::DeliversUnknown,
            HistoryEvent::WrongView,
            HistoryEvent::BeginsView(0),
            HistoryEvent::BeginsView(1),
        ];
        // With these nine deliveries, the events fill all slots.
        events.extend((1..=MAX_MESSAGES as u8 - 1).map(HistoryEvent::Delivers));
        let mut history = History::default();
        events.iter().for_each(|event| history.add(*event));
        let (messages, is_gone, has_views) = (7, true, false);
        let facet = Facet(history.to_facet(messages, is_gone, has_views));
        assert_eq!(facet.events().collect::<Vec<_>>(), events);
        assert_eq!((facet.messages(), facet.is_gone(), facet.has_views()), (messages, is_gone, has_views));
        history.add(HistoryEvent::Sends);
        assert_eq!(
            Facet(history.to_facet(messages, is_gone, has_views)).events().count(),
            events.len(),
            "the history is full"
        );
        const { assert!(MAX_EVENTS > MAX_MESSAGES) };
    }

    #[test]
    fn gone_clients_count_in_views_that_they_survived() {
        // The first view has epoch 1, and is not recorded as an event.
        let mut history = History::default();
        history.begin_view(Epoch(1));
        history.add(HistoryEvent::Delivers(1));
        let facet = |history: History, is_gone| {
            let (messages, has_views) = (0, true);
            Facet(history.to_facet(messages, is_gone, has_views))
        };
        let (live, gone) = (false, true);
        let surviving = |history, is_gone| facet(history, is_gone).surviving_events().count();
        assert_eq!((surviving(history, live), surviving(history, gone)), (1, 0));
        history.begin_view(Epoch(3));
        history.add(HistoryEvent::Delivers(2));
        assert_eq!((surviving(history, live), surviving(history, gone)), (3, 1));
        assert_eq!(facet(history, live).view_changes(), 2);
    }
}
