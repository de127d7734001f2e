//! An SVG document in memory, and the style sheets of space-time diagrams and overviews.

use crate::style::{MONO, SANS, Theme, variables};
use crate::text::Escaped;
use std::fmt::{self, Display, Write};

/// An SVG document that is being written.
#[derive(Default)]
pub(crate) struct Canvas {
    body: String,
    /// Whether the document needs the styles of views.
    has_views: bool,
    /// Whether the document needs the styles of hold-back queues.
    has_trays: bool,
}

/// A coordinate, displayed with at most one decimal place.
#[derive(Clone, Copy)]
pub(crate) struct Number(pub(crate) f64);

impl Display for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let tenths = (self.0 * 10.0).round() as i64;
        if tenths % 10 == 0 {
            write!(f, "{}", tenths / 10)
        } else {
            write!(f, "{}{}.{}", if tenths < 0 { "-" } else { "" }, (tenths / 10).abs(), (tenths % 10).abs())
        }
    }
}

/// Horizontal alignment of a text at its point.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Anchor {
    Start,
    Middle,
}

impl Canvas {
    pub(super) fn set_has_views(&mut self, has_views: bool) {
        self.has_views = has_views;
    }

    pub(super) fn set_has_trays(&mut self, has_trays: bool) {
        self.has_trays = has_trays;
    }

    /// Appends markup as it is; the caller must have escaped its texts.
    pub(crate) fn write_markup(&mut self, markup: fmt::Arguments<'_>) {
        // Writing into memory cannot fail.
        let _ = self.body.write_fmt(markup);
        self.body.push('\n');
    }

    /// Draws a group of elements with a tooltip.
    pub(crate) fn group_with_tooltip(&mut self, class: &str, tooltip: &str, draw: impl FnOnce(&mut Self)) {
        self.write_markup(format_args!("<g class=\"{class}\"><title>{}</title>", Escaped(tooltip)));
        draw(self);
        self.write_markup(format_args!("</g>"));
    }

    pub(crate) fn line(&mut self, class: &str, (x1, y1): (f64, f64), (x2, y2): (f64, f64)) {
        let [x1, y1, x2, y2] = [x1, y1, x2, y2].map(Number);
        self.write_markup(format_args!("<path class=\"{class}\" d=\"M{x1} {y1}L{x2} {y2}\"/>"));
    }

    pub(crate) fn rectangle(
        &mut self,
        class: &str,
        (x, y): (f64, f64),
        (width, height): (f64, f64),
        corner_radius: f64,
    ) {
        let [x, y, width, height, corner_radius] = [x, y, width.max(0.0), height, corner_radius].map(Number);
        self.write_markup(format_args!(
            "<rect class=\"{class}\" x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{height}\" rx=\"{corner_radius}\"/>"
        ));
    }

    pub(crate) fn circle(&mut self, class: &str, (x, y): (f64, f64), radius: f64) {
        let [x, y, radius] = [x, y, radius].map(Number);
        self.write_markup(format_args!("<circle class=\"{class}\" cx=\"{x}\" cy=\"{y}\" r=\"{radius}\"/>"));
    }

    pub(crate) fn text(&mut self, class: &str, (x, y): (f64, f64), anchor: Anchor, text: &str) {
        let (x, y) = (Number(x), Number(y));
        let anchor = match anchor {
            Anchor::Start => "",
            Anchor::Middle => " text-anchor=\"middle\"",
        };
        self.write_markup(format_args!("<text class=\"{class}\" x=\"{x}\" y=\"{y}\"{anchor}>{}</text>", Escaped(text)));
    }

    /// Returns the whole document, with the styles of space-time diagrams and overviews.
    pub(super) fn finish(self, size: (f64, f64), theme: Theme, name: &str, description: &str) -> String {
        let (view_style, view_patterns) = if self.has_views { (VIEW_STYLE, VIEW_PATTERNS) } else { ("", "") };
        let tray_style = if self.has_trays { TRAY_STYLE } else { "" };
        let style = format!("{STYLE}{view_style}{tray_style}");
        self.finish_with(&style, &format!("{PATTERNS}{view_patterns}"), size, theme, (name, description))
    }

