//! Finds credentials in text before it is stored, and blanks them out.
//!
//! Two kinds of rules: forms that only a credential has (a fixed start, a fixed length), and values assigned to a name
//! such as `password`. The second kind looks at the value, too, so that sentences about passwords stay as they are.

mod value;

use std::ops::Range;
use std::sync::LazyLock;

use serde::Serialize;

use crate::pattern::WordedPattern;

use self::value::{NameClass, is_template, secret_at};

/// What sort of credential was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum SecretKind {
    /// A private key block.
    PrivateKey,
    /// A key of Amazon, Alibaba or Tencent cloud.
    CloudKey,
    /// A token of GitHub, GitLab or a package registry.
    DeveloperToken,
    /// A key of a model provider (`sk-…`, `sk-ant-…`, `hf_…`).
    ModelKey,
    /// A token or webhook of a chat service.
    ChatToken,
    /// A Google key or token.
    GoogleKey,
    /// A payment or mail service key.
    ServiceKey,
    /// A JSON web token.
    JsonWebToken,
    /// The value after `Bearer` or `Basic`.
    AuthorizationHeader,
    /// The password in `scheme://user:password@host`.
    UrlPassword,
    /// A value assigned to a name such as `api_key` or `token`.
    AssignedKey,
    /// A value assigned to a name such as `password` or `密码`.
    Password,
}

impl SecretKind {
    /// The name used in marks and reports.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::PrivateKey => "private_key",
            Self::CloudKey => "cloud_key",
            Self::DeveloperToken => "developer_token",
            Self::ModelKey => "model_key",
            Self::ChatToken => "chat_token",
            Self::GoogleKey => "google_key",
            Self::ServiceKey => "service_key",
            Self::JsonWebToken => "json_web_token",
            Self::AuthorizationHeader => "authorization_header",
            Self::UrlPassword => "url_password",
            Self::AssignedKey => "assigned_key",
            Self::Password => "password",
        }
    }
}

/// A credential in a text. It holds the place only, never the credential.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SecretFinding {
    /// What it is.
    pub kind: SecretKind,
    /// Where it is, in bytes.
    pub range: Range<usize>,
}

/// How a match is judged.
enum Check {
    /// The form alone is proof.
    Form,
    /// Needs a digit and a run of this many letters and digits: words joined by hyphens are no key.
    Random(usize),
    /// Anything but a template such as `${PASSWORD}`.
    NoTemplate,
    /// The match is a name, and the value after it is judged as one that belongs to a name of this class.
    Value(NameClass),
}

struct Rule {
    kind: SecretKind,
    pattern: WordedPattern,
    check: Check,
}

