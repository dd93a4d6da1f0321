//! What the English rules make of their matches.

use std::sync::LazyLock;

use chrono::{Datelike, Weekday};
use regex::{Captures, Regex};

use super::Place;
use crate::pattern::pattern;
use crate::search::time_expression::calendar::{self, CalendarUnit, Span};
use crate::search::time_expression::{Granularity, Meaning};

fn figure<T: std::str::FromStr>(captures: &Captures, name: &str) -> Option<T> {
    captures.name(name)?.as_str().parse().ok()
}

fn group(captures: &Captures, name: &str) -> String {
    captures.name(name).map(|group| group.as_str().to_lowercase()).unwrap_or_default()
}

pub(super) fn figures(captures: &Captures, _: &Place) -> Option<Meaning> {
    let span = calendar::day(figure(captures, "y")?, figure(captures, "m")?, figure(captures, "d")?)?;
    Some(Meaning::stated(span, Granularity::Day))
}

/// `5/8/2023`: the month comes first unless it cannot.
pub(super) fn figures_year_last(captures: &Captures, _: &Place) -> Option<Meaning> {
    let (a, b): (u32, u32) = (figure(captures, "a")?, figure(captures, "b")?);
    let (month, day) = if a > 12 { (b, a) } else { (a, b) };
    let meaning = Meaning::stated(calendar::day(figure(captures, "y")?, month, day)?, Granularity::Day);
    Some(if a <= 12 && b <= 12 && a != b { meaning.weaker(0.6) } else { meaning })
}

fn month_number(captures: &Captures) -> Option<u32> {
    let name = group(captures, "m");
    if let Ok(number) = name.parse() {
        return Some(number);
    }
    let starts = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];
    starts.iter().position(|start| name.starts_with(start)).and_then(|position| u32::try_from(position + 1).ok())
}

/// True for `may` and `march` as they are written when they are verbs.
fn may_be_verb(captures: &Captures) -> bool {
    captures.name("m").is_some_and(|name| matches!(name.as_str(), "may" | "march" | "mar" | "MAY" | "MARCH"))
}

fn last_word(text: &str) -> String {
    text.split_whitespace().next_back().unwrap_or_default().to_lowercase()
}

pub(super) fn day_of_month(captures: &Captures, place: &Place) -> Option<Meaning> {
    let (month, day) = (month_number(captures)?, figure(captures, "d")?);
    if captures.name("y").is_some() {
        return Some(Meaning::stated(calendar::day(figure(captures, "y")?, month, day)?, Granularity::Day));
    }
    let introduces = ["on", "since", "until", "by", "before", "after", "from", "of", "the", "for"];
    let is_date = captures.name("o").is_some() || introduces.contains(&last_word(place.before).as_str());
    if may_be_verb(captures) && !is_date {
        return None;
    }
    Meaning::yearly(month, Some(day))
}

pub(super) fn month_of_year(captures: &Captures, place: &Place) -> Option<Meaning> {
    // 2023-02-30 is no day, and no month either.
    let has_day =
        place.after.strip_prefix(['-', '/']).is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()));
    if has_day {
        return None;
    }
    let span = calendar::month(figure(captures, "y")?, month_number(captures)?)?;
    Some(Meaning::stated(span, Granularity::Month))
}

pub(super) fn bare_month(captures: &Captures, place: &Place) -> Option<Meaning> {
    let month = month_number(captures)?;
    let relation = group(captures, "p");
    let is_relative = matches!(relation.as_str(), "last" | "past" | "this" | "next");
    let ends = place.after.trim_start().is_empty() || place.after.starts_with(['?', '.', ',', '!', ';', ')', '\'']);
    // "this may be", "in march order", "for may I ask": small letters need an end or a preposition after them.
    let next_word = place.after.split_whitespace().next().unwrap_or_default().to_lowercase();
    let goes_on =
        matches!(next_word.as_str(), "in" | "at" | "with" | "when" | "about" | "and" | "or" | "for" | "of" | "from");
    let is_sure = ends || (goes_on && relation != "this") || matches!(relation.as_str(), "in" | "during" | "since");
    if may_be_verb(captures) && !is_sure {
        return None;
    }
    if !is_relative {
        return Meaning::yearly(month, None);
    }
    let year = place.today.year();
    let year = match relation.as_str() {
        "this" => year,
        "next" if month > place.today.month() => year,
        "next" => year + 1,
        _ if month < place.today.month() => year,
        _ => year - 1,
    };
    Some(Meaning::relative(calendar::month(year, month)?, Granularity::Month))
}

pub(super) fn certain_month(captures: &Captures, _: &Place) -> Option<Meaning> {
    Some(Meaning::yearly(month_number(captures)?, None)?.weaker(0.6))
}

