//! Draws lasting faults, views and violations as bands or lines over all lanes, with names above.

use super::canvas::{Anchor, Canvas};
use super::sheet::{BAND_ROW, Sheet};
use super::text::{bold, shortened};
use super::views;
use crate::scene::{Blow, Era, Scene};
use quorate_journal::words::{self, millis};

const LETTERS: f64 = 12.5;

/// The kind of an annotation above the lanes.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Sort {
    Cut,
    Odd,
    Breach,
    /// A view, in one of two alternating tints.
    View(bool),
}

impl Sort {
    /// CSS classes of its area, its edges and its name.
    fn classes(self) -> (&'static str, &'static str, &'static str) {
        match self {
            Self::Cut => ("cut", "edge", "band"),
            Self::Odd => ("odd", "odd-edge", "odd-band"),
            Self::Breach => ("cut", "breach", "breach-name"),
            Self::View(false) => ("view-one", "view-edge", "view"),
            Self::View(true) => ("view-other", "view-edge", "view"),
        }
    }
}

/// A name above the lanes, with its area.
pub(super) struct Sign {
    text: String,
    from: f64,
    /// Right edge, if it lasts for some time.
    to: Option<f64>,
    sort: Sort,
    row: usize,
    title: String,
}

impl Sign {
    fn is_view(&self) -> bool {
        matches!(self.sort, Sort::View(_))
    }
}

/// Gives every annotation a row in which its name overlaps no other. Returns them with the number
/// of rows.
pub(super) fn place(scene: &Scene, sheet: &Sheet) -> (Vec<Sign>, usize) {
    let axis = &sheet.axis;
    let mut signs: Vec<Sign> = scene.eras.iter().map(|era| view(scene, sheet, era)).collect();
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
        // The next view begins where this one ends, so only the name needs room.
        let lasts = sign.to.filter(|_| !sign.is_view()).unwrap_or_default();
        let end = (sign.from + bold(&sign.text, LETTERS)).max(lasts) + 12.0;
        let free = ends.iter().position(|taken| *taken <= sign.from);
        sign.row = free.unwrap_or(ends.len());
        match ends.get_mut(sign.row) {
            Some(taken) => *taken = end,
            None => ends.push(end),
        }
    }
    (signs, ends.len())
}

fn view(scene: &Scene, sheet: &Sheet, era: &Era) -> Sign {
    let axis = &sheet.axis;
    // A view's area reaches to the edges of the diagram.
    let from = if era.from.order == 0 { axis.left - 24.0 } else { axis.at(era.from) };
    let to = era.to.map_or(axis.right + 12.0, |place| axis.at(place)).max(from);
    let title = format!("{}, active from {} ms on", era.view, millis(scene.shown(era.from.time)));
    let sort = Sort::View(era.view.epoch().0.is_multiple_of(2));
    Sign { text: shortened(&words::clean(&era.name()), 60), from, to: Some(to), sort, row: 0, title }
}

/// Returns the right edge of the names.
pub(super) fn reach(signs: &[Sign]) -> f64 {
    signs.iter().map(|sign| sign.from + bold(&sign.text, LETTERS)).fold(0.0, f64::max)
}

pub(super) fn draw(canvas: &mut Canvas, scene: &Scene, sheet: &Sheet, signs: &[Sign], rows: usize) {
    let (views, others): (Vec<&Sign>, Vec<&Sign>) = signs.iter().partition(|sign| sign.is_view());
    draw_signs(canvas, sheet, &views, rows);
    views::draw_holes(canvas, scene, sheet);
    draw_signs(canvas, sheet, &others, rows);
}

fn draw_signs(canvas: &mut Canvas, sheet: &Sheet, signs: &[&Sign], rows: usize) {
    let bottom = sheet.bottom;
    for sign in signs {
        let y = sheet.top - (rows - sign.row) as f64 * BAND_ROW;
        let (area, edge, band) = sign.sort.classes();
        canvas.titled("lasting", &sign.title, |canvas| {
            if let Some(to) = sign.to {
                canvas.rectangle(area, (sign.from, y + 18.0), (to - sign.from, bottom - y - 18.0), 0.0);
                if !sign.is_view() {
                    canvas.line(edge, (to, y + 4.0), (to, bottom));
                }
            }
            canvas.line(edge, (sign.from, y + 4.0), (sign.from, bottom));
            canvas.text(band, (sign.from + 5.0, y + 14.0), Anchor::Start, &sign.text);
        });
    }
}
