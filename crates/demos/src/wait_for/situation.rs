//! Which process holds, wants and waits for what, at one instant.

use super::name::Name;
use quorate_core::deadlock::Need;
use std::collections::BTreeMap;
use std::fmt;

/// The content of a text. It prints as an equivalent text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Situation {
    pub processes: BTreeMap<Name, Process>,
    pub resources: BTreeMap<Name, Resource>,
    /// Waits for processes, without resources, in the order of the lines.
    pub waits: Vec<(Name, Need<Name>)>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Process {
    pub born: Option<u32>,
    /// The process's priority, if the text gives one; higher is more important.
    pub priority: Option<u32>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Resource {
    /// The holders, in the order of the lines.
    pub holders: Vec<Name>,
    pub queue: Vec<Name>,
    /// How many processes may hold it at once, if it is a semaphore. Otherwise it is a lock:
    /// several processes may share it, but a process in the queue wants it exclusively.
    pub permits: Option<u32>,
}

impl Situation {
    pub fn held(&self) -> BTreeMap<&Name, Vec<&Name>> {
        let mut held: BTreeMap<&Name, Vec<&Name>> = BTreeMap::new();
        for (name, resource) in &self.resources {
            resource.holders.iter().for_each(|who| held.entry(who).or_default().push(name));
        }
        held
    }

    /// Aborts the victims: they wait for nothing, want nothing, and release everything.
    pub fn abort(&mut self, is_victim: impl Fn(&Name) -> bool) {
        self.waits.retain(|(who, _)| !is_victim(who));
        for resource in self.resources.values_mut() {
            let shared = resource.holders.len() > 1;
            resource.holders.retain(|who| !is_victim(who));
            resource.queue.retain(|who| !is_victim(who));
            // A process that shared the lock and wanted it exclusively has it now, since it is the
            // only holder left.
            if let (true, [alone]) = (shared, &resource.holders[..])
                && resource.permits.is_none()
            {
                resource.queue.retain(|who| who != alone);
            }
        }
    }
}

impl Resource {
    /// The holders, and the processes before this place in the queue.
    pub(super) fn ahead(&self, place: usize) -> impl Iterator<Item = &Name> {
        self.holders.iter().chain(self.queue.iter().take(place))
    }
}

impl fmt::Display for Situation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (name, resource) in &self.resources {
            if let Some(permits) = resource.permits {
                writeln!(f, "{name} has {permits} permit{}", if permits == 1 { "" } else { "s" })?;
            }
            resource.holders.iter().try_for_each(|who| writeln!(f, "{who} holds {name}"))?;
            resource.queue.iter().try_for_each(|who| writeln!(f, "{who} wants {name}"))?;
        }
        for (who, need) in &self.waits {
            let names: Vec<_> = need.on().iter().map(Name::as_str).collect();
            writeln!(f, "{who} -> {}", names.join(if need.is_any() { " | " } else { ", " }))?;
        }
        for (who, Process { born, priority }) in &self.processes {
            born.map_or(Ok(()), |born| writeln!(f, "{who} began {born}"))?;
            priority.map_or(Ok(()), |priority| writeln!(f, "{who} has priority {priority}"))?;
        }
        Ok(())
    }
}
