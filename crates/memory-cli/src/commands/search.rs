//! `memory search`

use std::fmt::Write;

use memory_core::{
    Error, Filter, Hit, HitKind, Neighbor, NoProgress, Recall, RecallOutcome, RecallReason, SearchRequest, Timestamp,
};

use memory_engine::Memory;

use super::{Context, batch};
use crate::arguments::SearchArguments;
use crate::exit::{Exit, Stop};
use crate::output::{Matcher, Output, one_line, shorten};

/// A passage takes so many lines.
const PASSAGE_LINES: usize = 3;

/// Answers one question, or a file of them.
pub(super) async fn search(context: &Context<'_>, arguments: SearchArguments) -> Result<Exit, Stop> {
    let request = request(context, &arguments)?;
    if let Some(file) = &arguments.batch {
        return batch::batch(context, file, request).await;
    }
    let query = request.query.clone();
    let unconditional = request.kinds.is_empty() && request.filter.is_none();
    let memory = context.open().await?;
    let recall = memory.engine.search(request).await?;
    if context.output.json {
        context.output.value(&recall)?;
    } else {
        context.output.text(&render(&recall, &query, context.output))?;
        match recall.reason {
            Some(RecallReason::NothingStored) if unconditional => context.nothing_stored(),
            reason => explain(&recall, reason, context.output),
        }
    }
    repair(&memory, recall.reason).await?;
    memory.engine.shutdown().await?;
    Ok(Exit::Done)
}

/// Mends an index that the search could not use. The answer is out already; a search itself maintains nothing.
async fn repair(memory: &Memory, reason: Option<RecallReason>) -> Result<(), Error> {
    let damaged = matches!(
        reason,
        Some(
            RecallReason::TextIndexUnavailable
                | RecallReason::VectorIndexUnavailable
                | RecallReason::IndexesUnavailable
        )
    );
    match memory.builtin.as_deref() {
        Some(store) if damaged => store.index_pending(&NoProgress).await.map(|_| ()),
        _ => Ok(()),
    }
}

/// The question with what flags say, and the configuration where they do not.
fn request(context: &Context<'_>, arguments: &SearchArguments) -> Result<SearchRequest, Error> {
    let defaults = &context.settings.loaded.config.memory.search;
    let query = arguments.query.join(" ");
    if query.trim().is_empty() && arguments.batch.is_none() {
        return Err(Error::invalid("the question is empty").with_operation("search"));
    }
    let filter = arguments.filter.as_deref().map(|text| {
        let value: serde_json::Value = serde_json::from_str(text).map_err(|error| {
            Error::invalid("--filter is not JSON")
                .with_source(error)
                .with_hint("for example --filter '{\"category\":\"fact\"}'")
        })?;
        Filter::parse(&value)
    });
    let min_score = arguments.min_score.unwrap_or(defaults.min_score);
    if !(0.0..=1.0).contains(&min_score) {
        return Err(Error::invalid("--min-score is not between 0 and 1"));
    }
    Ok(SearchRequest {
        viewer: context.viewer().clone(),
        query,
        raw: arguments.raw,
        limit: arguments.limit.and_then(|limit| usize::try_from(limit).ok()).unwrap_or(defaults.limit),
        mode: arguments.mode.unwrap_or(defaults.mode),
        kinds: arguments.kinds.clone(),
        categories: arguments.categories.clone(),
        tags: arguments.tags.clone(),
        since: arguments.since,
        until: arguments.until,
        min_score,
        filter: filter.transpose()?,
        neighbors: arguments.neighbors.unwrap_or(defaults.neighbors),
        group_by: arguments.group_by,
        at: arguments.at,
        explain: arguments.explain,
    })
}

/// Hits for people: rank, score, what and when and from where, then the passage with its neighbours.
fn render(recall: &Recall, query: &str, output: &Output) -> String {
    let matcher = Matcher::new(query);
    let mut text = String::new();
    for (position, hit) in recall.hits.iter().enumerate() {
        // Writing to a String cannot fail.
        let _ = write!(text, "{}{}", if position == 0 { "" } else { "\n" }, head(position + 1, hit, output));
        let mut neighbors: Vec<&Neighbor> = hit.neighbors.iter().collect();
        neighbors.sort_by_key(|neighbor| neighbor.offset);
        for neighbor in neighbors.iter().filter(|neighbor| neighbor.offset < 0) {
            let _ = writeln!(text, "{}", around(neighbor, output));
        }
        let width = output.width.saturating_sub(4);
        // Words do not fill a line to its end, so a little less than three lines of text makes three lines.
        let columns = width.saturating_sub(6) * PASSAGE_LINES;
        for line in matcher.passage(&hit.text, columns).lines(width, output.style) {
            let _ = writeln!(text, "    {line}");
        }
        for neighbor in neighbors.iter().filter(|neighbor| neighbor.offset > 0) {
            let _ = writeln!(text, "{}", around(neighbor, output));
        }
        let parts = recall.explanation.as_ref().and_then(|explanation| explanation.hits.get(position));
        if let Some(parts) = parts {
            let parts: Vec<String> = parts.iter().map(|(name, value)| format!("{name} {value:.3}")).collect();
            let _ = writeln!(text, "    {}", output.style.faint(&parts.join(" · ")));
        }
    }
    if let Some(explanation) = &recall.explanation {
        let steps: Vec<String> =
            explanation.steps.iter().map(|(name, value)| format!("{name} {value:.1} ms")).collect();
        let weights: Vec<String> = explanation.weights.iter().map(|(name, value)| format!("{name} {value}")).collect();
        for (label, values) in
            [("words", &explanation.terms), ("times", &explanation.times), ("weights", &weights), ("steps", &steps)]
        {
            if !values.is_empty() {
                let _ = writeln!(text, "\n{} {}", output.style.label(label), one_line(&values.join(" · ")));
            }
        }
    }
    text
}

