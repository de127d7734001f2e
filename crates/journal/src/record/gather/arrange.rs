//! Between the two readings of the journals, which survey and merge them: checks that they record
//! one run, and plans the merge.
//! A journal may also come from the parent process, which started the nodes and injected faults.

use super::GatherReport;
use super::error::GatherError;
use super::incarnations::{IncarnationPlan, Pause, TimeScale, assign_fault, check_disks};
use super::survey::{
    IncarnationSurvey, Receipt, ReceiptRange, Survey, SurveyContent, WorldSurvey, describe_order_violation,
};
use crate::moment::MessageId;
use crate::record::line::WorldLine;
use crate::record::{FORMAT, Header, LiveHeader};
use crate::workload::Ending;
use quorate_core::{Incarnation, NodeId, Time};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// The plan of the merge.
pub(super) struct Arrangement {
    /// The header of the merged journal.
    pub(super) header: Header,
    pub(super) nodes: Vec<NodePlan>,
    /// Changes of the environment that concern no single node, in order of time.
    pub(super) changes: VecDeque<(Time, String)>,
    /// How the run ended, if the parent process recorded it.
    pub(super) ending: Option<Ending>,
    pub(super) report: GatherReport,
}

/// The incarnations of a node, in order, and its pauses.
#[derive(Default)]
pub(super) struct NodePlan {
    pub(super) incarnations: Vec<IncarnationPlan>,
    pub(super) pauses: VecDeque<Pause>,
}

/// The journals after the first reading, by type, with the names of their files.
struct SortedSurveys {
    /// The journals of nodes, each with the name and the index of its file.
    incarnations: BTreeMap<(NodeId, Incarnation), (String, usize, IncarnationSurvey)>,
    /// The journals of the parent process, each with the name of its file.
    worlds: Vec<(String, WorldSurvey)>,
    /// Files that are empty or whose last line is truncated.
    torn_files: Vec<String>,
    /// Number of files without a complete header.
    files_without_header: usize,
}

/// Checks the surveyed journals and plans the merge.
pub(super) fn arrange(surveys: Vec<Survey>) -> Result<Arrangement, GatherError> {
    let sorted = sort_by_type(surveys)?;
    sorted.check_runs()?;
    sorted.check_nodes()?;
    sorted.check_messages()?;
    sorted.check_order()?;
    let header = sorted.reference_header().ok_or_else(|| sorted.no_header_error())?.1.clone();
    let scale = TimeScale::new(sorted.live_headers());
    let mut report = sorted.start_report(header.nodes, scale.boots());
    let origin = sorted.display_origin(&scale);
    let scale = scale.with_zero_at(origin);
    let mut nodes: Vec<NodePlan> = (0..header.nodes).map(|_| NodePlan::default()).collect();
    for ((node, _), (file, source_index, survey)) in sorted.incarnations {
        let shift = scale.shift(&survey.live);
        if let Some(plan) = nodes.get_mut(node.index()) {
            plan.add(IncarnationPlan::new(file, source_index, survey, shift));
        }
    }
    let ending = sorted.worlds.iter().find_map(|(_, world)| world.ending);
    let mut changes = Vec::new();
    for (_, world) in sorted.worlds {
        let shift = scale.shift(&world.live);
        for fault in world.faults {
            match fault.event {
                WorldLine::Changed(text) => changes.push((shift.apply(fault.time), text)),
                event => report.warnings.extend(assign_fault(&mut nodes, shift.apply(fault.time), &event)),
            }
        }
    }
    changes.sort_by_key(|(time, _)| *time);
    for plan in &mut nodes {
        check_disks(&mut plan.incarnations, &mut report);
    }
    let header = Header { journal: FORMAT, recorded: true, origin: 0, live: None, ..header };
    Ok(Arrangement { header, nodes, changes: changes.into(), ending, report })
}

impl NodePlan {
    /// Adds an incarnation, unless it never started.
    fn add(&mut self, mut plan: IncarnationPlan) {
        if plan.started_at.is_some() {
            plan.sent_before = self.incarnations.last().map_or(0, |last| last.sent_before + last.sent);
            self.incarnations.push(plan);
        }
    }
}