pub(super) fn bare_year(captures: &Captures, place: &Place) -> Option<Meaning> {
    static QUANTITY: LazyLock<Regex> = LazyLock::new(|| {
        pattern(
            r"(?i)^(?:[-,.:/]?\d|\s*[%$€¥]|['’]?s\b|\s*(?:words?|people|users?|dollars?|euros?|usd|eur|yuan|km|miles?|met(?:er|re)s?|m|kg|g|k|calories|kcal|steps?|items?|lines?|files?|rows?|tokens?|ms|seconds?|minutes?|hours?|days?|px|bytes|[mgk]b|times|men|members|employees|points?|copies|pages?|questions?|messages?)\b)",
        )
    });
    let year: i32 = figure(captures, "y")?;
    let is_weak =
        !matches!(group(captures, "p").as_str(), "in" | "during" | "since" | "year" | "early" | "late" | "mid");
    // A round number after a weak word is a quantity as often as a year.
    if QUANTITY.is_match(place.after) || (is_weak && (year % 100 == 0 || !(1950..=2060).contains(&year))) {
        return None;
    }
    Some(Meaning::stated(calendar::year(year)?, Granularity::Year).weaker(if is_weak { 0.8 } else { 1.0 }))
}

fn season_number(captures: &Captures) -> u32 {
    match group(captures, "s").as_str() {
        "spring" => 0,
        "summer" => 1,
        "autumn" | "fall" => 2,
        _ => 3,
    }
}

pub(super) fn season_of_year(captures: &Captures, _: &Place) -> Option<Meaning> {
    let span = calendar::season(figure(captures, "y")?, season_number(captures))?;
    Some(Meaning::stated(span, Granularity::Month))
}

pub(super) fn season_near(captures: &Captures, place: &Place) -> Option<Meaning> {
    let span = calendar::season_near(place.today, season_number(captures), shift(captures))?;
    Some(Meaning::relative(span, Granularity::Month))
}

pub(super) fn quarter(captures: &Captures, _: &Place) -> Option<Meaning> {
    let number = match group(captures, "q").as_str() {
        "1" | "first" => 1,
        "2" | "second" => 2,
        "3" | "third" => 3,
        _ => 4,
    };
    Some(Meaning::stated(calendar::quarter(figure(captures, "y")?, number)?, Granularity::Month))
}

/// -1, 0 or 1 for last, this and next.
fn shift(captures: &Captures) -> i64 {
    match group(captures, "p").as_str() {
        "last" | "past" | "previous" => -1,
        "next" | "coming" | "upcoming" => 1,
        _ => 0,
    }
}

pub(super) fn near_day(place: &Place, shift: i64) -> Option<Meaning> {
    let span = calendar::days(calendar::add_days(place.today, shift)?, 1)?;
    Some(Meaning::relative(span, Granularity::Day))
}

/// A number in figures or words, and whether it is only about right.
fn number(captures: &Captures) -> Option<(i64, bool)> {
    let words = ["one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"];
    let text = group(captures, "n");
    Some(match text.as_str() {
        "" | "a" | "an" => (1, false),
        "a couple of" | "couple of" | "a couple" => (2, true),
        "a few" | "few" => (3, true),
        "several" => (4, true),
        "fifteen" => (15, false),
        "twenty" => (20, false),
        "thirty" => (30, false),
        word => match words.iter().position(|known| *known == word) {
            Some(position) => (i64::try_from(position).ok()? + 1, false),
            None => (word.parse().ok()?, false),
        },
    })
}

fn unit(captures: &Captures) -> (CalendarUnit, i64, Granularity) {
    match group(captures, "u").as_str() {
        "second" | "minute" | "hour" => (CalendarUnit::Day, 0, Granularity::Day),
        "week" => (CalendarUnit::Week, 1, Granularity::Week),
        "fortnight" => (CalendarUnit::Week, 2, Granularity::Week),
        "weekend" => (CalendarUnit::Weekend, 1, Granularity::Day),
        "month" => (CalendarUnit::Month, 1, Granularity::Month),
        "year" => (CalendarUnit::Year, 1, Granularity::Year),
        "decade" => (CalendarUnit::Year, 10, Granularity::Year),
        _ => (CalendarUnit::Day, 1, Granularity::Day),
    }
}

