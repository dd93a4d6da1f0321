//! Points in time: UTC nanoseconds plus the offset they were written with, and an injected clock.

use std::fmt;
use std::str::FromStr;
use std::sync::atomic::{AtomicI64, Ordering};

use chrono::{DateTime, FixedOffset, NaiveDate, NaiveDateTime, SecondsFormat, Utc};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::{Error, Result};

/// A point in time: nanoseconds since 1970 in UTC, and the original offset from UTC in minutes.
///
/// Two timestamps of the same moment are equal in order whatever their offset.
#[derive(Clone, Copy, Debug)]
pub struct Timestamp {
    nanoseconds: i64,
    offset_minutes: i16,
}

impl Timestamp {
    /// A moment in UTC. `nanoseconds` counts from 1970.
    pub const fn from_nanoseconds(nanoseconds: i64) -> Self {
        Self { nanoseconds, offset_minutes: 0 }
    }

    /// The same moment, written with `offset_minutes` east of UTC.
    pub const fn with_offset(self, offset_minutes: i16) -> Self {
        Self { nanoseconds: self.nanoseconds, offset_minutes }
    }

    /// Nanoseconds since 1970 in UTC.
    pub const fn nanoseconds(self) -> i64 {
        self.nanoseconds
    }

    /// Minutes east of UTC that the time was written with.
    pub const fn offset_minutes(self) -> i16 {
        self.offset_minutes
    }

    /// The moment `seconds` later (earlier when negative), saturating.
    pub const fn plus_seconds(self, seconds: i64) -> Self {
        Self {
            nanoseconds: self.nanoseconds.saturating_add(seconds.saturating_mul(1_000_000_000)),
            offset_minutes: self.offset_minutes,
        }
    }

    /// The calendar form in the original offset.
    pub fn to_datetime(self) -> DateTime<FixedOffset> {
        let utc = DateTime::<Utc>::from_timestamp_nanos(self.nanoseconds);
        match FixedOffset::east_opt(i32::from(self.offset_minutes) * 60) {
            Some(offset) => utc.with_timezone(&offset),
            None => utc.fixed_offset(),
        }
    }

    /// From the calendar form; an error outside the years 1678 to 2261.
    pub fn from_datetime(value: DateTime<FixedOffset>) -> Result<Self> {
        let nanoseconds = value
            .timestamp_nanos_opt()
            .ok_or_else(|| Error::invalid(format!("the time {value} is outside the years 1678 to 2261")))?;
        let offset_minutes = i16::try_from(value.offset().local_minus_utc() / 60).unwrap_or(0);
        Ok(Self { nanoseconds, offset_minutes })
    }
}

impl PartialEq for Timestamp {
    fn eq(&self, other: &Self) -> bool {
        self.nanoseconds == other.nanoseconds
    }
}
impl Eq for Timestamp {}
impl PartialOrd for Timestamp {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}
impl Ord for Timestamp {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.nanoseconds.cmp(&other.nanoseconds)
    }
}
impl std::hash::Hash for Timestamp {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self.nanoseconds.hash(state);
    }
}

impl fmt::Display for Timestamp {
    /// RFC 3339, `Z` for UTC, fractions only where there are some.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.to_datetime().to_rfc3339_opts(SecondsFormat::AutoSi, true))
    }
}

impl FromStr for Timestamp {
    type Err = Error;

    /// Reads RFC 3339, `2026-01-02 03:04[:05]`, `2026-01-02T03:04[:05]` and `2026-01-02`. Without an offset it is UTC.
    fn from_str(text: &str) -> Result<Self> {
        let text = text.trim();
        if let Ok(value) = DateTime::parse_from_rfc3339(text) {
            return Self::from_datetime(value);
        }
        for format in ["%Y-%m-%d %H:%M:%S%.f%:z", "%Y-%m-%d %H:%M:%S%.f %z", "%Y-%m-%dT%H:%M%:z"] {
            if let Ok(value) = DateTime::parse_from_str(text, format) {
                return Self::from_datetime(value);
            }
        }
        for format in ["%Y-%m-%dT%H:%M:%S%.f", "%Y-%m-%d %H:%M:%S%.f", "%Y-%m-%dT%H:%M", "%Y-%m-%d %H:%M"] {
            if let Ok(value) = NaiveDateTime::parse_from_str(text, format) {
                return Self::from_datetime(value.and_utc().fixed_offset());
            }
        }
        for format in ["%Y-%m-%d", "%Y/%m/%d"] {
            if let Ok(date) = NaiveDate::parse_from_str(text, format)
                && let Some(value) = date.and_hms_opt(0, 0, 0)
            {
                return Self::from_datetime(value.and_utc().fixed_offset());
            }
        }
        Err(Error::invalid(format!("`{}` is not a time", text.chars().take(60).collect::<String>()))
            .with_hint("write it like 2026-01-02T03:04:05Z, 2026-01-02T03:04:05+08:00 or 2026-01-02"))
    }
}

impl Serialize for Timestamp {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Timestamp {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(|error: Error| serde::de::Error::custom(error.message()))
    }
}

/// Where the present moment comes from. Injected, so that tests never wait.
pub trait Clock: Send + Sync {
    /// The present moment.
    fn now(&self) -> Timestamp;
}

/// The clock of the machine.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> Timestamp {
        Timestamp::from_nanoseconds(Utc::now().timestamp_nanos_opt().unwrap_or(i64::MAX))
    }
}

/// A clock that moves only when told to, for tests and for asking "as of" some moment.
#[derive(Debug)]
pub struct ManualClock(AtomicI64);

impl ManualClock {
    /// A clock that stands at `now`.
    pub fn new(now: Timestamp) -> Self {
        Self(AtomicI64::new(now.nanoseconds()))
    }

    /// Moves the clock forward.
    pub fn advance_seconds(&self, seconds: i64) {
        self.0.fetch_add(seconds.saturating_mul(1_000_000_000), Ordering::SeqCst);
    }
}

impl Clock for ManualClock {
    fn now(&self) -> Timestamp {
        Timestamp::from_nanoseconds(self.0.load(Ordering::SeqCst))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keeps_the_offset_and_orders_by_moment() {
        let east: Timestamp = "2026-01-02T11:04:05+08:00".parse().unwrap();
        let utc: Timestamp = "2026-01-02T03:04:05Z".parse().unwrap();
        assert_eq!(east, utc);
        assert_eq!(east.to_string(), "2026-01-02T11:04:05+08:00");
        assert_eq!(utc.to_string(), "2026-01-02T03:04:05Z");
    }

    #[test]
    fn reads_short_forms_and_refuses_others() {
        assert_eq!("2026-01-02".parse::<Timestamp>().unwrap().to_string(), "2026-01-02T00:00:00Z");
        assert_eq!("2026-01-02 03:04".parse::<Timestamp>().unwrap().to_string(), "2026-01-02T03:04:00Z");
        assert_eq!("2026-01-02T03:04:05.25Z".parse::<Timestamp>().unwrap().to_string(), "2026-01-02T03:04:05.250Z");
        for wrong in ["", "yesterday", "2026-13-01", "9999-01-01T00:00:00Z"] {
            assert!(wrong.parse::<Timestamp>().is_err(), "{wrong}");
        }
    }
}
