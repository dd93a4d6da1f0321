//! `memory doctor`

use memory_core::DeliveryQueue;
use memory_engine::{DoctorCheck, DoctorReport, Memory};

use super::Context;
use super::provider::round_trip;
use crate::exit::{Exit, Stop};
use crate::settings::builtin;

/// Tries everything once and explains each finding in a line.
pub(super) async fn doctor(context: &Context<'_>, fix: bool) -> Result<Exit, Stop> {
    let memory = context.open().await?;
    let mut report = match (&memory.builtin, memory.engine.external()) {
        (None, Some(_)) => DoctorReport { ok: true, checks: Vec::new() },
        _ => builtin(&memory, "doctor")?.doctor(fix).await?,
    };
    report.checks.extend(external(context, &memory).await?);
    report.ok = report.checks.iter().all(|check| check.ok);
    memory.engine.shutdown().await?;
    let output = context.output;
    if output.json {
        output.value(&report)?;
    } else {
        let style = output.style;
        for check in &report.checks {
            let mark = if check.ok { style.good("✓") } else { style.error("✗") };
            output.line(&format!("{mark} {}: {}", style.strong(&check.name), check.message))?;
            if let Some(fix) = check.fix.as_deref().filter(|_| !check.ok) {
                output.line(&format!("    {} {fix}", style.hint("→")))?;
            }
        }
        let failed = report.checks.iter().filter(|check| !check.ok).count();
        let summary =
            if report.ok { style.good("all is well") } else { style.error(&format!("{failed} of these need care")) };
        output.line(&format!("\n{summary}"))?;
    }
    Ok(if report.ok { Exit::Done } else { Exit::Failed })
}

/// A round trip at the external provider, and the queue to it, in the modes that have one.
async fn external(context: &Context<'_>, memory: &Memory) -> Result<Vec<DoctorCheck>, Stop> {
    let (Some(provider), Some(queue)) = (memory.engine.external(), &memory.queue) else { return Ok(Vec::new()) };
    let report = round_trip(context, provider.as_ref()).await;
    let round_trip =
        DoctorCheck { name: report.name, ok: report.ok, message: report.message, fix: report.hints.into_iter().next() };
    let trouble = queue.trouble().await?;
    let (waiting, _) = queue.count().await?;
    let queue = DoctorCheck {
        name: "queue".to_owned(),
        ok: trouble.is_none(),
        message: trouble.unwrap_or_else(|| format!("{waiting} wait")),
        fix: Some("see `memory provider queue`".to_owned()),
    };
    Ok(vec![round_trip, queue])
}
