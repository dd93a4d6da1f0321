//! Ids: ULIDs, and the prefixes that people type.

use std::fmt;
use std::str::FromStr;
use std::sync::Mutex;

use serde::{Deserialize, Deserializer, Serialize};

use crate::{Error, Result, Timestamp};

/// The shortest prefix that is accepted in place of an id.
pub const SHORTEST_PREFIX: usize = 6;

/// The length of a whole id.
pub const ID_LENGTH: usize = 26;

/// A ULID in its canonical upper-case form: 26 characters of Crockford's base 32, sortable by time.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(transparent)]
pub struct Id(String);

impl Id {
    /// The canonical text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The id by which something of another system is known here: a UUID keeps its 128 bits, a ULID itself, and any other
    /// name becomes the first 128 bits of its SHA-256. The same name has the same id everywhere.
    pub fn of_foreign(name: &str) -> Self {
        if let Ok(id) = name.parse::<Self>() {
            return id;
        }
        let bits = uuid_bits(name).unwrap_or_else(|| {
            let digest = <sha2::Sha256 as sha2::Digest>::digest(name.as_bytes());
            digest.iter().take(16).fold(0, |bits, byte| bits << 8 | u128::from(*byte))
        });
        Self(ulid::Ulid::from(bits).to_string())
    }

    /// The same 128 bits in the form of a UUID.
    pub fn to_uuid(&self) -> String {
        let bits = ulid::Ulid::from_string(&self.0).map(u128::from).unwrap_or_default();
        let hex = format!("{bits:032x}");
        let mut uuid = String::with_capacity(36);
        for (position, digit) in hex.chars().enumerate() {
            if matches!(position, 8 | 12 | 16 | 20) {
                uuid.push('-');
            }
            uuid.push(digit);
        }
        uuid
    }
}

/// The bits of a UUID written with or without hyphens.
fn uuid_bits(text: &str) -> Option<u128> {
    let hyphens_fit = text.len() == 32
        || text.len() == 36 && text.char_indices().all(|(at, c)| (c == '-') == matches!(at, 8 | 13 | 18 | 23));
    let digits: String = text.chars().filter(|c| *c != '-').collect();
    (hyphens_fit && digits.len() == 32 && digits.chars().all(|c| c.is_ascii_hexdigit()))
        .then(|| u128::from_str_radix(&digits, 16).ok())
        .flatten()
}

impl fmt::Display for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl FromStr for Id {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        ulid::Ulid::from_string(text.trim())
            .map(|id| Self(id.to_string()))
            .map_err(|_| Error::invalid("an id is a ULID of 26 letters and digits"))
    }
}

impl<'de> Deserialize<'de> for Id {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(|error: Error| serde::de::Error::custom(error.message()))
    }
}

/// An id or a unique beginning of one, as a person types it: 6 to 26 characters, any case.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IdPrefix(String);

impl IdPrefix {
    /// The canonical upper-case text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// True when it is a whole id.
    pub fn is_whole(&self) -> bool {
        self.0.len() == ID_LENGTH
    }
}

impl FromStr for IdPrefix {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let text = text.trim().to_ascii_uppercase();
        // Crockford's base 32 reads I and L as 1 and O as 0, and has no U.
        let canonical: Option<String> = text
            .chars()
            .map(|c| match c {
                'I' | 'L' => Some('1'),
                'O' => Some('0'),
                'U' => None,
                c if c.is_ascii_alphanumeric() => Some(c),
                _ => None,
            })
            .collect();
        match canonical {
            Some(prefix) if (SHORTEST_PREFIX..=ID_LENGTH).contains(&prefix.len()) => Ok(Self(prefix)),
            _ => Err(Error::invalid("an id is 26 letters and digits, or its first 6 or more")
                .with_hint("copy the id from `memory list` or `memory search`")),
        }
    }
}

/// Makes ids that sort by time, also when several fall into one millisecond.
#[derive(Default)]
pub struct IdGenerator(Mutex<ulid::Generator>);

impl IdGenerator {
    /// The next id for something made at `now`.
    pub fn next(&self, now: Timestamp) -> Id {
        let milliseconds = u64::try_from(now.nanoseconds() / 1_000_000).unwrap_or(0);
        let moment = std::time::UNIX_EPOCH + std::time::Duration::from_millis(milliseconds);
        let mut generator = self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let id = match generator.generate_from_datetime(moment) {
            Ok(id) => id,
            // 2^80 ids in one millisecond: not reachable, and a random one is still unique.
            Err(_) => ulid::Ulid::from_datetime(moment),
        };
        Id(id.to_string())
    }
}

impl fmt::Debug for IdGenerator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("IdGenerator")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_of_one_moment_are_distinct_and_sorted() {
        let generator = IdGenerator::default();
        let now = Timestamp::from_nanoseconds(1_700_000_000_000_000_000);
        let ids: Vec<Id> = (0..1000).map(|_| generator.next(now)).collect();
        assert!(ids.windows(2).all(|pair| pair[0] < pair[1]));
        assert_eq!(ids[0].as_str().len(), ID_LENGTH);
    }

    #[test]
    fn prefixes_are_canonical_and_have_a_shortest_length() {
        assert_eq!("01hzyil".parse::<IdPrefix>().unwrap().as_str(), "01HZY11");
        assert!("01hzy".parse::<IdPrefix>().is_err());
        assert!("01hzy%_".parse::<IdPrefix>().is_err());
        assert!("记忆记忆记忆".parse::<IdPrefix>().is_err());
    }
}
