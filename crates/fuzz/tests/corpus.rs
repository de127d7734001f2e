//! The targets pass on their corpus, the corpus is up to date, short campaigns find no failure, and
//! a campaign finds a planted bug.

#![allow(clippy::panic, clippy::expect_used, clippy::unwrap_used, reason = "a test fails by panicking")]

use quorate_fuzz::{
    Campaign, Corpus, Example, Failure, PathSignature, Rng, TARGETS, Target, corpus_folder, generate_examples, mutate,
};

fn read_corpus(target: Target) -> Corpus {
    Corpus::read(&corpus_folder().join(target.name)).unwrap()
}

#[test]
fn every_target_has_examples_and_survives_them() {
    for target in TARGETS {
        let corpus = read_corpus(target);
        assert!(!corpus.0.is_empty(), "{} has no examples", target.name);
        for Example { name, bytes } in &corpus.0 {
            if let Err(message) = target.attempt(bytes) {
                panic!("{}/{name}: {message}", target.name);
            }
        }
    }
}

#[test]
fn the_generated_part_of_the_corpus_is_up_to_date() {
    for target in TARGETS {
        let Some(generated) = generate_examples(target.name) else { continue };
        let saved = read_corpus(target);
        for example in &generated.0 {
            assert!(
                saved.0.contains(example),
                "{}/{} is out of date: run cargo run -p quorate-fuzz -- remake, then review the diff",
                target.name,
                example.name
            );
        }
    }
}

/// An example that is rejected at once does not help a campaign to reach deeper code.
#[test]
fn most_examples_are_parsed_unlike_an_empty_input() {
    let rejected_at_once = TARGETS.into_iter().flat_map(|target| {
        let signature_of_no_input = target.attempt(&[]).unwrap();
        read_corpus(target)
            .0
            .into_iter()
            .filter(move |example| target.attempt(&example.bytes).unwrap() == signature_of_no_input)
    });
    let rejected_at_once: Vec<String> = rejected_at_once.map(|example| example.name).collect();
    // Such an example may be intended: `contents/ack` is the frame that its target reads instead
    // of an empty input.
    assert!(rejected_at_once.len() <= 2, "these are parsed like an empty input: {rejected_at_once:?}");
}

/// Tries this many inputs of each target. `./check fuzz` tries as many as its time allows.
fn assert_campaigns_find_nothing(inputs: u64) {
    for target in TARGETS {
        let mut campaign = Campaign::new(target, &read_corpus(target), 1);
        let outcome = campaign.run_corpus().and_then(|()| campaign.run(inputs));
        if let Err(Failure { input, message }) = outcome {
            panic!(
                "{}: {message}\ninput: {input:?}\ncargo run -p quorate-fuzz -- {} --seed 1",
                target.name, target.name
            );
        }
        assert!(campaign.statistics().distinct_paths > 1, "{}: every input has the same signature", target.name);
    }
}

#[test]
fn a_short_campaign_finds_nothing() {
    assert_campaigns_find_nothing(2_000);
}

#[test]
#[ignore = "long: ./check long"]
fn a_longer_campaign_finds_nothing() {
    assert_campaigns_find_nothing(10_000);
}

/// A parser with a planted bug that only a mutated example reaches, step by step.
fn parse_with_bug(input: &[u8]) -> PathSignature {
    let mut signature = PathSignature::default();
    let matching_bytes = input.iter().zip(b"length").take_while(|(one, other)| one == other).count();
    signature.record(matching_bytes as u64);
    assert!(matching_bytes < 6 || input.get(6) != Some(&0xFF), "a length of 255 was accepted");
    signature
}

#[test]
fn a_campaign_finds_a_failure_minimizes_it_and_reproduces_it() {
    let target = Target { name: "flawed", description: "a reader with a mistake", run: parse_with_bug };
    let corpus = Corpus(vec![Example { name: "near".into(), bytes: b"lemon juice, half a glass".to_vec() }]);
    let find = |seed: u64| {
        let mut campaign = Campaign::new(target, &corpus, seed);
        let failure = campaign.run(2_000_000).expect_err("no failure was found");
        (failure, campaign.statistics())
    };
    let (failure, statistics) = find(1);
    assert_eq!(failure.input, b"length\xFF");
    assert!(failure.message.contains("255"), "{}", failure.message);
    assert_eq!(
        find(1),
        (failure.clone(), statistics),
        "the same seed finds the same failure in the same number of steps"
    );
    assert_ne!(find(2).1, statistics, "another seed gives another campaign");
}

#[test]
fn mutations_depend_on_the_seed_and_change_the_input() {
    let inputs = |seed| {
        let mut rng = Rng::new(seed);
        let mut input = b"some input of some length".to_vec();
        let mut inputs = vec![input.clone()];
        for _ in 0..500 {
            mutate(&mut input, b"and something to take from", &mut rng);
            inputs.push(input.clone());
        }
        inputs
    };
    assert_eq!(inputs(7), inputs(7));
    assert_ne!(inputs(7), inputs(8));
    let changed = inputs(7).windows(2).filter(|pair| pair[0] != pair[1]).count();
    assert!(changed > 400, "{changed} of 500 inputs changed");
}
