//! Two answers to one question become one.

use std::collections::{BTreeMap, HashSet};

use super::sameness::Likeness;
use crate::{GroupBy, Hit, Recall, RecallOutcome, RecallReason, SearchRequest};

/// The constant of reciprocal rank fusion (Cormack, Clarke and Büttcher, 2009).
const SMOOTHING: f64 = 60.0;

struct Merged {
    hit: Hit,
    score: f64,
    explanation: Option<BTreeMap<String, f64>>,
    likeness: Likeness,
}

/// The share of a place in one of two answers; first in both gives 1.
fn share(place: usize) -> f64 {
    (SMOOTHING + 1.0) / (SMOOTHING + 1.0 + place as f64) / 2.0
}

/// Merges by rank. Hits that are the same thing, or say the same, become one that names both sources. `there` has the ids
/// that are known here, and is the answer of the provider named `name`.
pub(super) fn merge(request: &SearchRequest, here: Recall, there: Recall, name: &str) -> Recall {
    let mut explanations = here.explanation.as_ref().map(|explanation| explanation.hits.clone().into_iter());
    let mut merged: Vec<Merged> = here
        .hits
        .into_iter()
        .enumerate()
        .map(|(place, mut hit)| {
            hit.scores.insert(hit.source.provider.clone(), hit.score);
            let explanation = explanations.as_mut().map(|hits| hits.next().unwrap_or_default());
            Merged { score: share(place), likeness: Likeness::of(&hit.text), hit, explanation }
        })
        .collect();
    let own = merged.len();
    let mut seen = HashSet::new();
    for (place, mut hit) in there.hits.into_iter().enumerate() {
        let likeness = Likeness::of(&hit.text);
        let same =
            merged.iter_mut().take(own).find(|other| other.hit.id == hit.id || other.likeness.is_same(&likeness));
        if let Some(other) = same {
            // A provider may have the same twice; it counts where it stands first.
            if !other.hit.source.also_in.iter().any(|also| also == name) {
                other.hit.source.also_in.push(name.to_owned());
                other.hit.scores.insert(name.to_owned(), hit.score);
                other.score += share(place);
            }
        } else if seen.insert(hit.id.clone()) {
            hit.scores.insert(name.to_owned(), hit.score);
            let explanation = explanations.is_some().then(BTreeMap::new);
            merged.push(Merged { score: share(place), likeness, hit, explanation });
        }
    }
    // The sort is stable: what has equal scores stays as it stood, what is here first.
    merged.sort_by(|a, b| b.score.total_cmp(&a.score));
    let mut groups = HashSet::new();
    merged.retain(|one| group_of(request, &one.hit).is_none_or(|group| groups.insert(group)));
    merged.truncate(request.limit);
    for one in &mut merged {
        one.hit.score = one.score;
        if let Some(explanation) = &mut one.explanation {
            explanation.insert("rank_fusion".to_owned(), one.score);
        }
    }
    let mut recall = Recall { hits: Vec::new(), explanation: here.explanation, ..here };
    recall.arms.insert(name.to_owned(), there.arms.values().sum::<usize>().max(recall_count(&merged, name)));
    recall.dropped += there.dropped;
    if let Some(explanation) = &mut recall.explanation {
        explanation.hits = merged.iter().map(|one| one.explanation.clone().unwrap_or_default()).collect();
    }
    recall.hits = merged.into_iter().map(|one| one.hit).collect();
    (recall.outcome, recall.reason) =
        outcome((recall.outcome, recall.reason), &there.outcome, there.reason, &recall.hits);
    recall
}

/// The answer of one provider where the other, named by `reason`, did not answer.
pub(super) fn partial(mut here: Recall) -> Recall {
    if here.outcome != RecallOutcome::Degraded {
        (here.outcome, here.reason) = (RecallOutcome::Partial, Some(RecallReason::ProviderUnavailable));
    }
    here
}

fn outcome(
    here: (RecallOutcome, Option<RecallReason>),
    there: &RecallOutcome,
    there_reason: Option<RecallReason>,
    hits: &[Hit],
) -> (RecallOutcome, Option<RecallReason>) {
    match (here.0, there) {
        (RecallOutcome::Degraded | RecallOutcome::Partial, _) => here,
        (_, RecallOutcome::Degraded | RecallOutcome::Partial) => (*there, there_reason),
        // What one side lacks, the other has.
        (RecallOutcome::Empty, _) if !hits.is_empty() => (RecallOutcome::Complete, None),
        _ => here,
    }
}

fn recall_count(merged: &[Merged], name: &str) -> usize {
    let from =
        |one: &&Merged| one.hit.source.provider == name || one.hit.source.also_in.iter().any(|also| also == name);
    merged.iter().filter(from).count()
}

