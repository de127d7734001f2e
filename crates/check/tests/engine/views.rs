//! Groups whose views change: every order of crashes, ends of leases, decisions and news.

use crate::common::{breach, check, group_of, plain, reduced, verdicts};
use crate::reference::Bounds;
use quorate_check::mutex::Contenders;
use quorate_check::{Setup, Views};
use quorate_core::mutex::{Central, TokenRequest};
use quorate_core::wrap::Viewed;

fn bounds(nodes: usize, rounds: u8) -> Bounds {
    let users = Contenders { rounds: Some(rounds), fences: true, views: true, ..Contenders::default() };
    let setup = Setup { crashes: 1, views: Some(Views::default()), ..Setup::new(nodes) };
    Bounds { users, setup }
}

#[test]
fn probe() {
    for (nodes, rounds) in [(2, 1), (2, 2), (3, 1)] {
        let central = group_of(nodes, |me, group| Viewed::new(me, Central::new(me, group)));
        for effort in [reduced(), plain()] {
            let begin = std::time::Instant::now();
            let findings = check(&central, &bounds(nodes, rounds), &effort);
            eprintln!(
                "{nodes} {rounds} {:?} {:?} {:?} {:?}",
                begin.elapsed(),
                findings.states,
                findings.past,
                findings.fair
            );
            eprintln!("{:?}", verdicts(&findings));
        }
        let token = group_of(nodes, |me, group| Viewed::new(me, TokenRequest::new(me, group)));
        let begin = std::time::Instant::now();
        let findings = check(&token, &bounds(nodes, rounds), &reduced());
        eprintln!(
            "token {nodes} {rounds} {:?} {:?} {:?} {:?}",
            begin.elapsed(),
            findings.states,
            findings.past,
            findings.fair
        );
        eprintln!("{:?}", verdicts(&findings));
    }
    let _ = breach;
}
