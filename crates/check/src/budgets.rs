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
    /// How many more times a lease may end (even if it is renewed), a member with a valid lease may
    /// crash, or the membership service may remove a member that is up with a valid lease.
    pub(crate) view_changes: u8,
}

/// Number of bits of a packed budget.
const BUDGET_BITS: u32 = 5;
/// Maximum number of faults of each kind.
pub const MAX_FAULTS: u8 = (1 << BUDGET_BITS) - 1;

/// What a move or the removal of a member takes from the budgets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cost {
    Free,
    Crash,
    /// A member with a valid lease crashes, which also draws on the budget of view changes.
    MemberCrash,
    Restart,
    EarlyTimer,
    ViewChange,
}

impl Budgets {
    pub(crate) fn pack(self) -> u32 {
        let Self { losses, duplicates, crashes, restarts, early_timers, view_changes } = self;
        [view_changes, losses, duplicates, crashes, restarts, early_timers]
            .into_iter()
            .fold(0, |packed, budget| packed << BUDGET_BITS | u32::from(budget))
    }

    pub(crate) fn unpack(packed: u32) -> Self {
        let budget = |index: u32| (packed >> (BUDGET_BITS * index)) as u8 & MAX_FAULTS;
        Self {
            view_changes: budget(5),
            losses: budget(4),
            duplicates: budget(3),
            crashes: budget(2),
            restarts: budget(1),
            early_timers: budget(0),
        }
    }

    /// Whether any fault other than an early timer may still occur.
    pub(crate) fn has_faults(self) -> bool {
        self.losses > 0 || self.duplicates > 0 || self.crashes > 0 || self.restarts > 0 || self.view_changes > 0
    }

    /// Returns the budgets that remain after this cost; `None` if they do not suffice for it.
    pub(crate) fn remaining_after(self, cost: Cost) -> Option<Self> {
        Some(match cost {
            Cost::Free => self,
            Cost::Crash => Self { crashes: self.crashes.checked_sub(1)?, ..self },
            Cost::MemberCrash => {
                Self { crashes: self.crashes.checked_sub(1)?, view_changes: self.view_changes.checked_sub(1)?, ..self }
            }
            Cost::Restart => Self { restarts: self.restarts.checked_sub(1)?, ..self },
            Cost::EarlyTimer => Self { early_timers: self.early_timers.checked_sub(1)?, ..self },
            Cost::ViewChange => Self { view_changes: self.view_changes.checked_sub(1)?, ..self },
        })
    }
}

#[cfg(test)]
mod tests {
    use super::{Budgets, Cost, MAX_FAULTS};

    #[test]
    fn unpacking_returns_the_packed_budgets() {
        let budgets =
            Budgets { losses: 1, duplicates: 2, crashes: 3, restarts: 4, early_timers: 5, view_changes: MAX_FAULTS };
        assert_eq!(Budgets::unpack(budgets.pack()), budgets);
    }

    #[test]
    fn a_spent_budget_cannot_be_spent_again() {
        let budgets = Budgets { crashes: 2, view_changes: 1, ..Budgets::default() };
        let after_first = budgets.remaining_after(Cost::MemberCrash).unwrap();
        assert_eq!(after_first, Budgets { crashes: 1, ..Budgets::default() });
        assert_eq!(after_first.remaining_after(Cost::MemberCrash), None);
        assert_eq!(after_first.remaining_after(Cost::Crash), Some(Budgets::default()));
    }
}
