//! A compact trace with one line for each moment: inputs (`<`), effects (`>`) and world events
//! (`*`). In `1ms 2 < ping 1.3`, node 2 takes at 1 ms the third message that node 1 sent.

use super::Actions;
use quorate_core::{Incarnation, Time};
use quorate_journal::moment::{Body, Moment, ObservedEffect, ObservedInput, Observer, WorldEvent};
use std::fmt::{Arguments, Write};

/// Writes the trace. It leaves out the first starts at time zero, which every world has.
#[derive(Default)]
pub(crate) struct Trace {
    pub(crate) text: String,
}

impl Trace {
    fn push_line(&mut self, time: Time, line: Arguments<'_>) {
        writeln!(self.text, "{time} {line}").unwrap();
    }
}

/// Returns the JSON form without quotes.
fn json(body: Body<'_>) -> String {
    serde_json::to_string(body).unwrap().replace('"', "")
}

impl Observer<Actions, String> for Trace {
    fn observe(&mut self, moment: &Moment<'_, Actions, String>) {
        match moment {
            Moment::Input { time, now, node, input } => {
                let input = match input {
                    ObservedInput::Start { incarnation: Incarnation::FIRST, .. } if *time == Time::ZERO => return,
                    ObservedInput::Start { incarnation, is_disk_blank } => {
                        format!("start {incarnation}{}", if *is_disk_blank { " blank" } else { "" })
                    }
                    ObservedInput::Command(_) => "command".into(),
                    ObservedInput::Message { id, kind, .. } => format!("{kind} {id}"),
                    ObservedInput::Timer(timer) => format!("timer {}", json(*timer)),
                    ObservedInput::Saved(count) => format!("saved {count}"),
                    ObservedInput::Suspect(peer) => format!("suspect {peer}"),
                    ObservedInput::Trust(peer) => format!("trust {peer}"),
                    ObservedInput::DiskFull => "disk full".into(),
                    ObservedInput::DiskFree => "disk free".into(),
                    ObservedInput::View(view) => format!("view {}", view.epoch()),
                    ObservedInput::Lease(until) => format!("lease until {until}"),
                    ObservedInput::EndOfTurn => "end of turn".into(),
                };
                let clock = if now == time { String::new() } else { format!(" (clock {now})") };
                self.push_line(*time, format_args!("{node} < {input}{clock}"));
            }
            Moment::Effect { time, node, effect } => {
                let effect = match effect {
                    ObservedEffect::Send { to, sent } => format!("{} {} to {to}", sent.kind, sent.id),
                    ObservedEffect::Multicast { to, sent } => format!("{} {} to {to}", sent.kind, sent.id),
                    ObservedEffect::Save(write) => format!("save {}", json(*write)),
                    ObservedEffect::SetTimer { timer, span } => format!("set {} {span}", json(*timer)),
                    ObservedEffect::CancelTimer(timer) => format!("cancel {}", json(*timer)),
                    ObservedEffect::Emit(event) => format!("emit {event}"),
                    ObservedEffect::Rule { text, .. } => text.to_string(),
                    ObservedEffect::Delivered { from, payload_id } => {
                        format!("delivered {from}.{}.{}", payload_id.incarnation, payload_id.number)
                    }
                    ObservedEffect::Membership(note) => format!("{note:?}"),
                    ObservedEffect::HoldBack { count, names } => format!("{count} wait: {names}"),
                };
                self.push_line(*time, format_args!("{node} > {effect}"));
            }
            Moment::World { time, event } => {
                let event = match event {
                    WorldEvent::Lost { id, to, cause } => format!("lost {id} to {to}: {cause}"),
                    WorldEvent::Duplicated { id } => format!("duplicated {id}"),
                    WorldEvent::Crashed { node, lost_writes } => format!("{node} crashed, {lost_writes} writes lost"),
                    WorldEvent::Ended { node } => format!("{node} ended"),
                    WorldEvent::Paused { node } => format!("{node} paused"),
                    WorldEvent::Resumed { node } => format!("{node} resumed"),
                    WorldEvent::Changed { text } => (*text).to_owned(),
                };
                self.push_line(*time, format_args!("* {event}"));
            }
        }
    }
}
