use super::*;
use proptest::prelude::*;

/// Wednesday, 2024-05-15, 10:00 in UTC+8.
fn wednesday() -> Moment {
    let local = NaiveDate::from_ymd_opt(2024, 5, 15).unwrap().and_hms_opt(2, 0, 0).unwrap();
    Moment { ns: local.and_utc().timestamp_nanos_opt().unwrap(), offset_minutes: 480 }
}

/// The hints as text: `expression=first day..last day` or `expression=month-day`.
fn read(text: &str) -> Vec<String> {
    let date = |ns: i64| {
        let local = DateTime::from_timestamp_nanos(ns).with_timezone(&FixedOffset::east_opt(480 * 60).unwrap());
        assert_eq!(local.time(), NaiveTime::MIN, "spans are whole local days");
        local.date_naive()
    };
    let show = |hint: &TimeHint| match hint.when {
        When::Span { start_ns, end_ns } => {
            let (first, last) = (date(start_ns), date(end_ns).pred_opt().unwrap());
            if first == last { first.to_string() } else { format!("{first}..{last}") }
        }
        When::Yearly { month, day: None } => format!("every {month}"),
        When::Yearly { month, day: Some(day) } => format!("every {month}-{day}"),
    };
    find(text, wednesday()).iter().map(|hint| format!("{}={}", &text[hint.range.clone()], show(hint))).collect()
}

