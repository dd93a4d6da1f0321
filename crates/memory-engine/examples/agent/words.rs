//! What the agent says by itself, in both languages.

/// The phrases of one language.
pub(crate) struct Words {
    /// How the system prompt begins.
    pub(crate) instruction: &'static str,
    /// In place of an answer, when the model gave none.
    pub(crate) no_answer: &'static str,
    /// Before what the stub keeps.
    pub(crate) noted: &'static str,
    /// Before what the stub recalls.
    pub(crate) remembered: &'static str,
    /// Before what a tool found for the stub.
    pub(crate) found: &'static str,
    /// When a tool found nothing.
    pub(crate) found_nothing: &'static str,
}

const ENGLISH: Words = Words {
    instruction: "You are a helpful assistant. Answer briefly.",
    no_answer: "(The model did not answer. Please try again.)",
    noted: "Noted: ",
    remembered: "I remember: ",
    found: "I found: ",
    found_nothing: "I found nothing.",
};

const CHINESE: Words = Words {
    instruction: "你是一个乐于助人的助手。回答要简短。",
    no_answer: "（模型没有回答，请再试一次。）",
    noted: "记下了：",
    remembered: "我记得：",
    found: "我找到了：",
    found_nothing: "我没有找到。",
};

impl Words {
    /// Chinese for `zh…`, else English.
    pub(crate) fn of(language: &str) -> &'static Self {
        if language.to_lowercase().starts_with("zh") { &CHINESE } else { &ENGLISH }
    }
}
