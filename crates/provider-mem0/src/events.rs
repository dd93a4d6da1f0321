//! The platform takes an addition at once and carries it out later. It is real when its event says so.

use std::time::{Duration, Instant};

use memory_core::Result;
use serde_json::Value;

use crate::client::Client;
use crate::error;
use crate::wire::{Added, Event};

/// The pauses between two questions about an event grow from this to the longest.
const FIRST_PAUSE: Duration = Duration::from_millis(50);
const LONGEST_PAUSE: Duration = Duration::from_secs(2);

/// Waits until an event has come about, at most for `limit`, and answers what it made. That it cannot be asked about for a
/// while does not end the wait: the addition is under way all the same, and a second one would double it.
pub(crate) async fn follow(client: &Client, id: &str, limit: Duration) -> Result<Vec<Added>> {
    let begin = Instant::now();
    let mut pause = FIRST_PAUSE;
    loop {
        let mut wait = pause;
        match client.event(id).await {
            Ok(Some(event)) => match event.status.as_str() {
                "SUCCEEDED" => return Ok(event.results.unwrap_or_default()),
                "FAILED" => return Err(error::failed_event(client.service(), id, &reason(&event))),
                _ => {}
            },
            Ok(None) => {}
            Err(error) if error.is_retryable() => {
                wait = error.retry_after_ms().map_or(pause, Duration::from_millis);
            }
            Err(error) => return Err(error),
        }
        if begin.elapsed() + wait >= limit {
            return Err(error::slow_event(client.service(), id, limit.as_secs_f64()));
        }
        tokio::time::sleep(wait).await;
        pause = (pause * 2).min(LONGEST_PAUSE);
    }
}

fn reason(event: &Event) -> String {
    match &event.error {
        Some(Value::String(text)) => text.clone(),
        Some(Value::Null) | None => "it gives no reason".to_owned(),
        Some(other) => other.to_string(),
    }
}
