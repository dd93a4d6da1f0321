//! Whether two texts say the same.

use unicode_normalization::UnicodeNormalization;

/// From this likeness on two texts count as the same.
const SAME: f64 = 0.9;

/// A text prepared for comparison.
#[derive(Debug)]
pub(super) struct Likeness {
    letters: Vec<char>,
    /// Pairs of neighbouring letters, sorted.
    pairs: Vec<(char, char)>,
    /// Numbers and negations: where these differ, the texts differ, however alike they look.
    marks: Vec<String>,
}

/// Words and characters that turn a statement into its opposite.
const NEGATIONS: [&str; 5] = ["not", "no", "never", "cannot", "without"];
const NEGATING: [char; 7] = ['不', '没', '沒', '无', '無', '未', '非'];

impl Likeness {
    /// Prepares a text: width and case do not matter, nor does what is neither letter nor digit.
    pub(super) fn of(text: &str) -> Self {
        let letters: Vec<char> =
            text.nfkc().flat_map(char::to_lowercase).filter(|character| character.is_alphanumeric()).collect();
        let mut pairs: Vec<(char, char)> = letters.iter().copied().zip(letters.iter().copied().skip(1)).collect();
        pairs.sort_unstable();
        Self { letters, pairs, marks: marks_of(text) }
    }

    /// True when both are equal, or their pairs of letters agree by 0.9 or more (the coefficient of Dice).
    pub(super) fn is_same(&self, other: &Self) -> bool {
        // A text of symbols alone, such as an emoji, says nothing that could be compared.
        if self.letters.is_empty() {
            return false;
        }
        self.letters == other.letters || self.marks == other.marks && self.dice(other) >= SAME
    }

    fn dice(&self, other: &Self) -> f64 {
        let total = self.pairs.len() + other.pairs.len();
        let fewer = self.pairs.len().min(other.pairs.len());
        // It cannot be more than if all the fewer pairs were shared.
        if total == 0 || 2.0 * (fewer as f64) < SAME * total as f64 {
            return 0.0;
        }
        let (mut mine, mut others, mut shared) = (self.pairs.iter().peekable(), other.pairs.iter().peekable(), 0usize);
        while let (Some(a), Some(b)) = (mine.peek(), others.peek()) {
            match a.cmp(b) {
                std::cmp::Ordering::Less => drop(mine.next()),
                std::cmp::Ordering::Greater => drop(others.next()),
                std::cmp::Ordering::Equal => {
                    shared += 1;
                    mine.next();
                    others.next();
                }
            }
        }
        2.0 * shared as f64 / total as f64
    }
}

fn marks_of(text: &str) -> Vec<String> {
    let text: String = text.nfkc().flat_map(char::to_lowercase).map(|c| if c == '’' { '\'' } else { c }).collect();
    let negating = text.chars().filter(|character| NEGATING.contains(character)).map(String::from);
    let words = text.split(|character: char| !(character.is_alphanumeric() || character == '\''));
    let marked = words.filter(|word| NEGATIONS.contains(word) || word.ends_with("n't")).map(str::to_owned);
    let numbers = text.split(|character: char| !character.is_numeric()).filter(|number| !number.is_empty());
    negating.chain(marked).chain(numbers.map(str::to_owned)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn same(a: &str, b: &str) -> bool {
        Likeness::of(a).is_same(&Likeness::of(b))
    }

    #[test]
    fn spelling_does_not_matter() {
        assert!(same("User likes GREEN tea.", "user likes green tea"));
        assert!(same("用户喜欢喝绿茶。", "用户喜欢喝绿茶"));
        assert!(same("Ｔｅａ　２", "tea 2"));
        assert!(same(
            "用户住在上海市浦东新区，养了一只名叫团子的橘猫",
            "用户住在上海市浦东新区，养了一只名叫团子的橘猫咪"
        ));
    }

    #[test]
    fn other_facts_are_kept_apart() {
        assert!(!same("用户喜欢喝绿茶", "用户喜欢喝红茶"));
        assert!(!same("The meeting is on Monday", "The meeting is on Friday"));
        let tea = "the user drinks a cup of green tea every morning before the first meeting of the day";
        assert!(same(tea, &tea.replace("a cup", "the cup")));
        assert!(!same(tea, &tea.replace("drinks", "never drinks")));
        assert!(!same(
            "用户每天早上九点在浦东新区的办公室里开例会，会后喝绿茶",
            "用户每天早上九点不在浦东新区的办公室里开例会，会后喝绿茶"
        ));
        assert!(!same(
            "the deposit for the flat in the old town was 1500 euros",
            "the deposit for the flat in the old town was 1600 euros"
        ));
        assert!(!same("", ""));
        assert!(!same("🎉", "😢"));
        assert!(!same("好", "不好"));
    }
}
