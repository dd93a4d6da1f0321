//! Spans of whole days, and the arithmetic of weeks, months and seasons. Everything that leaves the calendar is `None`.

use chrono::{Datelike, Days, Months, NaiveDate, Weekday};

/// Days from `start` up to but without `end`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Span {
    pub(super) start: NaiveDate,
    pub(super) end: NaiveDate,
}

impl Span {
    /// Days between a date and the span; 0 inside.
    pub(super) fn distance(self, date: NaiveDate) -> i64 {
        let before = (self.start - date).num_days();
        let after = (date - self.end).num_days() + 1;
        before.max(after).max(0)
    }
}

/// A unit that people count time in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CalendarUnit {
    Day,
    Week,
    Weekend,
    Month,
    Year,
}

pub(super) fn add_days(date: NaiveDate, days: i64) -> Option<NaiveDate> {
    let count = Days::new(days.unsigned_abs());
    if days < 0 { date.checked_sub_days(count) } else { date.checked_add_days(count) }
}

pub(super) fn add_months(date: NaiveDate, months: i64) -> Option<NaiveDate> {
    let count = Months::new(u32::try_from(months.unsigned_abs()).ok()?);
    if months < 0 { date.checked_sub_months(count) } else { date.checked_add_months(count) }
}

/// `count` days from `start`.
pub(super) fn days(start: NaiveDate, count: i64) -> Option<Span> {
    Some(Span { start, end: add_days(start, count)? })
}

pub(super) fn day(year: i32, month: u32, day: u32) -> Option<Span> {
    days(NaiveDate::from_ymd_opt(year, month, day)?, 1)
}

/// The week from Monday that holds `date`, moved by `weeks`.
pub(super) fn week(date: NaiveDate, weeks: i64) -> Option<Span> {
    let monday = add_days(date, -i64::from(date.weekday().num_days_from_monday()))?;
    days(add_days(monday, weeks.checked_mul(7)?)?, 7)
}

/// Saturday and Sunday of the week that holds `date`, moved by `weeks`.
pub(super) fn weekend(date: NaiveDate, weeks: i64) -> Option<Span> {
    days(add_days(week(date, weeks)?.start, 5)?, 2)
}

pub(super) fn month(year: i32, month: u32) -> Option<Span> {
    months(NaiveDate::from_ymd_opt(year, month, 1)?, 1)
}

/// The month that holds `date`, moved by `count`.
pub(super) fn month_of(date: NaiveDate, count: i64) -> Option<Span> {
    months(add_months(date.with_day(1)?, count)?, 1)
}

fn months(start: NaiveDate, count: i64) -> Option<Span> {
    Some(Span { start, end: add_months(start, count)? })
}

pub(super) fn year(year: i32) -> Option<Span> {
    months(NaiveDate::from_ymd_opt(year, 1, 1)?, 12)
}

/// Quarter 1 to 4.
pub(super) fn quarter(year: i32, quarter: u32) -> Option<Span> {
    months(NaiveDate::from_ymd_opt(year, quarter.checked_sub(1)? * 3 + 1, 1)?, 3)
}

pub(super) fn day_or_month(year: i32, number: u32, day_number: Option<u32>) -> Option<Span> {
    match day_number {
        Some(number_of_day) => day(year, number, number_of_day),
        None => month(year, number),
    }
}

/// A season of the northern half of the world: 0 spring (from March), 1 summer, 2 autumn, 3 winter (into the next year).
pub(super) fn season(year: i32, season: u32) -> Option<Span> {
    months(NaiveDate::from_ymd_opt(year, season * 3 + 3, 1)?, 3)
}

/// The season at `date` when it is on, else that of the year (`shift` 0); the last one that is over (-1); the next one
/// to begin (1).
pub(super) fn season_near(date: NaiveDate, number: u32, shift: i64) -> Option<Span> {
    let mut spans = (date.year() - 2..=date.year() + 1).filter_map(|year| season(year, number));
    match shift {
        -1 => spans.rfind(|span| span.end <= date),
        1 => spans.filter(|span| span.start > date).min_by_key(|span| span.start),
        _ => spans.min_by_key(|span| span.distance(date)),
    }
}

/// The nearest `weekday` strictly before (`direction` -1) or after (1) `date`.
pub(super) fn weekday_near(date: NaiveDate, weekday: Weekday, direction: i64) -> Option<Span> {
    (1..=7)
        .filter_map(|distance| add_days(date, distance * direction))
        .find(|day| day.weekday() == weekday)
        .and_then(|d| days(d, 1))
}

/// The given day of the week of `date`, moved by `weeks`.
pub(super) fn weekday_in_week(date: NaiveDate, weekday: Weekday, weeks: i64) -> Option<Span> {
    let monday = week(date, weeks)?.start;
    days(add_days(monday, i64::from(weekday.num_days_from_monday()))?, 1)
}

/// The day that lies `count` units before `date`, widened to what people mean by it: the day itself, or half a unit
/// to either side.
pub(super) fn ago(date: NaiveDate, count: i64, unit: CalendarUnit) -> Option<Span> {
    let centre = back(date, count, unit)?;
    let around = |half: i64| Some(Span { start: add_days(centre, -half)?, end: add_days(centre, half + 1)? });
    match unit {
        CalendarUnit::Day => days(centre, 1),
        CalendarUnit::Week => around(3),
        CalendarUnit::Weekend => weekend(date, -count),
        CalendarUnit::Month => around(15),
        CalendarUnit::Year => around(182),
    }
}

/// From `count` units before `date` up to and with `date`.
pub(super) fn past(date: NaiveDate, count: i64, unit: CalendarUnit) -> Option<Span> {
    Some(Span { start: back(date, count, unit)?, end: add_days(date, 1)? })
}

fn back(date: NaiveDate, count: i64, unit: CalendarUnit) -> Option<NaiveDate> {
    match unit {
        CalendarUnit::Day => add_days(date, count.checked_neg()?),
        CalendarUnit::Week | CalendarUnit::Weekend => add_days(date, count.checked_mul(-7)?),
        CalendarUnit::Month => add_months(date, count.checked_neg()?),
        CalendarUnit::Year => add_months(date, count.checked_mul(-12)?),
    }
}
