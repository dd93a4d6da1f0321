//! How the arms are weighed against each other, by the script of the question. Measured; the figures are in
//! docs/retrieval.md.

use memory_models::{Script, script_of};

/// The configured weights.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Weights {
    /// Words, in the text itself and in its window.
    pub(crate) text: f32,
    /// Vectors.
    pub(crate) vector: f32,
    /// Late interaction over tokens.
    pub(crate) late: f32,
    /// Importance of memories.
    pub(crate) importance: f32,
}

/// The weights that apply to one question.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Mix {
    /// Words, in the text itself and in its window.
    pub(crate) text: f32,
    /// Vectors.
    pub(crate) vector: f32,
    /// Late interaction with the text itself.
    pub(crate) late: f32,
    /// Late interaction with the text and its neighbours.
    pub(crate) late_window: f32,
    /// Late interaction with the states of a transformer, for the best candidates.
    pub(crate) context: f32,
    /// The same with neighbours.
    pub(crate) context_window: f32,
    /// Importance of memories.
    pub(crate) importance: f32,
    /// How much the words of the window add to those of the text itself.
    pub(crate) window: f32,
    /// How much of the score of the message before spills over.
    pub(crate) previous: f32,
    /// How much of the score of the message after spills over.
    pub(crate) next: f32,
}

impl Mix {
    /// The weights for a question, given which arms can answer it. Without late interaction words carry the whole
    /// weight, and the vectors keep their share of it.
    pub(crate) fn of(weights: Weights, question: &str, vectors: bool, late: bool) -> Self {
        let scale = if weights.text > 0.0 { 1.0 / weights.text } else { 1.0 };
        let vector = if vectors { weights.vector } else { 0.0 };
        let late_weight = if late { weights.late } else { 0.0 };
        if is_han(question) {
            // Characters and pairs of them carry Chinese. A table over words adds a little, and only in context.
            return Self {
                text: weights.text * scale,
                vector: vector * scale,
                late: 0.0,
                late_window: late_weight * 0.4,
                context: 0.6,
                context_window: 0.8,
                importance: weights.importance,
                window: 0.4,
                previous: 0.1,
                next: 0.1,
            };
        }
        let scale = if late_weight > 0.0 { 1.0 } else { scale };
        Self {
            text: weights.text * scale,
            vector: vector * scale,
            late: late_weight * 0.5,
            late_window: late_weight * 0.5,
            context: 0.3,
            context_window: 0.3,
            importance: weights.importance,
            window: 0.75,
            previous: 0.2,
            next: 0.1,
        }
    }
}

/// True for a question with any Han character.
pub(crate) fn is_han(question: &str) -> bool {
    question.chars().any(|character| script_of(character) == Some(Script::Han))
}

#[cfg(test)]
mod tests {
    use super::*;

    const WEIGHTS: Weights = Weights { text: 0.35, vector: 0.2, late: 0.5, importance: 0.0 };

    #[test]
    fn a_missing_arm_leaves_its_weight_to_the_words() {
        let all = Mix::of(WEIGHTS, "where", true, true);
        assert_eq!((all.text, all.vector, all.late, all.late_window), (0.35, 0.2, 0.25, 0.25));
        let without_late = Mix::of(WEIGHTS, "where", true, false);
        assert_eq!((without_late.text, without_late.late), (1.0, 0.0));
        assert!((without_late.vector - 0.571).abs() < 0.001);
        let words = Mix::of(WEIGHTS, "where", false, false);
        assert_eq!((words.text, words.vector), (1.0, 0.0));
    }

    #[test]
    fn words_carry_chinese() {
        let mix = Mix::of(WEIGHTS, "他在哪里 Berlin", false, true);
        assert_eq!((mix.text, mix.vector, mix.late, mix.late_window), (1.0, 0.0, 0.0, 0.2));
    }
}
