//! Expected figures of Maekawa's algorithm in each of its forms.

use super::Form;
use crate::mutex::prelude::*;
use crate::mutex::quorum::Quorums;

/// Expected figures of the default form.
pub const FACTS: Facts = facts(Form::DeadlockFree, Quorums::Grid);

/// Expected figures of a form. The plain form is a faulty variant: it has the figures of a correct
/// algorithm, and checks must detect that it deadlocks.
pub const fn facts(form: Form, quorums: Quorums) -> Facts {
    // Once a request has reached its voters, each other node enters before it at most twice: with
    // the entry for which the voters had already voted, and with one more request, stamped before
    // the messages of the voters advanced that node's clock. In the plain form each enters before
    // it at most once, because voters vote in order of arrival.
    let fairness = match form {
        Form::DeadlockFree => Fairness::FromArrival(|nodes| 2 * (nodes as u64 - 1)),
        Form::Plain => Fairness::FromArrival(|nodes| nodes as u64 - 1),
    };
    let check_group_size: fn(usize) -> Result<(), &'static str> = match quorums {
        Quorums::Grid => |_| Ok(()),
        Quorums::Plane => |nodes| Quorums::Plane.check_group_size(nodes),
    };
    let defaults = Facts::new(profile(form, quorums), cost(form, quorums));
    Facts { fairness, check_group_size, variant_choices: choices(form, quorums), ..defaults }
}

const fn profile(form: Form, quorums: Quorums) -> Profile {
    let (name, summary) = match (form, quorums) {
        (Form::DeadlockFree, Quorums::Grid) => ("maekawa", "ask a row and a column; younger requests return votes"),
        (Form::DeadlockFree, Quorums::Plane) => {
            ("maekawa-plane", "ask a line of a projective plane; younger requests return votes")
        }
        (Form::Plain, Quorums::Grid) => ("maekawa-plain", "ask a row and a column; keep every vote"),
        (Form::Plain, Quorums::Plane) => ("maekawa-plain-plane", "ask a line of a projective plane; keep every vote"),
    };
    let flaw = match form {
        Form::DeadlockFree => None,
        Form::Plain => Some("nodes that hold each other's votes deadlock"),
    };
    Profile { name, class: "quorum-based", summary, source: include_str!("../maekawa.rs"), flaw, is_checkable: true }
}

const fn choices(form: Form, quorums: Quorums) -> &'static [Choice] {
    const FREE: Choice = choice("form", "deadlock-free").mark_default();
    const PLAIN: Choice = choice("form", "plain");
    const GRID: Choice = choice("quorums", "grid").mark_default();
    const PLANE: Choice = choice("quorums", "plane");
    match (form, quorums) {
        (Form::DeadlockFree, Quorums::Grid) => &[FREE, GRID],
        (Form::DeadlockFree, Quorums::Plane) => &[FREE, PLANE],
        (Form::Plain, Quorums::Grid) => &[PLAIN, GRID],
        (Form::Plain, Quorums::Plane) => &[PLAIN, PLANE],
    }
}

const fn choice(option: &'static str, value: &'static str) -> Choice {
    Choice { algorithm: "maekawa", option, value, is_default: false }
}

/// The formulas are those of the paper, where K is the size of a quorum. Its ≤5(K−1) does not count
/// the vote that a voter must give again to the node that relinquished it.
/// [`messages_under_contention`] counts this vote.
const fn cost(form: Form, quorums: Quorums) -> Cost {
    let (messages_formula, message_count): (_, fn(&Case<'_>, u64) -> Range) = match (form, quorums) {
        (Form::DeadlockFree, Quorums::Grid) => {
            ("≤5(K−1)", |case, entries| messages_under_contention(Quorums::Grid, case, entries))
        }
        (Form::DeadlockFree, Quorums::Plane) => {
            ("≤5(K−1)", |case, entries| messages_under_contention(Quorums::Plane, case, entries))
        }
        (Form::Plain, Quorums::Grid) => {
            ("3(K−1)", |case, entries| messages_without_contention(Quorums::Grid, case, entries))
        }
        (Form::Plain, Quorums::Plane) => {
            ("3(K−1)", |case, entries| messages_without_contention(Quorums::Plane, case, entries))
        }
    };
    Cost {
        messages_formula,
        client_delay_formula: "2T",
        sync_delay_formula: "T…2T",
        message_count,
        // 2T, or 0 for a node that is alone in its group.
        client_delay: |case| Range::exactly(2 * case.peers().min(1)),
        // The release and the vote, one of which is local if the voter is itself one of the two.
        sync_delay: |_| Range::between(1, 2),
    }
}

/// Counts a request, a vote and a release for each other voter; the plain form never sends more.
fn messages_without_contention(quorums: Quorums, case: &Case<'_>, entries: u64) -> Range {
    case.total_cost(entries, |node| Range::exactly(3 * remote_voters(quorums, case, node)))
}

/// Adds up to three messages for each voter to the three of [`messages_without_contention`]: a
/// request that arrives at a voter causes a failure or an inquiry; an inquiry may cause a
/// relinquish, and then the voter must vote again for the request that gave its vote back. At the
/// voter of its own node a request causes none of these, because it is the youngest there.
fn messages_under_contention(quorums: Quorums, case: &Case<'_>, entries: u64) -> Range {
    match case.load {
        Load::OneNode(_) => messages_without_contention(quorums, case, entries),
        Load::AllNodes | Load::SomeNodes => case.total_cost(entries, |node| {
            let voters = remote_voters(quorums, case, node);
            Range::between(3 * voters, 6 * voters)
        }),
    }
}

/// Returns the number of a node's voters, without the node itself.
fn remote_voters(quorums: Quorums, case: &Case<'_>, node: NodeId) -> u64 {
    quorums.quorum_of(node, case.group).others(node).count() as u64
}
