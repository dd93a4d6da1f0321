use super::*;
use proptest::prelude::*;
use unicode_segmentation::UnicodeSegmentation;

fn cut(text: &str) -> Vec<Chunk> {
    chunk(text, 1, &ChunkOptions::default())
}

fn small(max_characters: usize) -> ChunkOptions {
    ChunkOptions { max_characters, min_characters: 0, overlap_characters: 0 }
}

fn shape(chunks: &[Chunk]) -> Vec<(usize, usize, &str)> {
    chunks.iter().map(|chunk| (chunk.start_line, chunk.end_line, chunk.heading_path.as_str())).collect()
}

#[test]
fn sections_become_chunks_with_their_path() {
    let body = "word ".repeat(80);
    let text =
        format!("intro {body}\n\n# Title #\n\n{body}\n\n## 偏好 👍\n{body}\n### Deep\n{body}\n## Other\n{body}\n");
    let chunks = cut(&text);
    assert_eq!(
        shape(&chunks),
        [
            (1, 1, ""),
            (3, 5, "Title"),
            (7, 8, "Title > 偏好 👍"),
            (9, 10, "Title > 偏好 👍 > Deep"),
            (11, 12, "Title > Other"),
        ]
    );
    assert!(chunks[2].text.starts_with("## 偏好 👍\nword word"));
}

#[test]
fn small_sections_are_joined_under_what_they_share() {
    let chunks = cut("# Title\n\n## A\n- a\n\n## B\n- b\n\n# Next\ntext\n");
    assert_eq!(shape(&chunks), [(1, 10, "")]);
    let chunks = cut("# Title\n\n## A\n- a\n\n## B\n- b\n");
    assert_eq!(shape(&chunks), [(1, 7, "Title")]);
    let chunks = cut("## A\n- a\n\n## B\n- b\n\n# Next\ntext\n");
    assert_eq!(shape(&chunks), [(1, 5, ""), (7, 8, "Next")]);
    assert!(cut("").is_empty());
    assert!(cut(" \n\n\t\n").is_empty());
}

#[test]
fn underlined_headings_count_and_rules_do_not() {
    let body = "word ".repeat(80);
    let text = format!("Title\n=====\n{body}\n\nSection\n-------\n{body}\n\n---\n\n- item\n---\n{body}\n");
    assert_eq!(shape(&cut(&text)), [(1, 3, "Title"), (5, 13, "Title > Section")]);
}

#[test]
fn a_code_block_is_kept_whole_where_it_fits() {
    let code: String = (0..8).map(|number| format!("let x{number} = {number};\n\n# not a heading\n")).collect();
    let text = format!("{}\n\n```rust\n{code}```\n\nafter\n", "words and words. ".repeat(6));
    let chunks = chunk(&text, 1, &small(300));
    let with_code: Vec<_> = chunks.iter().filter(|chunk| chunk.text.contains("let x")).collect();
    assert_eq!(with_code.len(), 1, "{chunks:#?}");
    assert!(with_code[0].text.starts_with("```rust") && with_code[0].text.contains("let x7"));
    assert!(chunks.iter().all(|chunk| chunk.heading_path.is_empty()));

    let long = format!("```\n{}```\n", "a line of code\n".repeat(100));
    let chunks = chunk(&long, 1, &small(300));
    assert!(chunks.len() > 3 && chunks.iter().all(|chunk| weight(&chunk.text) <= 600));
}

#[test]
fn long_lines_are_cut_at_sentences_words_and_graphemes() {
    let sentences = "The user likes green tea in the morning. ".repeat(20);
    let chunks = chunk(&sentences, 5, &small(100));
    assert!(chunks.iter().all(|chunk| chunk.text.ends_with("morning.") && chunk.start_line == 5), "{chunks:#?}");
    assert_eq!(chunks.iter().map(|chunk| chunk.part).collect::<Vec<_>>(), (0..chunks.len()).collect::<Vec<_>>());

    let chinese = "用户喜欢在早上喝绿茶。".repeat(30);
    let chunks = chunk(&chinese, 1, &small(100));
    assert!(chunks.len() > 5 && chunks.iter().all(|chunk| chunk.text.ends_with('。')), "{chunks:#?}");

    let words = "green ".repeat(100);
    assert!(chunk(&words, 1, &small(40)).iter().all(|chunk| chunk.text.split(' ').all(|word| word == "green")));

    let family = "👨‍👩‍👧‍👦".repeat(50);
    let chunks = chunk(&family, 1, &small(40));
    assert!(chunks.len() > 1);
    assert!(chunks.iter().all(|chunk| chunk.text.graphemes(true).all(|grapheme| grapheme == "👨‍👩‍👧‍👦")));
}

