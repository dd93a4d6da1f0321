//! English time expressions, and dates in figures.

mod readers;

use std::ops::Range;
use std::sync::LazyLock;

use chrono::NaiveDate;
use regex::Captures;

use self::readers::{
    ago, bare_month, bare_year, before_last, certain_month, day_of_month, figures, figures_year_last, from_now,
    last_weekend, month_of_year, near_day, near_unit, past, quarter, season_near, season_of_year, vague, weekday,
    weekday_of_week,
};
use super::{Granularity, Meaning};
use crate::pattern::WordedPattern;

/// The surroundings of a match: the whole text and the place, for words that are times only in some company.
struct Place<'a> {
    before: &'a str,
    after: &'a str,
    today: NaiveDate,
}

type Reader = fn(&Captures, &Place) -> Option<Meaning>;

const MONTH: &str = "january|february|march|april|may|june|july|august|september|october|november|december|jan|feb|mar|apr|jun|jul|aug|sept|sep|oct|nov|dec";
const NUMBER: &str = r"a couple of|couple of|a couple|a few|few|several|half a|an?|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|fifteen|twenty|thirty|\d{1,4}";
const WEEKDAY: &str = "monday|tuesday|wednesday|thursday|friday|saturday|sunday";

type Words = &'static [&'static str];