fn group_of(request: &SearchRequest, hit: &Hit) -> Option<String> {
    match request.group_by? {
        GroupBy::Session => hit.session_id.clone(),
        GroupBy::Document => hit.source.path.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Attributes, HitKind, Id, Scope, Source, Timestamp, Viewer};

    fn hit(provider: &str, name: &str, text: &str) -> Hit {
        Hit {
            id: Id::of_foreign(name),
            kind: HitKind::Memory,
            score: 0.4,
            scores: BTreeMap::new(),
            title: None,
            text: text.into(),
            category: None,
            tags: Vec::new(),
            scope: Scope::default(),
            session_id: None,
            speaker: None,
            role: None,
            external_id: None,
            event_at: None,
            created_at: Timestamp::from_nanoseconds(0),
            attrs: Attributes::new(),
            source: Source { provider: provider.into(), ..Source::default() },
            neighbors: Vec::new(),
        }
    }

    fn recall(hits: Vec<Hit>) -> Recall {
        let outcome = if hits.is_empty() { RecallOutcome::Empty } else { RecallOutcome::Complete };
        Recall { outcome, reason: None, hits, ..Recall::empty(RecallReason::NoMatch) }
    }

    fn merged(here: Vec<Hit>, there: Vec<Hit>) -> Recall {
        let request = SearchRequest { limit: 5, ..SearchRequest::new(Viewer::default(), "茶") };
        merge(&request, recall(here), recall(there), "mem0")
    }

    #[test]
    fn the_same_fact_is_one_hit_that_names_both() {
        let answer = merged(
            vec![hit("builtin", "a", "用户住在上海"), hit("builtin", "b", "用户喜欢喝绿茶。")],
            vec![
                hit("mem0", "x", "用户喜欢喝绿茶"),
                hit("mem0", "y", "用户喜欢喝绿茶!"),
                hit("mem0", "a", "the user lives in Shanghai"),
            ],
        );
        let texts: Vec<&str> = answer.hits.iter().map(|hit| hit.text.as_str()).collect();
        assert_eq!(texts, ["用户喜欢喝绿茶。", "用户住在上海"], "linked or equal hits collapse");
        for hit in &answer.hits {
            assert_eq!(hit.source.provider, "builtin");
            assert_eq!(hit.source.also_in, ["mem0"]);
            assert_eq!(hit.scores["mem0"], 0.4);
        }
        assert_eq!(answer.arms["mem0"], 2);
    }

    #[test]
    fn scores_are_sorted_within_bounds_and_ties_keep_what_is_here_first() {
        let here = (0..6).map(|n| hit("builtin", &format!("h{n}"), &format!("here {n}"))).collect();
        let there = (0..6).map(|n| hit("mem0", &format!("t{n}"), &format!("there {n}"))).collect();
        let answer = merged(here, there);
        let texts: Vec<&str> = answer.hits.iter().map(|hit| hit.text.as_str()).collect();
        assert_eq!(texts, ["here 0", "there 0", "here 1", "there 1", "here 2"]);
        assert!(answer.hits.iter().all(|hit| hit.score > 0.0 && hit.score <= 1.0));
        assert!(answer.hits.windows(2).all(|pair| pair[0].score >= pair[1].score));
        let both = merged(vec![hit("builtin", "a", "x")], vec![hit("mem0", "a", "x")]);
        assert!((both.hits[0].score - 1.0).abs() < 1e-9);
    }

    #[test]
    fn messages_that_were_said_twice_stay_two() {
        let answer = merged(vec![hit("builtin", "a", "好的"), hit("builtin", "b", "好的")], vec![]);
        assert_eq!(answer.hits.len(), 2);
    }

    #[test]
    fn groups_stay_single() {
        let session = |provider: &str, name: &str, session: &str| Hit {
            session_id: Some(session.into()),
            ..hit(provider, name, name)
        };
        let request = SearchRequest { group_by: Some(GroupBy::Session), ..SearchRequest::new(Viewer::default(), "q") };
        let here = recall(vec![session("builtin", "one", "1"), session("builtin", "two", "2")]);
        let there = recall(vec![session("mem0", "three", "2"), session("mem0", "four", "3")]);
        let answer = merge(&request, here, there, "mem0");
        let sessions: Vec<_> = answer.hits.iter().filter_map(|hit| hit.session_id.as_deref()).collect();
        assert_eq!(sessions, ["1", "2", "3"]);
    }

    #[test]
    fn an_empty_side_is_made_up_for_and_a_missing_one_is_told() {
        let answer = merged(vec![], vec![hit("mem0", "a", "only there")]);
        assert_eq!((answer.outcome, answer.reason), (RecallOutcome::Complete, None));
        let answer = partial(recall(vec![]));
        assert_eq!((answer.outcome, answer.reason), (RecallOutcome::Partial, Some(RecallReason::ProviderUnavailable)));
    }
}
