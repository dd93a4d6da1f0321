//! Runs scenarios, and says what became of each.

use std::any::Any;
use std::fmt;
use std::panic::AssertUnwindSafe;
use std::time::Duration;

use futures::FutureExt;
use memory_core::SessionContext;

use crate::{Need, Running, SCENARIOS, Scenario, Subject, Trial};

/// A scenario that takes longer hangs.
const LONGEST_SCENARIO: Duration = Duration::from_secs(300);

/// What became of a scenario.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// It holds.
    Passed,
    /// The subject lacks what it needs, and says so.
    Skipped(Vec<Need>),
    /// It does not hold; the text says where.
    Failed(String),
}

impl Verdict {
    /// Prints why it was skipped, panics with why it failed.
    pub fn expect(self, subject: &str, scenario: &str) {
        match self {
            Self::Passed => {}
            Self::Skipped(needs) => println!("{subject}: {scenario} is skipped: {}", lacking(&needs)),
            Self::Failed(reason) => panic!("{subject}: {scenario}: {reason}"),
        }
    }
}

/// What became of all scenarios over one subject.
#[derive(Debug)]
pub struct Report {
    /// The subject.
    pub subject: String,
    /// Each scenario with its verdict, in the order of the suite.
    pub verdicts: Vec<(&'static str, Verdict)>,
}

impl Report {
    fn count(&self, of: impl Fn(&Verdict) -> bool) -> usize {
        self.verdicts.iter().filter(|(_, verdict)| of(verdict)).count()
    }

    /// Prints it, and panics when a scenario failed or none ran.
    pub fn expect_passed(&self) {
        println!("{self}");
        assert_eq!(self.count(|verdict| matches!(verdict, Verdict::Failed(_))), 0, "{self}");
        assert!(self.count(|verdict| *verdict == Verdict::Passed) > 0, "nothing ran over {}", self.subject);
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let passed = self.count(|verdict| *verdict == Verdict::Passed);
        let skipped = self.count(|verdict| matches!(verdict, Verdict::Skipped(_)));
        let failed = self.verdicts.len() - passed - skipped;
        writeln!(f, "{}: {passed} scenarios passed, {skipped} skipped, {failed} failed", self.subject)?;
        for (name, verdict) in &self.verdicts {
            match verdict {
                Verdict::Passed => {}
                Verdict::Skipped(needs) => writeln!(f, "  skipped {name}: {}", lacking(needs))?,
                Verdict::Failed(reason) => writeln!(f, "  FAILED  {name}: {reason}")?,
            }
        }
        Ok(())
    }
}

fn lacking(needs: &[Need]) -> String {
    let needs: Vec<String> = needs.iter().map(|need| format!("{need:?} ({need})")).collect();
    format!("the provider lacks {}", needs.join(", "))
}

/// Runs every scenario, one after the other.
pub async fn run(subject: &dyn Subject) -> Report {
    let mut verdicts = vec![("it_is_what_it_says", declaration(subject).await)];
    for scenario in SCENARIOS {
        verdicts.push((scenario.name, scenario.run_over(subject).await));
    }
    Report { subject: subject.name(), verdicts }
}

/// Whether what a subject lacks is what its provider says, so that no scenario is skipped unnoticed.
pub(crate) async fn declaration(subject: &dyn Subject) -> Verdict {
    caught(async {
        let Running { provider, fail, stop } = subject.start().await;
        let (capability, lacks) = (provider.capability(), subject.lacks());
        assert!(!lacks.contains(&Need::Write) && !lacks.contains(&Need::Search), "every provider writes and searches");
        for need in Need::ALL {
            if let Some(offered) = need.offered_by(&capability) {
                assert_ne!(
                    offered,
                    lacks.contains(need),
                    "{need:?}: the capability and `lacks` disagree: {capability:?}"
                );
            }
        }
        assert_eq!(fail.is_none(), lacks.contains(&Need::Faults), "`failing_by` and `lacks` disagree");
        assert_eq!(provider.tools().is_empty(), lacks.contains(&Need::Tools), "`tools` and `lacks` disagree");
        stop.await.unwrap();
    })
    .await
}

impl Scenario {
    /// Runs it over a new provider of the subject, unless that lacks what it needs.
    pub async fn run_over(&self, subject: &dyn Subject) -> Verdict {
        let lacks = subject.lacks();
        let unmet: Vec<Need> = self.needs.iter().copied().filter(|need| lacks.contains(need)).collect();
        if !unmet.is_empty() {
            return Verdict::Skipped(unmet);
        }
        caught(async {
            let Running { provider, fail, stop } = subject.start().await;
            provider.initialize(&SessionContext::default()).await.unwrap();
            let capability = provider.capability();
            let missing = Need::missing(&capability, &lacks);
            let trial = Trial { provider, capability, fail, settles_within: subject.settles_within(), missing };
            (self.run)(&trial).await;
            stop.await.unwrap();
        })
        .await
    }
}

/// The verdict of something that panics when it does not hold.
async fn caught(run: impl Future<Output = ()>) -> Verdict {
    match AssertUnwindSafe(tokio::time::timeout(LONGEST_SCENARIO, run)).catch_unwind().await {
        Ok(Ok(())) => Verdict::Passed,
        Ok(Err(_)) => Verdict::Failed(format!("it hangs: not done after {LONGEST_SCENARIO:?}")),
        Err(panic) => Verdict::Failed(message_of(panic.as_ref())),
    }
}

fn message_of(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().map(String::as_str).or_else(|| panic.downcast_ref::<&str>().copied());
    text.unwrap_or("it panics").to_owned()
}
