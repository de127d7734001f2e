//! Tests of pictures for terminals: golden outputs, and robustness against any journal.
//!
//! A script here is a list of `Action`s; an effect, such as `send` and `emit`, belongs to the step
//! of the last input. `Deliver`, `Lose` and `Duplicate` take the index of a message in flight, in
//! order of sending; a duplicate comes last.

use crate::common::{Action, MutexRun, any_script, finish_scene, scene_of, window_between};
use expect_test::{Expect, expect};
use proptest::prelude::{ProptestConfig, any, prop_assert, prop_assert_eq, proptest};
use proptest::test_runner::TestCaseError;
use quorate_core::Class;
use quorate_draw::scene::Violation;
use quorate_draw::terminal::{Options, TextStyle, draw, plain};
use quorate_draw::{Scene, Window, mermaid};
use quorate_journal::moment::Loss;
use quorate_journal::words::TextKind;
use unicode_width::UnicodeWidthStr;

fn check(scene: &Scene, width: usize, expected: Expect) {
    expected.assert_eq(&draw(scene, &Options { width: Some(width) }, &plain));
}

fn command(id: u32, text: &str) -> Action {
    Action::Command(id, text.into())
}

fn emit(text: &str) -> Action {
    Action::Emit(text.into())
}

fn send(to: u32, kind: &str) -> Action {
    Action::Send(to, kind.into(), Class::Algorithm)
}

