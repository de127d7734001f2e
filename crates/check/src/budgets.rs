//! How much may still go wrong, and what each move takes of it.

/// How much may still go wrong, each kind up to its bound.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Budgets {
    pub(crate) losses: u8,
    pub(crate) duplicates: u8,
    pub(crate) crashes: u8,
    pub(crate) restarts: u8,
    /// How many timers may fire although messages are under way.
    pub(crate) hasty_timers: u8,
    /// How many members the group may go on without.
    pub(crate) changes: u8,
}

pub(crate) const MOST_FAULTS: u8 = 31;

/// What a move takes of the budgets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Price {
    Nothing,
    Crash,
    /// A member goes down, so that a view without it is due.
    CrashOfMember,
    Restart,
    HastyTimer,
    Change,
}

impl Budgets {
    pub(crate) fn pack(self) -> u32 {
        let Self { losses, duplicates, crashes, restarts, hasty_timers, changes } = self;
        [changes, losses, duplicates, crashes, restarts, hasty_timers]
            .into_iter()
            .fold(0, |packed, budget| packed << 5 | u32::from(budget))
    }

    pub(crate) fn unpack(packed: u32) -> Self {
        let at = |place: u32| (packed >> (5 * place)) as u8 & MOST_FAULTS;
        Self { changes: at(5), losses: at(4), duplicates: at(3), crashes: at(2), restarts: at(1), hasty_timers: at(0) }
    }

    /// Whether anything but a timer can still go wrong.
    pub(crate) fn any_faults(self) -> bool {
        self.losses > 0 || self.duplicates > 0 || self.crashes > 0 || self.restarts > 0 || self.changes > 0
    }

    /// What is left when this is paid, if there is enough.
    pub(crate) fn after(self, price: Price) -> Option<Self> {
        Some(match price {
            Price::Nothing => self,
            Price::Crash => Self { crashes: self.crashes.checked_sub(1)?, ..self },
            Price::CrashOfMember => {
                Self { crashes: self.crashes.checked_sub(1)?, changes: self.changes.checked_sub(1)?, ..self }
            }
            Price::Restart => Self { restarts: self.restarts.checked_sub(1)?, ..self },
            Price::HastyTimer => Self { hasty_timers: self.hasty_timers.checked_sub(1)?, ..self },
            Price::Change => Self { changes: self.changes.checked_sub(1)?, ..self },
        })
    }
}

#[cfg(test)]
mod tests {
    use super::{Budgets, MOST_FAULTS, Price};

    #[test]
    fn every_budget_survives_packing() {
        let budgets =
            Budgets { losses: 1, duplicates: 2, crashes: 3, restarts: 4, hasty_timers: 5, changes: MOST_FAULTS };
        assert_eq!(Budgets::unpack(budgets.pack()), budgets);
    }

    #[test]
    fn nothing_is_paid_twice_with_the_same_budget() {
        let budgets = Budgets { crashes: 2, changes: 1, ..Budgets::default() };
        let once = budgets.after(Price::CrashOfMember).unwrap();
        assert_eq!(once, Budgets { crashes: 1, ..Budgets::default() });
        assert_eq!(once.after(Price::CrashOfMember), None);
        assert_eq!(once.after(Price::Crash), Some(Budgets::default()));
    }
}
