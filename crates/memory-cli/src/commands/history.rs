//! `memory history`

use super::Context;
use crate::exit::{Exit, Stop};
use crate::output::{one_line, shorten};

/// Shows the states a memory has been in, oldest first.
pub(super) async fn history(context: &Context<'_>, id: &str) -> Result<Exit, Stop> {
    let memory = context.open().await?;
    let history = memory.engine.history(context.viewer(), id).await;
    memory.engine.shutdown().await?;
    let revisions = history?;
    let output = context.output;
    if output.json {
        output.value(&serde_json::json!({"revisions": revisions}))?;
        return Ok(Exit::Done);
    }
    for revision in &revisions {
        let at = revision.at.to_datetime().format("%Y-%m-%d %H:%M:%S");
        let text = match &revision.memory {
            Some(memory) => match &memory.title {
                Some(title) => format!("{title}: {}", memory.body),
                None => memory.body.clone(),
            },
            None => String::new(),
        };
        let head = format!("{:>3}  {at}  {:<9}", revision.revision, revision.operation);
        let text = shorten(&one_line(&text), output.width.saturating_sub(head.len() + 2).max(20));
        output.line(&format!("{}  {text}", output.style.label(&head)))?;
    }
    Ok(Exit::Done)
}