/// The rules. The credential is the group `s`, or follows the match for [`Check::Value`]. Word limits are those of ASCII,
/// because a Chinese character directly before a key is a word character in Unicode.
static RULES: LazyLock<Vec<Rule>> = LazyLock::new(|| {
    use SecretKind::{
        AssignedKey, AuthorizationHeader, ChatToken, CloudKey, DeveloperToken, GoogleKey, JsonWebToken, ModelKey,
        Password, PrivateKey, ServiceKey, UrlPassword,
    };
    let form = |kind: SecretKind, words: &'static [&'static str], text: &str| {
        let text = format!(r"(?-u:\b)(?P<s>{text})");
        Rule { kind, pattern: WordedPattern::new(words, text), check: Check::Form }
    };
    let random = |kind: SecretKind, words: &'static [&'static str], run: usize, text: &str| {
        let check = Check::Random(run);
        Rule { check, ..form(kind, words, text) }
    };
    let value = |kind: SecretKind, words: &'static [&'static str], class: NameClass, text: &str| Rule {
        kind,
        pattern: WordedPattern::new(words, format!("(?i){text}")),
        check: Check::Value(class),
    };
    let assigns = r#"["'”]?\s{0,3}(?::=|=>|[:=：＝])\s{0,3}"#;
    let starts = r"(?:(?-u:\b)|_)";
    let password = r"(?:password|passwd|passphrase|passcode|pwd|pass)";
    let key = "(?:(?:api|access|secret|auth|account|encryption|signing|private|client|refresh)[_ -]?(?:access[_ -]?)?\
               (?:key|token|secret)(?:[_ -]?(?:base|id|secret))?|token|secret)";
    let chinese_password = "(?:密码|密碼|口令|パスワード|비밀번호)";
    let chinese_words: &[&str] = &["密码", "密碼", "口令", "パスワード", "비밀번호"];
    let private_key = r"-----BEGIN [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----";
    let private_key_end = r"-----END [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----";
    vec![
        Rule {
            kind: PrivateKey,
            // Whole, or cut off somewhere in the base64 text.
            pattern: WordedPattern::new(
                &["private key"],
                format!(
                    r"(?P<s>{private_key}(?:(?:[^-]|-[^-])*{private_key_end}|(?:\s|\\n)*[A-Za-z0-9+/=]{{40,}}[A-Za-z0-9+/=\s\\]*))"
                ),
            ),
            check: Check::Form,
        },
        form(ModelKey, &["sk-ant-"], "sk-ant-[A-Za-z0-9_-]{16,}"),
        random(ModelKey, &["sk-"], 16, "sk-[A-Za-z0-9_-]{20,}"),
        random(
            ModelKey,
            &["hf_", "gsk_", "r8_", "xai-"],
            16,
            "hf_[A-Za-z0-9]{30,}|gsk_[A-Za-z0-9]{40,}|r8_[A-Za-z0-9]{36,}|xai-[A-Za-z0-9]{40,}",
        ),
        form(CloudKey, &["akia", "asia", "abia", "acca"], r"(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16}(?-u:\b)"),
        random(CloudKey, &["ltai", "akid"], 12, r"(?:LTAI[A-Za-z0-9]{12,26}|AKID[A-Za-z0-9]{32})(?-u:\b)"),
        form(
            DeveloperToken,
            &["ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_", "glpat-", "npm_", "pypi-", "dckr_pat_"],
            "gh[pousr]_[A-Za-z0-9]{30,}|github_pat_[A-Za-z0-9_]{22,}|glpat-[A-Za-z0-9_-]{20,}|npm_[A-Za-z0-9]{36}\
             |pypi-AgE[A-Za-z0-9_-]{50,}|dckr_pat_[A-Za-z0-9_-]{20,}",
        ),
        random(
            ChatToken,
            &["xox", "xapp-", ":aa"],
            6,
            "xox[abeoprs]-[A-Za-z0-9-]{10,}|xapp-[A-Za-z0-9-]{20,}|[0-9]{8,10}:AA[A-Za-z0-9_-]{33}",
        ),
        form(
            ChatToken,
            &["hooks.slack.com"],
            "hooks.slack.com/services/T[A-Za-z0-9]{6,}/B[A-Za-z0-9]{6,}/[A-Za-z0-9]{16,}",
        ),
        form(
            GoogleKey,
            &["aiza", "ya29.", "gocspx-"],
            r"AIza[0-9A-Za-z_-]{35}|ya29\.[0-9A-Za-z_-]{20,}|GOCSPX-[0-9A-Za-z_-]{20,}",
        ),
        form(
            ServiceKey,
            &["k_live_", "k_test_", "whsec_", "sg.", "key-"],
            r"[sr]k_(?:live|test)_[A-Za-z0-9]{16,}|whsec_[A-Za-z0-9+/=]{24,}|SG\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,}|key-[0-9a-f]{32}",
        ),
        form(JsonWebToken, &["eyj"], r"eyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}"),
        Rule {
            kind: AuthorizationHeader,
            pattern: WordedPattern::new(&["bearer"], r"(?i)(?-u:\b)bearer\s{1,3}(?P<s>[A-Za-z0-9._~+/=-]{16,})"),
            check: Check::Random(8),
        },
        Rule {
            kind: AuthorizationHeader,
            pattern: WordedPattern::new(
                &["authorization"],
                r"(?i)(?-u:\b)authorization\s{0,3}[:=]\s{0,3}basic\s{1,3}(?P<s>[A-Za-z0-9+/]{8,}={0,2})",
            ),
            check: Check::Form,
        },
        Rule {
            kind: UrlPassword,
            pattern: WordedPattern::new(
                &["://"],
                r"(?i)(?-u:\b)[a-z][a-z0-9+.-]*://[^\s/:@\[\]()<>]*:(?P<s>[^\s/@]+)@[^\s@]",
            ),
            check: Check::NoTemplate,
        },
        value(Password, &["pass", "pwd"], NameClass::Password, &format!("{starts}{password}{assigns}")),
        value(
            Password,
            &["pass", "pwd"],
            NameClass::Sentence,
            &format!(r"{starts}{password}\s{{1,3}}is\s{{0,3}}:?\s{{1,3}}"),
        ),
        value(Password, &["--pass"], NameClass::Password, "--(?:password|passwd|pass)[ =]"),
        value(
            Password,
            chinese_words,
            NameClass::Sentence,
            &format!(r"{chinese_password}(?:都|就)?(?:是|为|為|は|改成|改为|设为|设成|设置为)[:：]?\s{{0,3}}"),
        ),
        value(Password, chinese_words, NameClass::Password, &format!(r"{chinese_password}\s{{0,3}}[:：=＝]\s{{0,3}}")),
        value(
            AssignedKey,
            &["密钥", "秘钥", "金鑰", "令牌", "授权码"],
            NameClass::Key,
            r"(?:密钥|秘钥|金鑰|令牌|授权码)\s{0,3}(?:是|为|[:：=＝])\s{0,3}",
        ),
        value(AssignedKey, &["key", "token", "secret"], NameClass::Key, &format!("{starts}{key}{assigns}")),
        value(AssignedKey, &["--token", "--secret", "--api"], NameClass::Key, "--(?:token|secret|api-?key)[ =]"),
    ]
});

