//! Whether journals fit together, and what they say when they are laid side by side.

use super::Gathered;
use super::error::GatherError;
use super::lives::{Life, Pause, Scale, assign, judge_disks};
use super::survey::{Content, Heard, LifeSurvey, Receipt, Survey, WorldSurvey, out_of_order};
use crate::moment::MessageId;
use crate::record::line::WorldLine;
use crate::record::{FORMAT, Header, Live};
use crate::workload::Ending;
use quorate_core::{Incarnation, NodeId, Time};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// The journals, ready to be merged.
pub(super) struct Arrangement {
    /// The header of the result.
    pub(super) header: Header,
    pub(super) nodes: Vec<NodePlan>,
    /// What changed around the nodes, in order of time.
    pub(super) changes: VecDeque<(Time, String)>,
    /// How the run ended, if its parent says.
    pub(super) ending: Option<Ending>,
    pub(super) found: Gathered,
}

/// The lives of a node, in order, and when it stood still.
#[derive(Default)]
pub(super) struct NodePlan {
    pub(super) lives: Vec<Life>,
    pub(super) pauses: VecDeque<Pause>,
}

/// The journals after the first reading, sorted by what they are.
struct Sorted {
    lives: BTreeMap<(NodeId, Incarnation), (String, usize, LifeSurvey)>,
    worlds: Vec<(String, WorldSurvey)>,
    torn: Vec<String>,
    /// How many files have not even a header.
    blank: usize,
}

/// Lays the journals side by side.
pub(super) fn arrange(surveys: Vec<Survey>) -> Result<Arrangement, GatherError> {
    let sorted = sort(surveys)?;
    sorted.check_runs()?;
    sorted.check_nodes()?;
    sorted.check_messages()?;
    sorted.check_order()?;
    let header = sorted.reference().ok_or(GatherError::Nothing)?.1.clone();
    let scale = Scale::new(sorted.lives());
    let mut found = sorted.found(header.nodes, scale.boots());
    let origin = sorted.origin(&scale);
    let scale = scale.with_zero_at(origin);
    let mut nodes: Vec<NodePlan> = (0..header.nodes).map(|_| NodePlan::default()).collect();
    for ((node, _), (file, part, survey)) in sorted.lives {
        let shift = scale.shift(&survey.live);
        if let Some(plan) = nodes.get_mut(node.index()) {
            plan.add(Life::new(file, part, survey, shift));
        }
    }
    let ending = sorted.worlds.iter().find_map(|(_, world)| world.ending);
    let mut changes = Vec::new();
    for (_, world) in sorted.worlds {
        let shift = scale.shift(&world.live);
        for act in world.acts {
            match act.what {
                WorldLine::Changed(text) => changes.push((shift.of(act.time), text)),
                what => found.warnings.extend(assign(&mut nodes, shift.of(act.time), &what)),
            }
        }
    }
    changes.sort_by_key(|(time, _)| *time);
    for plan in &mut nodes {
        judge_disks(&mut plan.lives, &mut found);
    }
    let header = Header { journal: FORMAT, recorded: true, origin: 0, live: None, ..header };
    Ok(Arrangement { header, nodes, changes: changes.into(), ending, found })
}

impl NodePlan {
    /// A life that never started left nothing behind.
    fn add(&mut self, mut life: Life) {
        if life.started.is_some() {
            life.base = self.lives.last().map_or(0, |last| last.base + last.sent);
            self.lives.push(life);
        }
    }
}

fn sort(surveys: Vec<Survey>) -> Result<Sorted, GatherError> {
    let mut sorted = Sorted { lives: BTreeMap::new(), worlds: Vec::new(), torn: Vec::new(), blank: 0 };
    for Survey { part, file, torn, content } in surveys {
        if torn {
            sorted.torn.push(file.clone());
        }
        match content {
            Content::Nothing => sorted.blank += 1,
            Content::World(world) => sorted.worlds.push((file, *world)),
            Content::Life(survey) => {
                let (node, life) = (survey.node, survey.live.incarnation);
                if let Some((other, _, _)) = sorted.lives.insert((node, life), (file.clone(), part, *survey)) {
                    return Err(GatherError::Twice { file, other, node, life });
                }
            }
        }
    }
    Ok(sorted)
}

impl Sorted {
    /// The headers of all journals, those of the world first.
    fn headers(&self) -> impl Iterator<Item = (&String, &Header)> {
        let worlds = self.worlds.iter().map(|(file, world)| (file, &world.header));
        worlds.chain(self.lives.values().map(|(file, _, survey)| (file, &survey.header)))
    }

    /// The journal whose header the result gets: whoever did something to the nodes knows most of the run.
    fn reference(&self) -> Option<(&String, &Header)> {
        self.headers().next()
    }

    fn lives(&self) -> impl Iterator<Item = &Live> {
        let worlds = self.worlds.iter().map(|(_, world)| &world.live);
        worlds.chain(self.lives.values().map(|(_, _, survey)| &survey.live))
    }

