//! Chinese time expressions.

use std::ops::Range;
use std::sync::LazyLock;

use chrono::{Datelike, NaiveDate, Weekday};
use regex::Captures;

use super::calendar::{self, CalendarUnit, Span};
use super::{Granularity, Meaning};
use crate::pattern::WordedPattern;

/// What a rule needs besides the match: the last character before, the text after, and the date of the question.
struct Place<'a> {
    before: Option<char>,
    after: &'a str,
    today: NaiveDate,
}

type Reader = fn(&Captures, &Place) -> Option<Meaning>;

const NEAR_YEARS: &[&str] = &["前年", "去年", "今年", "明年", "后年"];

static RULES: LazyLock<Vec<(WordedPattern, Reader)>> = LazyLock::new(|| {
    let digits = "[0-9０-９〇零一二三四五六七八九]";
    let number = "(?:[0-9０-９]{1,3}|[一二两三四五六七八九十]{1,3})";
    let month = format!("(?P<m>{number})月份?");
    let day = format!("(?P<d>{number})[日号]");
    let season = "(?P<s>[春夏秋冬])[天季]?";
    let half = "(?P<h>上半年|下半年|年初|年底|年末)";
    let year = format!("(?P<y>{digits}{{4}})年");
    let short_year = format!("(?P<y>{digits}{{2}}|{digits}{{4}})年");
    let near_year = "(?P<r>大前年|前年|去年|今年|明年|后年)";
    let near_month = "(?P<r>上上个?月|上个?月|这个?月|本月|当月|下下个?月|下个?月)";
    let near_week = "(?P<r>上上个?|上个?|这个?|本|下下个?|下个?)(?:周|星期|礼拜)";
    let unit = "(?P<u>天|日|周|个?星期|个?礼拜|个?月|年|个?小时|分钟)";
    let count = format!("(?P<n>{number}|好?几|半)");
    let rules: Vec<(&'static [&'static str], String, Reader)> = vec![
        (&["月"], format!("{short_year}{month}(?:{day})?"), date),
        (&["年"], format!("{year}的?{season}"), season_of_year),
        (&["年"], format!("{year}(?:{half}|底|初|末)?"), whole_year),
        (&["月"], format!("{near_year}的?{month}(?:{day})?"), date),
        (NEAR_YEARS, format!("{near_year}的?{season}"), season_of_year),
        (NEAR_YEARS, format!("{near_year}(?:{half}|底|初|末)?"), whole_year),
        (&["月"], format!("{month}{day}"), month_and_day),
        (&["月"], month.clone(), bare_month),
        (&["月"], format!("{near_month}的?(?:{day})?"), near_month_and_day),
        (&["周", "星期", "礼拜"], format!("{near_week}(?P<w>[一二三四五六日天末])?"), near_week_and_day),
        (&["周", "星期", "礼拜"], "(?:周|星期|礼拜)(?P<w>[一二三四五六日天])".to_owned(), bare_weekday),
        (&["大前天"], "大前天".to_owned(), |_, place| near_day(place, -3)),
        (&["前天", "前日", "前晚"], "前天|前日|前晚".to_owned(), |_, place| near_day(place, -2)),
        (&["昨"], "昨天|昨日|昨晚|昨夜".to_owned(), |_, place| near_day(place, -1)),
        (&["今"], "今天|今日|今晚|今早|今晨|今夜".to_owned(), |_, place| near_day(place, 0)),
        (&["明"], "明天|明日|明晚|明早".to_owned(), |_, place| near_day(place, 1)),
        (&["后天"], "大后天".to_owned(), |_, place| near_day(place, 3)),
        (&["后天"], "后天".to_owned(), day_after_tomorrow),
        (&["前"], format!("{count}{unit}(?:之前|以前|前)"), ago),
        (&["后"], format!("{count}{unit}(?:之后|以后|后)"), later),
        (&["过去", "近", "这", "前"], format!("(?:过去|最近|近|这|前)的?(?P<n>{number}|好?几|半|些){unit}"), past),
        (&["前"], "前些天|前些日子|前阵子|前一阵|前段时间|前不久".to_owned(), |_, place| {
            Meaning::vague(place.today, 60, Granularity::Month)
        }),
        (&["近"], "最近|近来|近期|近日".to_owned(), |_, place| {
            Meaning::vague(place.today, 30, Granularity::Month)
        }),
    ];
    rules.into_iter().map(|(words, text, reader)| (WordedPattern::new(words, text), reader)).collect()
});

/// All readings of all rules, overlapping ones included.
pub(super) fn find(text: &str, today: NaiveDate) -> Vec<(Range<usize>, Meaning)> {
    let mut found = Vec::new();
    for (pattern, reader) in RULES.iter() {
        let Some(pattern) = pattern.get(text) else { continue };
        for captures in pattern.captures_iter(text) {
            let Some(whole) = captures.get(0) else { continue };
            let before = text.get(..whole.start()).and_then(|before| before.chars().next_back());
            let after = text.get(whole.end()..).unwrap_or_default();
            if let Some(meaning) = reader(&captures, &Place { before, after, today }) {
                found.push((whole.range(), meaning));
            }
        }
    }
    found
}

