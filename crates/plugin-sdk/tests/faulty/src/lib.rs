//! A plugin that misbehaves as its configuration says: `{"fault": "panic_in_open"}`. For tests of the loader.
#![allow(clippy::panic, clippy::print_stdout, missing_docs, reason = "misbehaving is its purpose")]

use std::time::Duration;

use plugin_sdk::message::EmbedPurpose;
use plugin_sdk::prelude::*;
use serde::Deserialize;

#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    pub fault: String,
}

pub struct Faulty {
    host: Host,
    fault: String,
}

impl Plugin for Faulty {
    type Config = Config;

    async fn open(host: Host, config: Config) -> Result<Self> {
        match config.fault.as_str() {
            "panic_in_open" => panic!("开门时崩溃 in open"),
            "error_in_open" => Err(Error::new(ErrorKind::Unauthorized, "the key is refused").with_hint("get another")),
            "slow_open" => {
                tokio::time::sleep(Duration::from_secs(3600)).await;
                Err(Error::unexpected("woke up"))
            }
            _ => Ok(Self { host, fault: config.fault }),
        }
    }
}

impl Drop for Faulty {
    fn drop(&mut self) {
        assert!(self.fault != "panic_in_close", "关门时崩溃 in close");
    }
}

#[async_trait]
impl MemoryProvider for Faulty {
    fn descriptor(&self) -> Descriptor {
        let name = if self.fault == "other_name" { "somebody-else" } else { "faulty" };
        Descriptor { name: name.into(), version: "0.1.0".into(), description: "Misbehaves".into() }
    }
    fn capability(&self) -> Capability {
        Capability { search: true, ..Capability::default() }
    }
    async fn initialize(&self, _: &SessionContext) -> Result<()> {
        self.misbehave().await
    }
    async fn write(&self, _: WriteRequest) -> Result<WriteReport> {
        self.misbehave().await?;
        Ok(WriteReport::default())
    }
    async fn search(&self, request: SearchRequest) -> Result<Recall> {
        if self.fault == "embed" {
            let info = self.host.info().await?;
            let reply = self.host.embed(vec![request.query, "第二".into()], EmbedPurpose::Query).await?;
            return Err(Error::new(
                ErrorKind::Conflict,
                format!("{} {} {:?} {:?}", info.name, info.features.join(","), reply.embedder, reply.vectors),
            ));
        }
        self.misbehave().await?;
        Ok(Recall::empty(RecallReason::NoMatch))
    }
    async fn get(&self, _: &Viewer, ids: &[String]) -> Result<GetReport> {
        self.misbehave().await?;
        Ok(GetReport { items: Vec::new(), missing: ids.to_vec() })
    }
    async fn list(&self, _: ListRequest) -> Result<ListPage> {
        self.misbehave().await?;
        Ok(ListPage::default())
    }
    async fn update(&self, _: UpdateRequest) -> Result<WriteResult> {
        self.misbehave().await?;
        Err(Error::unsupported("faulty", "update"))
    }
    async fn delete(&self, _: DeleteRequest) -> Result<DeleteReport> {
        self.misbehave().await?;
        Ok(DeleteReport::default())
    }
    async fn history(&self, _: &Viewer, _: &str) -> Result<Vec<Revision>> {
        self.misbehave().await?;
        Ok(Vec::new())
    }
    async fn sync_turn(&self, _: Turn) -> Result<()> {
        self.misbehave().await
    }
    async fn prefetch(&self, _: &Viewer, _: &str) -> Result<Option<String>> {
        self.misbehave().await?;
        Ok(None)
    }
    async fn end_session(&self, _: &Viewer) -> Result<()> {
        self.misbehave().await
    }
    fn tools(&self) -> Vec<ToolDefinition> {
        assert!(self.fault != "panic_in_describe", "in describe");
        Vec::new()
    }
    async fn call_tool(&self, _: &Viewer, _: &str, _: Value) -> Result<Value> {
        self.misbehave().await?;
        Ok(Value::Null)
    }
    fn guidance(&self, language: &str) -> String {
        format!("guidance in {language}")
    }
    async fn health(&self) -> Health {
        Health { ok: true, message: "as well as can be expected".into(), details: Value::Null }
    }
    async fn shutdown(&self) -> Result<()> {
        if self.fault == "panic_in_shutdown" {
            panic!("in shutdown");
        }
        Ok(())
    }
}

impl Faulty {
    async fn misbehave(&self) -> Result<()> {
        match self.fault.as_str() {
            "panic" => panic!("崩溃了 💥"),
            "never" => {
                tokio::time::sleep(Duration::from_secs(3600)).await;
                Ok(())
            }
            "busy" => Err(Error::new(ErrorKind::Busy, "满了").retryable(Some(250)).with_hint("try again later")),
            "stdout" => {
                use std::io::Write;
                let _ = writeln!(std::io::stdout(), "I talk too much");
                Ok(())
            }
            _ => Ok(()),
        }
    }
}

plugin_sdk::export_plugin!(Faulty);
