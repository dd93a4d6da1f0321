//! Colours, and none where none are wanted.

/// Colours text, or leaves it as it is.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Style {
    colored: bool,
}

impl Style {
    pub(crate) const fn new(colored: bool) -> Self {
        Self { colored }
    }

    fn paint(self, code: &str, text: &str) -> String {
        if self.colored && !text.is_empty() { format!("\u{1b}[{code}m{text}\u{1b}[0m") } else { text.to_owned() }
    }

    pub(crate) fn strong(self, text: &str) -> String {
        self.paint("1", text)
    }

    pub(crate) fn faint(self, text: &str) -> String {
        self.paint("2", text)
    }

    /// A word that was asked for.
    pub(crate) fn highlight(self, text: &str) -> String {
        self.paint("1;33", text)
    }

    pub(crate) fn good(self, text: &str) -> String {
        self.paint("32", text)
    }

    pub(crate) fn error(self, text: &str) -> String {
        self.paint("1;31", text)
    }

    pub(crate) fn warning(self, text: &str) -> String {
        self.paint("1;33", text)
    }

    pub(crate) fn hint(self, text: &str) -> String {
        self.paint("1;36", text)
    }

    pub(crate) fn label(self, text: &str) -> String {
        self.paint("36", text)
    }
}
