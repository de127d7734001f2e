//! The legend below the picture, and a summary of what the picture omits.

use super::symbols;
use super::text::display_width;
use super::{Page, TextStyle};
use crate::overview::ROLES;
use crate::plural::count_with_noun;
use crate::scene::{Head, InactiveReason, MarkKind, Omitted, Scene, Tail};
use quorate_journal::role::Role;

pub(super) fn write(page: &mut Page<'_>, scene: &Scene) {
    let omitted = &scene.omitted;
    if omitted.lines_after > 0 {
        page.write_line(TextStyle::Faint, &format!("… {}", count_with_noun(omitted.lines_after, "later journal line")));
    }
    if page.layout.lanes.is_empty() && !scene.lanes.is_empty() {
        let nodes = count_with_noun(scene.lanes.len() as u64, "node");
        page.write_line(
            TextStyle::Alarm,
            &format!("{nodes} do not fit side by side, so this is a list. Select fewer nodes."),
        );
    } else {
        write_legend(page, &legend_items(scene));
    }
    // Journal lines before and after the picture are counted above and below it.
    if let Some(summary) = (Omitted { lines_before: 0, lines_after: 0, ..*omitted }).summary() {
        page.write_line(TextStyle::Faint, &summary);
    }
}

/// Writes the items side by side, on as many lines as needed.
fn write_legend(page: &mut Page<'_>, items: &[String]) {
    const SEPARATOR: &str = "   ";
    // Without a maximum width, texts are not cut, but the legend still wraps.
    let limit = page.layout.max_width.unwrap_or(100);
    let mut line = String::new();
    for item in items {
        if !line.is_empty() && display_width(&line) + display_width(SEPARATOR) + display_width(item) > limit {
            page.write_line(TextStyle::Faint, &std::mem::take(&mut line));
        }
        if !line.is_empty() {
            line.push_str(SEPARATOR);
        }
        line.push_str(item);
    }
    page.write_line(TextStyle::Faint, &line);
}

fn legend_items(scene: &Scene) -> Vec<String> {
    let occurs = |role: &Role| scene.lanes.iter().flat_map(|lane| &lane.spans).any(|span| span.role == *role);
    let roles = ROLES.into_iter().filter(|role| *role != Role::Down).filter(occurs);
    let named_roles =
        roles.map(|role| (symbols::lane(role), scene.heading.role_name(role))).filter(|(_, name)| !name.is_empty());
    let mut items: Vec<_> = named_roles.map(|(symbol, name)| format!("{symbol} {name}")).collect();
    if occurs(&Role::Down) {
        items.push(format!("no line: {}", scene.heading.role_name(Role::Down)));
    }
    let inactive_spans = || scene.lanes.iter().flat_map(|lane| &lane.inactive_spans);
    for reason in [InactiveReason::Frozen, InactiveReason::Outside] {
        if inactive_spans().any(|span| span.reason == reason) {
            items.push(format!("{} {}", symbols::inactive(reason), reason.label()));
        }
    }
    if scene.lanes.iter().flat_map(|lane| &lane.spans).any(|span| span.is_lease_expired) {
        items.push(format!(
            "{} {}, but its lease has expired",
            symbols::LEASE_EXPIRED,
            scene.heading.role_name(Role::Chosen)
        ));
    }
    let has_step = |symbol: &char| scene.steps.iter().any(|step| symbols::step(step) == *symbol);
    let mut add_steps = |symbols: &[char], text: &str| {
        let used: Vec<String> = symbols.iter().filter(|symbol| has_step(symbol)).map(char::to_string).collect();
        if !used.is_empty() {
            items.push(format!("{} {text}", used.join(" ")));
        }
    };
    add_steps(&[symbols::SENDS, symbols::CHOSEN_SENDS], "sends");
    add_steps(&[symbols::SENDS_NOTHING, symbols::CHOSEN_SENDS_NOTHING], "sends nothing");
    add_steps(&[symbols::START], "starts");
    let mut add_if = |is_used: bool, symbol: char, text: &str| {
        if is_used {
            items.push(format!("{symbol} {text}"));
        }
    };
    let has_mark = |kind| scene.marks.iter().any(|mark| mark.kind == kind);
    add_if(has_mark(MarkKind::Paused), symbols::mark(MarkKind::Paused), "pauses");
    add_if(has_mark(MarkKind::Resumed), symbols::mark(MarkKind::Resumed), "resumes");
    add_if(has_mark(MarkKind::Stopped), symbols::mark(MarkKind::Stopped), "stopped");
    let has_loss = scene.arrows.iter().any(|arrow| matches!(arrow.head, Head::Lost { .. }));
    match (has_mark(MarkKind::Crashed), has_loss) {
        (true, true) => add_if(true, symbols::CROSS, "crash, loss"),
        (true, false) => add_if(true, symbols::CROSS, "crash"),
        (false, has_loss) => add_if(has_loss, symbols::CROSS, "loss"),
    }
    add_if(scene.arrows.iter().any(|arrow| arrow.is_retransmission), symbols::RETRANSMISSION, "retransmission");
    add_if(scene.arrows.iter().any(|arrow| arrow.is_duplicate), symbols::DUPLICATE, "duplicate");
    add_if(scene.arrows.iter().any(|arrow| arrow.tail == Tail::BeforeWindow), symbols::EARLIER_SHAFT, "sent earlier");
    let (is_rightward, is_hollow) = (true, true);
    let hollow_head = symbols::head(is_rightward, is_hollow);
    add_if(scene.arrows.iter().any(|arrow| arrow.head == Head::InFlight), hollow_head, "in flight");
    items.push("times in milliseconds".into());
    items
}
