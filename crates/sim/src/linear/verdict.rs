//! The verdict on a history, with an explanation for people.

use super::history::OperationId;
use std::fmt;

/// The verdict on a history.
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use]
pub enum Verdict {
    /// The history is linearizable.
    Linearizable {
        /// A linearization. It may leave out operations without an answer.
        order: Vec<OperationId>,
    },
    /// No order of the operations explains the answers.
    NotLinearizable(Explanation),
    /// The search ran out of steps before it found or excluded a linearization, of the history or
    /// of its part with one key (one register).
    Undecided {
        /// The limit on the steps of the search.
        steps: u64,
        /// The length of the longest prefix of the answers that an order found so far explains.
        explained_count: usize,
        /// Number of answers in the history or part.
        answer_count: usize,
    },
}

impl Verdict {
    /// Returns whether the history is certainly linearizable.
    pub fn is_linearizable(&self) -> bool {
        matches!(self, Self::Linearizable { .. })
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Linearizable { order } => {
                write!(f, "Linearizable: an order of {} operations explains every answer.", order.len())
            }
            Self::NotLinearizable(explanation) => explanation.fmt(f),
            Self::Undecided { steps, explained_count: explained, answer_count: answers } => write!(
                f,
                "no order was found or excluded in {steps} steps: {explained} of {answers} answers were explained. The \
                 history may or may not be linearizable; a history with fewer clients per register is easier to check"
            ),
        }
    }
}

/// The reason why no order explains a history.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Explanation {
    /// The first operation whose answer no order explains: before that answer, the history is
    /// linearizable. It may be a later operation if the search for the first one ran out of steps.
    pub unexplained: OperationId,
    /// An order that explains every answer before the unexplained one; empty if there is no such
    /// answer, or if the search for the order ran out of steps.
    pub order_before: Vec<OperationId>,
    /// Operations with contradictory answers, including the unexplained one, in the order of their
    /// invocations. No order explains these answers, even if all other answers were unknown.
    pub conflict: Vec<OperationId>,
    pub(super) text: String,
}

impl fmt::Display for Explanation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}
