//! The legend below the picture, and a list of what the picture leaves out.

use super::signs;
use super::text::width;
use super::{Ink, Page};
use crate::overview::ROLES;
use crate::plural::counted;
use crate::scene::{Beyond, Blow, Head, Scene, Stillness, Tail};
use quorate_journal::role::Role;

pub(super) fn write(page: &mut Page<'_>, scene: &Scene) {
    let beyond = &scene.beyond;
    if beyond.after > 0 {
        page.say(Ink::Faint, &format!("… {}", counted(beyond.after, "later journal line")));
    }
    if page.layout.lanes.is_empty() && !scene.lanes.is_empty() {
        let nodes = counted(scene.lanes.len() as u64, "node");
        page.say(Ink::Alarm, &format!("{nodes} do not fit side by side, so this is a list. Select fewer nodes."));
    } else {
        legend(page, &items(scene));
    }
    // Lines before and after are counted above and below the picture.
    if let Some(left_out) = (Beyond { before: 0, after: 0, ..*beyond }).words() {
        page.say(Ink::Faint, &left_out);
    }
}

/// Writes the items side by side, on as many lines as needed.
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

fn items(scene: &Scene) -> Vec<String> {
    let stands = |role: &Role| scene.lanes.iter().flat_map(|lane| &lane.spans).any(|span| span.role == *role);
    let roles = ROLES.into_iter().filter(|role| *role != Role::Down).filter(stands);
    let named = roles.map(|role| (signs::line(role), scene.heading.words(role))).filter(|(_, words)| !words.is_empty());
    let mut items: Vec<_> = named.map(|(sign, words)| format!("{sign} {words}")).collect();
    if stands(&Role::Down) {
        items.push(format!("no line: {}", scene.heading.words(Role::Down)));
    }
    let stills = || scene.lanes.iter().flat_map(|lane| &lane.stills);
    for why in [Stillness::Frozen, Stillness::Outside] {
        if stills().any(|still| still.why == why) {
            items.push(format!("{} {}", signs::still(why), why.words()));
        }
    }
    if scene.lanes.iter().flat_map(|lane| &lane.spans).any(|span| span.over) {
        items.push(format!("{} {}, but its lease has expired", signs::OVER, scene.heading.words(Role::Chosen)));
    }
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
    add(blows(Blow::Paused), signs::blow(Blow::Paused), "pauses");
    add(blows(Blow::Resumed), signs::blow(Blow::Resumed), "resumes");
    add(blows(Blow::Ended), signs::blow(Blow::Ended), "stopped");
    let lost = scene.arrows.iter().any(|arrow| matches!(arrow.head, Head::Lost { .. }));
    match (blows(Blow::Crashed), lost) {
        (true, true) => add(true, signs::LOST, "crash, loss"),
        (true, false) => add(true, signs::LOST, "crash"),
        (false, there) => add(there, signs::LOST, "loss"),
    }
    add(scene.arrows.iter().any(|arrow| arrow.again), signs::AGAIN, "retransmission");
    add(scene.arrows.iter().any(|arrow| arrow.copy), signs::COPY, "duplicate");
    add(scene.arrows.iter().any(|arrow| arrow.tail == Tail::Before), signs::OLD_SHAFT, "sent earlier");
    add(scene.arrows.iter().any(|arrow| arrow.head == Head::Open), signs::head(true, true), "in flight");
    items.push("times in milliseconds".into());
    items
}
