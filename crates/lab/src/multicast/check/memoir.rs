//! What a user remembers of all that was said, in one word that properties see.
//!
//! ```text
//! bit 0        its node went down, or the group went on without it
//! bit 1        the group has views
//! bits 4–7     how many messages it has to send in all
//! bits 8–63    what it did and heard, the first thing lowest, in four bits each
//! ```

use quorate_core::{Epoch, View};

/// How many messages all users together can have: each has a number of its own.
pub(super) const MOST_MESSAGES: usize = 10;
/// How many sendings and deliveries of one user can be remembered, besides its views.
pub(super) const MOST_ROOM: usize = PLACES - VIEWS.len();
/// How many members a group can go on without while all views are told apart.
pub(super) const MOST_CHANGES: u8 = VIEWS.len() as u8;

const PLACES: usize = 14;
const FOREIGN: u64 = 11;
const ASTRAY: u64 = 12;
const SENDS: u64 = 13;
const VIEWS: [u64; 2] = [14, 15];

pub(super) const GONE: u64 = 1;
pub(super) const VIEWED: u64 = 2;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Said {
    Sends,
    /// It is told the message with this number, among those of all users, from 1.
    Delivers(u8),
    /// It is told something that no user has to say.
    Foreign,
    /// It is told something in the wrong view, or a view with the wrong state.
    Astray,
    Begins(u8),
}

impl Said {
    fn packed(self) -> u64 {
        match self {
            Self::Delivers(number) => u64::from(number),
            Self::Foreign => FOREIGN,
            Self::Astray => ASTRAY,
            Self::Sends => SENDS,
            Self::Begins(later) => VIEWS.get(usize::from(later)).copied().unwrap_or(ASTRAY),
        }
    }

    fn unpacked(packed: u64) -> Option<Self> {
        match packed & 0xf {
            0 => None,
            FOREIGN => Some(Self::Foreign),
            ASTRAY => Some(Self::Astray),
            SENDS => Some(Self::Sends),
            view if view > SENDS => Some(Self::Begins((view - SENDS - 1) as u8)),
            number => Some(Self::Delivers(number as u8)),
        }
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Memoir(u64);

impl Memoir {
    /// Adds one thing. There is room for all that can be right; when it is full, something was told twice, which is remembered.
    pub(super) fn add(&mut self, said: Said) {
        let place = (0..PLACES).find(|place| self.0 >> (4 * place) & 0xf == 0);
        if let Some(place) = place {
            self.0 |= said.packed() << (4 * place);
        }
    }

    /// A view begins; of the first one nothing need be remembered.
    pub(super) fn begin(&mut self, view: Epoch) {
        if let Some(later) = view.0.checked_sub(View::FIRST.0 + 1) {
            self.add(Said::Begins(u8::try_from(later).unwrap_or(u8::MAX)));
        }
    }

    pub(super) fn shown(self, messages: u8, is_gone: bool, has_views: bool) -> u64 {
        let flag = |bit, is_set: bool| if is_set { bit } else { 0 };
        self.0 << 8 | u64::from(messages & 0xf) << 4 | flag(GONE, is_gone) | flag(VIEWED, has_views)
    }
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Shown(pub(super) u64);

impl Shown {
    pub(super) fn is_gone(self) -> bool {
        self.0 & GONE != 0
    }

    pub(super) fn has_views(self) -> bool {
        self.0 & VIEWED != 0
    }

    pub(super) fn messages(self) -> u8 {
        (self.0 >> 4 & 0xf) as u8
    }

    pub(super) fn story(self) -> impl Iterator<Item = Said> {
        (2..PLACES + 2).map_while(move |place| Said::unpacked(self.0 >> (4 * place)))
    }

    /// What it did and heard in views that it survived: all, if it is not gone, else all before its last view.
    pub(super) fn testimony(self) -> impl Iterator<Item = Said> {
        let last_view = || self.story().enumerate().filter(|(_, said)| matches!(said, Said::Begins(_))).last();
        let length = if self.is_gone() { last_view().map_or(0, |(place, _)| place) } else { PLACES };
        self.story().take(length)
    }

    /// How many views it began after the first one: the number of the last one, since nobody goes back.
    pub(super) fn later_views(self) -> usize {
        let begun = self.story().filter_map(|said| match said {
            Said::Begins(later) => Some(usize::from(later) + 1),
            Said::Sends | Said::Delivers(_) | Said::Foreign | Said::Astray => None,
        });
        begun.last().unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::{MOST_MESSAGES, MOST_ROOM, Memoir, Said, Shown};
    use quorate_core::Epoch;

    #[test]
    fn whatever_is_remembered_is_shown_in_order() {
        let mut story = vec![Said::Sends, Said::Foreign, Said::Astray, Said::Begins(0), Said::Begins(1)];
        story.extend((1..=MOST_MESSAGES as u8 - 1).map(Said::Delivers));
        let mut memoir = Memoir::default();
        story.iter().for_each(|said| memoir.add(*said));
        let shown = Shown(memoir.shown(7, true, false));
        assert_eq!(shown.story().collect::<Vec<_>>(), story);
        assert_eq!((shown.messages(), shown.is_gone(), shown.has_views()), (7, true, false));
        memoir.add(Said::Sends);
        assert_eq!(Shown(memoir.shown(7, true, false)).story().count(), story.len(), "it is full");
        const { assert!(MOST_ROOM > MOST_MESSAGES) };
    }

    #[test]
    fn the_dead_testify_to_what_they_survived() {
        let mut memoir = Memoir::default();
        memoir.begin(Epoch(1));
        memoir.add(Said::Delivers(1));
        let testimony = |memoir: Memoir, gone| Shown(memoir.shown(0, gone, true)).testimony().count();
        assert_eq!((testimony(memoir, false), testimony(memoir, true)), (1, 0));
        memoir.begin(Epoch(3));
        memoir.add(Said::Delivers(2));
        assert_eq!((testimony(memoir, false), testimony(memoir, true)), (3, 1));
        assert_eq!(Shown(memoir.shown(0, false, true)).later_views(), 2);
    }
}
