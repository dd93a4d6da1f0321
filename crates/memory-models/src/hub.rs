//! Fetching a model from a hub. The only place that goes to the network for a model, and only when told to.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Duration;

use memory_core::{Error, ErrorKind, Progress, Result, SafeUrl};
use reqwest::{Client, StatusCode, Url};

use crate::directory::{FILES, install};

/// The hub that is asked when no other is named.
pub const DEFAULT_HUB: &str = "https://huggingface.co";

/// Without these three there is no model.
const REQUIRED: &[&str] = &["config.json", "tokenizer.json", "model.safetensors"];

/// The largest file that is fetched, in bytes.
const LARGEST_FILE: u64 = 4 << 30;

/// A model on a hub.
#[derive(Debug, Clone)]
pub struct HubModel {
    /// `OWNER/NAME`.
    pub repository: String,
    /// A branch, a tag or a commit.
    pub revision: String,
    /// The address of the hub; files lie under `OWNER/NAME/resolve/REVISION/FILE`.
    pub hub: SafeUrl,
}

impl HubModel {
    /// Fetches the model, checks it and installs it as `models_directory/name`: whole, or not at all. Returns the new
    /// directory. An error when the hub cannot be reached, has no such model, or the model cannot be used.
    pub async fn install(&self, models_directory: &Path, name: &str, progress: &dyn Progress) -> Result<PathBuf> {
        let partial = models_directory.join(format!(".{}.{}.fetched", self.short_name(), std::process::id()));
        let fetched = self.fetch(&partial, progress).await;
        let installed = match fetched {
            Ok(()) => {
                let (from, to, name) = (partial.clone(), models_directory.to_owned(), name.to_owned());
                tokio::task::spawn_blocking(move || install(&from, &to, &name))
                    .await
                    .map_err(|error| Error::unexpected("the installing thread stopped").with_source(error))?
            }
            Err(error) => Err(error),
        };
        if partial.exists()
            && let Err(error) = fs::remove_dir_all(&partial)
        {
            tracing::warn!(path = %partial.display(), %error, "a fetched copy of a model is left behind");
        }
        installed
    }

    /// The last part of the name.
    pub fn short_name(&self) -> &str {
        self.repository.rsplit('/').next().unwrap_or_default()
    }

    async fn fetch(&self, into: &Path, progress: &dyn Progress) -> Result<()> {
        // Public files need no credential, so following the hub to its storage gives nothing away.
        let client = Client::builder()
            .connect_timeout(Duration::from_secs(10))
            .read_timeout(Duration::from_secs(60))
            .build()
            .map_err(|error| self.unreachable(error))?;
        for file in FILES {
            let found = self.fetch_file(&client, file, &into.join(file), progress).await?;
            if !found && REQUIRED.contains(file) {
                return Err(Error::not_found(format!("{} has no {file} for `{}`", self.hub, self.repository))
                    .with_hint("a model needs config.json, tokenizer.json and model.safetensors; check the name"));
            }
        }
        Ok(())
    }

    /// Fetches one file; false when the hub does not have it.
    async fn fetch_file(&self, client: &Client, file: &str, to: &Path, progress: &dyn Progress) -> Result<bool> {
        let mut reply = client.get(self.address(file)?).send().await.map_err(|error| self.unreachable(error))?;
        let status = reply.status();
        // Some hubs say 401 for a repository that does not exist.
        if matches!(status, StatusCode::NOT_FOUND | StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN) {
            return Ok(false);
        }
        if !status.is_success() {
            let message = format!("{} answered {} for {file}", self.hub, status.as_u16());
            return Err(Error::new(ErrorKind::Unreachable, message).with_hint("try again later"));
        }
        let expected = reply.content_length();
        if let Some(parent) = to.parent() {
            fs::create_dir_all(parent).map_err(|error| cannot_write(parent, error))?;
        }
        let mut written = fs::File::create(to).map_err(|error| cannot_write(to, error))?;
        let mut length = 0_u64;
        progress.start(file, expected);
        while let Some(part) = reply.chunk().await.map_err(|error| self.unreachable(error))? {
            length += part.len() as u64;
            if length > LARGEST_FILE {
                return Err(Error::new(ErrorKind::BadReply, format!("{file} of `{}` is too large", self.repository)));
            }
            written.write_all(&part).map_err(|error| cannot_write(to, error))?;
            progress.advance(part.len() as u64);
        }
        progress.finish();
        match expected {
            Some(expected) if expected != length => {
                let message = format!("{} broke off after {length} of {expected} bytes of {file}", self.hub);
                Err(Error::new(ErrorKind::Unreachable, message).with_hint("try again"))
            }
            _ => Ok(true),
        }
    }

    fn address(&self, file: &str) -> Result<Url> {
        let plain = |part: &str| {
            !part.is_empty()
                && !part.starts_with('.')
                && part.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.'))
        };
        let parts: Vec<&str> = self.repository.split('/').collect();
        if parts.len() != 2 || !parts.iter().chain([&self.revision.as_str()]).all(|part| plain(part)) {
            return Err(Error::invalid(format!("`{}` is no model of a hub", self.repository.escape_debug()))
                .with_hint("write OWNER/NAME, such as intfloat/multilingual-e5-small"));
        }
        let mut url = Url::parse(self.hub.expose())
            .map_err(|error| Error::invalid(format!("`{}` is no address", self.hub)).with_source(error))?;
        url.path_segments_mut()
            .map_err(|()| Error::invalid(format!("`{}` is no address of a hub", self.hub)))?
            .pop_if_empty()
            .extend(parts)
            .extend(["resolve", &self.revision])
            .extend(file.split('/'));
        Ok(url)
    }

    fn unreachable(&self, error: reqwest::Error) -> Error {
        Error::new(ErrorKind::Unreachable, format!("cannot fetch `{}` from {}", self.repository, self.hub))
            .with_hint("check the network; a model can also be installed from a directory")
            .with_source(error.without_url())
    }
}

fn cannot_write(path: &Path, error: std::io::Error) -> Error {
    Error::new(ErrorKind::Storage, format!("cannot write {}", path.display())).with_source(error)
}
