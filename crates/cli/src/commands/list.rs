//! `quorate list`: the algorithms.

use crate::Verdict;
use crate::args::ListArgs;
use crate::output::output;
use crate::{paint, report};
use quorate_core::about::Profile;
use quorate_core::mutex;
use quorate_demos::{armies, local};
use quorate_lab::multicast::Cost as MulticastCost;
use quorate_lab::registry::{Entry, Family, all, fixtures};
use quorate_lab::{Multicast, Spec};
use serde::Serialize;
use std::io::Write;

#[derive(Serialize)]
struct Row {
    name: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    family: Option<Family>,
    class: &'static str,
    summary: &'static str,
    #[serde(flatten)]
    cost: Cost,
    #[serde(skip_serializing_if = "Option::is_none")]
    flaw: Option<&'static str>,
}

/// What the algorithm costs, in the terms of its family.
#[derive(Serialize)]
#[serde(untagged)]
enum Cost {
    Entry { messages_per_entry: &'static str, client_delay: &'static str, sync_delay: &'static str },
    Election { messages_per_election: &'static str },
    Multicast { messages_per_multicast: &'static str, slowest_delivery: u64 },
    Look { messages_per_look: &'static str },
    Whole { messages: u64 },
    Unstated {},
}

impl Cost {
    fn text(&self) -> String {
        match self {
            Self::Entry { messages_per_entry, .. } => format!("an entry: {messages_per_entry}"),
            Self::Election { messages_per_election } => format!("an election: {messages_per_election}"),
            Self::Multicast { messages_per_multicast, .. } => format!("a multicast: {messages_per_multicast}"),
            Self::Look { messages_per_look } => format!("a look: {messages_per_look}"),
            Self::Whole { messages } => format!("in all: {messages}"),
            Self::Unstated {} => "–".into(),
        }
    }
}

impl From<&'static Entry> for Cost {
    fn from(entry: &'static Entry) -> Self {
        match entry {
            Entry::Mutex(entry) => {
                let mutex::Cost { messages, client, sync, .. } = entry.facts.cost;
                Self::Entry { messages_per_entry: messages, client_delay: client, sync_delay: sync }
            }
            Entry::Election(entry) => Self::Election { messages_per_election: entry.facts.cost.formula },
            Entry::Multicast(entry) => {
                let spec = Spec::<Multicast>::new(entry);
                let slowest_delivery = MulticastCost::of(entry, &spec).map_or(0, |cost| cost.book.slowest);
                Self::Multicast { messages_per_multicast: MulticastCost::formula_of(entry, &spec), slowest_delivery }
            }
            Entry::Deadlock(entry) => Self::Look { messages_per_look: entry.facts.formula },
            Entry::Replica(_) => Self::Unstated {},
        }
    }
}

impl From<&'static Entry> for Row {
    fn from(entry: &'static Entry) -> Self {
        let Profile { name, class, summary, flaw, .. } = *entry.profile();
        Self { name, family: Some(entry.family()), class, summary, cost: entry.into(), flaw }
    }
}

/// The race in one process is of no family, because its threads are no nodes. It stands behind mutual exclusion, which it
/// is about.
fn local() -> Row {
    let Profile { name, class, summary, flaw, .. } = local::PROFILE;
    let cost = Cost::Entry { messages_per_entry: "0", client_delay: "0", sync_delay: "0" };
    Row { name, family: None, class, summary, cost, flaw }
}

/// The two armies are of no family either: they show what the others may assume of time. They stand at the end.
fn armies() -> Row {
    let Profile { name, class, summary, flaw, .. } = armies::PROFILE;
    Row { name, family: None, class, summary, cost: Cost::Whole { messages: 3 }, flaw }
}

pub(crate) fn run(args: &ListArgs) -> anyhow::Result<Verdict> {
    let entries = if args.fixtures { fixtures() } else { all() };
    let mut rows: Vec<Row> = entries.iter().map(Row::from).collect();
    if !args.fixtures {
        let place = rows.iter().rposition(|row| row.family == Some(Family::Mutex)).map_or(0, |last| last + 1);
        rows.insert(place, local());
        rows.push(armies());
    }
    if args.json {
        report::json(&rows)?;
        return Ok(Verdict::Holds);
    }
    let mut out = output();
    let width = 2 + rows.iter().map(|row| row.name.len()).max().unwrap_or_default();
    let heading = format!("{:<width$}{:<10}{:<18}{:<31}", "name", "family", "class", "messages");
    writeln!(out, "{}", paint::bold(&format!("{heading}{}", if args.fixtures { "what is wrong" } else { "idea" })))?;
    for row in rows {
        let last = match row.flaw {
            Some(flaw) => flaw.to_owned(),
            None if args.fixtures => format!("nothing: it is {}", row.summary),
            None => row.summary.to_owned(),
        };
        let family = row.family.map_or("–", Family::name);
        writeln!(out, "{:<width$}{family:<10}{:<18}{:<31}{last}", row.name, row.class, row.cost.text())?;
    }
    writeln!(out, "\n{}", paint::dim("quorate explain NAME tells all about one; quorate sim NAME runs it."))?;
    if !args.fixtures {
        writeln!(out, "{}", paint::dim("quorate list --fixtures shows those that are wrong on purpose."))?;
    }
    Ok(Verdict::Holds)
}
