//! Dials that cross, and nodes that come back as another life.

use crate::chatter::Event;
use crate::log::Log;
use crate::party::{Member, Party, Place, Style, addresses, node};
use crate::proxy::{Proxy, connections};
use crate::within;
use quorate_net::tls::Security;
use std::collections::BTreeMap;

#[tokio::test]
async fn however_dials_cross_one_connection_remains() {
    let _log = Log::new();
    let style = Style::default();
    for round in 0..60 {
        let places = [Place::new(), Place::new()];
        let proxies = [Proxy::to(places[1].address).await, Proxy::to(places[0].address).await];
        let start = |number: u32| {
            let me = node(number);
            let (peer, address) = (node(3 - number), proxies[me.index()].address.to_string());
            Member::start(me, 0, &places[me.index()], BTreeMap::from([(peer, address)]), Security::Plain, &style)
        };
        let (mut one, mut two) = (start(1), start(2));
        // What is said before they meet crosses, too.
        one.say(node(2), 3).await;
        two.say(node(1), 3).await;
        tokio::join!(one.ask(node(2)), two.ask(node(1)));
        connections(&[&proxies[0], &proxies[1]], 1).await;
        let count = || (one.link(node(2)).connections, two.link(node(1)).connections);
        let before = count();
        tokio::join!(one.ask(node(2)), two.ask(node(1)));
        let after = (one.link(node(2)).connections, two.link(node(1)).connections);
        assert_eq!(before, after, "round {round}: two that have met keep their connection");
        assert!(before.0 <= 2 && before.1 <= 2, "round {round}: {before:?} connections for one meeting");
        one.hear(node(2), 0, 3).await;
        two.hear(node(1), 0, 3).await;
        one.crash().await;
        two.crash().await;
    }
}

#[tokio::test]
async fn a_group_of_seven_that_starts_at_once_has_one_connection_a_pair() {
    let _log = Log::new();
    let mut party = Party::with_guests(7, 7, &Style::default(), Party::plain).await;
    party.goes_on().await;
    let mut dialled = 0;
    for member in &party.members {
        let links = member.handle.links();
        assert!(links.values().all(|link| link.is_connected), "node {}: {links:?}", member.me);
        dialled += links.values().map(|link| link.connections).sum::<u64>();
    }
    // A pair that crossed may have had a second one for a moment, on one side.
    assert!(dialled <= 3 * 21, "{dialled} ends of connections for 21 pairs");
    party.stop().await;
}

/// A node dies and comes back again and again while everybody talks.
#[tokio::test]
async fn a_life_that_begins_anew_hears_nothing_of_the_one_before() {
    let log = Log::new();
    let style = Style::default();
    let mut party = Party::of_three(&style, Party::plain).await;
    for life in 1..=8 {
        // Some of this is under way when node 3 dies, and some waits for it afterwards.
        for member in &party.members[..2] {
            member.say(node(3), 50).await;
        }
        party.members[2].say(node(1), 50).await;
        let old = party.members.pop().unwrap();
        old.crash().await;
        party.members[0].say(node(3), 5).await;
        let peers = addresses(node(3), &party.places);
        let young = Member::start(node(3), life, &party.places[2], peers, Security::Plain, &style);
        party.members.push(young);
        // What was said before it was met, it does not hear: so it speaks first.
        for peer in [1, 2] {
            party.members[2].ask(node(peer)).await;
        }
        party.goes_on().await;
        let [one, two, young] = &mut party.members[..] else { panic!() };
        young.say(node(1), 7).await;
        young.say(node(2), 7).await;
        // Two of them are from the question whether the group goes on.
        one.hear(node(3), life, 9).await;
        two.hear(node(3), life, 9).await;
        assert_eq!((one.first(node(3), life), two.first(node(3), life)), (Some(1), Some(1)));
        // What it hears is what was said since it was met, and all of that.
        assert!(young.first(node(1), 0).is_some_and(|first| first > 1), "{:?}", young.first(node(1), 0));
    }
    log.line(&["Node 3 is back as life 8", "messages to its life before were dropped"]).await;
    assert!(party.members[0].link(node(3)).outlived > 0);
    party.stop().await;
}

/// A place where nobody listens any more says that the process is gone; one that only stays silent says nothing.
#[tokio::test]
async fn a_process_that_is_gone_is_told_and_one_that_is_silent_is_not() {
    let _log = Log::new();
    let style = Style::default();
    let mut party = Party::of_three(&style, Party::plain).await;
    // Node 2's kernel still takes connections, as that of a stopped process does.
    party.members.remove(1).crash().await;
    // Of node 3 nothing is left.
    party.members.remove(1).crash().await;
    let place = party.places.pop().unwrap();
    let address = place.address;
    drop(place);
    let one = &mut party.members[0];
    let first = within("word of the one that is gone", one.news()).await;
    assert_eq!(first, Event::Gone(node(3)));
    let place = Place::at(address);
    let young = Member::start(node(3), 1, &place, addresses(node(3), &party.places), Security::Plain, &style);
    let next = within("word of its return", one.news()).await;
    assert_eq!(next, Event::Back(node(3)));
    young.crash().await;
}
