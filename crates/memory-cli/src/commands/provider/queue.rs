//! `memory provider queue`

use memory_core::{Delivery, DeliveryQueue, DeliveryState, DeliveryWork, Error, Timestamp, WriteItem};
use memory_engine::{Chosen, SqliteQueue};
use serde_json::{Value, json};

use super::Context;
use crate::arguments::QueueArguments;
use crate::exit::{Exit, Stop};
use crate::output::{one_line, shorten};

/// Shows what waits, tries it again, or gives it up.
pub(super) async fn queue(context: &Context<'_>, arguments: &QueueArguments) -> Result<Exit, Stop> {
    let Some(queue) =
        memory_engine::queue_of(&context.settings.loaded, std::sync::Arc::new(memory_core::SystemClock)).await?
    else {
        let error = Error::invalid("no external provider is configured, so there is no queue");
        return Err(error
            .with_operation("provider queue")
            .with_hint("set memory.external.provider (MEMORY_EXTERNAL_PROVIDER)")
            .into());
    };
    if let Some(chosen) = arguments.retry {
        return retry(context, &queue, chosen).await;
    }
    if let Some(chosen) = arguments.drop {
        return give_up(context, &queue, chosen).await;
    }
    let limit = usize::try_from(arguments.limit).unwrap_or(usize::MAX);
    let deliveries = queue.list(0, limit).await?;
    let (waiting, refused) = queue.count().await?;
    let others: Vec<_> = queue.providers().await?.into_iter().filter(|(name, ..)| name != queue.provider()).collect();
    let output = context.output;
    if output.json {
        let items: Vec<Value> = deliveries.iter().map(shape).collect();
        let others: Vec<Value> = others
            .iter()
            .map(|(name, waiting, refused)| json!({"provider": name, "waiting": waiting, "refused": refused}))
            .collect();
        output.value(&json!({"provider": queue.provider(), "waiting": waiting, "refused": refused, "items": items,
            "other_providers": others}))?;
        return Ok(Exit::Done);
    }
    if waiting + refused == 0 {
        output.line(&format!("nothing waits for {}", queue.provider()))?;
    } else {
        output.line(&format!("{}: {waiting} waiting, {refused} refused", queue.provider()))?;
    }
    for delivery in &deliveries {
        output.text(&describe(context, delivery))?;
    }
    let shown = deliveries.len() as u64;
    if shown < waiting + refused {
        output.note(&format!("{} more; see them with --limit", waiting + refused - shown));
    }
    for (name, waiting, refused) in &others {
        output.note(&format!("for {name}, which is not the one configured: {waiting} waiting, {refused} refused"));
    }
    if refused > 0 {
        output.hint("`memory provider queue --retry NUMBER` tries one again, `--drop NUMBER --yes` gives it up");
    }
    Ok(Exit::Done)
}

async fn retry(context: &Context<'_>, queue: &SqliteQueue, chosen: Chosen) -> Result<Exit, Stop> {
    let due = queue.retry(chosen).await?;
    if due == 0 && chosen != Chosen::All {
        return Err(unknown(queue).into());
    }
    let memory = context.open_patiently().await?;
    // Closing hands over what is due, within the budget.
    memory.engine.shutdown().await?;
    let (waiting, refused) = queue.count().await?;
    if context.output.json {
        context.output.value(&json!({"retried": due, "waiting": waiting, "refused": refused}))?;
    } else {
        context.output.line(&format!("tried {due} again; now {waiting} waiting, {refused} refused"))?;
    }
    Ok(if refused + waiting == 0 { Exit::Done } else { Exit::Failed })
}

async fn give_up(context: &Context<'_>, queue: &SqliteQueue, chosen: Chosen) -> Result<Exit, Stop> {
    let all = queue.list(0, usize::MAX).await?;
    let named: Vec<&Delivery> = match chosen {
        Chosen::All => all.iter().collect(),
        Chosen::Number(number) => all.iter().filter(|delivery| delivery.number == number).collect(),
    };
    if named.is_empty() && chosen != Chosen::All {
        return Err(unknown(queue).into());
    }
    let (dry_run, output) = (!context.settings.yes, context.output);
    let count = if dry_run { named.len() as u64 } else { queue.drop_deliveries(chosen).await? };
    if output.json {
        let numbers: Vec<i64> = named.iter().map(|delivery| delivery.number).collect();
        output.value(&json!({"dropped": numbers, "dry_run": dry_run}))?;
        return Ok(Exit::Done);
    }
    for delivery in named {
        output.text(&describe(context, delivery))?;
    }
    let word = if dry_run { "would drop" } else { "dropped" };
    output.line(&format!("{word} {count} from the queue to {}", queue.provider()))?;
    if dry_run {
        output.hint("nothing was changed; run it again with --yes");
    }
    Ok(Exit::Done)
}

fn unknown(queue: &SqliteQueue) -> Error {
    Error::not_found(format!("the queue to {} has no such number", queue.provider()))
        .with_operation("provider queue")
        .with_hint("see the numbers with `memory provider queue`")
}

fn shape(delivery: &Delivery) -> Value {
    let (operation, subject) = work(delivery);
    json!({"number": delivery.number, "user": delivery.scope.user, "space": delivery.scope.space,
        "owner": delivery.scope.owner, "operation": operation, "subject": subject, "state": delivery.state,
        "attempts": delivery.attempts, "created_at": delivery.created_at, "due_at": delivery.due_at,
        "last_error": delivery.last_error})
}

fn describe(context: &Context<'_>, delivery: &Delivery) -> String {
    let (style, width) = (context.output.style, context.output.width);
    let (operation, subject) = work(delivery);
    let scope = &delivery.scope;
    let state = match delivery.state {
        DeliveryState::Prepared => "being written here".to_owned(),
        DeliveryState::Waiting => format!("due {}", date(delivery.due_at)),
        DeliveryState::Refused => style.error("refused"),
    };
    let attempts = match delivery.attempts {
        1 => "1 attempt".to_owned(),
        count => format!("{count} attempts"),
    };
    let place = one_line(&format!("{}/{}/{}", scope.user, scope.space, scope.owner));
    let head = format!("{:>5}  {operation}  {state} · {attempts} · {}", delivery.number, style.faint(&place));
    let mut text = format!("{head}\n");
    for line in [Some(subject), delivery.last_error.clone().map(|error| style.error(&one_line(&error)))] {
        if let Some(line) = line.filter(|line| !line.is_empty()) {
            text.push_str(&format!("       {}\n", shorten(&one_line(&line), width.saturating_sub(7))));
        }
    }
    text
}

/// The operation and what it is about.
fn work(delivery: &Delivery) -> (&'static str, String) {
    match &delivery.work {
        DeliveryWork::Write { item: WriteItem::Memory(memory), .. } => ("write", memory.body.clone()),
        DeliveryWork::Write { item: WriteItem::Message(message), .. } => ("write", message.content.clone()),
        DeliveryWork::Update { id, .. } => ("update", id.to_string()),
        DeliveryWork::Delete { id, .. } => ("delete", id.to_string()),
        DeliveryWork::Turn { turn } => ("turn", turn.user_text.clone()),
        DeliveryWork::EndSession { viewer } => ("end_session", viewer.session.clone().unwrap_or_default()),
    }
}

fn date(at: Timestamp) -> String {
    at.to_datetime().format("%Y-%m-%d %H:%M:%S").to_string()
}