pub(super) fn ago(captures: &Captures, place: &Place) -> Option<Meaning> {
    let (unit, factor, granularity) = unit(captures);
    if group(captures, "n") == "half a" {
        let is_year = unit == CalendarUnit::Year;
        return is_year
            .then(|| calendar::ago(place.today, 6, CalendarUnit::Month))
            .flatten()
            .map(|span| Meaning::relative(span, Granularity::Month));
    }
    let (count, is_rough) = number(captures)?;
    let count = count.checked_mul(factor)?;
    let span = calendar::ago(place.today, count, unit)?;
    if !is_rough {
        return Some(Meaning::relative(span, granularity));
    }
    // A few is anything up to twice as many.
    let far = calendar::ago(place.today, count * 2, unit)?;
    let near = calendar::ago(place.today, 1.min(count), unit)?;
    let granularity = granularity.max(Granularity::Week);
    Some(Meaning::relative(Span { start: far.start, end: near.end }, granularity).weaker(0.7))
}

pub(super) fn from_now(captures: &Captures, place: &Place) -> Option<Meaning> {
    let (unit, _, granularity) = unit(captures);
    let (count, _) = number(captures)?;
    Some(Meaning::relative(calendar::ago(place.today, count.checked_neg()?, unit)?, granularity))
}

pub(super) fn past(captures: &Captures, place: &Place) -> Option<Meaning> {
    let (unit, factor, granularity) = unit(captures);
    let (count, is_rough) = number(captures)?;
    let count = if is_rough { count * 2 } else { count };
    let span = calendar::past(place.today, count.checked_mul(factor)?, unit)?;
    let granularity = if unit == CalendarUnit::Day && count > 1 { Granularity::Week } else { granularity };
    Some(Meaning::relative(span, granularity).weaker(0.8))
}

pub(super) fn near_unit(captures: &Captures, place: &Place) -> Option<Meaning> {
    // "the last week of May" does not count from now.
    if place.after.trim_start().starts_with("of ") {
        return None;
    }
    let shift = shift(captures);
    let today = place.today;
    let (span, granularity) = match group(captures, "u").as_str() {
        "week" => (calendar::week(today, shift)?, Granularity::Week),
        "weekend" => (calendar::weekend(today, shift)?, Granularity::Day),
        "month" => (calendar::month_of(today, shift)?, Granularity::Month),
        "quarter" => {
            let day = calendar::add_months(today.with_day(1)?, shift * 3)?;
            (calendar::quarter(day.year(), day.month0() / 3 + 1)?, Granularity::Month)
        }
        _ => (calendar::year(today.year() + i32::try_from(shift).ok()?)?, Granularity::Year),
    };
    // "the past week" reaches up to now.
    let is_past = group(captures, "p") == "past";
    let span = if is_past { Span { end: calendar::add_days(today, 1)?, ..span } } else { span };
    Some(Meaning::relative(span, granularity))
}

pub(super) fn before_last(captures: &Captures, place: &Place) -> Option<Meaning> {
    let (span, granularity) = match group(captures, "u").as_str() {
        "week" => (calendar::week(place.today, -2)?, Granularity::Week),
        "weekend" => (calendar::weekend(place.today, -2)?, Granularity::Day),
        "month" => (calendar::month_of(place.today, -2)?, Granularity::Month),
        _ => (calendar::year(place.today.year() - 2)?, Granularity::Year),
    };
    Some(Meaning::relative(span, granularity))
}

fn weekday_number(captures: &Captures) -> Option<Weekday> {
    group(captures, "w").parse().ok()
}

pub(super) fn weekday(captures: &Captures, place: &Place) -> Option<Meaning> {
    if matches!(last_word(place.before).as_str(), "every" | "each" | "any") {
        return None;
    }
    let weekday = weekday_number(captures)?;
    let today = place.today;
    let (span, strength) = match group(captures, "p").as_str() {
        "this" => (calendar::weekday_in_week(today, weekday, 0)?, 0.8),
        "next" | "coming" => (calendar::weekday_near(today, weekday, 1)?, 0.8),
        "last" | "past" | "previous" => (calendar::weekday_near(today, weekday, -1)?, 0.9),
        "" => (calendar::weekday_near(today, weekday, -1)?, 0.5),
        _ => (calendar::weekday_near(today, weekday, -1)?, 0.6),
    };
    Some(Meaning::relative(span, Granularity::Day).weaker(strength))
}

pub(super) fn weekday_of_week(captures: &Captures, place: &Place) -> Option<Meaning> {
    let span = calendar::weekday_in_week(place.today, weekday_number(captures)?, shift(captures))?;
    Some(Meaning::relative(span, Granularity::Day))
}

pub(super) fn last_weekend(place: &Place) -> Option<Meaning> {
    let is_on = place.today.weekday().num_days_from_monday() >= 5;
    let span = calendar::weekend(place.today, if is_on { 0 } else { -1 })?;
    Some(Meaning::relative(span, Granularity::Day).weaker(0.6))
}

pub(super) fn vague(place: &Place, days: i64, granularity: Granularity) -> Option<Meaning> {
    Meaning::vague(place.today, days, granularity)
}
