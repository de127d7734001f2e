//! Tickets that say whose they are: client, operation and attempt in one number.

use quorate_replica::Ticket;

/// Whose request a ticket stands for. An operation is asked as often as it takes, each time under another ticket.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Asking {
    pub(super) client: u64,
    pub(super) number: u64,
    pub(super) attempt: u64,
}

pub(super) const OPERATOR: u64 = 0;

impl Asking {
    pub(super) fn ticket(self) -> Ticket {
        Ticket::of(self.client, self.number, self.attempt)
    }

    pub(super) fn of(ticket: Ticket) -> Self {
        let (client, number, attempt) = ticket.parts();
        Self { client, number, attempt }
    }
}

#[cfg(test)]
mod tests {
    use super::Asking;

    #[test]
    fn a_ticket_tells_whose_it_is() {
        let asking = Asking { client: 7, number: 1 << 27, attempt: (1 << 20) - 1 };
        assert_eq!(Asking::of(asking.ticket()), asking);
    }
}
