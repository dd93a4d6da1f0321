//! Search by words: BM25 (Robertson and Zaragoza, 2009) over what the viewer may read, scaled to 0 to 1.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use plugin_sdk::memory_core::{
    Error, ErrorKind, GroupBy, Hit, HitKind, Memory, Message, Neighbor, Recall, RecallOutcome, RecallReason, Result,
    SearchMode, SearchRequest, Source, Timestamp,
};

use crate::provider::NAME;
use crate::records::Contents;
use crate::text::{question_words, words};

/// How fast more occurrences of a word stop to matter.
const K1: f64 = 1.2;
/// How much long texts are held back.
const B: f64 = 0.75;

struct Candidate {
    hit: Hit,
    words: HashMap<String, usize>,
    length: f64,
}

/// Answers a question.
pub(crate) fn search(contents: &Contents, request: &SearchRequest, now: Timestamp) -> Result<Recall> {
    if request.query.trim().is_empty() {
        return Err(Error::invalid("the question is empty").with_hint("ask with at least one word"));
    }
    if request.mode == SearchMode::Vector {
        return Err(Error::new(ErrorKind::Unsupported, format!("`{NAME}` searches by words and has no vectors"))
            .with_hint("use the mode text or hybrid"));
    }
    let candidates = candidates(contents, request, request.at.unwrap_or(now));
    if candidates.is_empty() {
        return Ok(Recall::empty(RecallReason::NothingStored));
    }
    let mut hits = scored(candidates, &question_words(&request.query));
    hits.retain(|hit| fits(hit, request));
    if hits.is_empty() {
        return Ok(Recall::empty(RecallReason::NoMatch));
    }
    let found = hits.len();
    hits.retain(|hit| hit.score >= request.min_score);
    if hits.is_empty() {
        return Ok(Recall::empty(RecallReason::BelowThreshold));
    }
    hits.sort_by(|one, two| two.score.total_cmp(&one.score).then_with(|| two.created_at.cmp(&one.created_at)));
    if request.group_by == Some(GroupBy::Session) {
        let mut seen = BTreeSet::new();
        hits.retain(|hit| hit.session_id.clone().is_none_or(|session| seen.insert(session)));
    }
    hits.truncate(request.limit);
    for hit in &mut hits {
        hit.neighbors = neighbors(contents, request, hit);
    }
    Ok(Recall {
        outcome: RecallOutcome::Complete,
        reason: None,
        took_ms: 0.0,
        arms: BTreeMap::from([("text".to_owned(), found)]),
        index_lag: 0,
        dropped: 0,
        hits,
        explanation: None,
    })
}

fn candidates(contents: &Contents, request: &SearchRequest, now: Timestamp) -> Vec<Candidate> {
    let memories = contents.visible(&request.viewer, now).map(|memory| {
        let text = [
            memory.title.as_deref().unwrap_or_default(),
            &memory.body,
            &memory.keywords.join(" "),
            &memory.tags.join(" "),
        ]
        .join("\n");
        (hit_of_memory(memory), text)
    });
    let messages = contents.messages(&request.viewer).map(|message| (hit_of_message(message), message.content.clone()));
    memories
        .chain(messages)
        .map(|(hit, text)| {
            let mut counts = HashMap::new();
            let all = words(&text);
            let length = all.len() as f64;
            all.into_iter().for_each(|word| *counts.entry(word).or_insert(0) += 1);
            Candidate { hit, words: counts, length }
        })
        .collect()
}

