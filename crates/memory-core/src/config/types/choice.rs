//! Values that are one of a few names. Case and surrounding spaces do not matter.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::{Error, ErrorKind};

/// Defines an enum of names with `NAMES`, `as_str`, `Display`, `FromStr` and the serde forms, all from one list.
macro_rules! choice {
    ($(#[$meta:meta])* $type:ident { $($(#[$variant_meta:meta])* $variant:ident = $name:literal),+ $(,)? }) => {
        $(#[$meta])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
        pub enum $type { $($(#[$variant_meta])* $variant),+ }

        impl $type {
            /// Every accepted name.
            pub const NAMES: &'static [&'static str] = &[$($name),+];

            /// The name as written in `config.yaml`.
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $name),+ }
            }
        }

        impl fmt::Display for $type {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(self.as_str())
            }
        }

        impl FromStr for $type {
            type Err = Error;

            fn from_str(text: &str) -> Result<Self, Error> {
                let text = text.trim();
                $(if text.eq_ignore_ascii_case($name) { return Ok(Self::$variant); })+
                Err(Error::new(ErrorKind::ConfigInvalid, format!("expected one of {}", Self::NAMES.join(", "))))
            }
        }

        impl Serialize for $type {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(self.as_str())
            }
        }

        impl<'de> Deserialize<'de> for $type {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let text = String::deserialize(deserializer)?;
                text.parse().map_err(|error: Error| serde::de::Error::custom(error.message()))
            }
        }
    };
}

choice! {
    /// Which providers the engine uses.
    EngineMode {
        /// The embedded store.
        #[default]
        Builtin = "builtin",
        /// The external provider.
        External = "external",
        /// Both: the embedded store first, the external provider after it.
        Both = "both",
        /// Memory is switched off.
        None = "none",
    }
}

choice! {
    /// Which interface a Mem0 service speaks.
    Mem0Dialect {
        /// Found out by asking.
        #[default]
        Auto = "auto",
        /// That of the hosted platform.
        Platform = "platform",
        /// That of the open-source server.
        SelfHosted = "self_hosted",
    }
}

choice! {
    /// Whose memories are put into a prompt.
    InjectScope {
        /// Those of the workspace.
        Workspace = "workspace",
        /// Those of the agent.
        Role = "role",
        /// Both.
        #[default]
        Both = "both",
    }
}

choice! {
    /// How the best candidates are compared with the question once more.
    Rerank {
        /// Token by token with the static table.
        #[default]
        Static = "static",
        /// Token by token with the states of the transformer.
        Contextual = "contextual",
        /// Not at all.
        None = "none",
    }
}

choice! {
    /// What turns text into vectors.
    EmbeddingKind {
        /// The bundled token table.
        #[default]
        Static = "static",
        /// A sentence model in a local directory.
        Transformer = "transformer",
        /// An OpenAI-compatible `/embeddings` endpoint.
        OpenAi = "openai",
        /// Hashes of the words; for tests.
        Hash = "hash",
        /// Nothing: text search only.
        None = "none",
    }
}

choice! {
    /// Where the documents lie in the workspace.
    DocumentLayout {
        /// Whatever is there; `legacy` for a new workspace.
        #[default]
        Auto = "auto",
        /// `memory/USER.md`, `memory/YYYY-MM-DD.md`.
        Legacy = "legacy",
        /// `USER.md` at the root and `daily_memory/`.
        Daily = "daily",
    }
}

choice! {
    /// What happens to a credential found in a text that is to be stored.
    SecretPolicy {
        /// It is replaced by a mark.
        #[default]
        Redact = "redact",
        /// The write is refused.
        Refuse = "refuse",
        /// Nothing.
        Off = "off",
    }
}

choice! {
    /// How much upkeep runs.
    LifecyclePreset {
        /// None.
        #[default]
        Off = "off",
        /// Quality, garbage collection and decay.
        On = "on",
        /// All seven features.
        Full = "full",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn case_and_spaces_do_not_matter() {
        assert_eq!(" Both\n".parse::<EngineMode>().unwrap(), EngineMode::Both);
        assert_eq!(serde_json::from_str::<EmbeddingKind>("\"OpenAI \"").unwrap(), EmbeddingKind::OpenAi);
        assert_eq!(serde_json::to_string(&EmbeddingKind::OpenAi).unwrap(), "\"openai\"");
    }

    #[test]
    fn a_wrong_name_is_not_echoed() {
        let error = "canary".parse::<EngineMode>().unwrap_err();
        assert_eq!(error.to_string(), "expected one of builtin, external, both, none");
    }
}
