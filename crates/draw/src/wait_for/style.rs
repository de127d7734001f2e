//! Styles of wait-for graphs.

/// The style sheet. It uses the colour variables that all pictures share. A `ground` is the opaque
/// area behind a box, a `fork` the arc across arrows of which any one suffices, and a `tail` the
/// dot where an arrow from a resource to its holder starts.
pub(super) const STYLE: &str = "\
text{font-size:13px;fill:var(--ink);unicode-bidi:isolate;direction:ltr;white-space:pre}\
path{fill:none}\
.paper{fill:var(--paper)}\
.title{font-size:20px;font-weight:650}.detail{font-size:13px;fill:var(--faint)}\
.process,.resource{stroke:var(--ink);stroke-width:1.5;fill:var(--paper)}\
.resource{fill:var(--panel)}\
.ground{fill:var(--paper)}\
.in-deadlock .process,.in-deadlock .resource{stroke:var(--alarm);stroke-width:2.6;fill:var(--alarm);fill-opacity:.12}\
.behind .process,.behind .resource{stroke:var(--wait);stroke-width:1.8;fill:url(#behind)}\
.behind-ground{fill:var(--wait);fill-opacity:.13}.behind-stripe{stroke:var(--wait);stroke-opacity:.34;stroke-width:2.4}\
.waits .process{stroke-dasharray:none;stroke:var(--faint)}\
.name{font-size:14.5px;font-weight:600}.permits{font-size:11px;fill:var(--faint)}\
.in-deadlock .permits{fill:var(--ink)}\
.edge{stroke:var(--faint);stroke-width:1.6}.tip{fill:var(--faint)}\
.any{stroke-dasharray:6 4}.queue{stroke-dasharray:1.5 4.5;stroke-linecap:round;stroke-width:2.2}\
.fork{stroke:var(--faint);stroke-width:1.6}\
.marked .edge{stroke:var(--alarm);stroke-width:3}.marked .tip{fill:var(--alarm)}.marked.fork{stroke:var(--alarm);stroke-width:2}\
.marked .any{stroke-dasharray:9 5}.marked .queue{stroke-dasharray:1.5 6;stroke-width:3.4}\
.tail{fill:var(--faint)}.marked .tail{fill:var(--alarm)}\
.victim{fill:var(--alarm);stroke:var(--paper);stroke-width:2}.cross{stroke:var(--paper);stroke-width:2.2;stroke-linecap:round}\
.legend{font-size:12.5px}\
g.node:hover rect,g.arrow:hover path{stroke-width:3.6}\n";

/// Stripes for nodes that are blocked behind a deadlock.
pub(super) const PATTERNS: &str = "<defs>\
<pattern id=\"behind\" width=\"7\" height=\"7\" patternUnits=\"userSpaceOnUse\" patternTransform=\"rotate(45)\">\
<rect class=\"behind-ground\" width=\"7\" height=\"7\"/><path class=\"behind-stripe\" d=\"M0 0V7\"/></pattern></defs>\n";