    fn check_runs(&self) -> Result<(), GatherError> {
        let Some((other, first)) = self.reference() else { return Ok(()) };
        for (file, header) in self.headers() {
            if let Some(what) = difference(header, first, !self.worlds.is_empty()) {
                return Err(GatherError::OtherRun { file: file.clone(), other: other.clone(), what });
            }
        }
        Ok(())
    }

    /// Each node must be there, unless its journal may be one of those that were cut off in their first line.
    fn check_nodes(&self) -> Result<(), GatherError> {
        let nodes = self.reference().map_or(0, |(_, header)| header.nodes);
        let there: BTreeSet<_> = self.lives.keys().map(|(node, _)| node.index()).collect();
        if nodes - there.len() <= self.blank {
            return Ok(());
        }
        let missing = (0..nodes).find(|index| !there.contains(index)).unwrap_or(nodes);
        Err(GatherError::Missing { node: NodeId::from_index(missing), nodes })
    }

    /// Every message that arrives somewhere must have been sent somewhere.
    fn check_messages(&self) -> Result<(), GatherError> {
        for (file, _, survey) in self.lives.values() {
            for ((sender, life), heard) in &survey.heard {
                let number = heard.last.number;
                let reason = match self.lives.get(&(*sender, *life)) {
                    None => format!("no journal of life {life} of node {sender} is among these files; name it too"),
                    Some((other, _, sender)) if sender.sent < number => {
                        format!("{other} ends before that was sent; it was cut off, or is of another run")
                    }
                    Some(_) => continue,
                };
                let reason = format!("message {sender}.{number} of life {life} of node {sender} arrives, but {reason}");
                return Err(GatherError::Line { file: file.clone(), line: heard.last.line, reason });
            }
        }
        Ok(())
    }

    /// What one life of a node did not hear because a later message came first, no later life hears: the link had passed
    /// it by.
    fn check_order(&self) -> Result<(), GatherError> {
        let mut last: BTreeMap<(NodeId, NodeId, Incarnation), (&String, Receipt)> = BTreeMap::new();
        for (file, _, survey) in self.lives.values() {
            for ((sender, life), Heard { first, last: newest }) in &survey.heard {
                let before = last.insert((survey.node, *sender, *life), (file, *newest));
                if let Some((other, before)) = before.filter(|(_, before)| first.number <= before.number) {
                    let id = MessageId { sender: *sender, number: first.number };
                    let reason = out_of_order(id, *life, before, &format!("in {other},"));
                    return Err(GatherError::Line { file: file.clone(), line: first.line, reason });
                }
            }
        }
        Ok(())
    }

    /// What people want to see as 0: what the world's journal says, or else the earliest of what the nodes say.
    fn origin(&self, scale: &Scale) -> i64 {
        let of = |header: &Header, live: &Live| scale.shift(live).of(Time::from_nanos(header.origin)).nanos();
        let world = self.worlds.iter().map(|(_, world)| of(&world.header, &world.live)).min();
        let nodes = self.lives.values().map(|(_, _, survey)| of(&survey.header, &survey.live)).min();
        world.or(nodes).unwrap_or(0)
    }

    fn found(&self, nodes: usize, boots: usize) -> Gathered {
        let lives = || self.lives.values().map(|(_, _, survey)| survey);
        Gathered {
            nodes,
            lives: lives().count(),
            ended: lives().filter(|survey| survey.ended).count(),
            boots,
            sent: lives().map(|survey| survey.sent).sum(),
            torn: self.torn.clone(),
            ..Gathered::default()
        }
    }
}

/// In what two headers differ, if they are of different runs. Only a parent of the nodes knows what it will do to them.
fn difference(one: &Header, other: &Header, has_world: bool) -> Option<String> {
    let differ = |what: &str, one: &dyn std::fmt::Display, other: &dyn std::fmt::Display| {
        Some(format!("its {what} is {one}, not {other}"))
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
    let (group, others) = (group(one), group(other));
    if group != others {
        return differ("group", &group, &others);
    }
    let (run, others) = (settings(&one.run, has_world), settings(&other.run, has_world));
    let names: BTreeSet<_> = run.keys().chain(others.keys()).collect();
    let name = names.into_iter().find(|name| run.get(*name) != others.get(*name))?;
    let text = |value: Option<&&Value>| value.map_or_else(|| "absent".into(), ToString::to_string);
    differ(&format!("setting '{}'", name.escape_debug()), &text(run.get(name)), &text(others.get(name)))
}

/// The name that the nodes met under, as people read it.
fn group(header: &Header) -> String {
    match header.live.as_ref().map_or("", |live| live.group.as_str()) {
        "" => "absent".into(),
        name => format!("'{}'", name.escape_debug()),
    }
}

fn settings(run: &Value, has_world: bool) -> BTreeMap<&str, &Value> {
    match run {
        Value::Object(settings) => {
            let counts = |name: &str| !(has_world && name == "faults");
            settings.iter().map(|(name, value)| (name.as_str(), value)).filter(|(name, _)| counts(name)).collect()
        }
        other => BTreeMap::from([("run", other)]),
    }
}