#[test]
fn chinese_counts_more_than_latin() {
    let latin = "abcdefghi\n".repeat(200);
    let chinese = "一二三四五六七八九\n".repeat(200);
    let ratio = cut(&chinese).len() as f64 / cut(&latin).len() as f64;
    assert!((2.0..3.0).contains(&ratio), "{ratio}");
}

#[test]
fn overlap_repeats_whole_lines_within_a_section() {
    let text: String = (1..=30).map(|number| format!("line number {number:02} of the text\n")).collect();
    let options = ChunkOptions { max_characters: 200, min_characters: 0, overlap_characters: 50 };
    let chunks = chunk(&text, 1, &options);
    for pair in chunks.windows(2) {
        assert_eq!(pair[1].start_line, pair[0].end_line, "{chunks:#?}");
        assert!(pair[1].end_line > pair[0].end_line);
    }
    assert_eq!(chunks.last().unwrap().end_line, 30);
}

#[test]
fn a_hundred_thousand_lines_are_no_trouble() {
    let text: String = (0..100_000)
        .map(|n| if n % 50 == 0 { format!("## 第 {n} 节\n") } else { format!("- 条目 item {n}\n") })
        .collect();
    let chunks = cut(&text);
    assert_eq!((chunks[0].start_line, chunks.last().unwrap().end_line), (1, 100_000));
}

#[test]
fn one_enormous_line_is_cut() {
    let text = "啊".repeat(300_000);
    let chunks = cut(&text);
    assert_eq!(chunks.iter().map(|chunk| chunk.text.len()).sum::<usize>(), text.len());
    let marks = format!("a{}", "\u{301}".repeat(10_000));
    assert!(cut(&marks).iter().all(|chunk| weight(&chunk.text) <= 2400));
}

/// Lines as they occur in Markdown, and some that do not.
fn line() -> impl Strategy<Value = String> {
    prop_oneof![
        2 => "\\PC{0,40}",
        2 => "(#{1,7} )?[a-z 中文。]{0,30}",
        1 => "(- |1\\. |> )[a-zé한 ]{0,20}",
        1 => Just(String::new()),
        1 => "(```|~~~|===|---)[a-z]{0,2}",
        1 => "([a-z]{1,9}[ .]|喝茶。|👨‍👩‍👧|e\u{301}){0,60}",
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]
    #[test]
    fn nothing_is_lost_and_the_budget_holds(
        lines in prop::collection::vec(line(), 0..40),
        max_characters in 8_usize..120,
        min_characters in 0_usize..80,
        overlap_characters in 0_usize..40,
        first_line in 1_usize..10,
        ends in prop_oneof![Just("\n"), Just("\r\n")],
    ) {
        let text = lines.join(ends);
        let options = ChunkOptions { max_characters, min_characters, overlap_characters };
        let chunks = chunk(&text, first_line, &options);
        prop_assert_eq!(&chunks, &chunk(&text, first_line, &options));
        for chunk in &chunks {
            prop_assert!(weight(&chunk.text) <= max_characters * 2, "{:?}", chunk);
            prop_assert!(chunk.start_line <= chunk.end_line && !chunk.text.trim().is_empty());
        }
        for pair in chunks.windows(2) {
            prop_assert!(pair[0].start_line <= pair[1].start_line && pair[0].end_line <= pair[1].end_line);
            if overlap_characters == 0 {
                prop_assert!(pair[0].end_line <= pair[1].start_line);
            }
        }
        for (number, line) in text.split('\n').enumerate() {
            let number = number + first_line;
            let letters = |text: &str| text.chars().filter(|letter| !letter.is_whitespace()).collect::<String>();
            let covering: String =
                chunks.iter().filter(|c| (c.start_line..=c.end_line).contains(&number)).map(|c| c.text.as_str()).collect();
            prop_assert!(letters(&covering).contains(&letters(line)), "line {} `{}` in {:?}", number, line, chunks);
        }
    }

    #[test]
    fn no_text_makes_it_panic(text in any::<String>(), max_characters in 0_usize..50) {
        chunk(&text, 1, &small(max_characters));
    }
}
