//! The contents of a scene in one total order.

use crate::scene::{Breach, Head, Place, Scene};

/// The kind of an item, with its index in the scene.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Entry {
    Breach(usize),
    View(usize),
    Begins(usize),
    /// The loss of a message becomes known.
    Lost(usize),
    Ends(usize),
    Mark(usize),
    Step(usize),
}

/// An item of the timeline and its position.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Moment {
    pub(crate) place: Place,
    pub(crate) entry: Entry,
}

/// Returns all items of a scene in order. Steps and marks keep their order numbers; an item without
/// a number comes before the step or mark whose order it shares.
pub(crate) fn timeline(scene: &Scene) -> Vec<Moment> {
    let steps = (0..).zip(&scene.steps).map(|(index, step)| Moment { place: step.place, entry: Entry::Step(index) });
    let marks = (0..).zip(&scene.marks).map(|(index, mark)| Moment { place: mark.place, entry: Entry::Mark(index) });
    let begins = (0..).zip(&scene.bands).filter(|(_, band)| band.from.time >= scene.from);
    let begins = begins.map(|(index, band)| Moment { place: band.from, entry: Entry::Begins(index) });
    let ends = (0..).zip(&scene.bands);
    let ends = ends.filter_map(|(index, band)| Some(Moment { place: band.to?, entry: Entry::Ends(index) }));
    let losses = (0..).zip(&scene.arrows).filter_map(|(index, arrow)| match arrow.head {
        Head::Lost { at, .. } => Some(Moment { place: at, entry: Entry::Lost(index) }),
        Head::Step(_) | Head::Open => None,
    });
    let eras = (0..).zip(&scene.eras).filter(|(_, era)| era.from.time >= scene.from);
    let eras = eras.map(|(index, era)| Moment { place: era.from, entry: Entry::View(index) });
    let breaches = (0..).zip(&scene.breaches);
    let breaches = breaches
        .filter_map(|(index, breach)| Some(Moment { place: seen(scene, breach)?, entry: Entry::Breach(index) }));
    let mut moments: Vec<Moment> =
        breaches.chain(eras).chain(begins).chain(losses).chain(ends).chain(marks).chain(steps).collect();
    // A stable sort keeps the scene's order between equal keys.
    moments.sort_by_key(|moment| {
        let numbered = matches!(moment.entry, Entry::Step(_) | Entry::Mark(_));
        (moment.place.order, numbered, moment.place.time, rank(scene, moment.entry))
    });
    moments
}

/// Returns the position after the last step or mark up to the violation's journal line; `None` if
/// the scene does not show it.
fn seen(scene: &Scene, breach: &Breach) -> Option<Place> {
    scene.order_of(breach).map(|order| Place { time: breach.time, order: order + 1 })
}

/// Returns the rank among items at the same position. A fault that was in force ends before another
/// begins; one that begins and ends here begins first.
fn rank(scene: &Scene, entry: Entry) -> u8 {
    match entry {
        Entry::Breach(_) => 0,
        Entry::Ends(band) if scene.bands.get(band).is_some_and(|band| band.to != Some(band.from)) => 1,
        Entry::Begins(_) => 2,
        Entry::Lost(_) => 3,
        Entry::Ends(_) => 4,
        Entry::View(_) => 5,
        Entry::Mark(_) | Entry::Step(_) => 6,
    }
}
