//! The write path, the lifecycle and dreaming.

use serde::{Deserialize, Serialize};

use super::{LifecyclePreset, SecretPolicy};

/// Section `memory.gateway`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct GatewayConfig {
    /// What happens to credentials in a text.
    pub secrets: SecretPolicy,
    /// The largest memory in bytes.
    pub max_memory_bytes: usize,
    /// The largest message in bytes.
    pub max_message_bytes: usize,
    /// Whether a memory that says nearly the same as another is folded into it.
    pub near_duplicates: bool,
    /// How alike two memories must be for that, from 0 to 1.
    pub near_duplicate_threshold: f64,
}

impl Default for GatewayConfig {
    fn default() -> Self {
        Self {
            secrets: SecretPolicy::Redact,
            max_memory_bytes: 1 << 20,
            max_message_bytes: 4 << 20,
            near_duplicates: true,
            near_duplicate_threshold: 0.9,
        }
    }
}

/// Section `memory.lifecycle`. A feature that is not set follows the preset.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct LifecycleConfig {
    /// How much runs.
    pub preset: LifecyclePreset,
    /// Learned quality.
    pub quality: Option<bool>,
    /// Garbage collection.
    pub gc: Option<bool>,
    /// Decay with age.
    pub decay: Option<bool>,
    /// Folders by topic.
    pub hierarchy: Option<bool>,
    /// Links between memories.
    pub links: Option<bool>,
    /// Compression of old memories.
    pub compression: Option<bool>,
    /// The full-text index for duplicate checks.
    pub fts_index: Option<bool>,
}

/// Which lifecycle features run, after preset and single switches are put together.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct LifecycleFlags {
    /// Learned quality.
    pub quality: bool,
    /// Garbage collection.
    pub gc: bool,
    /// Decay with age.
    pub decay: bool,
    /// Folders by topic.
    pub hierarchy: bool,
    /// Links between memories.
    pub links: bool,
    /// Compression of old memories.
    pub compression: bool,
    /// The full-text index for duplicate checks.
    pub fts_index: bool,
}

impl LifecycleConfig {
    /// The preset, overridden by each switch that is set.
    pub fn flags(&self) -> LifecycleFlags {
        let on = self.preset != LifecyclePreset::Off;
        let full = self.preset == LifecyclePreset::Full;
        LifecycleFlags {
            quality: self.quality.unwrap_or(on),
            gc: self.gc.unwrap_or(on),
            decay: self.decay.unwrap_or(on),
            hierarchy: self.hierarchy.unwrap_or(full),
            links: self.links.unwrap_or(full),
            compression: self.compression.unwrap_or(full),
            fts_index: self.fts_index.unwrap_or(full),
        }
    }
}

/// Dreaming never runs more often than this.
pub const SHORTEST_DREAMING_INTERVAL_SECONDS: u64 = 60;

/// Section `memory.dreaming`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct DreamingConfig {
    /// For conversations.
    pub agent: DreamingMode,
    /// For work on code.
    pub code: DreamingMode,
}

/// Sections `memory.dreaming.agent` and `memory.dreaming.code`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct DreamingMode {
    /// Whether it runs.
    pub enabled: bool,
    /// Seconds from one run to the next, as written.
    pub interval_seconds: u64,
}

impl DreamingMode {
    /// Seconds from one run to the next, at least [`SHORTEST_DREAMING_INTERVAL_SECONDS`].
    pub fn interval_seconds(&self) -> u64 {
        self.interval_seconds.max(SHORTEST_DREAMING_INTERVAL_SECONDS)
    }
}

impl Default for DreamingMode {
    fn default() -> Self {
        Self { enabled: false, interval_seconds: 14_400 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn count(flags: LifecycleFlags) -> usize {
        let LifecycleFlags { quality, gc, decay, hierarchy, links, compression, fts_index } = flags;
        [quality, gc, decay, hierarchy, links, compression, fts_index].into_iter().filter(|flag| *flag).count()
    }

    #[test]
    fn presets_switch_none_three_or_seven_features() {
        for (preset, expected) in [(LifecyclePreset::Off, 0), (LifecyclePreset::On, 3), (LifecyclePreset::Full, 7)] {
            assert_eq!(count(LifecycleConfig { preset, ..Default::default() }.flags()), expected);
        }
    }

    #[test]
    fn a_switch_overrides_the_preset() {
        let config = LifecycleConfig { preset: LifecyclePreset::Full, gc: Some(false), ..Default::default() };
        assert_eq!(count(config.flags()), 6);
        let config = LifecycleConfig { links: Some(true), ..Default::default() };
        assert!(config.flags().links && count(config.flags()) == 1);
    }

    #[test]
    fn dreaming_keeps_a_minimum_interval() {
        assert_eq!(DreamingMode { enabled: true, interval_seconds: 1 }.interval_seconds(), 60);
    }
}
