//! A comparison as plots: figures over the group's size and over the load, with expected curves.

mod panels;

use super::costs::{CostCase, CostComparison, CostRow, RunKind};
use super::{ExpectedCost, Traffic, table};
use crate::compare::{Chart, Dot, ExpectedCurve, HorizontalAxis, Legend, Plot, Series};
use crate::mutex::MutexEntry;
use panels::{Panel, PanelAxis, ReadFigure, loads, panels};

pub(super) fn chart(costs: &CostComparison) -> Chart {
    Chart {
        title: "Mutual exclusion: what an entry costs",
        subtitle: format!("{} · T: one message time", table::conditions(costs)),
        legend: Legend { measured: "simulated", expected: "expected", sample_range: "up to the longest" },
        plots: panels(costs).into_iter().map(|panel| plot(costs, panel)).collect(),
    }
}

fn plot(costs: &CostComparison, panel: Panel) -> Plot {
    let series = costs.algorithms.iter().map(|algorithm| series(costs, &panel, algorithm)).collect();
    Plot {
        horizontal_axis: horizontal_axis(costs, panel.horizontal_axis),
        series,
        title: panel.title,
        vertical_axis: panel.vertical_axis,
    }
}

fn series(costs: &CostComparison, panel: &Panel, algorithm: &'static MutexEntry) -> Series {
    let name = algorithm.facts.profile.name;
    let rows: Vec<_> = costs.rows.iter().filter(|row| row.name() == name).collect();
    let read = |kind, read_figure: Option<ReadFigure>| match read_figure {
        Some(read_figure) => values_by_position(costs, panel.horizontal_axis, &rows, kind, read_figure),
        None => Vec::new(),
    };
    let simulated = read(RunKind::Simulated, panel.simulated).into_iter().map(|(x, (value, _))| Dot::new(x, value));
    let real = read(RunKind::Real, panel.real).into_iter().map(|(x, (value, longest))| {
        let sample_range = (longest > value).then_some((value, longest));
        Dot { is_real: true, sample_range, ..Dot::new(x, value) }
    });
    let curve = expected_curve(costs, panel, algorithm);
    // An expected curve takes the place of the line that joins the dots.
    let is_joined = panel.is_joined && curve.as_ref().is_none_or(|curve| curve.points.is_empty());
    Series { name: name.into(), dots: simulated.chain(real).collect(), is_joined, expected: curve }
}

/// Returns the figure and the maximum of its samples at each position of the horizontal axis where
/// it was measured. If several runs share a position, `read_figure` receives all of them.
fn values_by_position(
    costs: &CostComparison,
    axis: PanelAxis,
    rows: &[&CostRow],
    kind: RunKind,
    read_figure: ReadFigure,
) -> Vec<(f64, (f64, f64))> {
    // Each position with the group's size and, on an axis of loads, the workload.
    let positions: Vec<_> = match axis {
        PanelAxis::Sizes(_) => costs.sizes.iter().map(|nodes| (*nodes as f64, *nodes, None)).collect(),
        PanelAxis::Loads(nodes) => {
            let traffics = loads(costs).into_iter().enumerate();
            traffics.map(|(index, traffic)| (index as f64, nodes, Some(traffic))).collect()
        }
    };
    let only_traffic = match axis {
        PanelAxis::Sizes(traffic) => traffic,
        PanelAxis::Loads(_) => None,
    };
    let values = positions.into_iter().filter_map(|(x, nodes, traffic)| {
        let is_at_position = |row: &&&CostRow| {
            let wanted = traffic.or(only_traffic);
            row.case.nodes == nodes && wanted.is_none_or(|wanted| row.case.traffic == wanted)
        };
        let results: Vec<_> = rows.iter().filter(is_at_position).filter_map(|row| row.result(kind)).collect();
        Some((x, read_figure(&results)?))
    });
    values.collect()
}

fn horizontal_axis(costs: &CostComparison, axis: PanelAxis) -> HorizontalAxis {
    match axis {
        PanelAxis::Sizes(_) => HorizontalAxis::Sizes(costs.sizes.clone()),
        PanelAxis::Loads(_) => HorizontalAxis::Names(loads(costs).into_iter().map(table::traffic_name).collect()),
    }
}

/// The expected curve of an algorithm. It has points, and so a line, only if the expected figure is
/// a single value at all of them, not a range. `None` if the panel has no expected figure, for
/// fixtures, and for algorithms that support none of the sizes.
fn expected_curve(costs: &CostComparison, panel: &Panel, algorithm: &'static MutexEntry) -> Option<ExpectedCurve> {
    let formula = panel.expected.as_ref()?;
    let expected = |nodes: usize, traffic: Traffic| {
        ExpectedCost::of_experiment(algorithm, &costs.simulation_spec(CostCase { algorithm, nodes, traffic }))
    };
    let value = |nodes: usize, traffic: Traffic| (formula.value)(&expected(nodes, traffic), costs.entries);
    let first_traffic = costs.traffics.first().copied()?;
    let sizes =
        || line_sizes(&costs.sizes).into_iter().filter(|nodes| (algorithm.facts.check_group_size)(*nodes).is_ok());
    if !expected(sizes().next()?, first_traffic).is_binding {
        return None;
    }
    let points: Option<Vec<_>> = match panel.horizontal_axis {
        PanelAxis::Sizes(only_traffic) => {
            // A panel of all workloads shows the expected figure of the first one.
            let traffic = only_traffic.unwrap_or(first_traffic);
            sizes().map(|nodes| Some((nodes as f64, value(nodes, traffic)?))).collect()
        }
        PanelAxis::Loads(nodes) if (algorithm.facts.check_group_size)(nodes).is_ok() => {
            let traffics = loads(costs).into_iter().enumerate();
            traffics.map(|(index, traffic)| Some((index as f64, value(nodes, traffic)?))).collect()
        }
        PanelAxis::Loads(_) => None,
    };
    Some(ExpectedCurve { text: (formula.text)(algorithm).into(), points: points.unwrap_or_default() })
}

/// The sizes at which to evaluate the expected cost: from the smallest group to the largest or, if
/// there is only one size, from half of it to twice it. Sizes that differ by less than one in 25
/// would look the same.
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
