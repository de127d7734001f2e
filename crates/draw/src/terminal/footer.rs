//! The legend below the picture, and a list of what the picture leaves out.

use super::symbols;
use super::text::width;
use super::{Page, TextStyle};
use crate::overview::ROLES;
use crate::plural::counted;
use crate::scene::{Head, InactiveReason, MarkKind, Omitted, Scene, Tail};
use quorate_journal::role::Role;

pub(super) fn write(page: &mut Page<'_>, scene: &Scene) {
    let omitted = &scene.omitted;
    if omitted.after > 0 {
        page.remark(TextStyle::Faint, &format!("… {}", counted(omitted.after, "later journal line")));
    }
    if page.layout.lanes.is_empty() && !scene.lanes.is_empty() {
        let nodes = counted(scene.lanes.len() as u64, "node");
        page.remark(
            TextStyle::Alarm,
            &format!("{nodes} do not fit side by side, so this is a list. Select fewer nodes."),
        );
    } else {
        legend(page, &items(scene));
    }
    // Lines before and after are counted above and below the picture.
    if let Some(left_out) = (Omitted { before: 0, after: 0, ..*omitted }).summary() {
        page.remark(TextStyle::Faint, &left_out);
    }
}

/// Writes the items side by side, on as many lines as needed.
fn legend(page: &mut Page<'_>, items: &[String]) {
    const BETWEEN: &str = "   ";
    let limit = page.layout.limit.unwrap_or(100);
    let mut line = String::new();
    for item in items {
        if !line.is_empty() && width(&line) + width(BETWEEN) + width(item) > limit {
            page.remark(TextStyle::Faint, &std::mem::take(&mut line));
        }
        if !line.is_empty() {
            line.push_str(BETWEEN);
        }
        line.push_str(item);
    }
    page.remark(TextStyle::Faint, &line);
}

fn items(scene: &Scene) -> Vec<String> {
    let occurs = |role: &Role| scene.lanes.iter().flat_map(|lane| &lane.spans).any(|span| span.role == *role);
    let roles = ROLES.into_iter().filter(|role| *role != Role::Down).filter(occurs);
    let named =
        roles.map(|role| (symbols::line(role), scene.heading.role_name(role))).filter(|(_, words)| !words.is_empty());
    let mut items: Vec<_> = named.map(|(sign, words)| format!("{sign} {words}")).collect();
    if occurs(&Role::Down) {
        items.push(format!("no line: {}", scene.heading.role_name(Role::Down)));
    }
    let inactive_spans = || scene.lanes.iter().flat_map(|lane| &lane.inactive_spans);
    for reason in [InactiveReason::Frozen, InactiveReason::Outside] {
        if inactive_spans().any(|span| span.reason == reason) {
            items.push(format!("{} {}", symbols::inactive(reason), reason.label()));
        }
    }
    if scene.lanes.iter().flat_map(|lane| &lane.spans).any(|span| span.lease_expired) {
        items.push(format!(
            "{} {}, but its lease has expired",
            symbols::LEASE_EXPIRED,
            scene.heading.role_name(Role::Chosen)
        ));
    }
    let steps = |sign: &char| scene.steps.iter().any(|step| symbols::step(step) == *sign);
    let mut add_steps = |symbols: &[char], text: &str| {
        let there: Vec<String> = symbols.iter().filter(|sign| steps(sign)).map(char::to_string).collect();
        if !there.is_empty() {
            items.push(format!("{} {text}", there.join(" ")));
        }
    };
    add_steps(&[symbols::SENDS, symbols::CHOSEN_SENDS], "sends");
    add_steps(&[symbols::STEPS, symbols::CHOSEN_STEPS], "sends nothing");
    add_steps(&[symbols::START], "starts");
    let mut add = |there: bool, sign: char, text: &str| {
        if there {
            items.push(format!("{sign} {text}"));
        }
    };
    let marks = |kind| scene.marks.iter().any(|mark| mark.kind == kind);
    add(marks(MarkKind::Paused), symbols::mark(MarkKind::Paused), "pauses");
    add(marks(MarkKind::Resumed), symbols::mark(MarkKind::Resumed), "resumes");
    add(marks(MarkKind::Ended), symbols::mark(MarkKind::Ended), "stopped");
    let lost = scene.arrows.iter().any(|arrow| matches!(arrow.head, Head::Lost { .. }));
    match (marks(MarkKind::Crashed), lost) {
        (true, true) => add(true, symbols::LOST, "crash, loss"),
        (true, false) => add(true, symbols::LOST, "crash"),
        (false, there) => add(there, symbols::LOST, "loss"),
    }
    add(scene.arrows.iter().any(|arrow| arrow.again), symbols::AGAIN, "retransmission");
    add(scene.arrows.iter().any(|arrow| arrow.copy), symbols::COPY, "duplicate");
    add(scene.arrows.iter().any(|arrow| arrow.tail == Tail::Before), symbols::OLD_SHAFT, "sent earlier");
    add(scene.arrows.iter().any(|arrow| arrow.head == Head::Open), symbols::head(true, true), "in flight");
    items.push("times in milliseconds".into());
    items
}
