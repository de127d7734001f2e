//! Fault budgets: how many faults may still occur, and what each move costs.

/// How many faults of each kind may still occur.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Budgets {
    pub(crate) losses: u8,
    pub(crate) duplicates: u8,
    pub(crate) crashes: u8,
    pub(crate) restarts: u8,
    /// How many timers may fire while messages are in flight.
    pub(crate) early_timers: u8,
    /// How many members the group may lose.
    pub(crate) changes: u8,
}

pub(crate) const MAX_FAULTS: u8 = 31;

/// The budget that a move draws on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cost {
    Free,
    Crash,
    /// A member crashes, so that a view without it is due.
    MemberCrash,
    Restart,
    EarlyTimer,
    Change,
}

impl Budgets {
    pub(crate) fn pack(self) -> u32 {
        let Self { losses, duplicates, crashes, restarts, early_timers, changes } = self;
        [changes, losses, duplicates, crashes, restarts, early_timers]
            .into_iter()
            .fold(0, |packed, budget| packed << 5 | u32::from(budget))
    }

    pub(crate) fn unpack(packed: u32) -> Self {
        let at = |place: u32| (packed >> (5 * place)) as u8 & MAX_FAULTS;
        Self { changes: at(5), losses: at(4), duplicates: at(3), crashes: at(2), restarts: at(1), early_timers: at(0) }
    }

    /// Whether any fault other than an early timer may still occur.
    pub(crate) fn any_faults(self) -> bool {
        self.losses > 0 || self.duplicates > 0 || self.crashes > 0 || self.restarts > 0 || self.changes > 0
    }

    /// Returns what is left after a move of this cost; `None` if there is not enough.
    pub(crate) fn after(self, cost: Cost) -> Option<Self> {
        Some(match cost {
            Cost::Free => self,
            Cost::Crash => Self { crashes: self.crashes.checked_sub(1)?, ..self },
            Cost::MemberCrash => {
                Self { crashes: self.crashes.checked_sub(1)?, changes: self.changes.checked_sub(1)?, ..self }
            }
            Cost::Restart => Self { restarts: self.restarts.checked_sub(1)?, ..self },
            Cost::EarlyTimer => Self { early_timers: self.early_timers.checked_sub(1)?, ..self },
            Cost::Change => Self { changes: self.changes.checked_sub(1)?, ..self },
        })
    }
}

#[cfg(test)]
mod tests {
    use super::{Budgets, Cost, MAX_FAULTS};

    #[test]
    fn every_budget_survives_packing() {
        let budgets =
            Budgets { losses: 1, duplicates: 2, crashes: 3, restarts: 4, early_timers: 5, changes: MAX_FAULTS };
        assert_eq!(Budgets::unpack(budgets.pack()), budgets);
    }

    #[test]
    fn a_budget_is_spent_only_once() {
        let budgets = Budgets { crashes: 2, changes: 1, ..Budgets::default() };
        let once = budgets.after(Cost::MemberCrash).unwrap();
        assert_eq!(once, Budgets { crashes: 1, ..Budgets::default() });
        assert_eq!(once.after(Cost::MemberCrash), None);
        assert_eq!(once.after(Cost::Crash), Some(Budgets::default()));
    }
}
