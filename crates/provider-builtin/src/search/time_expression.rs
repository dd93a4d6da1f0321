//! Times in a question, in English and Chinese: "last week", "in May 2023", "三天前", "上周三".
//!
//! They are soft evidence for ranking, never a filter: a question may name the time wrongly, and a word may look like a
//! time without being one. So every hint has a strength, and [`TimeHint::closeness`] falls off slowly.

mod calendar;
mod chinese;
mod english;

use std::ops::Range;

use chrono::{DateTime, Datelike, FixedOffset, NaiveDate, NaiveTime};

use self::calendar::{CalendarUnit, Span};

/// The moment at which a question is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Moment {
    /// Nanoseconds since 1970 UTC.
    pub ns: i64,
    /// Offset of the asker's clock from UTC in minutes.
    pub offset_minutes: i32,
}

/// How exactly an expression states the time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Granularity {
    /// A day.
    Day,
    /// A week or a few days.
    Week,
    /// A month, a season or a quarter.
    Month,
    /// A year.
    Year,
}

/// The time an expression means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum When {
    /// From `start_ns` up to but without `end_ns`, in nanoseconds since 1970 UTC.
    Span {
        /// First moment.
        start_ns: i64,
        /// First moment after it.
        end_ns: i64,
    },
    /// The same month, or day of the month, of every year: "in May", "5月8号".
    Yearly {
        /// 1 to 12.
        month: u32,
        /// 1 to 31, when a day is named.
        day: Option<u32>,
    },
}

/// A time expression found in a text.
#[derive(Debug, Clone, PartialEq)]
pub struct TimeHint {
    /// The time meant.
    pub when: When,
    /// How exactly.
    pub granularity: Granularity,
    /// True when it counts from the moment of the question.
    pub relative: bool,
    /// How surely this is a time and this time, in 0..=1: 1 for a full date, 0.4 for "recently".
    pub strength: f64,
    /// Where it stands in the text, in bytes.
    pub range: Range<usize>,
}

/// What a rule makes of a match; in days of the asker's calendar.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Meaning {
    time: Time,
    granularity: Granularity,
    relative: bool,
    strength: f64,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Time {
    Span(Span),
    Yearly { month: u32, day: Option<u32> },
}

impl Meaning {
    fn stated(span: Span, granularity: Granularity) -> Self {
        Self { time: Time::Span(span), granularity, relative: false, strength: 1.0 }
    }

    fn relative(span: Span, granularity: Granularity) -> Self {
        Self { time: Time::Span(span), granularity, relative: true, strength: 0.9 }
    }

    fn yearly(month: u32, day: Option<u32>) -> Option<Self> {
        // A leap year has every day that any year has.
        NaiveDate::from_ymd_opt(2024, month, day.unwrap_or(1))?;
        let granularity = if day.is_some() { Granularity::Day } else { Granularity::Month };
        Some(Self { time: Time::Yearly { month, day }, granularity, relative: false, strength: 0.7 })
    }

    /// The last `days` days, named without a number: "recently".
    fn vague(today: NaiveDate, days: i64, granularity: Granularity) -> Option<Self> {
        Some(Self::relative(calendar::past(today, days, CalendarUnit::Day)?, granularity).weaker(0.4))
    }

    fn weaker(self, strength: f64) -> Self {
        Self { strength, ..self }
    }
}

/// Finds the time expressions of a question asked `at` some moment, in the order in which they stand.
pub fn find(text: &str, at: Moment) -> Vec<TimeHint> {
    let Some(offset) = at.offset_minutes.checked_mul(60).and_then(FixedOffset::east_opt) else { return Vec::new() };
    let today = DateTime::from_timestamp_nanos(at.ns).with_timezone(&offset).date_naive();
    let mut found = english::find(text, today);
    found.extend(chinese::find(text, today));
    // The longest reading of a place wins; of equally long ones the first rule.
    found.sort_by_key(|(range, _)| std::cmp::Reverse(range.len()));
    let mut hints: Vec<TimeHint> = Vec::new();
    for (range, meaning) in found {
        if hints.iter().all(|hint| range.end <= hint.range.start || hint.range.end <= range.start) {
            hints.extend(hint(range, meaning, offset));
        }
    }
    hints.sort_by_key(|hint| hint.range.start);
    hints
}

fn hint(range: Range<usize>, meaning: Meaning, offset: FixedOffset) -> Option<TimeHint> {
    let moment =
        |date: NaiveDate| date.and_time(NaiveTime::MIN).and_local_timezone(offset).single()?.timestamp_nanos_opt();
    let when = match meaning.time {
        Time::Span(span) => When::Span { start_ns: moment(span.start)?, end_ns: moment(span.end)? },
        Time::Yearly { month, day } => When::Yearly { month, day },
    };
    let Meaning { granularity, relative, strength, .. } = meaning;
    Some(TimeHint { when, granularity, relative, strength, range })
}

impl TimeHint {
    /// How near a moment is to the time meant: 1 inside, falling with the distance measured in the length of the time
    /// (1/e one length away). `at` gives the moment and the offset of the calendar to judge it by.
    pub fn closeness(&self, at: Moment) -> f64 {
        const DAY_NS: f64 = 86_400e9;
        let usual_days = match self.granularity {
            Granularity::Day => 1.0,
            Granularity::Week => 7.0,
            Granularity::Month => 30.0,
            Granularity::Year => 365.0,
        };
        match self.when {
            When::Span { start_ns, end_ns } => {
                let outside =
                    (i128::from(start_ns) - i128::from(at.ns)).max(i128::from(at.ns) - i128::from(end_ns) + 1);
                let days = ((end_ns.saturating_sub(start_ns)) as f64 / DAY_NS).max(usual_days);
                (-(outside.max(0) as f64) / DAY_NS / days).exp()
            }
            When::Yearly { month, day } => {
                let offset = at.offset_minutes.checked_mul(60).and_then(FixedOffset::east_opt);
                let Some(offset) = offset else { return 0.0 };
                let date = DateTime::from_timestamp_nanos(at.ns).with_timezone(&offset).date_naive();
                let distance = (date.year() - 1..=date.year() + 1)
                    .filter_map(|year| calendar::day_or_month(year, month, day))
                    .map(|span| span.distance(date))
                    .min();
                distance.map_or(0.0, |days| (-(days as f64) / usual_days).exp())
            }
        }
    }
}

#[cfg(test)]
mod tests;