fn group<'a>(captures: &'a Captures, name: &str) -> &'a str {
    captures.name(name).map_or("", |group| group.as_str())
}

fn digit(character: char) -> Option<i64> {
    let value = match character {
        '〇' | '零' => 0,
        '两' => 2,
        '0'..='9' => i64::from(u32::from(character) - u32::from('0')),
        '０'..='９' => i64::from(u32::from(character) - u32::from('０')),
        _ => i64::try_from("一二三四五六七八九".chars().position(|known| known == character)?).ok()? + 1,
    };
    Some(value)
}

/// `12`, `１２`, `十二`, `二十`, `二〇二三`.
fn number(text: &str) -> Option<i64> {
    if let Some((tens, units)) = text.split_once('十') {
        let tens = if tens.is_empty() { 1 } else { number(tens)? };
        let units = if units.is_empty() { 0 } else { number(units)? };
        return (tens < 10 && units < 10).then_some(tens * 10 + units);
    }
    if text.is_empty() {
        return None;
    }
    text.chars().try_fold(0_i64, |value, character| value.checked_mul(10)?.checked_add(digit(character)?))
}

fn small(captures: &Captures, name: &str) -> Option<u32> {
    u32::try_from(number(group(captures, name))?).ok()
}

/// The year named by figures or by its distance, and whether it is by distance.
fn year(captures: &Captures, place: &Place) -> Option<(i32, bool)> {
    let shift = match group(captures, "r") {
        "大前年" => -3,
        "前年" => -2,
        "去年" => -1,
        "今年" => 0,
        "明年" => 1,
        "后年" => 2,
        _ => {
            let text = group(captures, "y");
            let value = i32::try_from(number(text)?).ok()?;
            let is_short = text.chars().count() == 2;
            let value = if !is_short {
                value
            } else if value < 70 {
                2000 + value
            } else {
                1900 + value
            };
            return (1900..2100).contains(&value).then_some((value, false));
        }
    };
    Some((place.today.year() + shift, true))
}

fn meaning(span: Span, granularity: Granularity, relative: bool) -> Meaning {
    if relative { Meaning::relative(span, granularity) } else { Meaning::stated(span, granularity) }
}

fn date(captures: &Captures, place: &Place) -> Option<Meaning> {
    let (year, relative) = year(captures, place)?;
    let day = captures.name("d").and_then(|_| small(captures, "d"));
    let granularity = if day.is_some() { Granularity::Day } else { Granularity::Month };
    Some(meaning(calendar::day_or_month(year, small(captures, "m")?, day)?, granularity, relative))
}

fn season_of_year(captures: &Captures, place: &Place) -> Option<Meaning> {
    let (year, relative) = year(captures, place)?;
    let number = "春夏秋冬".chars().position(|season| group(captures, "s").starts_with(season))?;
    Some(meaning(calendar::season(year, u32::try_from(number).ok()?)?, Granularity::Month, relative))
}

fn whole_year(captures: &Captures, place: &Place) -> Option<Meaning> {
    // 一千二百年: the end of a number is no year.
    if place.before.is_some_and(|before| digit(before).is_some() || "十百千万亿".contains(before)) {
        return None;
    }
    let (year, relative) = year(captures, place)?;
    let whole = calendar::year(year)?;
    let middle = calendar::month(year, 7)?.start;
    let (span, granularity) = match group(captures, "h") {
        "上半年" => (Span { end: middle, ..whole }, Granularity::Month),
        "下半年" => (Span { start: middle, ..whole }, Granularity::Month),
        _ => (whole, Granularity::Year),
    };
    Some(meaning(span, granularity, relative))
}

fn month_and_day(captures: &Captures, _: &Place) -> Option<Meaning> {
    Meaning::yearly(small(captures, "m")?, Some(small(captures, "d")?))
}

fn bare_month(captures: &Captures, place: &Place) -> Option<Meaning> {
    // 一年十二月 counts months; 三月票 is left to be wrong now and then.
    let is_count = place.before.is_some_and(|before| digit(before).is_some() || "十第每".contains(before));
    // 2月30日 is no day, and no month either.
    let rest = place.after.trim_start_matches(|c: char| c == '十' || digit(c).is_some());
    let has_day = rest.len() < place.after.len() && rest.starts_with(['日', '号']);
    if is_count || has_day {
        return None;
    }
    Meaning::yearly(small(captures, "m")?, None)
}

/// How far 上, 这 and 下 reach.
fn shift(captures: &Captures) -> i64 {
    let text = group(captures, "r");
    let count = |mark: char| i64::try_from(text.chars().filter(|character| *character == mark).count()).unwrap_or(0);
    count('下') - count('上')
}

fn near_month_and_day(captures: &Captures, place: &Place) -> Option<Meaning> {
    let month = calendar::month_of(place.today, shift(captures))?;
    let Some(day) = captures.name("d").and_then(|_| small(captures, "d")) else {
        return Some(Meaning::relative(month, Granularity::Month));
    };
    Some(Meaning::relative(calendar::day(month.start.year(), month.start.month(), day)?, Granularity::Day))
}

