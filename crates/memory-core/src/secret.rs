//! Values that must not appear in logs, errors or debug output, hidden by their type rather than by care.

use std::fmt;

use serde::{Deserialize, Serialize, Serializer};
use zeroize::Zeroize;

/// A credential. It prints as `****`, serialises as `****`, and is wiped from memory when dropped.
#[derive(Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(transparent)]
pub struct Secret(String);

impl Secret {
    /// Wraps a credential.
    pub fn new(value: impl Into<String>) -> Self {
        Self(value.into())
    }

    /// The credential itself, for the one place that sends it.
    pub fn expose(&self) -> &str {
        &self.0
    }

    /// True when no credential is set.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    fn mask(&self) -> &'static str {
        if self.0.is_empty() { "" } else { "****" }
    }
}

impl Drop for Secret {
    fn drop(&mut self) {
        self.0.zeroize();
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(****)")
    }
}

impl fmt::Display for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.mask())
    }
}

impl Serialize for Secret {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.mask())
    }
}

/// An address that may carry a user name, a password or a key in its query; those parts never print.
#[derive(Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(transparent)]
pub struct SafeUrl(String);

impl SafeUrl {
    /// Wraps an address.
    pub fn new(value: impl Into<String>) -> Self {
        Self(value.into())
    }

    /// The address with everything in it, for the one place that connects.
    pub fn expose(&self) -> &str {
        &self.0
    }

    /// True when no address is set.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    fn redacted(&self) -> String {
        let (scheme, rest) = match self.0.split_once("://") {
            Some((scheme, rest)) => (format!("{scheme}://"), rest),
            None => (String::new(), self.0.as_str()),
        };
        let rest = rest.split('#').next().unwrap_or_default();
        let (rest, query) = match rest.split_once('?') {
            Some((rest, _)) => (rest, "?****"),
            None => (rest, ""),
        };
        let (authority, path) = match rest.find('/') {
            Some(slash) => rest.split_at(slash),
            None => (rest, ""),
        };
        let authority = match authority.rsplit_once('@') {
            Some((_, host)) => format!("****@{host}"),
            None => authority.to_owned(),
        };
        format!("{scheme}{authority}{path}{query}")
    }
}

impl fmt::Debug for SafeUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SafeUrl({})", self.redacted())
    }
}

impl fmt::Display for SafeUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.redacted())
    }
}

impl Serialize for SafeUrl {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.redacted())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_never_prints() {
        let secret = Secret::new("canary-key");
        let printed = format!("{secret:?} {secret} {}", serde_json::to_string(&secret).unwrap());
        assert!(!printed.contains("canary"), "{printed}");
        assert_eq!(secret.expose(), "canary-key");
    }

    #[test]
    fn an_address_hides_user_and_query() {
        let url = SafeUrl::new("https://me:canary@host:8080/v1/embeddings?key=canary#canary");
        assert_eq!(url.to_string(), "https://****@host:8080/v1/embeddings?****");
        assert_eq!(SafeUrl::new("http://127.0.0.1:1933").to_string(), "http://127.0.0.1:1933");
        assert!(!format!("{url:?}").contains("canary"));
        assert_eq!(SafeUrl::new("https://host/a@b").to_string(), "https://host/a@b");
    }
}