fn scored(candidates: Vec<Candidate>, question: &[String]) -> Vec<Hit> {
    let count = candidates.len() as f64;
    let average = (candidates.iter().map(|candidate| candidate.length).sum::<f64>() / count).max(1.0);
    let weights: Vec<f64> = question
        .iter()
        .map(|word| {
            let with = candidates.iter().filter(|candidate| candidate.words.contains_key(word)).count() as f64;
            (1.0 + (count - with + 0.5) / (with + 0.5)).ln()
        })
        .collect();
    let most: f64 = weights.iter().sum::<f64>() * (K1 + 1.0);
    let score = |candidate: &Candidate| -> f64 {
        let held_back = K1 * (1.0 - B + B * candidate.length / average);
        let words = question.iter().zip(&weights);
        words
            .filter_map(|(word, weight)| {
                let times = *candidate.words.get(word)? as f64;
                Some(weight * times * (K1 + 1.0) / (times + held_back))
            })
            .sum()
    };
    candidates
        .into_iter()
        .filter_map(|candidate| {
            let raw = score(&candidate);
            let mut hit = candidate.hit;
            hit.score = (raw / most).clamp(0.0, 1.0);
            hit.scores = BTreeMap::from([("text".to_owned(), raw)]);
            (raw > 0.0).then_some(hit)
        })
        .collect()
}

fn fits(hit: &Hit, request: &SearchRequest) -> bool {
    let at = hit.event_at.unwrap_or(hit.created_at);
    (request.kinds.is_empty() || request.kinds.contains(&hit.kind))
        && (request.categories.is_empty()
            || hit.category.as_ref().is_some_and(|name| request.categories.contains(name)))
        && request.tags.iter().all(|tag| hit.tags.contains(tag))
        && request.since.is_none_or(|since| at >= since)
        && request.until.is_none_or(|until| at < until)
        && request.filter.as_ref().is_none_or(|filter| filter.matches(hit))
}

fn neighbors(contents: &Contents, request: &SearchRequest, hit: &Hit) -> Vec<Neighbor> {
    let Some(centre) = contents.messages(&request.viewer).find(|message| message.id == hit.id) else {
        return Vec::new();
    };
    let reach = i64::try_from(request.neighbors).unwrap_or(i64::MAX);
    let mut near: Vec<Neighbor> = contents
        .messages(&request.viewer)
        .filter(|message| message.scope == centre.scope && message.session_id == centre.session_id)
        .filter_map(|message| {
            let offset = message.position.cast_signed() - centre.position.cast_signed();
            (offset != 0 && offset.abs() <= reach).then(|| Neighbor {
                id: message.id.clone(),
                offset: i32::try_from(offset).unwrap_or(0),
                speaker: message.speaker.clone(),
                role: message.role,
                text: message.content.clone(),
                created_at: message.created_at,
            })
        })
        .collect();
    near.sort_by_key(|neighbor| neighbor.offset);
    near
}

fn hit_of_memory(memory: &Memory) -> Hit {
    Hit {
        id: memory.id.clone(),
        kind: HitKind::Memory,
        score: 0.0,
        scores: BTreeMap::new(),
        title: memory.title.clone(),
        text: memory.body.clone(),
        category: memory.category.clone(),
        tags: memory.tags.clone(),
        scope: memory.scope.clone(),
        session_id: None,
        speaker: None,
        role: None,
        external_id: memory.external_id.clone(),
        event_at: memory.event_at,
        created_at: memory.created_at,
        attrs: memory.attrs.clone(),
        source: Source { provider: NAME.to_owned(), ..Source::default() },
        neighbors: Vec::new(),
    }
}

fn hit_of_message(message: &Message) -> Hit {
    Hit {
        id: message.id.clone(),
        kind: HitKind::Message,
        score: 0.0,
        scores: BTreeMap::new(),
        title: None,
        text: message.content.clone(),
        category: None,
        tags: Vec::new(),
        scope: message.scope.clone(),
        session_id: Some(message.session_id.clone()),
        speaker: message.speaker.clone(),
        role: Some(message.role),
        external_id: message.external_id.clone(),
        event_at: None,
        created_at: message.created_at,
        attrs: message.attrs.clone(),
        source: Source { provider: NAME.to_owned(), ..Source::default() },
        neighbors: Vec::new(),
    }
}