#[test]
fn a_run_without_faults_matches_its_golden_picture() {
    check(
        &MutexRun::of_nodes(3).entries(3).seed(1).scene(),
        100,
        expect![[r#"
            ricart-agrawala · 3 nodes · seed 1
               time  1          2          3
              0.000  ●          │          │   acquire · RA-1 requests entry with (1, 1) · request → 2,3
                     ┆          ●          │   acquire · RA-1 requests entry with (1, 2) · request → 1,3
                     ┆          ┆          ●   acquire · RA-1 requests entry with (1, 3) · request → 1,2
              1.203  ├──request─┼─────────▶●   RA-2 replies to (1, 1) · reply → 1
              1.402  ┆          ├─request─▶●   RA-2 replies to (1, 2) · reply → 2
              2.378  ┆          ○◀─request─┤   RA-2 defers (1, 3): ours (1, 2) goes first
              3.235  ○◀─request─┤          ┆   RA-2 defers (1, 2): ours (1, 1) goes first
              4.407  ├─request─▶●          ┆   RA-2 replies to (1, 1) · reply → 1
              4.856  ○◀─────────┼──request─┤   RA-2 defers (1, 3): ours (1, 1) goes first
              5.131  ┆          ○◀──reply──┤
              5.765  ○◀─────────┼───reply──┤
              8.824  ◙◀──reply──┤          ┆   RA-3 has every reply to (1, 1) · ENTERS (fence 0.1)
             13.824  ●          ┆          ┆   release · LEAVES · RA-4 sends its deferred reply to (1, 2) · RA-4
             15.458  ├──reply──▶◙          ┆   RA-3 has every reply to (1, 2) · ENTERS (fence 0.2)
             16.332  ├───reply──█─────────▶○
             20.458  │          ●          ┆   release · LEAVES · RA-4 sends its deferred reply to (1, 3)
             25.382  │          ├──reply──▶◙   RA-3 has every reply to (1, 3) · ENTERS (fence 0.3)
             30.382  │          │          ○   release · LEAVES
            │ outside   ┆ waiting   █ inside   ● sends   ○ ◙ sends nothing   times in milliseconds
        "#]],
    );
}

#[test]
fn on_a_narrow_terminal_texts_are_truncated() {
    check(
        &MutexRun::of_nodes(3).entries(3).seed(1).scene(),
        60,
        expect![[r#"
            ricart-agrawala · 3 nodes · seed 1
               time  1          2          3
              0.000  ●          │          │   acquire · RA-1 requests …
                     ┆          ●          │   acquire · RA-1 requests …
                     ┆          ┆          ●   acquire · RA-1 requests …
              1.203  ├──request─┼─────────▶●   RA-2 replies to (1, 1)
              1.402  ┆          ├─request─▶●   RA-2 replies to (1, 2)
              2.378  ┆          ○◀─request─┤   RA-2 defers (1, 3): ours…
              3.235  ○◀─request─┤          ┆   RA-2 defers (1, 2): ours…
              4.407  ├─request─▶●          ┆   RA-2 replies to (1, 1)
              4.856  ○◀─────────┼──request─┤   RA-2 defers (1, 3): ours…
              5.131  ┆          ○◀──reply──┤
              5.765  ○◀─────────┼───reply──┤
              8.824  ◙◀──reply──┤          ┆   RA-3 · ENTERS (fence 0.1)
             13.824  ●          ┆          ┆   release · LEAVES · RA-4 …
             15.458  ├──reply──▶◙          ┆   RA-3 · ENTERS (fence 0.2)
             16.332  ├───reply──█─────────▶○
             20.458  │          ●          ┆   release · LEAVES · RA-4
             25.382  │          ├──reply──▶◙   RA-3 · ENTERS (fence 0.3)
             30.382  │          │          ○   release · LEAVES
            │ outside   ┆ waiting   █ inside   ● sends
            ○ ◙ sends nothing   times in milliseconds
        "#]],
    );
}

#[test]
fn losses_duplicates_cuts_pauses_and_crashes_are_drawn() {
    let run = MutexRun::with_faults(5);
    check(
        &finish_scene(run.run_reliable(run.scene_builder("reliable", Window::default()))),
        110,
        expect![[r#"
            reliable · 3 nodes · seed 5
               time    1           2           3
              0.000    ●           │           │   acquire · RA-1 requests entry with (1, 1) · request → 2,3
                       ┆           ●           │   acquire · RA-1 requests entry with (1, 2) · request → 1,3
                       ┆           ┆           ●   acquire · RA-1 requests entry with (1, 3) · request → 1,2
              1.244    ●◀──request─┤           ┆   RA-2 defers (1, 2): ours (1, 1) goes first · ack → 2
              2.202    ├──request──┼──────────▶●   RA-2 replies to (1, 1) · reply → 1 · ack → 1
              2.315    ●◀─request⇉─┤           ┆   RL-4 drops a duplicate of message 0 from node 2 · ack → 2
              2.942    ├──request─▶●           ┆   RA-2 replies to (1, 1) · reply → 1 · ack → 1
              3.000    ┆           ‖           ┆   node 2 is paused
              3.281    ┆           ├──request─▶●   RA-2 replies to (1, 2) · reply → 2 · ack → 2
                       ┆           ┊  ✗──reply─┤   reply → 2: lost by the network
              3.606    ○◀──────────┼────ack────┤   cancels timer {retransmit:3}
              4.249    ●◀──────────┼──request──┤   RA-2 defers (1, 3): ours (1, 1) goes first · ack → 3
              4.861    ○◀────ack───┤           ┆   cancels timer {retransmit:2}
              5.102    ●◀───reply──┤           ┆   ack → 2
              5.191    ○◀───ack⇉───┤           ┆
              5.775    ◘◀──────────┼───reply───┤   RA-3 has every reply to (1, 1) · ENTERS (fence 0.1) · ack → 3
              7.000    █           ▸           ┆   node 2 resumes
                       █────ack───▶○           ┆   sets timer {retransmit:1} (15ms..20ms)
                       █─request⇉─▶●           ┆   RL-4 drops a duplicate of message 0 from node 1 · ack → 1
                       █           ●◀──request─┤   RA-2 defers (1, 3): ours (1, 2) goes first · ack → 3
                       █────ack───▶○           ┆
                       █           ○◀────ack───┤   cancels timer {retransmit:3}
                       █───ack⇉───▶○           ┆
              7.486    █────ack────┼──────────▶○   cancels timer {retransmit:1}
              8.124    █────ack───▶○           ┆   cancels timer {retransmit:1}
              8.278    █────ack────┼──────────▶○
              9.410    ◙◀────ack───┤           ┆
             10.212    █           ├────ack───▶○   sets timer {retransmit:2} (15ms..20ms)
             10.775    ●           ┆           ┆   release · LEAVES · RA-4 sends its deferred reply to (1, 2) · RA-4
             12.000 ┏╍╍│╍╍╍╍╍╍╍╍╍╍╍┆╍╍╍╍╍╍╍╍╍╍╍┆╍  cut 1 | 2,3
             15.036 ┃  ├──reply─✗  ┆           ┆   reply → 2: blocked by a cut
             15.445 ┃  ├───reply───┼────────✗  ┆   reply → 3: blocked by a cut
             25.578 ┃  │           ┆           ●   timer {retransmit:2} · RL-2 retransmits message 1 to node 2
             27.493 ┃  │           ●◀──reply↻──┤   ack → 3
             30.398 ┃  ●           ┆           ┆   timer {retransmit:2} · RL-2 retransmits message 1 to node 2
                    ┃  ├─reply↻─✗  ┆           ┆   reply↻ → 2: blocked by a cut
             30.651 ┃  ●           ┆           ┆   timer {retransmit:3} · RL-2 retransmits message 1 to node 3
                    ┃  ├───reply↻──┼────────✗  ┆   reply↻ → 3: blocked by a cut
             31.827 ┃  │           ├────ack───▶○   cancels timer {retransmit:2}
             32.000 ┗╍╍│╍╍╍╍╍╍╍╍╍╍╍┆╍╍╍╍╍╍╍╍╍╍╍┆╍  end of cut 1 | 2,3
             60.000    │           ┆           ✗   node 3 crashes
             62.844    ●           ┆               timer {retransmit:2} · RL-2 retransmits message 1 to node 2
             64.460    ├──reply↻──▶◘               RA-3 has every reply to (1, 2) · ENTERS (fence 0.2) · ack → 1
             66.233    ●           █               timer {retransmit:3} · RL-2 retransmits message 1 to node 3
             69.274    ○◀────ack───█               cancels timer {retransmit:2}
             69.460    │           ●               release · LEAVES · RA-4 sends its deferred reply to (1, 3) · reply → 3
                       │           ├──reply─✗      reply → 3: lost by the network
             69.461    ├───reply↻──┼────────✗      reply↻ → 3: the receiver is down
             70.000    │           │           ◆   restarts (incarnation 1)
             89.064    │           ●           │   timer {retransmit:3} · RL-2 retransmits message 1 to node 3
                       │           ├──reply↻──▷│   reply↻ → 3 is in flight
               time    1           2           3
            │ outside   ┆ waiting   █ inside   ┊ paused   no line: down   ● ◘ sends   ○ ◙ sends nothing   ◆ starts
            ‖ pauses   ▸ resumes   ✗ crash, loss   ↻ retransmission   ⇉ duplicate   ▷ in flight   times in milliseconds
        "#]],
    );
}

#[test]
fn a_window_reports_lines_before_and_after_it() {
    let run = MutexRun::with_faults(5);
    check(
        &finish_scene(run.run_reliable(run.scene_builder("reliable", window_between(10, 34)))),
        100,
        expect![[r#"
            reliable · 3 nodes · seed 5
            … 34 earlier journal lines
               time    1          2          3
             10.212    █          ├╌╌╌ack╌╌╌▶○   sets timer {retransmit:2} (15ms..20ms)
             10.775    ●          ┆          ┆   release · LEAVES · RA-4 · RA-4
             12.000 ┏╍╍│╍╍╍╍╍╍╍╍╍╍┆╍╍╍╍╍╍╍╍╍╍┆╍  cut 1 | 2,3
             15.036 ┃  ├─reply─✗  ┆          ┆   reply → 2: blocked by a cut
             15.445 ┃  ├───reply──┼───────✗  ┆   reply → 3: blocked by a cut
             25.578 ┃  │          ┆          ●   timer {retransmit:2} · RL-2 retransmits message 1 to node 2
             27.493 ┃  │          ●◀──reply↻─┤   ack → 3
             30.398 ┃  ●          ┆          ┆   timer {retransmit:2} · RL-2 retransmits message 1 to node 2
                    ┃  ├─reply↻✗  ┆          ┆   reply↻ → 2: blocked by a cut
             30.651 ┃  ●          ┆          ┆   timer {retransmit:3} · RL-2 retransmits message 1 to node 3
                    ┃  ├──reply↻──┼───────✗  ┆   reply↻ → 3: blocked by a cut
             31.827 ┃  │          ├───ack───▶○   cancels timer {retransmit:2}
             32.000 ┗╍╍│╍╍╍╍╍╍╍╍╍╍┆╍╍╍╍╍╍╍╍╍╍┆╍  end of cut 1 | 2,3
            … 10 later journal lines
            │ outside   ┆ waiting   █ inside   ● sends   ○ sends nothing   ✗ loss   ↻ retransmission
            ╌ sent earlier   times in milliseconds
        "#]],
    );
}

#[test]
fn fates_of_messages_are_drawn() {
    let actions = [
        command(1, "acquire"),
        send(2, "first"),
        send(3, "second"),
        send(1, "to itself"),
        Action::Send(3, "ack".into(), Class::Control),
        Action::Duplicate(0),
        Action::Wait(1),
        Action::Deliver(0),
        Action::Wait(1),
        Action::Lose(0, Loss::Down),
        Action::Wait(1),
        Action::Deliver(0),
        Action::Wait(1),
        Action::Deliver(1),
        Action::Emit("ENTERS".into()),
        Action::Wait(1),
        command(2, "ask"),
        send(1, "late"),
        Action::Stop(2),
    ];
    check(
        &scene_of(3, Window::default(), &actions),
        90,
        expect![[r#"
            scripted · 3 nodes · seed 1
              time  1            2            3
             0.000  ●            │            │   acquire · first → 2 · second → 3 · to itself → 1
             1.000  ├───first───▶○            │
             2.000  ├───second───┼─────────✗  │   second → 3: the receiver is down
             3.000  ○            │            │   to itself from 1
             4.000  ├───first⇉──▶◙            │   ENTERS
             5.000  ┆            ◘            │   ask · late → 1
                    ┆            ■            │   node 2 shuts down
                    ├─────ack────────────────▷│   ack → 3 is in flight
                    ┆◁────late───╴            │   late → 1 is in flight
            │ outside   ┆ waiting   █ inside   no line: down   ● ◘ sends   ○ ◙ sends nothing
            ■ stopped   ✗ loss   ⇉ duplicate   ▷ in flight   times in milliseconds
        "#]],
    );
}

#[test]
fn overlapping_faults_are_side_by_side() {
    let actions = [
        Action::Change("cut 1 | 2,3".into()),
        Action::Wait(1),
        command(1, "ask"),
        Action::Change("link 1 > 2 loss 0.5".into()),
        Action::Wait(1),
        command(2, "ask"),
        Action::Change("heal".into()),
        Action::Wait(1),
        command(3, "ask"),
        Action::Change("skew 2 by 3ms".into()),
    ];
    check(
        &scene_of(3, Window::default(), &actions),
        80,
        expect![[r#"
            scripted · 3 nodes · seed 1
              time     1       2       3
             0.000 ┏╍╍╍│╍╍╍╍╍╍╍│╍╍╍╍╍╍╍│╍  cut 1 | 2,3
             1.000 ┃   ○       │       │   ask
                   ┃┏╍╍│╍╍╍╍╍╍╍│╍╍╍╍╍╍╍│╍  link 1 > 2 loss 0.5
             2.000 ┃┃  │       ○       │   ask
                   ┗┃╍╍│╍╍╍╍╍╍╍│╍╍╍╍╍╍╍│╍  end of cut 1 | 2,3
             3.000  ┃  │       │       ○   ask
                    ┃ ┄│┄┄┄┄┄┄┄│┄┄┄┄┄┄┄│┄  skew 2 by 3ms
            │ outside   ○ sends nothing   times in milliseconds
        "#]],
    );
}

#[test]
fn a_violation_is_shown_where_it_was_detected() {
    let enters = |id| [command(id, "acquire"), Action::Emit("ENTERS".into())];
    let actions: Vec<_> = [enters(1), enters(2), enters(3)].into_iter().flatten().collect();
    let mut scene = scene_of(3, Window::default(), &actions);
    let text = "Two are inside: 1 and 2.".to_owned();
    scene.violations.push(Violation { time: scene.from, line: scene.steps[1].line, text: text.clone() });
    scene.violations.push(Violation {
        time: crate::common::ms(99),
        line: 99,
        text: "A violation after the run is not shown.".into(),
    });
    check(
        &scene,
        80,
        expect![[r#"
            scripted · 3 nodes · seed 1
              time  1       2       3
             0.000  ◙       │       │   acquire · ENTERS
                    █       ◙       │   acquire · ENTERS
                   ━█━━━━━━━█━━━━━━━│━  ✗ Two are inside: 1 and 2.
                    █       █       ◙   acquire · ENTERS
            │ outside   █ inside   ◙ sends nothing   times in milliseconds
        "#]],
    );
    assert!(mermaid::draw(&scene).contains(&format!("Note over n1,n3: 0.000 ms · ✗ {text}\n")));
}

/// A save may look like a send in the trace, but a step is drawn as sending only if a message
/// leaves.
#[test]
fn a_step_sends_only_if_a_message_leaves() {
    let actions = [
        Action::Timer(1),
        emit("saved"),
        Action::Wait(1),
        Action::Timer(2),
        Action::Send(1, "ack".into(), Class::Control),
        Action::Wait(1),
        command(2, "ask"),
    ];
    let mut scene = scene_of(2, Window::default(), &actions);
    for save in ["saves a → 2", "saves a → 3"] {
        scene.steps[0].effects.push((TextKind::Control, save.into()));
    }
    check(
        &scene,
        80,
        expect![[r#"
            scripted · 2 nodes · seed 1
              time  1       2
             0.000  ○       │   timer tick · saved · saves a → 2 · saves a → 3
             1.000  │       ●   timer tick · ack → 1
             2.000  │       ○   ask
                    │◁──ack─┤   ack → 1 is in flight
            │ outside   ● sends   ○ sends nothing   ▷ in flight   times in milliseconds
        "#]],
    );
}

#[test]
fn counts_have_a_singular_and_a_plural() {
    let actions = |count: u32| -> Vec<Action> {
        let mut actions = vec![command(1, "early"), Action::Wait(10), command(1, "ask")];
        actions.extend((0..count).map(|_| send(2, "request")));
        // The picture draws 12 messages in flight and counts the others.
        actions.extend((12..count).flat_map(|_| [Action::Wait(1), Action::Timer(1)]));
        actions.extend([Action::Wait(90), command(2, "late")]);
        actions
    };
    let text = |scene: &Scene| draw(scene, &Options { width: Some(100) }, &plain);
    let one = text(&scene_of(2, window_between(5, 50), &actions(13)));
    for expected in [
        "\n1 more message is in flight.\n",
        "\n… 1 earlier journal line\n",
        "\n… 1 later journal line\n",
        "\nNot shown: one step without visible effect.\n",
    ] {
        assert!(one.contains(expected), "{expected}\n{one}");
    }
    let two = text(&scene_of(2, window_between(5, 50), &actions(14)));
    assert!(two.contains("\n2 more messages are in flight.\n"), "{two}");
    assert!(two.contains("\nNot shown: 2 steps without visible effect.\n"), "{two}");
    assert!(text(&scene_of(1, Window::default(), &[])).starts_with("scripted · 1 node · seed 1\n"));
}

#[test]
fn many_nodes_are_drawn_close_together() {
    let actions = [command(12, "ask"), send(3, "request"), Action::Wait(1), Action::Deliver(0)];
    check(
        &scene_of(12, Window::default(), &actions),
        60,
        expect![[r#"
            scripted · 12 nodes · seed 1
              time  1 2 3 4 5 6 7 8 9  11
             0.000  │ │ │ │ │ │ │ │ │ │ │ ●   ask · request → 3
             1.000  │ │ ○◀┼─┼─┼─┼─┼─┼─┼─┼─┤   request from 12
            │ outside   ● sends   ○ sends nothing
            times in milliseconds
        "#]],
    );
}

#[test]
fn too_many_nodes_become_a_list() {
    let mut actions = vec![command(1, "ask"), send(2, "request"), Action::Wait(1), Action::Deliver(0)];
    actions.extend((3..=60).map(|id| command(id, "ask")));
    let text = draw(&scene_of(60, Window::default(), &actions), &Options { width: Some(80) }, &plain);
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines[2], " 0.000  node 1 · ask · request → 2");
    assert_eq!(lines[3], " 1.000  node 2 · request from 1");
    let last = "60 nodes do not fit side by side, so this is a list. Select fewer nodes.";
    assert_eq!(lines.last().copied(), Some(last));
}

#[test]
fn right_to_left_and_wide_names_keep_their_columns() {
    let actions = [
        command(1, "שאל"),
        send(2, "שלום"),
        send(3, "要求"),
        Action::Wait(1),
        Action::Deliver(0),
        Action::Emit("مرحبا".into()),
        Action::Deliver(0),
    ];
    let text = draw(&scene_of(3, Window::default(), &actions), &Options { width: Some(60) }, &plain);
    // Makes the invisible characters that isolate right-to-left text visible.
    let visible = text.replace('\u{2068}', "⟨").replace('\u{2069}', "⟩");
    expect![[r#"
        scripted · 3 nodes · seed 1
          time  1       2       3
         0.000  ●       │       │   ⟨שאל⟩ · ⟨שלום → 2⟩ · 要求 → 3
         1.000  ├─⟨שלום⟩─▶○       │   ⟨مرحبا⟩
                ├──要求─┼──────▶○
        │ outside   ● sends   ○ sends nothing
        times in milliseconds
    "#]]
    .assert_eq(&visible);
}

#[test]
fn an_empty_scene_can_be_drawn() {
    check(
        &scene_of(2, Window::default(), &[]),
        80,
        expect![[r#"
            scripted · 2 nodes · seed 1
             time  1       2
                   │       │
            │ outside   times in milliseconds
        "#]],
    );
    check(
        &Scene::default(),
        80,
        expect![[r#"
            0 nodes
             time

            times in milliseconds
        "#]],
    );
}

#[test]
fn colours_leave_the_text_unchanged() {
    let run = MutexRun::with_faults(5);
    let scene = finish_scene(run.run_reliable(run.scene_builder("reliable", Window::default())));
    let options = Options { width: Some(100) };
    // Private-use characters, which no journal of this test contains.
    let paint = |style: TextStyle, text: &str| format!("\u{e000}{style:?}\u{e001}{text}\u{e002}");
    let coloured = draw(&scene, &options, &paint);
    for style in ["Role(Waiting)", "Role(Chosen)", "Message", "Control", "Part(Event)", "Alarm", "Faint", "Heading"] {
        assert!(coloured.contains(&format!("\u{e000}{style}\u{e001}")), "{style} must be used");
    }
    let pieces = coloured.split('\u{e000}').map(|piece| piece.split_once('\u{e001}').map_or(piece, |(_, text)| text));
    let without_colours: String = pieces.collect::<String>().replace('\u{e002}', "");
    assert_eq!(without_colours, draw(&scene, &options, &plain));
}

/// Checks what every picture must satisfy, whatever the journal.
fn check_picture(scene: &Scene, width: Option<usize>) -> Result<(), TestCaseError> {
    let text = draw(scene, &Options { width }, &plain);
    prop_assert!(text.ends_with('\n'));
    for line in text.lines() {
        prop_assert!(!line.chars().any(char::is_control), "control character in {line:?}");
        let (opened, closed) = (line.matches('\u{2068}').count(), line.matches('\u{2069}').count());
        prop_assert_eq!(opened, closed, "isolation must end within the line: {:?}", line);
        if let Some(width) = width {
            prop_assert!(line.width() <= width, "{} columns of {width}: {line:?}", line.width());
        }
    }
    let lines = text.lines().count();
    // The other three are the title, the numbers of the nodes and the legend.
    prop_assert!(lines >= 3 + scene.steps.len() + scene.marks.len(), "every step and every mark must have a line");
    prop_assert_eq!(&text, &draw(scene, &Options { width }, &plain), "drawing must be deterministic");
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn no_journal_breaks_the_picture(actions in any_script(4), width in 30..130usize, is_limited in any::<bool>()) {
        let scene = scene_of(4, Window::default(), &actions);
        check_picture(&scene, is_limited.then_some(width))?;
    }

    #[test]
    fn no_window_breaks_the_picture(actions in any_script(4), from in -2..40i64, length in 0..30i64, width in 30..130usize) {
        let scene = scene_of(4, window_between(from, from + length), &actions);
        check_picture(&scene, Some(width))?;
    }
}