    /// Returns the whole document with the given styles and patterns.
    pub(crate) fn finish_with(
        self,
        style: &str,
        patterns: &str,
        (width, height): (f64, f64),
        theme: Theme,
        (name, description): (&str, &str),
    ) -> String {
        let (width, height) = (Number(width.ceil()), Number(height.ceil()));
        let (name, description) = (Escaped(name), Escaped(description));
        let (variables, body) = (variables(theme), self.body);
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" viewBox=\"0 0 {width} \
             {height}\" role=\"img\" aria-label=\"{name}\">\n<title>{name}</title>\n<desc>{description}</desc>\n<style>\
             {variables}\n{style}text{{font-family:{SANS}}}.mono{{font-family:{MONO}}}</style>\n{patterns}\
             <rect class=\"paper\" width=\"{width}\" height=\"{height}\"/>\n{body}</svg>\n"
        )
    }
}

/// Stripe patterns: `paused-stripes` for paused nodes, `partition`, and `other-change` for other
/// lasting faults.
const PATTERNS: &str = "<defs>\
<pattern id=\"partition\" width=\"7\" height=\"7\" patternUnits=\"userSpaceOnUse\" patternTransform=\"rotate(45)\">\
<path class=\"partition-stripe\" d=\"M0 0V7\"/></pattern>\
<pattern id=\"other-change\" width=\"7\" height=\"7\" patternUnits=\"userSpaceOnUse\" patternTransform=\"rotate(-45)\">\
<path class=\"other-change-stripe\" d=\"M0 0V7\"/></pattern>\
<pattern id=\"paused-stripes\" width=\"5\" height=\"5\" patternUnits=\"userSpaceOnUse\" patternTransform=\"rotate(45)\">\
<path class=\"paused-stripe\" d=\"M0 0V5\"/></pattern></defs>\n";

/// Style sheet of all space-time diagrams and overviews.
const STYLE: &str = "\
text{font-size:13px;fill:var(--ink);unicode-bidi:isolate;direction:ltr;white-space:pre}\
path{fill:none}\
.paper{fill:var(--paper)}\
.title{font-size:20px;font-weight:650}.detail{font-size:13px;fill:var(--faint)}\
.node{font-size:15px;font-weight:600}\
.lane{stroke:var(--ink);stroke-width:1.5}\
.down-lane{stroke:var(--faint);stroke-width:1.5;stroke-dasharray:1 6;stroke-linecap:round}\
.waiting{fill:var(--wait);fill-opacity:.3}.follows{fill:var(--follow);fill-opacity:.28}\
.chosen{fill:var(--chosen)}.paused{fill:url(#paused-stripes)}.down{fill:var(--alarm);fill-opacity:.16}\
.role-name{font-size:12px;font-weight:650;fill:var(--paper);paint-order:stroke;stroke:var(--chosen);stroke-width:4px}\
.dot{fill:var(--ink);stroke:var(--paper);stroke-width:1.5}.command{fill:var(--paper);stroke:var(--ink);stroke-width:2.2}\
.start{fill:var(--chosen);stroke:var(--paper);stroke-width:1.5}.other-input{fill:var(--faint);stroke:var(--paper);stroke-width:1.5}\
.label{font-size:12.5px;font-weight:550}.event{font-size:12.5px;font-weight:600;fill:var(--chosen)}\
.rule{font-size:11.5px;fill:var(--faint)}.clock{font-size:11px;fill:var(--faint)}\
.label,.event,.rule,.clock,.kind,.mark{paint-order:stroke;stroke:var(--paper);stroke-width:3.5px;stroke-linejoin:round}\
.connector{stroke:var(--rule);stroke-width:1}\
.time{font-size:11.5px;fill:var(--faint)}.grid{stroke:var(--rule);stroke-width:1}.axis{stroke:var(--faint);stroke-width:1}.break{stroke:var(--paper);stroke-width:3}\
.kind{font-size:12.5px;font-weight:550}\
.arrow{stroke-width:1.8}.control{stroke-width:1.2;stroke-dasharray:4 3}.retransmission{stroke-width:1.3;stroke-dasharray:7 3}\
.duplicate{stroke-width:1.3;stroke-dasharray:2 3}\
.cross{stroke:var(--alarm);stroke-width:2.4;stroke-linecap:round}.mark{font-size:12.5px;font-weight:600;fill:var(--alarm)}\
.partition{fill:url(#partition)}.partition-stripe{stroke:var(--alarm);stroke-opacity:.28;stroke-width:2}\
.other-change{fill:url(#other-change)}.other-change-stripe{stroke:var(--wait);stroke-opacity:.3;stroke-width:2}\
.paused-stripe{stroke:var(--faint);stroke-width:2.4}\
.partition-edge{stroke:var(--alarm);stroke-opacity:.55;stroke-dasharray:3 4}.other-change-edge{stroke:var(--wait);stroke-opacity:.7;stroke-dasharray:3 4}\
.partition-label{font-size:12.5px;font-weight:600;fill:var(--alarm)}.other-change-label{font-size:12.5px;font-weight:600;fill:var(--wait)}\
.violation{stroke:var(--alarm);stroke-width:2}.violation-label{font-size:13px;font-weight:700;fill:var(--alarm)}\
.legend{font-size:12.5px}.legend-rule{font-size:12.5px;font-weight:600}.footer{font-size:12px;fill:var(--faint)}\
.bar{fill:var(--series-1)}.bar-control{fill:var(--rule)}.bar-lost{fill:var(--alarm)}.groove{fill:var(--panel)}\
g.step:hover circle,g.arrow-group:hover path{stroke-width:3.2}\n";

