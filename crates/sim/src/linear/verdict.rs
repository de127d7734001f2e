//! What a judge says, so that a person understands it.

use super::history::OperationId;
use std::fmt;

/// What came of judging a history.
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use]
pub enum Verdict {
    /// One object can have given these answers.
    Linearizable {
        /// One order in which it can have done so. Operations without an answer that it does
        /// without are left out.
        order: Vec<OperationId>,
    },
    /// No object can have given these answers.
    NotLinearizable(Explanation),
    /// The steps ran out before either was certain. It must not be taken for good.
    Undecided {
        steps: u64,
        /// How many of the first answers some order explains, as far as was seen.
        explained: usize,
        /// Of so many.
        answers: usize,
    },
}

impl Verdict {
    /// Whether one object can have given these answers, for certain.
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
            Self::Undecided { steps, explained, answers } => write!(
                f,
                "no order was found or excluded in {steps} steps: {explained} of {answers} answers were explained, and orders were left to \
                 try. The history may be good or bad; one with fewer clients a register is easier to judge"
            ),
        }
    }
}

/// Why no order explains a history.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Explanation {
    /// The operation with the first answer that fits nowhere: up to that instant, the history is
    /// linearizable.
    pub misfit: OperationId,
    /// An order that explains every answer before that one.
    pub before: Vec<OperationId>,
    /// Operations whose answers contradict each other, the misfit among them, in the order in which
    /// they were asked. No order explains these answers, whatever all others were.
    pub conflict: Vec<OperationId>,
    pub(super) text: String,
}

impl fmt::Display for Explanation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}