fn check(table: &[(&str, &[&str])]) {
    let wrong: Vec<_> = table
        .iter()
        .filter(|(text, expected)| read(text) != *expected)
        .map(|(text, expected)| format!("{text}: {:?} instead of {expected:?}", read(text)))
        .collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn english_expressions() {
    check(&[
        ("What did I say yesterday?", &["yesterday=2024-05-14"]),
        ("the day before yesterday", &["the day before yesterday=2024-05-13"]),
        ("What did we do last night and this morning?", &["last night=2024-05-14", "this morning=2024-05-15"]),
        ("Is it due tomorrow", &["tomorrow=2024-05-16"]),
        ("3 days ago", &["3 days ago=2024-05-12"]),
        ("a week ago we met", &["a week ago=2024-05-05..2024-05-11"]),
        ("two months ago", &["two months ago=2024-02-29..2024-03-30"]),
        ("a year ago", &["a year ago=2022-11-14..2023-11-13"]),
        ("a few days ago", &["a few days ago=2024-05-09..2024-05-14"]),
        ("half a year ago", &["half a year ago=2023-10-31..2023-11-30"]),
        ("two weekends ago", &["two weekends ago=2024-05-04..2024-05-05"]),
        ("two hours ago", &["two hours ago=2024-05-15"]),
        ("What happened last week?", &["last week=2024-05-06..2024-05-12"]),
        ("this week", &["this week=2024-05-13..2024-05-19"]),
        ("next month", &["next month=2024-06-01..2024-06-30"]),
        ("last month's bill", &["last month=2024-04-01..2024-04-30"]),
        ("Where did I travel last year", &["last year=2023-01-01..2023-12-31"]),
        ("last weekend", &["last weekend=2024-05-11..2024-05-12"]),
        ("last quarter", &["last quarter=2024-01-01..2024-03-31"]),
        ("the week before last", &["the week before last=2024-04-29..2024-05-05"]),
        ("over the past few days", &["past few days=2024-05-09..2024-05-15"]),
        ("the last 3 months", &["last 3 months=2024-02-15..2024-05-15"]),
        ("in the past week", &["in the past week=2024-05-08..2024-05-15"]),
        ("last Tuesday", &["last Tuesday=2024-05-14"]),
        ("last wednesday", &["last wednesday=2024-05-08"]),
        ("next Monday", &["next Monday=2024-05-20"]),
        ("Friday of last week", &["Friday of last week=2024-05-10"]),
        ("last week's Friday", &["last week's Friday=2024-05-10"]),
        ("on Sunday", &["on Sunday=2024-05-12"]),
        ("in May 2023", &["May 2023=2023-05-01..2023-05-31"]),
        ("in may of 2023", &["may of 2023=2023-05-01..2023-05-31"]),
        ("Dec. 2022", &["Dec. 2022=2022-12-01..2022-12-31"]),
        ("What happened on 8 May?", &["8 May=every 5-8"]),
        ("on the 8th of may", &["8th of may=every 5-8"]),
        ("on may 8", &["may 8=every 5-8"]),
        ("May 8th, 2023", &["May 8th, 2023=2023-05-08"]),
        ("7 May 2023 and 2023-05-08", &["7 May 2023=2023-05-07", "2023-05-08=2023-05-08"]),
        ("2023/5/8", &["2023/5/8=2023-05-08"]),
        ("13/5/2023 or 5/13/2023", &["13/5/2023=2023-05-13", "5/13/2023=2023-05-13"]),
        ("report for 2023-05", &["2023-05=2023-05-01..2023-05-31"]),
        ("in June", &["in June=every 6"]),
        ("what did we plan in march?", &["in march=every 3"]),
        ("the October trip", &["October=every 10"]),
        ("last August", &["last August=2023-08-01..2023-08-31"]),
        ("last March", &["last March=2024-03-01..2024-03-31"]),
        ("what happened last may?", &["last may=2023-05-01..2023-05-31"]),
        ("in 2022 we moved", &["in 2022=2022-01-01..2022-12-31"]),
        ("my 2021 trip", &["my 2021=2021-01-01..2021-12-31"]),
        ("summer 2022", &["summer 2022=2022-06-01..2022-08-31"]),
        ("the winter of 2022", &["winter of 2022=2022-12-01..2023-02-28"]),
        ("last summer", &["last summer=2023-06-01..2023-08-31"]),
        ("last spring", &["last spring=2023-03-01..2023-05-31"]),
        ("Q3 2023", &["Q3 2023=2023-07-01..2023-09-30"]),
        ("the other day", &["the other day=2024-05-05..2024-05-15"]),
        ("two weeks from now", &["two weeks from now=2024-05-26..2024-06-01"]),
    ]);
}

#[test]
fn chinese_expressions() {
    check(&[
        ("三天前我说了什么", &["三天前=2024-05-12"]),
        ("3天前", &["3天前=2024-05-12"]),
        ("上周我们讨论了什么", &["上周=2024-05-06..2024-05-12"]),
        ("上上周", &["上上周=2024-04-29..2024-05-05"]),
        ("上个星期三", &["上个星期三=2024-05-08"]),
        ("上周三和下周一", &["上周三=2024-05-08", "下周一=2024-05-20"]),
        ("这周末去哪", &["这周末=2024-05-18..2024-05-19"]),
        ("上个月", &["上个月=2024-04-01..2024-04-30"]),
        ("上个月5号", &["上个月5号=2024-04-05"]),
        ("昨天和前天", &["昨天=2024-05-14", "前天=2024-05-13"]),
        ("大前天", &["大前天=2024-05-12"]),
        ("今天早上", &["今天=2024-05-15"]),
        ("后天见", &["后天=2024-05-17"]),
        ("去年五月去了哪里", &["去年五月=2023-05-01..2023-05-31"]),
        ("去年5月8日", &["去年5月8日=2023-05-08"]),
        ("去年", &["去年=2023-01-01..2023-12-31"]),
        ("前年冬天", &["前年冬天=2022-12-01..2023-02-28"]),
        ("2023年5月8日", &["2023年5月8日=2023-05-08"]),
        ("２０２３年５月", &["２０２３年５月=2023-05-01..2023-05-31"]),
        ("二〇二三年十一月二十八号", &["二〇二三年十一月二十八号=2023-11-28"]),
        ("23年5月", &["23年5月=2023-05-01..2023-05-31"]),
        ("2023年的夏天", &["2023年的夏天=2023-06-01..2023-08-31"]),
        ("2023年上半年", &["2023年上半年=2023-01-01..2023-06-30"]),
        ("2022年", &["2022年=2022-01-01..2022-12-31"]),
        ("5月8号是什么日子", &["5月8号=every 5-8"]),
        ("十二月三十一日", &["十二月三十一日=every 12-31"]),
        ("五月份的计划", &["五月份=every 5"]),
        ("今年春天", &["今年春天=2024-03-01..2024-05-31"]),
        ("两个星期前", &["两个星期前=2024-04-28..2024-05-04"]),
        ("三个月前", &["三个月前=2024-01-31..2024-03-01"]),
        ("半年前", &["半年前=2023-10-31..2023-11-30"]),
        ("十年前", &["十年前=2013-11-14..2014-11-13"]),
        ("几天前", &["几天前=2024-05-09..2024-05-14"]),
        ("过去三个月", &["过去三个月=2024-02-15..2024-05-15"]),
        ("最近几天", &["最近几天=2024-05-09..2024-05-15"]),
        ("这两天", &["这两天=2024-05-13..2024-05-15"]),
        ("最近在忙什么", &["最近=2024-04-15..2024-05-15"]),
        ("周二开会", &["周二=2024-05-14"]),
        ("星期天", &["星期天=2024-05-12"]),
        ("两天后", &["两天后=2024-05-17"]),
    ]);
}

#[test]
fn words_that_only_look_like_times() {
    let none: Vec<(&str, &[&str])> = [
        "You may be right",
        "this may take a while",
        "the last may have failed",
        "May I ask you something?",
        "May and June are sisters",
        "all 5 may be wrong",
        "they march 5 miles",
        "the march to the sea",
        "an august company",
        "Ask April about it",
        "What did June say?",
        "the second one",
        "give me a second",
        "Sun Microsystems, and the sun",
        "he sat on the sofa and wed her",
        "Mon ami, fri, sat",
        "every Monday",
        "each Friday I swim",
        "spring boot and a fall from the roof",
        "write it in 2000 words",
        "in 2000 steps",
        "a total of 2000",
        "the last week of school",
        "he runs fast days",
        "the last one",
        "next step",
        "version 1.2.3 and 10.0.1",
        "call 2023-13-45",
        "99/99/2023",
        "2023-02-30",
        "dec and jan are my friends",
        "每周一开会",
        "一周一次",
        "两周三次",
        "一年有多少个月",
        "后天的努力",
        "先天与后天",
        "三个人",
        "第一天",
        "星期几",
        "一年级",
        "13月",
        "2月30日",
        "这一天",
        "天天向上",
        "",
    ]
    .into_iter()
    .map(|text| (text, &[][..]))
    .collect();
    check(&none);
}

#[test]
fn strength_granularity_and_relative() {
    let only = |text: &str| find(text, wednesday()).remove(0);
    let stated = only("2023-05-08");
    assert_eq!((stated.strength, stated.granularity, stated.relative), (1.0, Granularity::Day, false));
    let relative = only("上周");
    assert_eq!((relative.granularity, relative.relative), (Granularity::Week, true));
    assert!(only("recently").strength < only("last week").strength);
    assert!(only("Monday").strength < only("last Monday").strength);
    assert_eq!(only("in May").granularity, Granularity::Month);
    assert_eq!(only("去年").granularity, Granularity::Year);
}

#[test]
fn closeness_falls_with_distance() {
    let at = |text: &str| {
        let local = NaiveDate::parse_from_str(text, "%Y-%m-%d").unwrap().and_hms_opt(12, 0, 0).unwrap();
        Moment { ns: local.and_utc().timestamp_nanos_opt().unwrap(), offset_minutes: 480 }
    };
    let week = &find("last week", wednesday())[0];
    assert_eq!(week.closeness(at("2024-05-08")), 1.0);
    assert!(week.closeness(at("2024-05-14")) > week.closeness(at("2024-05-30")));
    assert!(week.closeness(at("2024-05-30")) > week.closeness(at("2023-05-08")));
    assert!(week.closeness(at("2023-05-08")) < 0.001);
    let december = &find("in December", wednesday())[0];
    for year in ["2019", "2024"] {
        assert_eq!(december.closeness(at(&format!("{year}-12-31"))), 1.0);
        assert!(december.closeness(at(&format!("{year}-01-02"))) > 0.9);
        assert!(december.closeness(at(&format!("{year}-06-15"))) < 0.01);
    }
    let leap_day = &find("2月29日", wednesday())[0];
    assert_eq!(leap_day.closeness(at("2024-02-29")), 1.0);
}

#[test]
fn the_offset_decides_what_today_is() {
    let ns = wednesday().ns;
    let start = |offset_minutes: i32| match find("today", Moment { ns, offset_minutes })[0].when {
        When::Span { start_ns, .. } => start_ns,
        When::Yearly { .. } => panic!("a day"),
    };
    assert_eq!(start(480), ns - 10 * 3_600_000_000_000);
    assert_eq!(start(-300), ns - 21 * 3_600_000_000_000);
}

proptest! {
    #[test]
    fn no_text_and_no_moment_makes_it_panic(
        text in "(\\PC|[0-9]{1,5}|may |last |week|days? ago|年|月|日|前|上|周|一|几|天|后|十){0,14}",
        ns in any::<i64>(),
        offset_minutes in any::<i32>(),
    ) {
        let hints = find(&text, Moment { ns, offset_minutes });
        for hint in &hints {
            prop_assert!(text.get(hint.range.clone()).is_some());
            let closeness = hint.closeness(Moment { ns, offset_minutes: 0 });
            prop_assert!((0.0..=1.0).contains(&closeness));
            if let When::Span { start_ns, end_ns } = hint.when {
                prop_assert!(start_ns < end_ns);
            }
        }
    }
}
