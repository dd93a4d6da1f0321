//! Each defect is found by the scenario that is about it; a suite that cannot fail shows nothing.

use memory_conformance::{Verdict, run};

use crate::reference::Reference;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Defect {
    MixesUsers,
    MixesOwners,
    ForgetsWrites,
    DropsEmoji,
    Repeats,
    IgnoresConditions,
    IgnoresRehearsal,
    LearnsRecalled,
    TearsUpdates,
    DeniesHistory,
}

async fn failed(defect: Option<Defect>) -> Vec<&'static str> {
    let report = run(&Reference(defect)).await;
    let failed = |(name, verdict): &(&'static str, Verdict)| matches!(verdict, Verdict::Failed(_)).then_some(*name);
    report.verdicts.iter().filter_map(failed).collect()
}

#[tokio::test]
async fn every_defect_is_found() {
    for (defect, scenario) in [
        (Defect::MixesUsers, "scopes::strangers_find_nothing"),
        (Defect::MixesOwners, "scopes::owners_are_kept_apart"),
        (Defect::ForgetsWrites, "writing::a_write_is_readable_at_once"),
        (Defect::DropsEmoji, "scripts::texts_come_back_unchanged"),
        (Defect::Repeats, "writing::what_is_repeated_is_written_once"),
        (Defect::IgnoresConditions, "conditions::filters_hold"),
        (Defect::IgnoresRehearsal, "records::forgetting_takes_out_of_every_read"),
        (Defect::LearnsRecalled, "messages::what_was_said_is_recalled"),
        (Defect::TearsUpdates, "records::an_update_changes_what_it_names"),
        (Defect::DeniesHistory, "it_is_what_it_says"),
    ] {
        let failed = failed(Some(defect)).await;
        assert!(failed.contains(&scenario), "{defect:?} is not found by {scenario}, only by {failed:?}");
    }
}

#[tokio::test]
async fn a_whole_run_says_what_was_skipped() {
    let report = run(&Reference(None)).await;
    report.expect_passed();
    let shown = report.to_string();
    assert!(shown.contains("skipped faults::health_tells_the_truth: the provider lacks Faults (Rests on"), "{shown}");
    let broken = run(&Reference(Some(Defect::ForgetsWrites))).await;
    assert!(std::panic::catch_unwind(|| broken.expect_passed()).is_err());
}
