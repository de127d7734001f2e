//! How nodes end: what they were asked before still counts, and what they have said still leaves.

use crate::chatter::Command;
use crate::party::{Member, Party, Place, Style, addresses, node};
use quorate_net::Overflow;
use quorate_net::tls::Security;
use std::time::Duration;

fn pair(style: &Style) -> [Member; 2] {
    let places = [Place::new(), Place::new()];
    [1, 2].map(|number| {
        let place = &places[number as usize - 1];
        Member::start(node(number), 0, place, addresses(node(number), &places), Security::Plain, style)
    })
}

#[tokio::test]
async fn commands_that_were_taken_before_the_order_to_stop_are_carried_out() {
    let [mut one, mut two] = pair(&Style::default());
    one.ask(node(2)).await;
    for _ in 0..10 {
        one.say(node(2), 1).await;
    }
    let _ = one.stop().await;
    two.hear(node(1), 0, 10).await;
}

/// A turn takes so many letters and no more; what it leaves is for the next.
#[tokio::test]
async fn every_command_of_a_flood_is_carried_out() {
    let [one, mut two] = pair(&Style::default());
    for _ in 0..1_000 {
        one.command(Command::Say { to: node(2), count: 1, ballast: 0 }).await;
    }
    two.hear(node(1), 0, 1_000).await;
}

/// The other side writes as well, so that the connection is closed with much under way in both directions.
#[tokio::test]
async fn last_words_leave_while_the_other_speaks() {
    let mut style = Style::default();
    (style.limits.held_bytes, style.limits.crowded_bytes) = (256 << 20, 256 << 20);
    for _ in 0..5 {
        let [mut one, mut two] = pair(&style);
        one.ask(node(2)).await;
        two.command(Command::Say { to: node(1), count: 1_000, ballast: 16 << 10 }).await;
        one.command(Command::Say { to: node(2), count: 100, ballast: 16 << 10 }).await;
        let _ = one.stop().await;
        two.hear(node(1), 0, 100).await;
    }
}

/// Each is far shorter than the longest that is allowed, all together are far longer.
#[tokio::test]
async fn batches_may_be_longer_than_messages() {
    let mut style = Style { overflow: Overflow::End, ..Style::default() };
    style.limits.message_bytes = 1 << 10;
    let mut party = Party::with_guests(2, 2, &style, Party::plain).await;
    party.members[0].command(Command::Say { to: node(2), count: 100, ballast: 500 }).await;
    party.members[1].hear(node(1), 0, 102).await;
}

#[test]
fn limits_that_make_no_sense_are_told() {
    let usual = quorate_net::Limits::default();
    assert_eq!(usual.check(), Ok(()));
    for wrong in [
        quorate_net::Limits { message_bytes: usize::MAX, ..usual },
        quorate_net::Limits { first_pause: Duration::ZERO, ..usual },
        quorate_net::Limits { first_pause: usual.longest_pause * 2, ..usual },
        quorate_net::Limits { silence: usual.ping_every, ..usual },
        quorate_net::Limits { ping_every: Duration::ZERO, ..usual },
    ] {
        assert!(wrong.check().is_err_and(|sentence| sentence.ends_with('.')), "{wrong:?}");
    }
}
