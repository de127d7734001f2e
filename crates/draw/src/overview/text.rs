//! An overview as text: a row for each node, and one for the messages.

use super::{Bin, Overview, Row, Shares};
use quorate_sim::role::Role;
use quorate_sim::words::millis;
use std::fmt::Write;

/// What a piece of the text is, for those who colour it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ink {
    /// How a node stood for most of the time.
    Role(Role),
    /// How many messages there were.
    Messages,
    /// What went wrong.
    Alarm,
    /// What matters less.
    Faint,
}

const BARS: [char; 9] = [' ', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// The overview in so many columns. `paint` may colour each piece.
pub fn draw(overview: &Overview, columns: usize, paint: &dyn Fn(Ink, &str) -> String) -> String {
    let room = columns.saturating_sub(12).clamp(20, 200);
    let mut out = String::new();
    let chunk = overview.bins.len().div_ceil(room).max(1);
    let sums: Vec<Bin> = overview.bins.chunks(chunk).map(sum).collect();
    for row in &overview.lanes {
        let node = format!("node {}", row.node);
        let _ = writeln!(out, "{node:>10}  {}", standing(row, chunk, sums.len(), paint));
    }
    if overview.more_nodes > 0 {
        let _ = writeln!(out, "{}", paint(Ink::Faint, &format!("{:>10}  and {} more nodes", "", overview.more_nodes)));
    }
    let _ = writeln!(out, "{:>10}  {}", "messages", paint(Ink::Messages, &bars(&sums, |bin| bin.messages)));
    if overview.total.control > 0 {
        let _ = writeln!(out, "{:>10}  {}", "control", paint(Ink::Faint, &bars(&sums, |bin| bin.control)));
    }
    if overview.total.lost > 0 {
        let _ = writeln!(out, "{:>10}  {}", "lost", paint(Ink::Alarm, &bars(&sums, |bin| bin.lost)));
    }
    if overview.total.crashes > 0 {
        let _ = writeln!(out, "{:>10}  {}", "crashes", paint(Ink::Alarm, &bars(&sums, |bin| bin.crashes)));
    }
    let shown = |time: quorate_core::Time| {
        millis(quorate_core::Time::from_nanos(time.nanos().saturating_sub(overview.origin.nanos())))
    };
    let (from, to) = (shown(overview.from), shown(overview.to));
    let gap = sums.len().saturating_sub(from.len() + to.len() + 3).max(2);
    let _ = writeln!(out, "{}", paint(Ink::Faint, &format!("{:>10}  {from}{}{to} ms", "", " ".repeat(gap))));
    out
}

fn sum(bins: &[Bin]) -> Bin {
    bins.iter().fold(Bin::default(), |mut sum, bin| {
        sum.add(*bin);
        sum
    })
}

fn standing(row: &Row, chunk: usize, columns: usize, paint: &dyn Fn(Ink, &str) -> String) -> String {
    let sign = |shares: &[Shares]| {
        let mut sum = Shares::default();
        shares.iter().for_each(|more| sum.merge(more));
        // How much of the time it was the one is what counts, as long as it was at all.
        let (chosen, most) = (sum.of(Role::Chosen), sum.most());
        let eighths = usize::try_from((chosen * 8).div_ceil(sum.total().max(1))).unwrap_or_default();
        match (most, chosen) {
            (Role::Down | Role::Paused, _) | (_, 0) => paint(Ink::Role(most), &most.sign().to_string()),
            (_, _) => paint(Ink::Role(Role::Chosen), &BARS.get(eighths).copied().unwrap_or('█').to_string()),
        }
    };
    row.shares.chunks(chunk).take(columns).map(sign).collect()
}

fn bars(bins: &[Bin], of: impl Fn(&Bin) -> u64) -> String {
    let most = bins.iter().map(&of).max().unwrap_or_default().max(1);
    let bar = |bin: &Bin| {
        let height = usize::try_from((of(bin) * 8).div_ceil(most)).unwrap_or_default();
        BARS.get(height).copied().unwrap_or(' ')
    };
    bins.iter().map(bar).collect()
}
