//! A situation: the processes, the resources that they hold and want, and their waits, at one
//! instant.

use super::name::Name;
use quorate_core::deadlock::Need;
use std::collections::BTreeMap;
use std::fmt;

/// The parsed content of a text of statements such as `P1 holds R1`. It prints as an equivalent
/// text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Situation {
    pub processes: BTreeMap<Name, Process>,
    pub resources: BTreeMap<Name, Resource>,
    /// Waits for processes, without resources, in the order of the lines.
    pub waits: Vec<(Name, Need<Name>)>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Process {
    /// When the process began, in any unit, if the text says so.
    pub start_time: Option<u32>,
    /// The process's priority, if the text gives one; higher is more important.
    pub priority: Option<u32>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Resource {
    /// The holders, in the order of the lines.
    pub holders: Vec<Name>,
    /// The processes that want it, in the order of the lines.
    pub queue: Vec<Name>,
    /// How many processes may hold it at the same time, if it is a semaphore. Otherwise it is a
    /// lock: several processes may share it, but a process in the queue wants it exclusively.
    pub permits: Option<u32>,
}

impl Situation {
    /// The resources that each process holds.
    pub fn held_resources(&self) -> BTreeMap<&Name, Vec<&Name>> {
        let mut held: BTreeMap<&Name, Vec<&Name>> = BTreeMap::new();
        for (name, resource) in &self.resources {
            resource.holders.iter().for_each(|process| held.entry(process).or_default().push(name));
        }
        held
    }

    /// Aborts the victims: they wait for nothing, want nothing, and release everything.
    pub fn abort(&mut self, is_victim: impl Fn(&Name) -> bool) {
        self.waits.retain(|(process, _)| !is_victim(process));
        for resource in self.resources.values_mut() {
            let was_shared = resource.holders.len() > 1;
            resource.holders.retain(|process| !is_victim(process));
            resource.queue.retain(|process| !is_victim(process));
            // A process that shared the lock and wanted it exclusively has it now, since it is the
            // only holder left.
            if let (true, [last_holder]) = (was_shared, &resource.holders[..])
                && resource.permits.is_none()
            {
                resource.queue.retain(|process| process != last_holder);
            }
        }
    }
}

impl Resource {
    /// The holders, and the processes before this position in the queue.
    pub(super) fn processes_before(&self, position: usize) -> impl Iterator<Item = &Name> {
        self.holders.iter().chain(self.queue.iter().take(position))
    }
}

impl fmt::Display for Situation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (name, resource) in &self.resources {
            if let Some(permits) = resource.permits {
                writeln!(f, "{name} has {permits} permit{}", if permits == 1 { "" } else { "s" })?;
            }
            resource.holders.iter().try_for_each(|process| writeln!(f, "{process} holds {name}"))?;
            resource.queue.iter().try_for_each(|process| writeln!(f, "{process} wants {name}"))?;
        }
        for (process, need) in &self.waits {
            let names: Vec<_> = need.awaited().iter().map(Name::as_str).collect();
            writeln!(f, "{process} -> {}", names.join(if need.has_alternatives() { " | " } else { ", " }))?;
        }
        for (process, Process { start_time, priority }) in &self.processes {
            start_time.map_or(Ok(()), |time| writeln!(f, "{process} began {time}"))?;
            priority.map_or(Ok(()), |priority| writeln!(f, "{process} has priority {priority}"))?;
        }
        Ok(())
    }
}
