//! `quorate list`: the algorithms.

use crate::Verdict;
use crate::args::ListArgs;
use crate::output::output;
use crate::{paint, report};
use quorate_registry::{Entry, Family, all, fixtures};
use serde::Serialize;
use std::io::Write;

#[derive(Serialize)]
struct Row {
    name: &'static str,
    family: Family,
    class: &'static str,
    summary: &'static str,
    messages_per_entry: &'static str,
    client_delay: u64,
    sync_delay: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    flaw: Option<&'static str>,
}

impl From<&Entry> for Row {
    fn from(entry: &Entry) -> Self {
        let facts = entry.facts;
        Self {
            name: facts.name,
            family: entry.family(),
            class: facts.class,
            summary: facts.summary,
            messages_per_entry: facts.cost.formula,
            client_delay: facts.cost.client_delay,
            sync_delay: facts.cost.sync_delay,
            flaw: facts.flaw,
        }
    }
}

pub(crate) fn run(args: &ListArgs) -> anyhow::Result<Verdict> {
    let entries = if args.fixtures { fixtures() } else { all() };
    let rows: Vec<Row> = entries.iter().map(Row::from).collect();
    if args.json {
        report::json(&rows)?;
        return Ok(Verdict::Holds);
    }
    let mut out = output();
    let heading = format!("{:<28}{:<8}{:<18}{:<16}", "name", "family", "class", "messages/entry");
    writeln!(out, "{}", paint::bold(&format!("{heading}{}", if args.fixtures { "what is wrong" } else { "idea" })))?;
    for row in rows {
        let last = match row.flaw {
            Some(flaw) => flaw.to_owned(),
            None if args.fixtures => format!("nothing: it is {}", row.summary),
            None => row.summary.to_owned(),
        };
        let family = row.family.to_string();
        writeln!(out, "{:<28}{family:<8}{:<18}{:<16}{last}", row.name, row.class, row.messages_per_entry)?;
    }
    writeln!(out, "\n{}", paint::dim("quorate explain NAME tells all about one; quorate sim NAME runs it."))?;
    if !args.fixtures {
        writeln!(out, "{}", paint::dim("quorate list --fixtures shows those that are wrong on purpose."))?;
    }
    Ok(Verdict::Holds)
}
