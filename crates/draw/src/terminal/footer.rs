//! What stands below the picture: what its signs mean, and what it does not show.

use super::signs;
use super::text::width;
use super::{Ink, Page};
use crate::scene::{Blow, Head, Scene, Tail};
use quorate_sim::role::Role;

pub(super) fn write(page: &mut Page<'_>, scene: &Scene) {
    let beyond = &scene.beyond;
    if beyond.after > 0 {
        page.say(Ink::Faint, &format!("… {} of the journal after this", lines(beyond.after)));
    }
    if page.layout.lanes.is_empty() && !scene.lanes.is_empty() {
        let nodes = counted(scene.lanes.len() as u64, "node");
        page.say(Ink::Alarm, &format!("{nodes} side by side are too wide, so this is a list. Choose some of them."));
    } else {
        legend(page, &items(scene));
    }
    let left_out = [(beyond.quiet, "quiet step"), (beyond.idle as u64, "idle node")];
    let left_out: Vec<_> =
        left_out.iter().filter(|(count, _)| *count > 0).map(|(count, what)| counted(*count, what)).collect();
    if !left_out.is_empty() {
        page.say(Ink::Faint, &format!("Not shown: {}.", left_out.join(", ")));
    }
}

/// So many lines of the journal.
pub(super) fn lines(count: u64) -> String {
    counted(count, "line")
}

fn counted(count: u64, what: &str) -> String {
    if count == 1 { format!("1 {what}") } else { format!("{count} {what}s") }
}

/// One item after the other, on as many lines as that takes.
fn legend(page: &mut Page<'_>, items: &[String]) {
    const BETWEEN: &str = "   ";
    let limit = page.layout.limit.unwrap_or(100);
    let mut line = String::new();
    for item in items {
        if !line.is_empty() && width(&line) + width(BETWEEN) + width(item) > limit {
            page.say(Ink::Faint, &std::mem::take(&mut line));
        }
        if !line.is_empty() {
            line.push_str(BETWEEN);
        }
        line.push_str(item);
    }
    page.say(Ink::Faint, &line);
}

/// What the signs mean that are there.
fn items(scene: &Scene) -> Vec<String> {
    let roles = [Role::Idle, Role::Waiting, Role::Follows, Role::Chosen, Role::Paused, Role::Down];
    let stands = |role: &Role| scene.lanes.iter().flat_map(|lane| &lane.spans).any(|span| span.role == *role);
    let roles = roles.into_iter().filter(|role| *role != Role::Down).filter(stands);
    let mut items: Vec<_> = roles.map(|role| format!("{} {}", signs::line(role), word(scene, role))).collect();
    let steps = |sign: &char| scene.steps.iter().any(|step| signs::step(step) == *sign);
    let mut add_steps = |signs: &[char], text: &str| {
        let there: Vec<String> = signs.iter().filter(|sign| steps(sign)).map(char::to_string).collect();
        if !there.is_empty() {
            items.push(format!("{} {text}", there.join(" ")));
        }
    };
    add_steps(&[signs::SENDS, signs::CHOSEN_SENDS], "sends");
    add_steps(&[signs::STEPS, signs::CHOSEN_STEPS], "sends nothing");
    add_steps(&[signs::START], "starts");
    let mut add = |there: bool, sign: char, text: &str| {
        if there {
            items.push(format!("{sign} {text}"));
        }
    };
    let blows = |blow| scene.marks.iter().any(|mark| mark.what == blow);
    add(blows(Blow::Paused), signs::blow(Blow::Paused), "stands still");
    add(blows(Blow::Resumed), signs::blow(Blow::Resumed), "goes on");
    add(blows(Blow::Ended), signs::blow(Blow::Ended), "stopped");
    let lost = scene.arrows.iter().any(|arrow| matches!(arrow.head, Head::Lost { .. }));
    match (blows(Blow::Crashed), lost) {
        (true, true) => add(true, signs::LOST, "crash, loss"),
        (true, false) => add(true, signs::LOST, "crash"),
        (false, there) => add(there, signs::LOST, "loss"),
    }
    add(scene.arrows.iter().any(|arrow| arrow.again), signs::AGAIN, "sent again");
    add(scene.arrows.iter().any(|arrow| arrow.copy), signs::COPY, "a copy");
    add(scene.arrows.iter().any(|arrow| arrow.tail == Tail::Before), signs::OLD_SHAFT, "sent before this");
    add(scene.arrows.iter().any(|arrow| arrow.head == Head::Open), signs::head(true, true), "still under way");
    items.push("times in milliseconds".into());
    items
}

/// What a role is called.
fn word(scene: &Scene, role: Role) -> &str {
    let named = scene.heading.roles.iter().find(|(named, _)| *named == role).map(|(_, word)| word.as_str());
    named.unwrap_or(match role {
        Role::Idle => "idle",
        Role::Waiting => "waiting",
        Role::Follows => "follows",
        Role::Chosen => "chosen",
        Role::Paused => "paused",
        Role::Down => "down",
    })
}