fn sort_by_type(surveys: Vec<Survey>) -> Result<SortedSurveys, GatherError> {
    let mut sorted = SortedSurveys {
        incarnations: BTreeMap::new(),
        worlds: Vec::new(),
        torn_files: Vec::new(),
        files_without_header: 0,
    };
    for Survey { source_index, file, is_torn, content } in surveys {
        if is_torn {
            sorted.torn_files.push(file.clone());
        }
        match content {
            SurveyContent::NoHeader => sorted.files_without_header += 1,
            SurveyContent::World(world) => sorted.worlds.push((file, *world)),
            SurveyContent::Incarnation(survey) => {
                let (node, incarnation) = (survey.node, survey.live.incarnation);
                let key = (node, incarnation);
                if let Some((other, _, _)) = sorted.incarnations.insert(key, (file.clone(), source_index, *survey)) {
                    return Err(GatherError::DuplicateIncarnation { file, other, node, incarnation });
                }
            }
        }
    }
    Ok(sorted)
}

impl SortedSurveys {
    /// Returns the headers of all journals, those of the parent process first.
    fn headers(&self) -> impl Iterator<Item = (&String, &Header)> {
        let worlds = self.worlds.iter().map(|(file, world)| (file, &world.header));
        worlds.chain(self.incarnations.values().map(|(file, _, survey)| (file, &survey.header)))
    }

    /// Returns the header for the result, with its file: the one of the parent process if there is
    /// one, because it describes the run best.
    fn reference_header(&self) -> Option<(&String, &Header)> {
        self.headers().next()
    }

    /// Returns why no journal has a header.
    fn no_header_error(&self) -> GatherError {
        if self.files_without_header > 0 { GatherError::NoHeaders } else { GatherError::NoJournals }
    }

    /// Returns the live part of each header, those of the parent process first.
    fn live_headers(&self) -> impl Iterator<Item = &LiveHeader> {
        let worlds = self.worlds.iter().map(|(_, world)| &world.live);
        worlds.chain(self.incarnations.values().map(|(_, _, survey)| &survey.live))
    }

    fn check_runs(&self) -> Result<(), GatherError> {
        let Some((other, first)) = self.reference_header() else { return Ok(()) };
        for (file, header) in self.headers() {
            if let Some(difference) = find_difference(header, first, !self.worlds.is_empty()) {
                return Err(GatherError::OtherRun { file: file.clone(), other: other.clone(), difference });
            }
        }
        Ok(())
    }

    /// Checks that every node has a journal. Each file without a header may be the journal of one
    /// node that has no other.
    fn check_nodes(&self) -> Result<(), GatherError> {
        let nodes = self.reference_header().map_or(0, |(_, header)| header.nodes);
        let present: BTreeSet<_> = self.incarnations.keys().map(|(node, _)| node.index()).collect();
        if nodes - present.len() <= self.files_without_header {
            return Ok(());
        }
        let missing = (0..nodes).find(|index| !present.contains(index)).unwrap_or(nodes);
        Err(GatherError::MissingNode { node: NodeId::from_index(missing), nodes })
    }

    /// Checks that every received message was sent.
    fn check_messages(&self) -> Result<(), GatherError> {
        for (file, _, survey) in self.incarnations.values() {
            for ((sender, incarnation), received) in &survey.received {
                let number = received.last.number;
                let reason = match self.incarnations.get(&(*sender, *incarnation)) {
                    None => {
                        format!("no journal of incarnation {incarnation} of node {sender} is among these files; add it")
                    }
                    Some((other, _, sender_survey)) if sender_survey.sent_messages < number => {
                        format!("{other} ends before that message was sent; it is truncated or belongs to another run")
                    }
                    Some(_) => continue,
                };
                let reason = format!(
                    "message {sender}.{number} of incarnation {incarnation} of node {sender} arrives, but {reason}"
                );
                return Err(GatherError::InvalidLine { file: file.clone(), line: received.last.line, reason });
            }
        }
        Ok(())
    }

