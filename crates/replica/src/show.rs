//! Descriptions of commands and events for traces.

use crate::command::{Command, Event, Proposal, Ticket};
use crate::machine::StateMachine;
use std::fmt;

impl fmt::Display for Ticket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.parts() {
            // A ticket without a client number is displayed as one number.
            (0, _, _) => write!(f, "#{}", self.0),
            // The first attempt is not displayed.
            (client, number, 1) => write!(f, "#{client}.{number}"),
            (client, number, attempt) => write!(f, "#{client}.{number} (try {attempt})"),
        }
    }
}

impl<S: StateMachine> fmt::Display for Command<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Propose(proposals) => {
                f.write_str("propose")?;
                for (index, Proposal { ticket, command }) in proposals.iter().enumerate() {
                    write!(f, "{} {}, {ticket}", if index > 0 { ";" } else { "" }, S::describe_command(command))?;
                }
                Ok(())
            }
            Self::Query { ticket, query } => write!(f, "query {}, {ticket}", S::describe_query(query)),
            Self::Change { ticket, members, .. } => write!(f, "change {ticket} to {members}"),
            Self::Attach { ticket, session } => write!(f, "attach {session}, {ticket}"),
            Self::Detach(session) => write!(f, "detach {session}"),
            Self::Retire => f.write_str("retire"),
            Self::Transfer(to) => write!(f, "transfer to {to}"),
            Self::Campaign => f.write_str("campaign"),
        }
    }
}

impl<S: StateMachine> fmt::Display for Event<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Answered { ticket, index, answer } => {
                write!(f, "answers {ticket} at entry {index}: {}", S::describe_answer(answer))
            }
            Self::Refused { ticket, refusal } => write!(f, "refuses {ticket}: {refusal}"),
            Self::Unknown { ticket } => write!(f, "does not know the outcome of {ticket}"),
            Self::Attached { session, index, outcomes, .. } => {
                write!(f, "attaches {session} at entry {index}")?;
                outcomes.iter().try_for_each(|outcome| write!(f, "; {}", S::describe_outcome(outcome)))
            }
            Self::Outcome { session, index, outcome } => {
                write!(f, "notifies {session} at entry {index}: {}", S::describe_outcome(outcome))
            }
            Self::Detached { session } => write!(f, "detaches {session}"),
            Self::Configured { members, level, .. } => {
                write!(f, "knows the members: {members}; format level {level}")
            }
            Self::Changed { ticket, members } => write!(f, "has changed the members to {members} for {ticket}"),
            Self::Leads { term } => write!(f, "leads in term {term}"),
            Self::Follows { leader: Some(leader), term } => write!(f, "follows {leader} in term {term}"),
            Self::Follows { leader: None, term } => write!(f, "knows no leader in term {term}"),
            Self::Retired => f.write_str("has retired"),
            Self::Applied { audit, .. } => write!(f, "has applied entry {} at {}", audit.index, audit.time),
            Self::Restored(restoration) => write!(f, "has restored the state at entry {}", restoration.index),
            Self::Halted { reason } => write!(f, "has stopped: {reason}"),
        }
    }
}
