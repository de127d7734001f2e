//! What the headers of algorithms say of failures is what happens.

use super::{Fate, Finding, Harm, Inquiry, Victim, inquire};
use crate::compare::{Forms, contenders};

fn findings(name: &str, nodes: usize, runs: u64) -> Vec<Finding> {
    let [entry] = contenders(&[name.into()], Forms::Usual).unwrap()[..] else { panic!("one name, one algorithm") };
    inquire(&Inquiry { runs, ..Inquiry::of(entry, nodes) }, &mut || true).unwrap()
}

#[test]
fn show() {
    for name in ["central", "ricart-agrawala", "ricart-agrawala-modulo"] {
        for found in findings(name, 5, 200) {
            let t = &found.tally;
            println!("{name} {:?} {:?}: {} {} {} fences {} {:?}", found.victim, found.harm, t.goes_on, t.stops, t.breaks, t.fences_back, t.example.as_ref().map(|e| (e.spec.command("sim"), e.why.clone())));
        }
    }
    let _ = (Fate::Stops, Harm::Dies, Victim::Idle);
}
