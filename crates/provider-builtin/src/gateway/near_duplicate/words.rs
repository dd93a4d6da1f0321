//! What a memory says, word by word, and which words forbid to take it for another one.

use std::collections::BTreeSet;

use super::Guard;
use crate::gateway::normalise::{canonical, is_unspaced};

/// Words that add stress or grammar only.
const FILLERS: [&str; 22] = [
    "a", "an", "the", "very", "really", "quite", "also", "just", "that", "so", "indeed", "truly", "很", "非常", "的",
    "真", "也", "都", "十分", "特别", "挺", "相当",
];

/// Words that turn a statement round.
const NEGATIONS: [&str; 44] = [
    "not",
    "no",
    "never",
    "none",
    "nothing",
    "nobody",
    "nowhere",
    "neither",
    "nor",
    "without",
    "cannot",
    "hardly",
    "barely",
    "rarely",
    "seldom",
    "longer",
    "stopped",
    "quit",
    "except",
    "unless",
    "dont",
    "doesnt",
    "didnt",
    "isnt",
    "wasnt",
    "arent",
    "wont",
    "cant",
    "nicht",
    "kein",
    "keine",
    "nie",
    "pas",
    "jamais",
    "sans",
    "sin",
    "nunca",
    "не",
    "нет",
    "никогда",
    "안",
    "못",
    "없",
    "않",
];
const HAN_NEGATIONS: [char; 12] = ['不', '没', '沒', '非', '无', '無', '未', '别', '勿', '莫', '否', '戒'];
const JAPANESE_NEGATIONS: [&str; 4] = ["ない", "ません", "なかった", "ずに"];

/// A word, or one character of a script without spaces.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Word {
    pub(super) stem: String,
    pub(super) guard: Option<Guard>,
}

/// The words of a text in order, without fillers.
pub(super) fn words_of(text: &str) -> Vec<Word> {
    let mut words = Vec::new();
    let mut starts_sentence = true;
    for token in
        text.split(|c: char| c.is_whitespace() || matches!(c, '/' | '，' | '。' | '、' | '；' | '！' | '？' | '：'))
    {
        let first = token.trim_start_matches(|c: char| !c.is_alphanumeric());
        let is_capital = first.starts_with(char::is_uppercase);
        // `I` and the first word of a sentence are capital letters without being names.
        let is_name = is_capital && !starts_sentence && first != "I" && !first.starts_with("I'");
        if !first.is_empty() {
            starts_sentence = token.ends_with(['.', '!', '?', ':']);
        }
        add_words(&canonical(token), is_name, &mut words);
    }
    words
}

fn add_words(form: &str, is_name: bool, words: &mut Vec<Word>) {
    let form = ["非常", "十分", "特别", "相当"].iter().fold(form.to_owned(), |form, filler| form.replace(filler, ""));
    let has_japanese_negation = JAPANESE_NEGATIONS.iter().any(|negation| form.contains(negation));
    let mut latin = String::new();
    for character in form.chars() {
        if character.is_whitespace() || is_unspaced(character) {
            add_latin(&mut latin, is_name, words);
        }
        if is_unspaced(character) {
            let is_number = "〇零一二两三四五六七八九十百千万亿".contains(character);
            let guard = if HAN_NEGATIONS.contains(&character) || (character == 'な' && has_japanese_negation) {
                Some(Guard::Negation)
            } else {
                is_number.then_some(Guard::Number)
            };
            push(character.to_string(), guard, words);
        } else if !character.is_whitespace() {
            latin.push(character);
        }
    }
    add_latin(&mut latin, is_name, words);
}

fn add_latin(latin: &mut String, is_name: bool, words: &mut Vec<Word>) {
    let word = std::mem::take(latin);
    if word.is_empty() {
        return;
    }
    let is_negation = NEGATIONS.contains(&word.as_str())
        || word.ends_with("n't")
        || ["안", "못", "없", "않"].iter().any(|negation| word.starts_with(negation) || word.contains("지않"));
    let guard = if word.chars().any(char::is_numeric) || is_number_word(&word) {
        Some(Guard::Number)
    } else if is_negation {
        Some(Guard::Negation)
    } else {
        is_name.then_some(Guard::Name)
    };
    push(stem(&word), guard, words);
}

fn push(stem: String, guard: Option<Guard>, words: &mut Vec<Word>) {
    if !FILLERS.contains(&stem.as_str()) {
        words.push(Word { stem, guard });
    }
}

/// Takes the `s` of plurals and third persons away: `likes` and `like` are one word.
fn stem(word: &str) -> String {
    let is_inflected = word.len() > 3 && word.ends_with('s') && !word.ends_with("ss") && !word.ends_with("us");
    if is_inflected { word.strip_suffix('s').unwrap_or(word).to_owned() } else { word.to_owned() }
}

fn is_number_word(word: &str) -> bool {
    const NUMBERS: [&str; 47] = [
        "zero",
        "one",
        "two",
        "three",
        "four",
        "five",
        "six",
        "seven",
        "eight",
        "nine",
        "ten",
        "eleven",
        "twelve",
        "twenty",
        "thirty",
        "forty",
        "fifty",
        "hundred",
        "thousand",
        "million",
        "half",
        "first",
        "second",
        "third",
        "monday",
        "tuesday",
        "wednesday",
        "thursday",
        "friday",
        "saturday",
        "sunday",
        "january",
        "february",
        "march",
        "april",
        "june",
        "july",
        "august",
        "september",
        "october",
        "november",
        "december",
        "today",
        "tomorrow",
        "yesterday",
        "once",
        "twice",
    ];
    NUMBERS.contains(&word)
}

/// The texts in quotation marks, in canonical form.
pub(super) fn quotations(text: &str) -> BTreeSet<String> {
    let pairs = [('"', '"'), ('“', '”'), ('「', '」'), ('『', '』'), ('《', '》'), ('«', '»'), ('`', '`')];
    let mut quotations = BTreeSet::new();
    for (open, close) in pairs {
        let mut rest = text;
        while let Some((_, after)) = rest.split_once(open) {
            let Some((inside, behind)) = after.split_once(close) else { break };
            quotations.insert(canonical(inside));
            rest = behind;
        }
    }
    quotations
}
