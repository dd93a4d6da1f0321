//! `memory search --batch`: questions in, answers out, in order, in one process.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};

use memory_core::{Error, ErrorKind, Filter, GroupBy, HitKind, Result, SearchMode, SearchRequest, Timestamp};
use memory_engine::Memory;
use serde::Deserialize;
use serde_json::{Map, Value};
use tokio::sync::mpsc;

use super::Context;
use crate::exit::{Exit, Stop};
use crate::settings::{builtin, team};

/// So many lines are read ahead.
const READ_AHEAD: usize = 64;

/// The longest line, in bytes.
const LONGEST_LINE: u64 = 16 << 20;

/// One question. What it does not say is as the flags say.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Question {
    #[serde(default)]
    #[expect(dead_code, reason = "it is read before the rest, so that an error can name it too")]
    id: Value,
    query: String,
    raw: Option<bool>,
    limit: Option<usize>,
    mode: Option<SearchMode>,
    kinds: Option<Vec<HitKind>>,
    categories: Option<Vec<String>>,
    tags: Option<Vec<String>>,
    group_by: Option<GroupBy>,
    at: Option<Timestamp>,
    since: Option<Timestamp>,
    until: Option<Timestamp>,
    min_score: Option<f64>,
    filter: Option<Filter>,
    neighbors: Option<usize>,
    explain: Option<bool>,
    user: Option<String>,
    space: Option<String>,
    agent: Option<String>,
    workspace: Option<String>,
    team: Option<String>,
    session: Option<String>,
}

/// Answers every line; a bad one gets an error in its place and the rest goes on.
pub(super) async fn batch(
    context: &Context<'_>,
    file: &Path,
    defaults: SearchRequest,
) -> std::result::Result<Exit, Stop> {
    let mut lines = read_lines(file.to_owned())?;
    let memory = context.open().await?;
    if let Ok(store) = builtin(&memory, "search") {
        store.warm_up().await?;
    }
    let mut failed = false;
    let mut outcome = Ok(());
    while let Some(line) = lines.recv().await {
        let (number, line) = line?;
        if line.trim_ascii().is_empty() {
            continue;
        }
        let (id, answer) = answer(&memory, &line, number, &defaults).await;
        let mut object = Map::from_iter([("id".to_owned(), id)]);
        match answer {
            Ok(Value::Object(recall)) => object.extend(recall),
            Ok(_) => return Err(Error::unexpected("an answer is not a JSON object").into()),
            Err(error) => {
                failed = true;
                if let Value::Object(error) = error.to_json() {
                    object.extend(error);
                }
            }
        }
        outcome = context.output.value(&Value::Object(object));
        if outcome.is_err() {
            break;
        }
    }
    memory.engine.shutdown().await?;
    outcome?;
    Ok(if failed { Exit::Failed } else { Exit::Done })
}

async fn answer(memory: &Memory, line: &[u8], number: u64, defaults: &SearchRequest) -> (Value, Result<Value>) {
    let value: Value = match serde_json::from_slice(line) {
        Ok(value) => value,
        Err(error) => return (Value::Null, Err(wrong(number, "not valid JSON").with_source(error))),
    };
    let id = value.get("id").cloned().unwrap_or(Value::Null);
    let question = serde_json::from_value::<Question>(value).map_err(|error| wrong(number, &error.to_string()));
    let request = question.and_then(|question| request(question, number, defaults));
    let recall = match request {
        Ok(request) => memory.engine.search(request).await,
        Err(error) => Err(error),
    };
    let written = recall.and_then(|recall| {
        serde_json::to_value(&recall)
            .map_err(|error| Error::unexpected("the answer cannot be written as JSON").with_source(error))
    });
    (id, written)
}

fn request(question: Question, number: u64, defaults: &SearchRequest) -> Result<SearchRequest> {
    if question.query.trim().is_empty() {
        return Err(wrong(number, "`query` is empty"));
    }
    if !(1..=10_000).contains(&question.limit.unwrap_or(defaults.limit)) {
        return Err(wrong(number, "`limit` is not between 1 and 10000"));
    }
    let min_score = question.min_score.unwrap_or(defaults.min_score);
    if !(0.0..=1.0).contains(&min_score) {
        return Err(wrong(number, "`min_score` is not between 0 and 1"));
    }
    let mut viewer = defaults.viewer.clone();
    viewer.user = question.user.unwrap_or(viewer.user);
    viewer.space = question.space.unwrap_or(viewer.space);
    viewer.agent = question.agent.or(viewer.agent);
    viewer.workspace = question.workspace.or(viewer.workspace);
    viewer.team = question.team.as_deref().map(team).or(viewer.team);
    viewer.session = question.session.or(viewer.session);
    viewer.check()?;
    let defaults = defaults.clone();
    Ok(SearchRequest {
        viewer,
        query: question.query,
        raw: question.raw.unwrap_or(defaults.raw),
        limit: question.limit.unwrap_or(defaults.limit),
        mode: question.mode.unwrap_or(defaults.mode),
        kinds: question.kinds.unwrap_or(defaults.kinds),
        categories: question.categories.unwrap_or(defaults.categories),
        tags: question.tags.unwrap_or(defaults.tags),
        since: question.since.or(defaults.since),
        until: question.until.or(defaults.until),
        min_score,
        filter: question.filter.or(defaults.filter),
        neighbors: question.neighbors.unwrap_or(defaults.neighbors),
        group_by: question.group_by.or(defaults.group_by),
        at: question.at.or(defaults.at),
        explain: question.explain.unwrap_or(defaults.explain),
    })
}

fn wrong(number: u64, what: &str) -> Error {
    Error::invalid(format!("line {number}: {what}"))
        .with_operation("search")
        .with_hint("a line is {\"id\":…,\"query\":…}, with limit, mode, kinds, group_by, at, since, until, user, space, agent, workspace, team, session, filter")
}

type NumberedLine = Result<(u64, Vec<u8>)>;

/// Reads lines on their own thread. A file that cannot be opened is an error at once.
fn read_lines(path: PathBuf) -> Result<mpsc::Receiver<NumberedLine>> {
    let failed = move |path: &Path, error: std::io::Error| match error.kind() {
        std::io::ErrorKind::NotFound => Error::not_found(format!("there is no file `{}`", path.display())),
        _ => Error::new(ErrorKind::Storage, format!("cannot read `{}`", path.display())).with_source(error),
    };
    let file = match path.as_os_str() == "-" {
        true => None,
        false => Some(std::fs::File::open(&path).map_err(|error| failed(&path, error))?),
    };
    let (sender, receiver) = mpsc::channel(READ_AHEAD);
    tokio::task::spawn_blocking(move || {
        let mut reader: Box<dyn BufRead> = match file {
            Some(file) => Box::new(BufReader::new(file)),
            None => Box::new(std::io::stdin().lock()),
        };
        for number in 1.. {
            let mut line = Vec::new();
            let read = std::io::Read::take(&mut reader, LONGEST_LINE).read_until(b'\n', &mut line);
            let message = match read {
                Ok(0) => return,
                Ok(_) => Ok((number, line)),
                Err(error) => Err(failed(&path, error)),
            };
            // The other side stops when its own reader is gone.
            if sender.blocking_send(message).is_err() {
                return;
            }
        }
    });
    Ok(receiver)
}
