//! A comparison as plots: figures over the group's size and over the load, with expected curves.

mod panels;

use super::costs::{CostCase, Costs, Row, World};
use super::{ExpectedCost, Traffic, table};
use crate::compare::{Across, Chart, Dot, ExpectedCurve, Legend, Plot, Series};
use crate::mutex::MutexEntry;
use panels::{Over, Panel, Reading, loads, panels};

pub(super) fn chart(costs: &Costs) -> Chart {
    Chart {
        title: "Mutual exclusion: what an entry costs",
        subtitle: format!("{} · T: one message time", table::conditions(costs)),
        legend: Legend { measured: "simulated", expected: "expected", reach: "up to the longest" },
        plots: panels(costs).into_iter().map(|panel| plot(costs, panel)).collect(),
    }
}

fn plot(costs: &Costs, panel: Panel) -> Plot {
    let series = costs.contenders.iter().map(|entry| series(costs, &panel, entry)).collect();
    Plot { across: across(costs, panel.over), series, title: panel.title, upwards: panel.y }
}

fn series(costs: &Costs, panel: &Panel, entry: &'static MutexEntry) -> Series {
    let name = entry.facts.profile.name;
    let rows: Vec<_> = costs.rows.iter().filter(|row| row.name() == name).collect();
    let read = |world, reading: Option<Reading>| match reading {
        Some(reading) => values_by_position(costs, panel.over, &rows, world, reading),
        None => Vec::new(),
    };
    let simulated = read(World::Simulated, panel.simulated).into_iter().map(|(x, (value, _))| Dot::new(x, value));
    let real = read(World::Real, panel.real).into_iter().map(|(x, (value, longest))| {
        let reach = (longest > value).then_some((value, longest));
        Dot { is_real: true, reach, ..Dot::new(x, value) }
    });
    let curve = expected_curve(costs, panel, entry);
    // Without an expected curve, a line joins the dots.
    let is_joined = panel.is_joined && curve.as_ref().is_none_or(|curve| curve.points.is_empty());
    Series { name: name.into(), dots: simulated.chain(real).collect(), is_joined, expected: curve }
}

/// Returns the value and its maximum at each position of the horizontal axis. Several runs at one
/// position are combined.
fn values_by_position(
    costs: &Costs,
    over: Over,
    rows: &[&Row],
    world: World,
    reading: Reading,
) -> Vec<(f64, (f64, f64))> {
    let positions: Vec<_> = match over {
        Over::Sizes(_) => costs.sizes.iter().map(|nodes| (*nodes as f64, *nodes, None)).collect(),
        Over::Loads(nodes) => {
            let traffics = loads(costs).into_iter().enumerate();
            traffics.map(|(index, traffic)| (index as f64, nodes, Some(traffic))).collect()
        }
    };
    let only_traffic = match over {
        Over::Sizes(traffic) => traffic,
        Over::Loads(_) => None,
    };
    let found = positions.into_iter().filter_map(|(x, nodes, traffic)| {
        let is_at_position = |row: &&&Row| {
            let wanted = traffic.or(only_traffic);
            row.case.nodes == nodes && wanted.is_none_or(|wanted| row.case.traffic == wanted)
        };
        let results: Vec<_> = rows.iter().filter(is_at_position).filter_map(|row| row.result(world)).collect();
        Some((x, reading(&results)?))
    });
    found.collect()
}

fn across(costs: &Costs, over: Over) -> Across {
    match over {
        Over::Sizes(_) => Across::Sizes(costs.sizes.clone()),
        Over::Loads(_) => Across::Names(loads(costs).into_iter().map(table::traffic_name).collect()),
    }
}

/// The expected curve of an algorithm, with a line if it is exact for all sizes. `None` for faulty
/// variants.
fn expected_curve(costs: &Costs, panel: &Panel, entry: &'static MutexEntry) -> Option<ExpectedCurve> {
    let formula = panel.expected.as_ref()?;
    let expected =
        |nodes: usize, traffic: Traffic| ExpectedCost::of(entry, &costs.simulation(CostCase { entry, nodes, traffic }));
    let value = |nodes: usize, traffic: Traffic| (formula.value)(&expected(nodes, traffic), costs.entries);
    let traffic = costs.traffics.first().copied()?;
    let sizes = || line_sizes(&costs.sizes).into_iter().filter(|nodes| (entry.facts.fits)(*nodes).is_ok());
    if !expected(sizes().next()?, traffic).binding {
        return None;
    }
    let line: Option<Vec<_>> = match panel.over {
        Over::Sizes(only_traffic) => {
            sizes().map(|nodes| Some((nodes as f64, value(nodes, only_traffic.unwrap_or(traffic))?))).collect()
        }
        Over::Loads(nodes) if (entry.facts.fits)(nodes).is_ok() => {
            let traffics = loads(costs).into_iter().enumerate();
            traffics.map(|(index, traffic)| Some((index as f64, value(nodes, traffic)?))).collect()
        }
        Over::Loads(_) => None,
    };
    Some(ExpectedCurve { text: (formula.text)(entry).into(), points: line.unwrap_or_default() })
}

/// The sizes at which to evaluate the expected cost: from the smallest group to the largest, and
/// around a single size. Sizes that differ by less than one in 25 would look the same.
fn line_sizes(sizes: &[usize]) -> Vec<usize> {
    let smallest = sizes.iter().copied().min().unwrap_or(2);
    let largest = sizes.iter().copied().max().unwrap_or(2);
    let (smallest, largest) =
        if smallest == largest { ((smallest / 2).max(2), 2 * largest) } else { (smallest, largest) };
    let line = std::iter::successors(Some(smallest), |size| Some(size + 1 + size / 25));
    line.take_while(|size| *size < largest).chain([largest]).collect()
}

#[cfg(test)]
mod tests {
    use super::line_sizes;

    #[test]
    fn lines_go_from_the_smallest_group_to_the_largest() {
        assert_eq!(line_sizes(&[8, 2, 5]), [2, 3, 4, 5, 6, 7, 8]);
        assert_eq!(line_sizes(&[3]), [2, 3, 4, 5, 6]);
        let long = line_sizes(&[2, 1000]);
        assert!(long.len() <= 150 && long.first() == Some(&2) && long.last() == Some(&1000), "{long:?}");
    }
}