    /// Checks the message order across a receiver's incarnations: of the messages from one
    /// incarnation of a sender, a later incarnation of the receiver receives only those sent after
    /// the ones that its earlier incarnations received.
    fn check_order(&self) -> Result<(), GatherError> {
        // For each receiver and each incarnation of a sender, the file and the receipt seen last.
        let mut last_receipts: BTreeMap<(NodeId, NodeId, Incarnation), (&String, Receipt)> = BTreeMap::new();
        for (file, _, survey) in self.incarnations.values() {
            for ((sender, incarnation), ReceiptRange { first, last }) in &survey.received {
                let previous = last_receipts.insert((survey.node, *sender, *incarnation), (file, *last));
                if let Some((other, previous)) = previous.filter(|(_, previous)| first.number <= previous.number) {
                    let id = MessageId { sender: *sender, number: first.number };
                    let reason = describe_order_violation(id, *incarnation, previous, &format!("in {other},"));
                    return Err(GatherError::InvalidLine { file: file.clone(), line: first.line, reason });
                }
            }
        }
        Ok(())
    }

    /// Returns the time to display as 0: the origin of the parent's journal, or else the earliest
    /// origin of the nodes.
    fn display_origin(&self, scale: &TimeScale) -> i64 {
        let shifted =
            |header: &Header, live: &LiveHeader| scale.shift(live).apply(Time::from_nanos(header.origin)).nanos();
        let world = self.worlds.iter().map(|(_, world)| shifted(&world.header, &world.live)).min();
        let nodes = self.incarnations.values().map(|(_, _, survey)| shifted(&survey.header, &survey.live)).min();
        world.or(nodes).unwrap_or(0)
    }

    /// Returns a report with the numbers that the surveys contain.
    fn start_report(&self, nodes: usize, boots: usize) -> GatherReport {
        let incarnations = || self.incarnations.values().map(|(_, _, survey)| survey);
        GatherReport {
            nodes,
            incarnations: incarnations().count(),
            clean_shutdowns: incarnations().filter(|survey| survey.shut_down_cleanly).count(),
            boots,
            sent_messages: incarnations().map(|survey| survey.sent_messages).sum(),
            torn_files: self.torn_files.clone(),
            ..GatherReport::default()
        }
    }
}

/// Returns the first difference between two headers that shows that they belong to different runs.
/// If there is a parent process, only its header lists the faults.
fn find_difference(one: &Header, other: &Header, has_parent: bool) -> Option<String> {
    let differ = |name: &str, value: &dyn std::fmt::Display, other_value: &dyn std::fmt::Display| {
        Some(format!("its {name} is {value}, not {other_value}"))
    };
    if one.algorithm != other.algorithm {
        return differ("algorithm", &one.algorithm, &other.algorithm);
    }
    if one.family != other.family {
        return differ("family", &one.family, &other.family);
    }
    if one.nodes != other.nodes {
        return differ("number of nodes", &one.nodes, &other.nodes);
    }
    if one.seed != other.seed {
        return differ("seed", &one.seed, &other.seed);
    }
    let (group, other_group) = (group_name(one), group_name(other));
    if group != other_group {
        return differ("group", &group, &other_group);
    }
    let (settings, others) = (compared_settings(&one.run, has_parent), compared_settings(&other.run, has_parent));
    let names: BTreeSet<_> = settings.keys().chain(others.keys()).collect();
    let name = names.into_iter().find(|name| settings.get(*name) != others.get(*name))?;
    let text = |value: Option<&&Value>| value.map_or_else(|| "absent".into(), ToString::to_string);
    differ(&format!("setting '{}'", name.escape_debug()), &text(settings.get(name)), &text(others.get(name)))
}

/// Returns the name of the group for an error message.
fn group_name(header: &Header) -> String {
    match header.live.as_ref().map_or("", |live| live.group.as_str()) {
        "" => "absent".into(),
        name => format!("'{}'", name.escape_debug()),
    }
}

/// Returns the settings by which [`find_difference`] compares two runs.
fn compared_settings(run: &Value, has_parent: bool) -> BTreeMap<&str, &Value> {
    match run {
        Value::Object(settings) => {
            let is_compared = |name: &str| !(has_parent && name == "faults");
            settings.iter().map(|(name, value)| (name.as_str(), value)).filter(|(name, _)| is_compared(name)).collect()
        }
        other => BTreeMap::from([("run", other)]),
    }
}
