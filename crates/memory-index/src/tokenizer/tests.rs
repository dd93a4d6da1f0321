use std::collections::HashSet;

use proptest::prelude::*;

use super::*;

fn index(text: &str) -> Vec<String> {
    analyze(text, Side::Index).into_iter().map(|token| token.text).collect()
}

fn query(text: &str) -> Vec<String> {
    query_terms(text).into_iter().map(|term| term.text).collect()
}

#[test]
fn english_is_stemmed_in_lower_case() {
    assert_eq!(index("Running dogs, PAINTED pottery!"), ["run", "dog", "paint", "potteri"]);
    assert_eq!(index("Caroline's students' books"), ["carolin", "student", "book"]);
    assert_eq!(index("Caroline’s"), ["carolin"]);
    assert_eq!(index("O'Brien"), ["o'brien", "o", "brien"]);
}

#[test]
fn full_width_accents_and_invisible_characters_make_no_difference() {
    assert_eq!(index("ＡＢＣ１２３"), ["abc123"]);
    assert_eq!(index("Jose\u{301} José"), ["jose", "jose"]);
    assert_eq!(index("pass\u{200B}word pass\u{00AD}word"), ["password", "password"]);
    assert_eq!(index("ﬁne"), ["fine"]);
}

#[test]
fn chinese_gives_characters_and_pairs() {
    assert_eq!(index("去北京"), ["去", "去北", "北", "北京", "京"]);
    assert_eq!(index("我用Rust写"), ["我用", "用", "rust", "写"], "a pronoun says nothing alone");
    assert_eq!(index("你好，世界"), ["你好", "好", "世", "世界", "界"]);
    assert_eq!((index("的"), index("a 的 b")), (vec!["的".to_owned()], vec!["a".into(), "的".into(), "b".into()]));
    let positions: Vec<usize> = analyze("去北京", Side::Index).into_iter().map(|token| token.position).collect();
    assert_eq!(positions, [0, 0, 1, 1, 2]);
}

#[test]
fn kana_and_hangul_give_pairs() {
    assert_eq!(index("コーヒー"), ["コー", "ーヒ", "ヒー"]);
    assert_eq!(index("ｺｰﾋｰ"), index("コーヒー"));
    assert_eq!(index("ｶﾞ"), ["ガ"]);
    assert_eq!(index("東京に"), ["東", "東京", "京", "京に"]);
    assert_eq!(index("한국어 책"), ["한국", "국어", "책"]);
    let decomposed = "\u{1112}\u{1161}\u{11AB}\u{1100}\u{116E}\u{11A8}";
    assert_eq!(index(decomposed), ["한국"]);
}

#[test]
fn identifiers_are_kept_and_split() {
    assert_eq!(index("node.js"), ["node.js", "node", "js"]);
    assert_eq!(index("auth-token"), ["auth-token", "auth", "token"]);
    assert_eq!(index("snake_case"), ["snake_case", "snake", "case"]);
    assert_eq!(index("C++ C# c"), ["c++", "c", "c#", "c", "c"]);
    assert_eq!(index("camelCase"), ["camelcas", "camel", "case"]);
    assert_eq!(index("HTTPServer"), ["httpserver", "http", "server"]);
    assert_eq!(index("Python 3.12"), ["python", "3.12", "3", "12"]);
    assert_eq!(
        index("src/net/HTTPServer.rs"),
        ["src/net/httpserver.rs", "src", "net", "httpserver.rs", "httpserver", "http", "server", "rs"]
    );
    assert_eq!(index("std::fmt"), ["std::fmt", "std", "fmt"]);
    assert_eq!(index("ann@example.com")[0], "ann@example.com");
    assert_eq!(index("AT&T"), ["at&t", "at", "t"]);
    assert_eq!(index("end. Next"), ["end", "next"]);
    assert_eq!(index("a++b #tag ++ --"), ["a", "b", "tag"]);
}

#[test]
fn an_identifier_is_found_by_each_way_to_write_it() {
    for (text, asked) in [
        ("we use node.js here", "node.js"),
        ("we use Node.js here", "node"),
        ("see camelCase", "camelcase"),
        ("see camelCase", "camel case"),
        ("the auth-token expired", "auth token"),
        ("the auth token expired", "auth-token"),
        ("written in C++", "c++"),
        ("written in C#", "C#"),
        ("/usr/local/bin/tool.sh", "tool.sh"),
    ] {
        let document = index(text);
        assert!(query(asked).iter().any(|term| document.contains(term)), "{asked} in {text}");
    }
}

#[test]
fn a_question_loses_its_stop_words_unless_it_has_no_others() {
    assert_eq!(query("What did Caroline paint in the end?"), ["carolin", "paint", "end"]);
    assert_eq!(query("who are you"), ["who", "are", "you"]);
    assert_eq!(query("the the the"), ["the"]);
    assert!(!query("我的猫叫什么名字").contains(&"的".to_owned()));
    assert!(query("我的猫叫什么名字").contains(&"名字".to_owned()));
    assert_eq!(query("的"), ["的"]);
    assert!(query(" ?!… ").is_empty());
}

#[test]
fn pictures_are_tokens() {
    assert_eq!(index("I ❤️ 🍕🍕"), ["i", "❤", "🍕", "🍕"]);
}

#[test]
fn long_tokens_are_cut_not_lost() {
    let word = "x".repeat(5_000);
    let tokens = analyze(&word, Side::Index);
    assert_eq!(tokens.len(), 1);
    assert_eq!((tokens[0].text.len(), tokens[0].start, tokens[0].end), (MAX_TOKEN_CHARS, 0, 5_000));
}

#[test]
fn long_questions_are_bounded() {
    let text: String = (0..10_000).map(|number| format!("w{number} ")).collect();
    assert_eq!(query(&text).len(), MAX_QUERY_TERMS);
}

#[test]
fn offsets_point_at_the_original() {
    let text = "Ｃaroline’s 東京 node.js";
    let token = |wanted: &str| analyze(text, Side::Index).into_iter().find(|token| token.text == wanted).unwrap();
    for (term, original) in [("carolin", "Ｃaroline"), ("東京", "東京"), ("node.js", "node.js"), ("js", "js")] {
        let token = token(term);
        assert_eq!(&text[token.start..token.end], original);
    }
}

proptest! {
    #[test]
    fn any_text_gives_sound_tokens(text in "(\\PC|\\s|[a-zA-Z.'_/-]|[\u{300}-\u{36f}]|[\u{1100}-\u{11ff}]|[一-龥]|[ぁ-ヿ]|[가-힣]|[\u{ff66}-\u{ff9f}]|\u{0}|\u{200d}){0,80}") {
        let tokens = analyze(&text, Side::Index);
        let mut position = 0;
        for token in &tokens {
            prop_assert!(!token.text.is_empty());
            prop_assert!(token.text.chars().count() <= MAX_TOKEN_CHARS);
            prop_assert!(token.start < token.end && text.get(token.start..token.end).is_some());
            prop_assert!(token.position >= position);
            position = token.position;
        }
    }

    #[test]
    fn every_term_of_a_question_is_a_term_of_the_same_text(text in "(\\PC|[a-zA-Z.' ]|[一-龥]|[가-힣]){0,60}") {
        let document: HashSet<String> = index(&text).into_iter().collect();
        let terms = query(&text);
        prop_assert!(terms.iter().all(|term| document.contains(term)));
        prop_assert_eq!(terms.is_empty(), document.is_empty());
    }
}
