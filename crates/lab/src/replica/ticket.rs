//! Tickets that contain the client, the operation and the attempt.

use quorate_replica::Ticket;

/// The request that a ticket stands for. Each attempt at an operation has another ticket.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct RequestId {
    pub(super) client: u64,
    pub(super) number: u64,
    pub(super) attempt: u64,
}

pub(super) const OPERATOR: u64 = 0;

impl RequestId {
    pub(super) fn ticket(self) -> Ticket {
        Ticket::from_parts(self.client, self.number, self.attempt)
    }

    pub(super) fn of(ticket: Ticket) -> Self {
        let (client, number, attempt) = ticket.parts();
        Self { client, number, attempt }
    }
}

#[cfg(test)]
mod tests {
    use super::RequestId;

    #[test]
    fn a_ticket_identifies_its_request() {
        let request = RequestId { client: 7, number: 1 << 27, attempt: (1 << 20) - 1 };
        assert_eq!(RequestId::of(request.ticket()), request);
    }
}