fn weekday_number(captures: &Captures) -> Option<Weekday> {
    let position = "一二三四五六日".chars().position(|day| group(captures, "w").starts_with(day)).unwrap_or(6);
    Weekday::try_from(u8::try_from(position).ok()?).ok()
}

fn near_week_and_day(captures: &Captures, place: &Place) -> Option<Meaning> {
    let weeks = shift(captures);
    let (span, granularity) = match group(captures, "w") {
        "" => (calendar::week(place.today, weeks)?, Granularity::Week),
        "末" => (calendar::weekend(place.today, weeks)?, Granularity::Day),
        _ => (calendar::weekday_in_week(place.today, weekday_number(captures)?, weeks)?, Granularity::Day),
    };
    Some(Meaning::relative(span, granularity))
}

fn bare_weekday(captures: &Captures, place: &Place) -> Option<Meaning> {
    // 每周一, 一周一次, 两周三次: how often, not when.
    let counts = place.before.is_some_and(|before| digit(before).is_some() || "每各十几半逢个".contains(before));
    if counts || place.after.starts_with(['次', '回', '遍', '个', '天', '到', '至', '趟']) {
        return None;
    }
    let span = calendar::weekday_near(place.today, weekday_number(captures)?, -1)?;
    Some(Meaning::relative(span, Granularity::Day).weaker(0.6))
}

fn near_day(place: &Place, shift: i64) -> Option<Meaning> {
    let span = calendar::days(calendar::add_days(place.today, shift)?, 1)?;
    Some(Meaning::relative(span, Granularity::Day))
}

fn day_after_tomorrow(_: &Captures, place: &Place) -> Option<Meaning> {
    // 后天 also means acquired, not inborn.
    let is_acquired = ["性", "的努力", "努力", "培养", "免疫", "形成", "因素", "环境", "教育"]
        .iter()
        .any(|word| place.after.starts_with(word));
    if is_acquired || place.before.is_some_and(|before| "与和先以".contains(before)) {
        return None;
    }
    near_day(place, 2)
}

/// The number and unit of a distance in time, the granularity, and whether it is only about right.
fn distance(captures: &Captures) -> Option<(i64, CalendarUnit, Granularity, bool)> {
    let (unit, granularity) = match group(captures, "u").trim_start_matches('个') {
        "天" | "日" => (CalendarUnit::Day, Granularity::Day),
        "周" | "星期" | "礼拜" => (CalendarUnit::Week, Granularity::Week),
        "月" => (CalendarUnit::Month, Granularity::Month),
        "年" => (CalendarUnit::Year, Granularity::Year),
        _ => return Some((0, CalendarUnit::Day, Granularity::Day, false)),
    };
    match group(captures, "n") {
        "几" | "好几" | "些" => Some((3, unit, granularity.max(Granularity::Week), true)),
        "半" => match unit {
            CalendarUnit::Year => Some((6, CalendarUnit::Month, Granularity::Month, false)),
            CalendarUnit::Month => Some((15, CalendarUnit::Day, Granularity::Week, false)),
            _ => Some((0, CalendarUnit::Day, Granularity::Day, false)),
        },
        text => Some((number(text)?, unit, granularity, false)),
    }
}

fn ago(captures: &Captures, place: &Place) -> Option<Meaning> {
    // 5月前 is before May, 三年前 is a distance: only `个月` counts months.
    if group(captures, "u") == "月" {
        return None;
    }
    let (count, unit, granularity, is_rough) = distance(captures)?;
    let span = calendar::ago(place.today, count, unit)?;
    if !is_rough {
        return Some(Meaning::relative(span, granularity));
    }
    let span = Span {
        start: calendar::ago(place.today, count * 2, unit)?.start,
        end: calendar::ago(place.today, 1, unit)?.end,
    };
    Some(Meaning::relative(span, granularity).weaker(0.7))
}

fn later(captures: &Captures, place: &Place) -> Option<Meaning> {
    if group(captures, "u") == "月" {
        return None;
    }
    let (count, unit, granularity, _) = distance(captures)?;
    // It may count from something told, not from now.
    Some(Meaning::relative(calendar::ago(place.today, count.checked_neg()?, unit)?, granularity).weaker(0.5))
}

fn past(captures: &Captures, place: &Place) -> Option<Meaning> {
    // 这一天 and 这三年 point at something told, 这几天 at now.
    let is_pointing =
        group(captures, "n") != "几" && captures.get(0).is_some_and(|whole| whole.as_str().starts_with('这'));
    if is_pointing && group(captures, "n") != "两" {
        return None;
    }
    let (count, unit, granularity, is_rough) = distance(captures)?;
    let count = if is_rough { count * 2 } else { count.max(1) };
    let granularity = if unit == CalendarUnit::Day { Granularity::Week } else { granularity };
    Some(Meaning::relative(calendar::past(place.today, count, unit)?, granularity).weaker(0.8))
}
