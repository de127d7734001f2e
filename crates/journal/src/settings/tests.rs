//! Tests of what all settings have in common.

use super::samples::{self, hostile_text};
use super::{
    Chance, Cut, Direction, Fault, Latency, Length, Links, NodeSet, Offset, Ppm, Script, SettingError, Side,
    TimedFault, nearest,
};
use proptest::prelude::{ProptestConfig, prop_assert_eq, proptest};
use proptest::test_runner::TestCaseError;
use quorate_core::mutex::COMMANDS;
use std::fmt::{Debug, Display};
use std::str::FromStr;

/// Checks that the value of a valid text reads back as printed, and that an invalid text gets a
/// clean error message.
fn check<T>(text: &str) -> Result<(), TestCaseError>
where
    T: FromStr<Err = SettingError> + Display + Debug + PartialEq,
{
    match text.parse::<T>() {
        Ok(value) => check_round_trip(&value),
        Err(mistake) => check_message(&mistake),
    }
}

fn check_round_trip<T>(value: &T) -> Result<(), TestCaseError>
where
    T: FromStr<Err = SettingError> + Display + Debug + PartialEq,
{
    let read = value.to_string().parse::<T>();
    prop_assert_eq!(read.as_ref(), Ok(value));
    Ok(())
}

/// Checks that a message is short, ends with a full stop and has no control characters.
fn check_message(mistake: &SettingError) -> Result<(), TestCaseError> {
    let sentence = mistake.to_string();
    let is_clean = sentence.ends_with('.') && !sentence.contains(char::is_control);
    prop_assert_eq!((is_clean, sentence.chars().count() < 700), (true, true), "{}", sentence);
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn every_text_parses_or_has_a_clean_error(text in hostile_text()) {
        check::<Length>(&text)?;
        check::<Offset>(&text)?;
        check::<Ppm>(&text)?;
        check::<Chance>(&text)?;
        check::<Latency>(&text)?;
        check::<NodeSet>(&text)?;
        check::<Side>(&text)?;
        check::<Cut>(&text)?;
        check::<Links>(&text)?;
        check::<Fault>(&text)?;
        check::<TimedFault>(&text)?;
        check::<Direction>(&text)?;
        check::<Script>(&text)?;
        // Unlike `FromStr`, this accepts only the commands of a family.
        match Script::parse(&text, &COMMANDS.map(|command| command.name())) {
            Ok(script) => prop_assert_eq!(script.to_string().parse(), Ok(script)),
            Err(mistake) => check_message(&mistake)?,
        }
    }

    #[test]
    fn every_fault_is_valid_or_has_a_clean_error(timed in samples::timed_fault(), nodes in 0_usize..12) {
        if let Err(mistake) = timed.validate(nodes) {
            check_message(&mistake)?;
        }
    }

    #[test]
    fn the_nearest_word_is_a_known_one(word in hostile_text(), known in hostile_text()) {
        let found = nearest(&word, [known.as_str()]);
        // `found` is `None` or the known word.
        prop_assert_eq!(found, found.and(Some(known.as_str())));
    }
}

proptest! {
    #[test]
    fn settings_read_back_as_printed(
        chance in samples::chance(),
        direction in samples::direction(),
        latency in samples::latency(),
        node_set in samples::node_set(),
        cut in samples::cut(),
        links in samples::links(),
        fault in samples::fault(),
        timed_fault in samples::timed_fault(),
    ) {
        check_round_trip(&chance)?;
        check_round_trip(&direction)?;
        check_round_trip(&latency)?;
        check_round_trip(&node_set)?;
        check_round_trip(&cut)?;
        check_round_trip(&links)?;
        check_round_trip(&fault)?;
        check_round_trip(&timed_fault)?;
    }
}

#[test]
fn a_journal_stores_settings_as_their_text() {
    fn assert_stored_as_text<T>(text: &str)
    where
        T: FromStr<Err = SettingError> + serde::Serialize + serde::de::DeserializeOwned + PartialEq + Debug,
    {
        let value: T = text.parse().unwrap();
        let json = serde_json::to_string(&value).unwrap();
        assert_eq!(json, serde_json::to_string(text).unwrap());
        assert_eq!(serde_json::from_str::<T>(&json).unwrap(), value);
    }
    assert_stored_as_text::<Length>("1.5ms");
    assert_stored_as_text::<Offset>("-3ms");
    assert_stored_as_text::<Ppm>("-50ppm");
    assert_stored_as_text::<Chance>("0.1");
    assert_stored_as_text::<Latency>("uniform:1ms..5ms");
    assert_stored_as_text::<Fault>("crash 2 torn");
    assert_stored_as_text::<TimedFault>("cut 1,2 > rest at 5ms for 20ms");
    assert_stored_as_text::<Script>("acquire 2 at 5ms\ncrash 2 at 10ms\n");
}

#[test]
fn a_journal_with_a_bad_setting_says_what_is_wrong() {
    let mistake = serde_json::from_str::<Latency>("\"fixd:1ms\"").unwrap_err().to_string();
    assert!(mistake.starts_with("'fixd' is not a latency; did you mean 'fixed'?"), "{mistake}");
}
