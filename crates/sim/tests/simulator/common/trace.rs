//! A compact trace with one line for each moment: inputs (`<`), effects (`>`) and world events
//! (`*`).

use super::Actions;
use quorate_core::{Incarnation, Time};
use quorate_journal::moment::{Body, Done, Happening, Moment, Observer, Taken};
use std::fmt::{Arguments, Write};

/// Writes the trace. It leaves out the first starts at time zero, which every world has.
#[derive(Default)]
pub(crate) struct Trace {
    pub(crate) text: String,
}

impl Trace {
    fn line(&mut self, time: Time, line: Arguments<'_>) {
        writeln!(self.text, "{time} {line}").unwrap();
    }
}

fn json(body: Body<'_>) -> String {
    serde_json::to_string(body).unwrap().replace('"', "")
}

impl Observer<Actions, String> for Trace {
    fn observe(&mut self, moment: &Moment<'_, Actions, String>) {
        match moment {
            Moment::Input { time, now, node, input } => {
                let input = match input {
                    Taken::Start { incarnation: Incarnation::FIRST, .. } if *time == Time::ZERO => return,
                    Taken::Start { incarnation, blank } => {
                        format!("start {incarnation}{}", if *blank { " blank" } else { "" })
                    }
                    Taken::Command(_) => "command".into(),
                    Taken::Message { id, kind, .. } => format!("{kind} {id}"),
                    Taken::Timer(timer) => format!("timer {}", json(*timer)),
                    Taken::Saved(count) => format!("saved {count}"),
                    Taken::Suspect(peer) => format!("suspect {peer}"),
                    Taken::Trust(peer) => format!("trust {peer}"),
                    Taken::DiskFull => "disk full".into(),
                    Taken::DiskFree => "disk free".into(),
                    Taken::View(view) => format!("view {}", view.epoch()),
                    Taken::Lease(until) => format!("lease until {until}"),
                };
                let clock = if now == time { String::new() } else { format!(" (clock {now})") };
                self.line(*time, format_args!("{node} < {input}{clock}"));
            }
            Moment::Effect { time, node, effect } => {
                let effect = match effect {
                    Done::Send { to, sent } => format!("{} {} to {to}", sent.kind, sent.id),
                    Done::Multicast { to, sent } => format!("{} {} to {to}", sent.kind, sent.id),
                    Done::Save(write) => format!("save {}", json(*write)),
                    Done::SetTimer { timer, span } => format!("set {} {span}", json(*timer)),
                    Done::CancelTimer(timer) => format!("cancel {}", json(*timer)),
                    Done::Emit(event) => format!("emit {event}"),
                    Done::Rule { text, .. } => text.to_string(),
                    Done::Handed { from, parcel } => format!("handed {from}.{}.{}", parcel.incarnation, parcel.number),
                    Done::Told(told) => format!("{told:?}"),
                    Done::HoldBack { count, names } => format!("{count} wait: {names}"),
                };
                self.line(*time, format_args!("{node} > {effect}"));
            }
            Moment::World { time, what } => {
                let what = match what {
                    Happening::Lost { id, to, why } => format!("lost {id} to {to}: {why}"),
                    Happening::Duplicated { id } => format!("duplicated {id}"),
                    Happening::Crashed { node, lost_writes } => format!("{node} crashed, {lost_writes} writes lost"),
                    Happening::Ended { node } => format!("{node} ended"),
                    Happening::Paused { node } => format!("{node} paused"),
                    Happening::Resumed { node } => format!("{node} resumed"),
                    Happening::Changed { text } => (*text).to_owned(),
                };
                self.line(*time, format_args!("* {what}"));
            }
        }
    }
}