/// Finds credentials in `text`, in order and without overlap. Takes time in proportion to the length of the text.
pub fn scan(text: &str) -> Vec<SecretFinding> {
    let lower_case = text.to_lowercase();
    let mut findings: Vec<SecretFinding> = Vec::new();
    for rule in RULES.iter() {
        let Some(pattern) = rule.pattern.get(&lower_case) else { continue };
        let mut position = 0;
        while let Some(captures) = pattern.captures_at(text, position) {
            let Some(whole) = captures.get(0) else { break };
            let group = captures.name("s");
            let range = match rule.check {
                Check::Form => group.map(|group| group.range()),
                Check::Random(run) => group.filter(|group| is_random(group.as_str(), run)).map(|group| group.range()),
                Check::NoTemplate => group.filter(|group| !is_template(group.as_str())).map(|group| group.range()),
                Check::Value(class) => secret_at(text, whole.end(), class, whole.as_str()),
            };
            // A value that is none may hold the next name: `password: token=…`.
            position = range.as_ref().map_or(whole.end(), |range| range.end.max(whole.end()));
            findings.extend(range.map(|range| SecretFinding { kind: rule.kind, range }));
        }
    }
    without_overlap(findings)
}

/// Replaces every credential by `[REDACTED:kind]` and returns the new text with the places in the old one.
pub fn redact(text: &str) -> (String, Vec<SecretFinding>) {
    let findings = scan(text);
    let mut redacted = String::with_capacity(text.len());
    let mut position = 0;
    for finding in &findings {
        redacted.push_str(text.get(position..finding.range.start).unwrap_or_default());
        redacted.push_str("[REDACTED:");
        redacted.push_str(finding.kind.as_str());
        redacted.push(']');
        position = finding.range.end;
    }
    redacted.push_str(text.get(position..).unwrap_or_default());
    (redacted, findings)
}

fn is_random(text: &str, run: usize) -> bool {
    let longest = text.split(|c: char| !c.is_ascii_alphanumeric()).map(str::len).max().unwrap_or(0);
    longest >= run
        && text.bytes().any(|byte| byte.is_ascii_digit())
        && text.bytes().any(|byte| byte.is_ascii_alphabetic())
}

/// Joins findings that overlap; the kind found by the earlier, more specific rule stays.
fn without_overlap(mut findings: Vec<SecretFinding>) -> Vec<SecretFinding> {
    // The order of the rules is lost by sorting, the order of the kinds is the same.
    findings.sort_by_key(|finding| (finding.range.start, finding.kind));
    let mut joined: Vec<SecretFinding> = Vec::new();
    for finding in findings {
        match joined.last_mut().filter(|last| finding.range.start < last.range.end) {
            Some(last) => {
                last.range.end = last.range.end.max(finding.range.end);
                last.kind = last.kind.min(finding.kind);
            }
            None => joined.push(finding),
        }
    }
    joined
}

#[cfg(test)]
mod tests;
