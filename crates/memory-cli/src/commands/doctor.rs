//! `memory doctor`

use super::Context;
use crate::exit::{Exit, Stop};
use crate::settings::builtin;

/// Tries everything once and explains each finding in a line.
pub(super) async fn doctor(context: &Context<'_>, fix: bool) -> Result<Exit, Stop> {
    let memory = context.open().await?;
    let checked = builtin(&memory, "doctor")?.doctor(fix).await;
    memory.engine.shutdown().await?;
    let report = checked?;
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
