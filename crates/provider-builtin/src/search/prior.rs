//! What speaks for a candidate beside its words: who says it, when, how important it is.

use memory_core::{Relevance, Role};

use super::candidate::{Candidate, Row};
use super::time_expression::{Granularity, Moment, TimeHint};

/// A message of the one speaker that the question names is raised by this.
const NAMED_SPEAKER: f32 = 0.15;

/// What people say themselves is raised by this where assistants speak too.
const USER_ROLE: f32 = 0.2;

/// What falls on a day that the question names is raised by this.
const NAMED_DAY: f64 = 0.4;

/// What falls into a month or year that the question names is raised by this.
const NAMED_TIME: f64 = 0.2;

/// What falls into a time that counts from the moment of the question is raised by this.
const RELATIVE_TIME: f64 = 0.25;

/// What the question says about who and when.
pub(super) struct Priors<'a> {
    speaker: Option<String>,
    both_roles: bool,
    times: &'a [TimeHint],
    offset_minutes: i32,
}

impl<'a> Priors<'a> {
    pub(super) fn of(candidates: &[Candidate], question: &str, times: &'a [TimeHint], offset_minutes: i32) -> Self {
        let speaks = |role: Role| candidates.iter().any(|candidate| candidate.role() == Some(role));
        Self {
            speaker: named_speaker(candidates, question),
            both_roles: speaks(Role::User) && speaks(Role::Assistant),
            times,
            offset_minutes,
        }
    }

    /// What is added to the score of a candidate.
    pub(super) fn bonus(&self, candidate: &Candidate) -> f32 {
        let mut bonus = self.time(candidate);
        if self.speaker.is_some() && candidate.speaker() == self.speaker.as_deref() {
            bonus += NAMED_SPEAKER;
        }
        // A memory or a document is as much the user's as what the user says.
        if self.both_roles && candidate.role().is_none_or(|role| role == Role::User) {
            bonus += USER_ROLE;
        }
        bonus
    }

    /// What happened in, or near, a time that the question names is a little more likely; nothing is ruled out.
    fn time(&self, candidate: &Candidate) -> f32 {
        let moment = Moment { ns: candidate.at(), offset_minutes: self.offset_minutes };
        let bonus = |time: &TimeHint| {
            let most = match (time.relative, time.granularity) {
                (true, _) => RELATIVE_TIME,
                (false, Granularity::Day) => NAMED_DAY,
                (false, _) => NAMED_TIME,
            };
            most * time.strength * time.closeness(moment)
        };
        self.times.iter().map(bonus).fold(0.0, f64::max) as f32
    }
}

/// The one speaker that the question names, when it names exactly one.
fn named_speaker(candidates: &[Candidate], question: &str) -> Option<String> {
    let question = question.to_lowercase();
    let words: Vec<&str> = question.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).collect();
    let mut named: Option<&str> = None;
    for speaker in candidates.iter().filter_map(Candidate::speaker) {
        let name = speaker.to_lowercase();
        if matches!(name.as_str(), "user" | "assistant" | "system" | "tool" | "用户" | "助手") || named == Some(speaker)
        {
            continue;
        }
        // Names of several words, and names in scripts without spaces, are looked for as they stand.
        let is_word = name.chars().all(|c| c.is_alphanumeric() && c.is_ascii());
        if if is_word { words.contains(&name.as_str()) } else { question.contains(&name) } {
            if named.is_some() {
                return None;
            }
            named = Some(speaker);
        }
    }
    named.map(str::to_owned)
}

/// Declared relevance and learned quality of a memory, from -0.5 to 0.5; nothing for other rows.
pub(super) fn importance(candidate: &Candidate) -> f32 {
    let Row::Memory(row) = &candidate.row else { return 0.0 };
    let relevance = match row.memory.relevance {
        Relevance::Low => 0.0,
        Relevance::Medium => 0.5,
        Relevance::High => 1.0,
    };
    0.5 * (relevance + row.memory.quality as f32) - 0.5
}
