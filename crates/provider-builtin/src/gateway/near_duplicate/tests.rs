use super::*;
use proptest::prelude::*;

#[test]
fn duplicates() {
    for (a, b, verdict) in [
        ("User likes tea.", "user likes tea", Verdict::Exact),
        ("用户喜欢喝绿茶", "用户喜欢喝绿茶。", Verdict::Exact),
        ("ＡＢＣ を使う", "ABCを使う", Verdict::Exact),
        ("他在看《三体》", "他在看三体", Verdict::Exact),
        ("User likes green tea", "The user really likes green tea.", Verdict::Near),
        ("The users like green tea", "the user likes green tea", Verdict::Near),
        ("用户喜欢喝绿茶", "用户非常喜欢喝绿茶", Verdict::Near),
        ("用户很喜欢在早上喝绿茶", "用户喜欢在早上喝绿茶的", Verdict::Near),
        ("User prefers short answers in the morning", "User prefers short answers early in the morning", Verdict::Near),
        ("User really likes Green Tea", "User likes green tea", Verdict::Near),
        ("The deploy runs at 10:30 on Friday", "Deploy runs at 10:30 on Friday", Verdict::Near),
    ] {
        let comparison = compare(a, b);
        assert_eq!(comparison.verdict, verdict, "{a} | {b}: {comparison:?}");
        assert!(comparison.is_duplicate());
        assert_eq!(compare(b, a).verdict, verdict, "the measure is symmetric");
    }
}

#[test]
fn statements_that_differ() {
    let mut wrong = Vec::new();
    for (a, b, guard) in [
        ("User likes tea", "User does not like tea", Guard::Negation),
        ("User likes tea", "User doesn't like tea", Guard::Negation),
        ("User has eaten meat again", "User has never eaten meat again", Guard::Negation),
        ("用户喜欢喝茶", "用户不喜欢喝茶", Guard::Negation),
        ("他已经去过北京了", "他没去过北京了", Guard::Negation),
        ("お茶が好きです", "お茶が好きではないです", Guard::Negation),
        ("пользователь любит чай", "пользователь не любит чай", Guard::Negation),
        ("The weekly meeting is at 3pm", "The weekly meeting is at 4pm", Guard::Number),
        ("会议在三点开始", "会议在四点开始", Guard::Number),
        ("The release is on 2026-01-02", "The release is on 2026-01-03", Guard::Number),
        ("The weekly meeting is on Monday", "The weekly meeting is on Tuesday", Guard::Number),
        ("The weekly meeting starts", "The weekly meeting starts at 9", Guard::Number),
        ("It was -5 degrees outside that night", "It was 5 degrees outside that night", Guard::Number),
        ("张三喜欢咖啡", "李四喜欢咖啡", Guard::Number),
        ("王芳喜欢咖啡", "李娜喜欢咖啡", Guard::Words),
        ("My sister Anna likes coffee a lot", "My sister Anne likes coffee a lot", Guard::Name),
        ("The server in Berlin is fast", "The server is fast", Guard::Name),
        ("User reads \"Dune\" in bed", "User reads \"dune messiah\" in bed", Guard::Quotation),
        ("他喜欢看《三体》这本书", "他喜欢看《三体全集》这本书", Guard::Quotation),
        ("anna owes tom ten coins for dinner", "tom owes anna ten coins for dinner", Guard::Words),
        ("王芳喜欢李娜", "李娜喜欢王芳", Guard::Words),
        (
            "User prefers all meetings in the morning before lunch",
            "User prefers all meetings in the evening before lunch",
            Guard::Words,
        ),
        ("他住在北京的一个小区里面", "他住在南京的一个小区里面", Guard::Words),
        ("User likes tea", "User likes tea with milk and a lot of sugar", Guard::Likeness),
        ("likes c", "likes c plus plus", Guard::Likeness),
        ("User writes C++ all day", "User writes C all day", Guard::Name),
        ("👍", "👎", Guard::Words),
    ] {
        for comparison in [compare(a, b), compare(b, a)] {
            if comparison.verdict != Verdict::Different(guard) || comparison.similarity >= 1.0 {
                wrong.push(format!("{a} | {b}: {comparison:?} instead of {guard:?}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn it_tells_which_text_has_more() {
    assert!(compare("User likes green tea", "User likes good green tea").second_adds);
    assert!(!compare("User likes good green tea", "User likes green tea").second_adds);
}

#[test]
fn near_duplicates_share_a_key_and_other_texts_do_not() {
    let a = Fingerprint::new("User prefers short answers in the morning").keys();
    let b = Fingerprint::new("User prefers short answers early in the morning").keys();
    let c = Fingerprint::new("The cat sleeps on the warm roof").keys();
    assert!(a.iter().zip(&b).any(|(a, b)| a == b));
    assert!(!a.iter().zip(&c).any(|(a, c)| a == c));
    // Keys are stored, so they must never change.
    assert_eq!(Fingerprint::new("茶").keys()[0], KEY_OF_TEA);
}

const KEY_OF_TEA: i64 = -2153706626162518543;

proptest! {
    #[test]
    fn any_text_is_its_own_duplicate(text in "\\PC{0,40}", other in "\\PC{0,40}") {
        prop_assert_eq!(compare(&text, &text).verdict, Verdict::Exact);
        let (ab, ba) = (compare(&text, &other), compare(&other, &text));
        prop_assert_eq!(ab.verdict, ba.verdict);
        prop_assert!((0.0..=1.0).contains(&ab.similarity));
    }
}
