//! Versions and the simple ranges of `requires.host`: comparisons joined by commas.

use std::fmt;
use std::str::FromStr;

use memory_core::{Error, ErrorKind, Result};

/// Up to three numbers; what follows a hyphen or plus sign does not count.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Version([u64; 3]);

impl FromStr for Version {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let wrong =
            || Error::new(ErrorKind::ConfigInvalid, format!("`{}` is not a version like 1.2.3", text.escape_debug()));
        let numbers = text.trim().split(['-', '+']).next().unwrap_or_default();
        let mut parts = numbers.split('.');
        let mut version = [0; 3];
        for (position, number) in version.iter_mut().enumerate() {
            match parts.next() {
                Some(part) => *number = part.parse().map_err(|_| wrong())?,
                None if position == 0 => return Err(wrong()),
                None => break,
            }
        }
        if parts.next().is_some() { Err(wrong()) } else { Ok(Self(version)) }
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self([major, minor, patch]) = self;
        write!(f, "{major}.{minor}.{patch}")
    }
}

/// Whether `version` meets every comparison of `range`, such as `>=0.3, <2`. An empty range is met.
pub(super) fn is_met(range: &str, version: &Version) -> Result<bool> {
    let mut met = true;
    for part in range.split(',').map(str::trim).filter(|part| !part.is_empty()) {
        let digits = part.find(|c: char| c.is_ascii_digit()).unwrap_or(part.len());
        let (operator, bound) = part.split_at(digits);
        let bound: Version = bound.parse().map_err(|error: Error| error.with_context("in", "requires.host"))?;
        met &= match operator.trim() {
            ">=" => *version >= bound,
            ">" => *version > bound,
            "<=" => *version <= bound,
            "<" => *version < bound,
            "=" => *version == bound,
            other => {
                let message = format!("requires.host has `{}`, which is no comparison", other.escape_debug());
                return Err(Error::new(ErrorKind::ConfigInvalid, message)
                    .with_hint("use >=, >, <=, < or =, separated by commas: \">=0.3, <2\""));
            }
        };
    }
    Ok(met)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_met_or_not() {
        let version = "0.3.1-rc.2".parse().unwrap();
        for (range, met) in [
            ("", true),
            (">=0.3, <2", true),
            (">= 0.3.1", true),
            (">0.3.1", false),
            ("<0.4,>0.2", true),
            ("=0.3.1", true),
            ("<=0.3", false),
        ] {
            assert_eq!(is_met(range, &version).unwrap(), met, "{range}");
        }
        for wrong in ["0.3", "^1", ">=", ">=x", ">=1.2.3.4", ">=1 2"] {
            assert!(is_met(wrong, &version).is_err(), "{wrong}");
        }
    }
}
