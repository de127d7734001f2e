//! Replicated logs in reports: roles, figures, the example, progress.

use super::{Command, Event, Replica, Settings, Summary};
use crate::algorithm::Algorithm;
use crate::family::PresentFamily;
use crate::figures::{FigureRow, RunResults, format_figure};
use crate::spec::Spec;
use quorate_core::{Duration, NodeId};
use quorate_journal::moment::{Moment, ObservedEffect, ObservedInput};
use quorate_journal::role::Role;
use quorate_journal::settings::{Latency, Length};

impl PresentFamily for Replica {
    const ROLES: &'static [(Role, &'static str)] = &[
        (Role::Idle, "not a member yet"),
        (Role::Waiting, "knows no leader"),
        (Role::Follows, "follows"),
        (Role::Chosen, "leads"),
    ];
    const CHOSEN_NODE_BLOCKS_OTHERS: bool = false;
    const EXAMPLE_CAPTION: &'static str =
        "Three replicas elect a leader, and a client writes once; one message time is 1 ms";
    const CONTROL_MESSAGES: &'static str = "heartbeats, acknowledgements and retransmissions";
    const ADVICE_IF_NEVER_HELD: &'static str = "more --seeds or --operations, with --chaos";
    const PROGRESS_UNIT: &'static str = "operations";

    fn role_after(moment: &Moment<'_, Command, Event>, before: &[Role]) -> Option<(NodeId, Role)> {
        match moment {
            Moment::Input { node, input: ObservedInput::Start { .. }, .. } => Some((*node, Role::Idle)),
            // A follower that installs a snapshot keeps its leader.
            Moment::Effect { node, effect: ObservedEffect::Emit(Event::Restored(_)), .. } => {
                before.get(node.index()).is_none_or(|role| *role == Role::Idle).then_some((*node, Role::Waiting))
            }
            Moment::Effect { node, effect: ObservedEffect::Emit(Event::Leads { .. }), .. } => {
                Some((*node, Role::Chosen))
            }
            Moment::Effect { node, effect: ObservedEffect::Emit(Event::Follows { leader, .. }), .. } => {
                Some((*node, if leader.is_some() { Role::Follows } else { Role::Waiting }))
            }
            Moment::Input { .. } | Moment::Effect { .. } | Moment::World { .. } => None,
        }
    }

    /// One client with one request to the leader. The run ends before more heartbeats.
    fn example(algorithm: Algorithm<Self>) -> Spec<Self> {
        let latency = Latency::Fixed(Duration::from_millis(1));
        let disk = Latency::Fixed(Duration::from_micros(500));
        let settings = Settings { clients: 1, operations: 1, keys: 1, ..Settings::default() };
        let until = Some(Length(Duration::from_millis(103)));
        Spec { seed: 1, latency, disk, until, settings, ..Spec::new(algorithm) }
    }

    fn figure_rows(results: &RunResults<'_, Self>) -> Vec<FigureRow> {
        let RunResults { spec, summary, .. } = results;
        let other_founders = spec.settings.founders.unwrap_or(spec.nodes).saturating_sub(1);
        let expected = format!("{} = 2(n−1) for a single write", 2 * other_founders);
        let time = Duration::from_nanos(summary.log_time_ns);
        vec![
            FigureRow::new("operations", summary.operations, format!("{} answered", summary.answered)),
            FigureRow::new("messages per operation", format_figure(summary.messages_per_operation), expected),
            FigureRow::new("leaders", summary.leaders, format!("the last in term {}", summary.term)),
            FigureRow::new("entries", summary.entries, format!("log time {time}")),
            FigureRow::measured("snapshots installed", summary.snapshots),
            FigureRow::measured("reads under a lease", summary.lease_reads),
            FigureRow::measured("unknown outcomes", summary.unknown_outcomes),
            FigureRow::measured("outcomes received", summary.outcomes),
            FigureRow::measured("sessions ended", summary.sessions_ended),
            FigureRow::new("membership changes", summary.changes, summary.members.to_string()),
        ]
    }

    fn describe_progress(spec: &Spec<Self>, summary: &Summary) -> String {
        if spec.is_scripted() {
            return String::new();
        }
        format!("; {} of {} operations were answered", summary.answered, spec.settings.operations)
    }

    fn progress_goal(spec: &Spec<Self>) -> u64 {
        spec.settings.operations
    }

    fn is_progress(moment: &Moment<'_, Command, Event>) -> bool {
        matches!(moment, Moment::Effect { effect: ObservedEffect::Emit(Event::Answered { .. }), .. })
    }
}
