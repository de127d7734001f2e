//! What lasts, as bands over all lanes with their names above.

use super::canvas::{Anchor, Canvas};
use super::sheet::{BAND_ROW, Sheet};
use super::text::{bold, shortened};
use crate::scene::{Blow, Scene};
use quorate_sim::words::millis;

const LETTERS: f64 = 12.5;

/// What a sign above the lanes tells of.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Sort {
    Cut,
    Odd,
    Breach,
}

impl Sort {
    /// The classes of its area, its edges and its name.
    fn classes(self) -> (&'static str, &'static str, &'static str) {
        match self {
            Self::Cut => ("cut", "edge", "band"),
            Self::Odd => ("odd", "odd-edge", "odd-band"),
            Self::Breach => ("cut", "breach", "breach-name"),
        }
    }
}

/// A name above the lanes, and the row it stands in.
pub(super) struct Sign {
    text: String,
    from: f64,
    /// Where it ends, if it lasts.
    to: Option<f64>,
    sort: Sort,
    row: usize,
    title: String,
}

/// Gives every band a row, so that no two names meet; and how many rows there are.
pub(super) fn place(scene: &Scene, sheet: &Sheet) -> (Vec<Sign>, usize) {
    let axis = &sheet.axis;
    let mut signs: Vec<Sign> = Vec::new();
    for band in &scene.bands {
        let from = if band.from.time < scene.from { axis.left - 24.0 } else { axis.at(band.from) };
        let to = band.to.map_or(axis.right + 12.0, |place| axis.at(place)).max(from + 4.0);
        let until = band.to.map_or_else(|| "on".into(), |place| format!("to {} ms", millis(scene.shown(place.time))));
        let title = format!("{}, from {} ms {until}", band.text, millis(scene.shown(band.from.time)));
        signs.push(Sign {
            text: shortened(&band.text, 60),
            from,
            to: Some(to),
            sort: if band.cut { Sort::Cut } else { Sort::Odd },
            row: 0,
            title,
        });
    }
    for mark in scene.marks.iter().filter(|mark| mark.what == Blow::Changed) {
        let title = format!("{} ms: {}", millis(scene.shown(mark.place.time)), mark.text);
        let from = axis.of(mark.place.order);
        signs.push(Sign { text: shortened(&mark.text, 60), from, to: None, sort: Sort::Odd, row: 0, title });
    }
    for breach in &scene.breaches {
        let Some(order) = scene.order_of(breach) else { continue };
        let title = format!("{} ms: {}", millis(scene.shown(breach.time)), breach.text);
        let text = shortened(&breach.text, 60);
        signs.push(Sign { text, from: axis.of(order), to: None, sort: Sort::Breach, row: 0, title });
    }
    signs.sort_by(|one, other| one.from.total_cmp(&other.from));
    let mut ends: Vec<f64> = Vec::new();
    for sign in &mut signs {
        let end = (sign.from + bold(&sign.text, LETTERS)).max(sign.to.unwrap_or_default()) + 12.0;
        let free = ends.iter().position(|taken| *taken <= sign.from);
        sign.row = free.unwrap_or(ends.len());
        match ends.get_mut(sign.row) {
            Some(taken) => *taken = end,
            None => ends.push(end),
        }
    }
    (signs, ends.len())
}

/// How far to the right the names reach.
pub(super) fn reach(signs: &[Sign]) -> f64 {
    signs.iter().map(|sign| sign.from + bold(&sign.text, LETTERS)).fold(0.0, f64::max)
}

/// Draws the bands below everything else.
pub(super) fn draw(canvas: &mut Canvas, sheet: &Sheet, signs: &[Sign], rows: usize) {
    let bottom = sheet.bottom;
    for sign in signs {
        let y = sheet.top - (rows - sign.row) as f64 * BAND_ROW;
        let (area, edge, band) = sign.sort.classes();
        canvas.titled("lasting", &sign.title, |canvas| {
            if let Some(to) = sign.to {
                canvas.rectangle(area, (sign.from, y + 18.0), (to - sign.from, bottom - y - 18.0), 0.0);
                canvas.line(edge, (to, y + 4.0), (to, bottom));
            }
            canvas.line(edge, (sign.from, y + 4.0), (sign.from, bottom));
            canvas.text(band, (sign.from + 5.0, y + 14.0), Anchor::Start, &sign.text);
        });
    }
}
