//! Space-time diagrams as SVG: one horizontal lane per node, time to the right.
//!
//! All text can be selected, and every step and message has a tooltip with its details. The
//! horizontal axis follows the order of events: a gap grows with its duration, within a minimum
//! that keeps events apart and a maximum that keeps long waits short.

mod areas;
mod arrows;
mod axis;
mod bands;
pub(crate) mod canvas;
mod lanes;
mod layout;
mod legend;
mod notes;
mod overview;
mod page;
mod row_layout;
mod rows;
pub(crate) mod text;
mod trays;
mod views;

use crate::scene::Scene;
use crate::scene_builder::Drawing;
use crate::style::Theme;

/// Style and contents of a diagram. An overview uses only `theme` and `has_legend`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    pub theme: Theme,
    pub clocks: Clocks,
    pub notes: Notes,
    pub has_legend: bool,
    /// Target width in pixels, at least [`MIN_WIDTH`]; a wider diagram continues in further rows.
    pub width: u32,
}

/// Default width, which fits on a page or a slide.
pub const DEFAULT_WIDTH: u32 = 1_500;
/// Minimum width of a legible diagram.
pub const MIN_WIDTH: u32 = 400;

impl Default for Options {
    fn default() -> Self {
        Self { theme: Theme::Auto, clocks: Clocks::None, notes: Notes::Auto, has_legend: true, width: DEFAULT_WIDTH }
    }
}

/// The clocks written beside each step.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Clocks {
    /// No clocks; the tooltip of a step shows them.
    #[default]
    None,
    Logical,
    Vector,
    Both,
}

/// Amount of text about applied rules.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Notes {
    /// In full if there is room, else shortened, else only rule ids.
    #[default]
    Auto,
    /// In full if there is room, else shortened.
    Full,
    RuleIds,
    None,
}

/// Returns the drawing as an SVG document.
pub fn draw(drawing: &Drawing, options: &Options) -> String {
    match drawing {
        Drawing::Scene(scene) => draw_scene(scene, options),
        Drawing::Overview(overview) => overview::draw(overview, options),
    }
}

/// Returns the scene as an SVG document.
pub fn draw_scene(scene: &Scene, options: &Options) -> String {
    page::draw(scene, options)
}