fn head(rank: usize, hit: &Hit, output: &Output) -> String {
    let style = output.style;
    let mut facts = vec![source(hit)];
    facts.extend(hit.title.as_deref().map(|title| style.strong(&shorten(&one_line(title), 60))));
    facts.extend(hit.speaker.as_deref().map(one_line));
    facts.push(date(hit.event_at.unwrap_or(hit.created_at)));
    facts.extend(hit.category.as_deref().map(one_line));
    facts.extend(hit.tags.iter().map(|tag| format!("#{}", one_line(tag))));
    let rank = style.strong(&format!("{rank:>2}"));
    format!(
        "{rank}  {}  {}  {}\n",
        style.good(&format!("{:.2}", hit.score)),
        facts.join(" · "),
        style.faint(hit.id.as_str())
    )
}

/// Where a hit is from, in a few words.
fn source(hit: &Hit) -> String {
    match (hit.kind, &hit.source.path, &hit.session_id) {
        (_, Some(path), _) => match hit.source.lines {
            Some([first, last]) if first != last => format!("{}:{first}-{last}", one_line(path)),
            Some([line, _]) => format!("{}:{line}", one_line(path)),
            None => one_line(path),
        },
        (HitKind::Message, _, Some(session)) => format!("session {}", one_line(session)),
        (HitKind::Memory, ..) => "memory".into(),
        (HitKind::Message, ..) => "message".into(),
        (HitKind::Document, ..) => "document".into(),
        (HitKind::Fact, ..) => "fact".into(),
        (HitKind::Lesson, ..) => "lesson".into(),
    }
}

fn around(neighbor: &Neighbor, output: &Output) -> String {
    let who = neighbor.speaker.as_deref().map(|name| format!("{}: ", one_line(name))).unwrap_or_default();
    let line = shorten(&format!("{who}{}", one_line(&neighbor.text)), output.width.saturating_sub(4));
    format!("    {}", output.style.faint(&line))
}

/// Midnight is how a bare day is kept.
fn date(at: Timestamp) -> String {
    let at = at.to_datetime();
    let day = at.format("%Y-%m-%d").to_string();
    if at.time() == chrono::NaiveTime::MIN { day } else { at.format("%Y-%m-%d %H:%M").to_string() }
}

/// Says why there is nothing, or not everything.
fn explain(recall: &Recall, reason: Option<RecallReason>, output: &Output) {
    let (message, hint) = match reason {
        None => return,
        Some(RecallReason::NoMatch) => ("nothing found", "try other words, or fewer conditions"),
        Some(RecallReason::NothingStored) => ("nothing stored that fits these conditions", "leave some of them out"),
        Some(RecallReason::BelowThreshold) => ("nothing scored high enough", "lower --min-score"),
        Some(RecallReason::Disabled) => ("memory is switched off", "set memory.engine (MEMORY_ENGINE) to builtin"),
        Some(RecallReason::DocumentsStale) => {
            ("some changed documents are not taken in yet", "run `memory reindex`, or ask again in a moment")
        }
        Some(RecallReason::TextIndexUnavailable) => {
            ("the text index cannot be used; vectors alone answered", "run `memory reindex`")
        }
        Some(RecallReason::VectorIndexUnavailable) => {
            ("the vector index cannot be used; words alone answered", "run `memory reindex`")
        }
        Some(RecallReason::IndexesUnavailable) => {
            ("the indexes cannot be used; the newest rows alone answered", "run `memory reindex`")
        }
        Some(RecallReason::IndexLag) => {
            ("more was written than could be looked at", "run `memory reindex`, or ask again in a moment")
        }
        Some(RecallReason::EmbedderFailed) => ("the embedder failed; words alone answered", "run `memory doctor`"),
        Some(RecallReason::ProviderUnavailable) => {
            ("the external provider took no part", "run `memory provider check`")
        }
        Some(_) => ("the answer may not be whole", "run `memory doctor`"),
    };
    if recall.outcome == RecallOutcome::Empty {
        output.note(message);
    } else {
        output.warning(message);
    }
    output.hint(hint);
}