const MONTHS: Words = &["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];
const WEEKDAYS: Words = &["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"];
const WEEKDAY_STARTS: Words = &[" mon", " tue", " wed", " thu", " fri"];
const CENTURY: Words = &["19", "20"];
const RELATIONS: Words = &["last", "past", "previous", "this", "current", "next", "coming"];

static RULES: LazyLock<Vec<(WordedPattern, Reader)>> = LazyLock::new(|| {
    let year = r"(?P<y>(?:19|20)\d{2})";
    let month = format!("(?P<m>{MONTH})");
    let ordinal = "(?P<o>st|nd|rd|th)?";
    let rules: Vec<(Words, String, Reader)> = vec![
        (CENTURY, format!(r"\b{year}[-/.](?P<m>\d{{1,2}})[-/.](?P<d>\d{{1,2}})\b"), figures),
        (CENTURY, format!(r"\b{year}[-/](?P<m>\d{{1,2}})\b"), month_of_year),
        (CENTURY, format!(r"\b(?P<a>\d{{1,2}})[/.](?P<b>\d{{1,2}})[/.]{year}\b"), figures_year_last),
        (MONTHS, format!(r"\b{month}\.?\s+(?:the\s+)?(?P<d>\d{{1,2}}){ordinal}(?:,?\s+{year})?\b"), day_of_month),
        (MONTHS, format!(r"\b(?P<d>\d{{1,2}}){ordinal}(?:\s+of)?\s+{month}\b\.?(?:,?\s+{year}\b)?"), day_of_month),
        (MONTHS, format!(r"\b{month}\.?(?:\s+of)?,?\s+{year}\b"), month_of_year),
        (
            MONTHS,
            format!(
                r"\b(?P<p>in|during|since|until|till|by|of|from|before|after|through|throughout|for|last|past|this|next)[\s-]+(?:(?:early|late|mid)[\s-]+)?{month}\b"
            ),
            bare_month,
        ),
        (MONTHS, r"\b(?P<m>january|february|july|september|october|november|december)\b".to_owned(), certain_month),
        (
            CENTURY,
            format!(
                r"\b(?P<p>in|during|since|year|before|after|until|till|throughout|early|late|mid|of|from|to|and|between|by|the|my|our|his|her|their|your)[\s-]+{year}\b"
            ),
            bare_year,
        ),
        (CENTURY, format!(r"\b(?P<s>spring|summer|autumn|fall|winter)(?:\s+(?:of|in))?,?\s+{year}\b"), season_of_year),
        (
            RELATIONS,
            r"\b(?P<p>last|past|previous|this|next)\s+(?P<s>spring|summer|autumn|fall|winter)\b".to_owned(),
            season_near,
        ),
        (CENTURY, format!(r"\bq(?P<q>[1-4])\s*(?:of\s+)?,?\s*{year}\b"), quarter),
        (CENTURY, format!(r"\b(?P<q>first|second|third|fourth)\s+quarter\s+of\s+{year}\b"), quarter),
        (
            &["yesterday", "last night", "last evening"],
            r"\b(?:the\s+)?day before yesterday\b".to_owned(),
            |_, place| near_day(place, -2),
        ),
        (&["tomorrow"], r"\b(?:the\s+)?day after tomorrow\b".to_owned(), |_, place| near_day(place, 2)),
        (
            &["yesterday", "last night", "last evening"],
            r"\b(?:yesterday|last night|last evening)\b".to_owned(),
            |_, place| near_day(place, -1),
        ),
        (
            &["today", "tonight", "this "],
            r"\b(?:today|tonight|this morning|this afternoon|this evening)\b".to_owned(),
            |_, place| near_day(place, 0),
        ),
        (&["tomorrow"], r"\btomorrow\b".to_owned(), |_, place| near_day(place, 1)),
        (
            &["ago", "back"],
            format!(
                r"\b(?P<n>{NUMBER})\s+(?P<u>second|minute|hour|day|night|week|weekend|fortnight|month|year|decade)s?\s+(?:ago|back)\b"
            ),
            ago,
        ),
        (&["from"], format!(r"\b(?P<n>{NUMBER})\s+(?P<u>day|week|month|year)s?\s+from\s+(?:now|today)\b"), from_now),
        (
            RELATIONS,
            format!(r"\b(?:last|past|previous)\s+(?P<n>{NUMBER})\s+(?P<u>day|night|week|weekend|month|year)s?\b"),
            past,
        ),
        (
            RELATIONS,
            r"\b(?:in|over|during|within|for|throughout)\s+the\s+(?:past|last)\s+(?P<u>day|week|month|year)\b"
                .to_owned(),
            past,
        ),
        (
            RELATIONS,
            r"\b(?P<p>last|past|previous|this|current|next|coming|upcoming)\s+(?P<u>week|weekend|month|quarter|year)\b"
                .to_owned(),
            near_unit,
        ),
        (&["before"], r"\b(?:the\s+)?(?P<u>week|weekend|month|year)\s+before\s+last\b".to_owned(), before_last),
        (
            WEEKDAYS,
            format!(r"\b(?:(?P<p>last|past|previous|this|next|coming|on|since|until|by)\s+)?(?P<w>{WEEKDAY})\b"),
            weekday,
        ),
        (WEEKDAY_STARTS, r"\b(?P<p>last|this|next|on)\s+(?P<w>mon|tues?|wed|thu|thurs?|fri)\b".to_owned(), weekday),
        (
            WEEKDAYS,
            format!(r"\b(?:on\s+)?(?P<w>{WEEKDAY})\s+(?:of\s+)?(?P<p>last|this|next)\s+week\b"),
            weekday_of_week,
        ),
        (WEEKDAYS, format!(r"\b(?P<p>last|this|next)\s+week'?s?\s+(?:on\s+)?(?P<w>{WEEKDAY})\b"), weekday_of_week),
        (&["weekend"], r"\b(?:over|during|on|at|in)\s+the\s+weekend\b".to_owned(), |_, place| last_weekend(place)),
        (&["other day"], r"\bthe other day\b".to_owned(), |_, place| vague(place, 10, Granularity::Week)),
        (&["recently", "lately"], r"\b(?:recently|lately)\b".to_owned(), |_, place| {
            vague(place, 30, Granularity::Month)
        }),
    ];
    rules
        .into_iter()
        .map(|(words, text, reader)| (WordedPattern::new(words, format!("(?i-u){text}")), reader))
        .collect()
});

/// All readings of all rules, overlapping ones included.
pub(super) fn find(text: &str, today: NaiveDate) -> Vec<(Range<usize>, Meaning)> {
    let mut found = Vec::new();
    let lower_case = text.to_ascii_lowercase();
    for (pattern, reader) in RULES.iter() {
        let Some(pattern) = pattern.get(&lower_case) else { continue };
        for captures in pattern.captures_iter(text) {
            let Some(whole) = captures.get(0) else { continue };
            let before = text.get(..whole.start()).unwrap_or_default();
            let after = text.get(whole.end()..).unwrap_or_default();
            if let Some(meaning) = reader(&captures, &Place { before, after, today }) {
                found.push((whole.range(), meaning));
            }
        }
    }
    found
}
