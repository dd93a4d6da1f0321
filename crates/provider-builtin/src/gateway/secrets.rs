//! Finds credentials in text before it is stored, and blanks them out.
//!
//! Two kinds of rules: forms that only a credential has (a fixed start, a fixed length), and values assigned to a name
//! such as `password`. The second kind looks at the value, too, so that sentences about passwords stay as they are.

mod value;

use std::ops::Range;
use std::sync::LazyLock;

use regex::Regex;
use serde::Serialize;

use crate::pattern::pattern;

use self::value::{NameClass, is_secret_value};

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

/// How the text matched by a rule is judged.
enum Check {
    /// The form alone is proof.
    Form,
    /// Needs a digit and a run of this many letters and digits: words joined by hyphens are no key.
    Random(usize),
    /// The value is judged as one assigned to a name of this class.
    Value(NameClass),
    /// Anything but a template such as `${PASSWORD}`.
    NoTemplate,
}

struct Rule {
    kind: SecretKind,
    pattern: Regex,
    check: Check,
}

/// The rules, most specific first. The credential is the group `s`. Word limits are those of ASCII, because a Chinese
/// character directly before a key is a word character in Unicode.
static RULES: LazyLock<Vec<Rule>> = LazyLock::new(|| {
    use SecretKind::{
        AssignedKey, AuthorizationHeader, ChatToken, CloudKey, DeveloperToken, GoogleKey, JsonWebToken, ModelKey,
        Password, PrivateKey, ServiceKey, UrlPassword,
    };
    let name_end = r#"["'”]?\s{0,3}(?::=|=>|[:=：＝])\s{0,3}"#;
    let value = r#"(?:"(?P<q>[^"\r\n]{1,512})"|'(?P<q1>[^'\r\n]{1,512})'|“(?P<q2>[^”\r\n]{1,512})”|`(?P<q3>[^`\r\n]{1,512})`|(?P<s>[!-~]{1,512}))"#;
    let key_names = r"(?:api|access|secret|auth|account|encryption|signing|private|client)[_ -]?(?:key|token|secret)(?:[_ -]?(?:base|id))?|secret[_ -]access[_ -]key|access[_ -]?key[_ -]?secret|refresh[_ -]token|token|secret";
    let password_names = r"password|passwd|passphrase|passcode|pwd|pass";
    let rules: Vec<(SecretKind, String, Check)> = vec![
        (PrivateKey, r"(?P<s>-----BEGIN [A-Z0-9 ]{0,30}PRIVATE KEY(?: BLOCK)?-----(?:[\s\S]*?-----END [A-Z0-9 ]{0,30}PRIVATE KEY(?: BLOCK)?-----|(?:\s|\\n)*[A-Za-z0-9+/=]{40,}[A-Za-z0-9+/=\s\\]*))".into(), Check::Form),
        (ModelKey, r"(?-u:\b)(?P<s>sk-ant-[A-Za-z0-9_-]{16,})".into(), Check::Form),
        (ModelKey, r"(?-u:\b)(?P<s>sk-[A-Za-z0-9_-]{20,})".into(), Check::Random(16)),
        (ModelKey, r"(?-u:\b)(?P<s>(?:hf_[A-Za-z0-9]{30,}|gsk_[A-Za-z0-9]{40,}|r8_[A-Za-z0-9]{36,}|xai-[A-Za-z0-9]{40,}))".into(), Check::Random(16)),
        (CloudKey, r"(?-u:\b)(?P<s>(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16})(?-u:\b)".into(), Check::Form),
        (CloudKey, r"(?-u:\b)(?P<s>(?:LTAI[A-Za-z0-9]{12,26}|AKID[A-Za-z0-9]{32}))(?-u:\b)".into(), Check::Random(16)),
        (DeveloperToken, r"(?-u:\b)(?P<s>(?:gh[pousr]_[A-Za-z0-9]{30,}|github_pat_[A-Za-z0-9_]{22,}|glpat-[A-Za-z0-9_-]{20,}|npm_[A-Za-z0-9]{36}|pypi-AgE[A-Za-z0-9_-]{50,}|dckr_pat_[A-Za-z0-9_-]{20,}|crates_io_[A-Za-z0-9]{20,}))".into(), Check::Form),
        (ChatToken, r"(?-u:\b)(?P<s>(?:xox[abeoprs]-[A-Za-z0-9-]{10,}|xapp-[A-Za-z0-9-]{20,}|[0-9]{8,10}:AA[A-Za-z0-9_-]{33}))".into(), Check::Random(6)),
        (ChatToken, r"hooks\.slack\.com/services/(?P<s>T[A-Za-z0-9]{6,}/B[A-Za-z0-9]{6,}/[A-Za-z0-9]{16,})".into(), Check::Form),
        (GoogleKey, r"(?-u:\b)(?P<s>AIza[0-9A-Za-z_-]{35}|ya29\.[0-9A-Za-z_-]{20,}|GOCSPX-[0-9A-Za-z_-]{20,})".into(), Check::Form),
        (ServiceKey, r"(?-u:\b)(?P<s>(?:[sr]k_(?:live|test)_[A-Za-z0-9]{16,}|whsec_[A-Za-z0-9+/=]{24,}|SG\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,}|key-[0-9a-f]{32}))".into(), Check::Form),
        (JsonWebToken, r"(?-u:\b)(?P<s>eyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,})".into(), Check::Form),
        (AuthorizationHeader, r"(?i)(?-u:\b)bearer\s{1,3}(?P<s>[A-Za-z0-9._~+/=-]{16,})".into(), Check::Random(8)),
        (AuthorizationHeader, r"(?i)(?-u:\b)authorization\s{0,3}[:=]\s{0,3}basic\s{1,3}(?P<s>[A-Za-z0-9+/]{8,}={0,2})".into(), Check::Form),
        (UrlPassword, r"(?i)(?-u:\b)[a-z][a-z0-9+.-]{1,30}://[^\s/:@\[\]()<>]{0,200}:(?P<s>[^\s/@]{1,200})@[^\s@]".into(), Check::NoTemplate),
        (Password, format!(r"(?i)(?-u:\b)(?:[a-z0-9]{{1,40}}[_-]){{0,6}}(?:{password_names}){name_end}{value}"), Check::Value(NameClass::Password)),
        (Password, r"(?i)(?-u:\b)(?:password|passphrase|passcode|pwd)\s{1,3}is\s{0,3}:?\s{1,3}(?P<s>[!-~]{4,200})".into(), Check::Value(NameClass::Sentence)),
        (Password, format!(r"(?:密码|密碼|口令|パスワード|비밀번호)(?:都|就)?(?:是|为|為|は|改成|改为|设为|设成|设置为)[:：]?\s{{0,3}}{value}"), Check::Value(NameClass::Sentence)),
        (Password, format!(r"(?:密码|密碼|口令|パスワード|비밀번호)\s{{0,3}}[:：=＝]\s{{0,3}}{value}"), Check::Value(NameClass::Password)),
        (AssignedKey, format!(r"(?:密钥|秘钥|金鑰|令牌|授权码)\s{{0,3}}(?:是|为|[:：=＝])\s{{0,3}}{value}"), Check::Value(NameClass::Key)),
        (AssignedKey, format!(r"(?i)(?-u:\b)(?:[a-z0-9]{{1,40}}[_-]){{0,6}}(?:{key_names}){name_end}{value}"), Check::Value(NameClass::Key)),
        (Password, r"(?i)--(?:password|passwd|pass)[ =](?P<s>[!-~]{4,200})".into(), Check::Value(NameClass::Password)),
        (AssignedKey, r"(?i)--(?:token|secret|api-?key)[ =](?P<s>[!-~]{8,200})".into(), Check::Value(NameClass::Key)),
    ];
    rules.into_iter().map(|(kind, text, check)| Rule { kind, pattern: pattern(&text), check }).collect()
});

/// Finds credentials in `text`, in order and without overlap. Takes time in proportion to the length of the text.
pub fn scan(text: &str) -> Vec<SecretFinding> {
    let mut findings: Vec<SecretFinding> = Vec::new();
    for rule in RULES.iter() {
        for captures in rule.pattern.captures_iter(text) {
            let quoted = ["q", "q1", "q2", "q3"].iter().find_map(|group| captures.name(group));
            let Some(matched) = quoted.or_else(|| captures.name("s")) else { continue };
            let before = captures.get(0).and_then(|whole| text.get(whole.start()..matched.start())).unwrap_or_default();
            let range = match rule.check {
                Check::Form => Some(matched.range()),
                Check::Random(run) => is_random(matched.as_str(), run).then(|| matched.range()),
                Check::NoTemplate => (!value::is_template(matched.as_str())).then(|| matched.range()),
                Check::Value(class) => is_secret_value(matched.as_str(), class, quoted.is_some(), before)
                    .map(|length| matched.start()..matched.start() + length),
            };
            if let Some(range) = range.filter(|range| !range.is_empty()) {
                findings.push(SecretFinding { kind: rule.kind, range });
            }
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
