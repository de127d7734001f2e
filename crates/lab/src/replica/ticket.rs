//! Tickets that the simulated clients and the operator put into their requests. A replica repeats
//! the ticket of a request in its answer. The ticket encodes client, operation and attempt.

use quorate_replica::Ticket;

/// The request that a ticket stands for. Each attempt at an operation has its own ticket.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct RequestId {
    pub(super) client: u64,
    /// The number of the operation among the client's operations.
    pub(super) number: u64,
    pub(super) attempt: u64,
}

/// The client number of the operator, which changes the group's members. Clients have the numbers
/// from 1.
pub(super) const OPERATOR_CLIENT: u64 = 0;

impl RequestId {
    pub(super) fn to_ticket(self) -> Ticket {
        Ticket::from_parts(self.client, self.number, self.attempt)
    }

    pub(super) fn from_ticket(ticket: Ticket) -> Self {
        let (client, number, attempt) = ticket.parts();
        Self { client, number, attempt }
    }
}

#[cfg(test)]
mod tests {
    use super::RequestId;

    #[test]
    fn a_ticket_identifies_its_request() {
        // A ticket has 28 bits for the number and 20 bits for the attempt.
        let request = RequestId { client: 7, number: 1 << 27, attempt: (1 << 20) - 1 };
        assert_eq!(RequestId::from_ticket(request.to_ticket()), request);
    }
}
