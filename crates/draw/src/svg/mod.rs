//! Space-time diagrams as SVG: one line a process, time to the right.
//!
//! All text is text that can be selected, and whatever stands for a step or a message tells all about it when the pointer
//! rests on it. Time runs to the right in the order of what happens; a gap is the wider the longer it lasts, but never so
//! narrow that two things meet, and never so wide that nothing is to be seen.

mod arrows;
mod axis;
mod bands;
mod boxes;
pub(crate) mod canvas;
mod frame;
mod lanes;
mod legend;
mod notes;
mod overview;
mod page;
mod rows;
mod sheet;
pub(crate) mod text;
mod trays;
mod views;

use crate::scene::Scene;
use crate::sketch::Drawing;
use crate::style::Theme;

/// How a diagram looks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    pub theme: Theme,
    pub clocks: Clocks,
    pub notes: Notes,
    pub legend: bool,
    /// How wide a picture should be at most, in pixels; what is wider goes on in the next row.
    pub width: u32,
}

/// What fits on a page or a slide.
pub const USUAL_WIDTH: u32 = 1_500;
/// Nothing is to be seen on less.
pub const LEAST_WIDTH: u32 = 400;

impl Default for Options {
    fn default() -> Self {
        Self { theme: Theme::Auto, clocks: Clocks::None, notes: Notes::Auto, legend: true, width: USUAL_WIDTH }
    }
}

/// Which clocks stand beside each step.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Clocks {
    /// None; they are told when the pointer rests on a step.
    #[default]
    None,
    Logical,
    Vector,
    Both,
}

/// How much is said of the rules that were applied.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Notes {
    /// In full if there is room, else their names.
    #[default]
    Auto,
    Full,
    Names,
    None,
}

pub fn draw(drawing: &Drawing, options: &Options) -> String {
    match drawing {
        Drawing::Scene(scene) => draw_scene(scene, options),
        Drawing::Overview(overview) => overview::draw(overview, options),
    }
}

pub fn draw_scene(scene: &Scene, options: &Options) -> String {
    page::draw(scene, options)
}
