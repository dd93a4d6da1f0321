//! Which interface the service speaks, found out on first use.

use memory_core::config::Mem0Dialect;
use memory_core::{ErrorKind, Result};
use memory_http::of_nonsense;
use serde_json::Value;
use tokio::sync::OnceCell;

use crate::client::{Client, Dialect};
use crate::config::Mem0Config;
use crate::error;

/// The client, once it is known which interface to speak. A failure to find out is not kept: the next use asks again.
#[derive(Debug, Default)]
pub(crate) struct Connection(OnceCell<Client>);

impl Connection {
    /// The client.
    pub(crate) async fn client(&self, config: &Mem0Config, user_id: &str) -> Result<&Client> {
        self.0
            .get_or_try_init(|| async {
                match config.section.dialect {
                    Mem0Dialect::Platform => Client::new(config, Dialect::Platform),
                    Mem0Dialect::SelfHosted => Client::new(config, Dialect::SelfHosted),
                    Mem0Dialect::Auto => detect(config, user_id).await,
                }
            })
            .await
    }
}

/// Asks for the platform's ping, and where there is none, for the self-hosted server's list.
async fn detect(config: &Mem0Config, user_id: &str) -> Result<Client> {
    let platform = Client::new(config, Dialect::Platform)?;
    let refusal = match check(&platform, user_id).await {
        Ok(()) => return Ok(platform),
        // A guard in front of a self-hosted server may refuse every path that comes without the server's own header.
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::Unauthorized) => error,
        Err(error) => return Err(error),
    };
    let own = Client::new(config, Dialect::SelfHosted)?;
    match check(&own, user_id).await {
        Ok(()) => Ok(own),
        Err(_) if refusal.kind() == ErrorKind::Unauthorized => Err(refusal),
        Err(error) if error.kind() == ErrorKind::NotFound => Err(error::no_interface(own.service())),
        Err(error) => Err(error),
    }
}

/// An error unless the service is there, speaks the interface of the client, and takes its key.
pub(crate) async fn check(client: &Client, user_id: &str) -> Result<()> {
    let reply = client.ping(user_id).await?;
    let value: Value = reply.json(client.service())?;
    let expected = match client.dialect() {
        Dialect::Platform => value.get("status").is_some(),
        Dialect::SelfHosted => value.get("results").is_some_and(Value::is_array),
    };
    if expected { Ok(()) } else { Err(of_nonsense(client.service(), "it is not Mem0's")) }
}
