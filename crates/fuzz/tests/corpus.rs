//! The corpus is survived and up to date, a short campaign finds nothing, and a campaign can find something.

#![allow(clippy::panic, clippy::expect_used, clippy::unwrap_used, reason = "a test fails by panicking")]

use quorate_fuzz::{Campaign, Chance, Corpus, Example, Failure, TARGETS, Target, Trail, examples, folder, mutate};

fn corpus(target: Target) -> Corpus {
    Corpus::read(&folder().join(target.name)).unwrap()
}

#[test]
fn every_target_has_examples_and_survives_them() {
    for target in TARGETS {
        let corpus = corpus(target);
        assert!(!corpus.0.is_empty(), "{} has no examples", target.name);
        for Example { name, bytes } in &corpus.0 {
            if let Err(said) = target.attempt(bytes) {
                panic!("{}/{name}: {said}", target.name);
            }
        }
    }
}

#[test]
fn what_code_can_make_of_the_corpus_is_what_it_makes() {
    for target in TARGETS {
        let Some(made) = examples(target.name) else { continue };
        let kept = corpus(target);
        for example in &made.0 {
            assert!(
                kept.0.contains(example),
                "{}/{} is not what the code writes now: cargo run -p quorate-fuzz -- remake, then read the diff",
                target.name,
                example.name
            );
        }
    }
}

/// An example that is refused at the door teaches a campaign nothing about what is inside.
#[test]
fn most_examples_are_read_to_their_end() {
    let refused = TARGETS.into_iter().flat_map(|target| {
        let alone = target.attempt(&[]).unwrap();
        corpus(target).0.into_iter().filter(move |example| target.attempt(&example.bytes).unwrap() == alone)
    });
    let refused: Vec<String> = refused.map(|example| example.name).collect();
    assert!(refused.len() <= 2, "these go the way of an empty input: {refused:?}");
}

/// Tries so many inputs of each target; `./check fuzz` tries as many as it can in its time.
fn a_campaign_finds_nothing(inputs: u64) {
    for target in TARGETS {
        let mut campaign = Campaign::new(target, &corpus(target), 1);
        let outcome = campaign.rehearse().and_then(|()| campaign.run(inputs));
        if let Err(Failure { input, said }) = outcome {
            panic!("{}: {said}\ninput: {input:?}\ncargo run -p quorate-fuzz -- {} --seed 1", target.name, target.name);
        }
        assert!(campaign.figures().trails > 1, "{}: every input went the same way", target.name);
    }
}

#[test]
fn a_short_campaign_finds_nothing() {
    a_campaign_finds_nothing(2_000);
}

#[test]
#[ignore = "long: ./check long"]
fn a_longer_campaign_finds_nothing() {
    a_campaign_finds_nothing(10_000);
}

/// A reader with a mistake that only a changed example reaches, and only step by step.
fn flawed(input: &[u8]) -> Trail {
    let mut trail = Trail::default();
    let right = input.iter().zip(b"length").take_while(|(one, other)| one == other).count();
    trail.step(right as u64);
    assert!(right < 6 || input.get(6) != Some(&0xFF), "a length of 255 was believed");
    trail
}

#[test]
fn a_campaign_finds_a_mistake_makes_it_short_and_finds_it_again() {
    let target = Target { name: "flawed", what: "a reader with a mistake", run: flawed };
    let corpus = Corpus(vec![Example { name: "near".into(), bytes: b"lemon juice, half a glass".to_vec() }]);
    let find = |seed: u64| {
        let mut campaign = Campaign::new(target, &corpus, seed);
        let failure = campaign.run(2_000_000).expect_err("nothing was found");
        (failure, campaign.figures())
    };
    let (failure, figures) = find(1);
    assert_eq!(failure.input, b"length\xFF");
    assert!(failure.said.contains("255"), "{}", failure.said);
    assert_eq!(find(1), (failure.clone(), figures), "the same seed finds the same, as quickly");
    assert_ne!(find(2).1, figures, "another seed goes another way");
}

#[test]
fn mutations_follow_from_the_seed_and_change_something() {
    let inputs = |seed| {
        let mut chance = Chance::new(seed);
        let mut input = b"some input of some length".to_vec();
        let mut seen = vec![input.clone()];
        for _ in 0..500 {
            mutate(&mut input, b"and something to take from", &mut chance);
            seen.push(input.clone());
        }
        seen
    };
    assert_eq!(inputs(7), inputs(7));
    assert_ne!(inputs(7), inputs(8));
    let changed = inputs(7).windows(2).filter(|pair| pair[0] != pair[1]).count();
    assert!(changed > 400, "{changed} of 500 changed something");
}