/// Stripe pattern of frozen nodes.
const VIEW_PATTERNS: &str = "<defs>\
<pattern id=\"frozen-stripes\" width=\"5\" height=\"5\" patternUnits=\"userSpaceOnUse\" patternTransform=\"rotate(-45)\">\
<path class=\"frozen-stripe\" d=\"M0 0V5\"/></pattern></defs>\n";

/// Additional style sheet of diagrams with views.
const VIEW_STYLE: &str = "\
.view-odd{fill:var(--follow);fill-opacity:.13}.view-even{fill:var(--series-4);fill-opacity:.08}\
.view-label{font-size:12.5px;font-weight:600}.view-edge{stroke:var(--faint);stroke-opacity:.6}.hole{fill:var(--paper)}\
.outside{stroke:var(--faint);stroke-width:1.2;stroke-dasharray:2 5}\
.lease{stroke:var(--series-8);stroke-width:2}.lease-of-down-node{stroke:var(--series-8);stroke-width:1.6;stroke-dasharray:2 3}\
.lease-end{stroke:var(--series-8);stroke-width:2}\
.frozen{fill:url(#frozen-stripes);stroke:var(--series-8);stroke-opacity:.5;stroke-width:1}.frozen-stripe{stroke:var(--series-8);stroke-opacity:.4;stroke-width:2}\
.frozen-label{font-size:11px;font-weight:600;fill:var(--series-8);paint-order:stroke;stroke:var(--paper);stroke-width:4px;stroke-linejoin:round}\
.lease-expired{fill:var(--chosen);fill-opacity:.28}.report{stroke-width:1.2;stroke-opacity:.75}\n";

/// Additional style sheet of diagrams with hold-back queues, which are drawn as trays.
const TRAY_STYLE: &str = "\
.tray{fill:var(--series-5);fill-opacity:.14}.tray-edge{stroke:var(--series-5);stroke-width:1.2;stroke-opacity:.8}\
.chip{fill:var(--paper);stroke:var(--series-5);stroke-width:1.2}.chip-name{font-size:11px;font-weight:600}\n";

#[cfg(test)]
mod tests {
    use super::Number;

    #[test]
    fn numbers_have_at_most_one_decimal_place() {
        let written: Vec<_> = [0.0, 1.25, -0.04, -0.25, 12.999, -3.5].map(|number| Number(number).to_string()).into();
        assert_eq!(written, ["0", "1.3", "0", "-0.3", "13", "-3.5"]);
    }
}
