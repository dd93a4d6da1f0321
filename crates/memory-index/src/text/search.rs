//! Searching and scoring one snapshot of the index.

use memory_core::{Error, Result};
use tantivy::postings::Postings;
use tantivy::query::{
    Bm25StatisticsProvider, Bm25Weight, BooleanQuery, BoostQuery, EnableScoring, FuzzyTermQuery, Occur, Query,
    QueryParser, TermQuery,
};
use tantivy::schema::{Field, IndexRecordOption};
use tantivy::{DocId, DocSet, Searcher, SegmentReader, TERMINATED, Term};

use super::bm25::{FieldStatistics, settle};
use super::fault::{fault, io_fault};
use super::filter::SegmentFilter;
use super::lookup::locate;
use super::schema::Fields;
use super::{MAX_TEXT_LIMIT, Question, TextField, TextQuery};
use crate::entry::EntryKey;
use crate::ranking::Best;
use crate::tokenizer::{QueryTerm, query_terms};

/// Longer expressions are refused.
const LONGEST_EXPRESSION: usize = 4_096;
/// Expressions with more open parentheses are refused: the parser calls itself for each of them.
const DEEPEST_EXPRESSION: usize = 32;

/// One state of the index.
pub(super) struct Snapshot<'a> {
    pub(super) searcher: Searcher,
    pub(super) fields: &'a Fields,
}

impl Snapshot<'_> {
    pub(super) fn search(&self, query: &TextQuery) -> Result<Vec<(EntryKey, f32)>> {
        let limit = query.limit.min(MAX_TEXT_LIMIT);
        if limit == 0 || query.filter.admits_nothing() {
            return Ok(Vec::new());
        }
        let mut best = Best::new(limit);
        match &query.question {
            Question::Plain(text) => self.plain(&query_terms(text), query, &mut best)?,
            Question::Raw(expression) => self.raw(expression, query, &mut best)?,
        }
        best.into_sorted().map(|(key, score)| Ok((EntryKey::from_u64(key)?, score))).collect()
    }

    fn plain(&self, terms: &[QueryTerm], query: &TextQuery, best: &mut Best) -> Result<()> {
        let field = self.fields.text(query.field);
        let statistics = self.statistics(query.field, terms)?;
        let weighted = Weighted::new(field, terms, &statistics);
        let clauses = weighted.terms.iter().map(|term| {
            let words = TermQuery::new(term.term.clone(), IndexRecordOption::WithFreqs);
            let words: Box<dyn Query> = match term.weight {
                1.0 => Box::new(words),
                weight => Box::new(BoostQuery::new(Box::new(words), weight)),
            };
            (Occur::Should, words)
        });
        let words = BooleanQuery::new(clauses.collect());
        for reader in self.searcher.segment_readers() {
            let Some(filter) = SegmentFilter::open(reader, &query.filter)? else { continue };
            match filter.few(self.fields, &query.filter)? {
                Some(documents) => {
                    for (doc, score) in documents.iter().zip(weighted.score(reader, &documents)?) {
                        if let (Some(key), true) = (filter.admitted(*doc), score > 0.0) {
                            best.offer(settle(score), key);
                        }
                    }
                }
                None => self.rank(&words, query.field, reader, &filter, best)?,
            }
        }
        Ok(())
    }

    fn raw(&self, expression: &str, query: &TextQuery, best: &mut Best) -> Result<()> {
        let words = self.parse(expression, self.fields.text(query.field))?;
        for reader in self.searcher.segment_readers() {
            if let Some(filter) = SegmentFilter::open(reader, &query.filter)? {
                self.rank(&words, query.field, reader, &filter, best)?;
            }
        }
        Ok(())
    }

    /// Offers what matches `words` in one segment, skipping blocks that cannot be among the best.
    fn rank(
        &self,
        words: &dyn Query,
        field: TextField,
        reader: &SegmentReader,
        filter: &SegmentFilter<'_>,
        best: &mut Best,
    ) -> Result<()> {
        let scale = Scale { searcher: &self.searcher, documents: self.documents(field)? };
        let scoring = EnableScoring::enabled_from_statistics_provider(&scale, &self.searcher);
        let weight = words.weight(scoring).map_err(fault)?;
        let start = best.threshold();
        let mut offer = |doc, score| {
            if let Some(key) = filter.admitted(doc) {
                best.offer(settle(score), key);
            }
            best.threshold()
        };
        weight.for_each_pruning(start, reader, &mut offer).map_err(fault)
    }

    fn parse(&self, expression: &str, field: Field) -> Result<Box<dyn Query>> {
        let refuse = |why: String| {
            Error::invalid(format!("the search expression makes no sense: {why}"))
                .with_hint("put words in quotes, or search for the plain text")
        };
        let depth = expression.chars().filter(|character| *character == '(').count();
        if expression.len() > LONGEST_EXPRESSION || depth > DEEPEST_EXPRESSION {
            return Err(refuse(format!(
                "it may have {LONGEST_EXPRESSION} bytes and {DEEPEST_EXPRESSION} parentheses at most"
            )));
        }
        let parser = QueryParser::for_index(self.searcher.index(), vec![field]);
        let (prefixes, rest) = split_prefixes(expression);
        let mut clauses: Vec<(Occur, Box<dyn Query>)> = prefixes
            .into_iter()
            .map(|(occur, prefix)| {
                let query = FuzzyTermQuery::new_prefix(Term::from_field_text(field, &prefix), 0, false);
                (occur, Box::new(query) as Box<dyn Query>)
            })
            .collect();
        if clauses.is_empty() || !rest.trim().is_empty() {
            let query = parser.parse_query(&rest).map_err(|error| refuse(error.to_string()))?;
            // What an `AND` joins to a prefix must be there too; other words are as optional as without it.
            let joined = clauses.iter().any(|(occur, _)| *occur == Occur::Must) && expression.contains(" AND ");
            clauses.push((if joined { Occur::Must } else { Occur::Should }, query));
        }
        Ok(Box::new(BooleanQuery::new(clauses)))
    }

    pub(super) fn score(&self, question: &str, field: TextField, keys: &[EntryKey]) -> Result<Vec<f32>> {
        let terms = query_terms(question);
        let statistics = self.statistics(field, &terms)?;
        let weighted = Weighted::new(self.fields.text(field), &terms, &statistics);
        let mut scores = vec![0.0; keys.len()];
        let addresses = locate(&self.searcher, self.fields, keys)?;
        let mut found: Vec<_> =
            addresses.iter().zip(&mut scores).filter_map(|(at, score)| Some((at.as_ref()?, score))).collect();
        found.sort_unstable_by_key(|(address, _)| **address);
        for segment in found.chunk_by_mut(|(left, _), (right, _)| left.segment_ord == right.segment_ord) {
            let Some((address, _)) = segment.first() else { continue };
            let reader = self.searcher.segment_reader(address.segment_ord);
            let documents: Vec<DocId> = segment.iter().map(|(address, _)| address.doc_id).collect();
            for ((_, score), value) in segment.iter_mut().zip(weighted.score(reader, &documents)?) {
                **score = settle(value);
            }
        }
        Ok(scores)
    }

    pub(super) fn statistics(&self, field: TextField, terms: &[QueryTerm]) -> Result<FieldStatistics> {
        let scale = Scale { searcher: &self.searcher, documents: self.documents(field)? };
        let field = self.fields.text(field);
        let frequency = |term: &QueryTerm| scale.doc_freq(&Term::from_field_text(field, &term.text));
        Ok(FieldStatistics {
            documents: scale.documents,
            tokens: scale.total_num_tokens(field).map_err(fault)?,
            document_frequency: terms.iter().map(frequency).collect::<tantivy::Result<_>>().map_err(fault)?,
        })
    }

    fn documents(&self, field: TextField) -> Result<u64> {
        self.searcher.doc_freq(&self.fields.has_term(field)).map_err(fault)
    }
}

/// Statistics of the documents that have the field searched, not of all there are.
struct Scale<'a> {
    searcher: &'a Searcher,
    documents: u64,
}

impl Bm25StatisticsProvider for Scale<'_> {
    fn total_num_tokens(&self, field: Field) -> tantivy::Result<u64> {
        self.searcher.total_num_tokens(field)
    }

    fn total_num_docs(&self) -> tantivy::Result<u64> {
        Ok(self.documents)
    }

    fn doc_freq(&self, term: &Term) -> tantivy::Result<u64> {
        // The engine panics on a frequency above the number of documents: an expression may name another field.
        Ok(self.searcher.doc_freq(term)?.min(self.documents))
    }
}

/// A term with what it is worth in this index.
struct WeightedTerm {
    term: Term,
    weight: f32,
    bm25: Bm25Weight,
}

/// The terms of a question with their weights.
struct Weighted {
    field: Field,
    terms: Vec<WeightedTerm>,
}

impl Weighted {
    /// Leaves out terms that no document contains.
    fn new(field: Field, terms: &[QueryTerm], statistics: &FieldStatistics) -> Self {
        let weighted = terms.iter().zip(&statistics.document_frequency).zip(statistics.weights());
        let known = weighted.filter(|((_, frequency), _)| **frequency > 0);
        let terms = known.map(|((term, _), bm25)| WeightedTerm {
            term: Term::from_field_text(field, &term.text),
            weight: term.weight,
            bm25: bm25.boost_by(term.weight),
        });
        Self { field, terms: terms.collect() }
    }

    /// The unrounded score of each of `documents`, which ascend: jumps to them in the list of every term.
    fn score(&self, reader: &SegmentReader, documents: &[DocId]) -> Result<Vec<f32>> {
        let index = reader.inverted_index(self.field).map_err(fault)?;
        let lengths = reader.get_fieldnorms_reader(self.field).map_err(fault)?;
        let mut scores = vec![0.0; documents.len()];
        for WeightedTerm { term, bm25, .. } in &self.terms {
            let Some(mut postings) = index.read_postings(term, IndexRecordOption::WithFreqs).map_err(io_fault)? else {
                continue;
            };
            for (score, doc) in scores.iter_mut().zip(documents) {
                if postings.doc() < *doc && postings.seek(*doc) == TERMINATED {
                    break;
                }
                if postings.doc() == *doc {
                    *score += bm25.score(lengths.fieldnorm_id(*doc), postings.term_freq());
                }
            }
        }
        Ok(scores)
    }
}

/// Takes the words that end in `*` out of an expression: the parser knows prefixes only as the end of a phrase. A sign
/// before the word, or an `AND` beside it, says whether it must, or must not, be there.
fn split_prefixes(expression: &str) -> (Vec<(Occur, String)>, String) {
    let words: Vec<&str> = expression.split_whitespace().collect();
    let (mut prefixes, mut rest): (Vec<(Occur, String)>, Vec<&str>) = (Vec::new(), Vec::new());
    let mut after_prefix = false;
    for (position, word) in words.iter().enumerate() {
        let is_operator = matches!(*word, "AND" | "OR");
        if after_prefix && is_operator {
            after_prefix = false;
            continue;
        }
        let (sign, bare) = match word.split_at_checked(1) {
            Some(("+", bare)) => (Some(Occur::Must), bare),
            Some(("-", bare)) => (Some(Occur::MustNot), bare),
            _ => (None, *word),
        };
        let prefix = bare.strip_suffix('*').filter(|it| !it.is_empty() && it.chars().all(char::is_alphanumeric));
        let Some(prefix) = prefix else {
            rest.push(word);
            after_prefix = false;
            continue;
        };
        let joined = rest.last() == Some(&"AND") || words.get(position + 1) == Some(&"AND");
        rest.pop_if(|last| matches!(*last, "AND" | "OR"));
        let occur = sign.unwrap_or(if joined { Occur::Must } else { Occur::Should });
        prefixes.push((occur, prefix.to_lowercase()));
        after_prefix = true;
    }
    let rest = if prefixes.is_empty() { expression.to_owned() } else { rest.join(" ") };
    (prefixes, rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prefixes_leave_an_expression_that_can_be_read() {
        let split = |expression| {
            let (prefixes, rest) = split_prefixes(expression);
            let prefixes: Vec<String> = prefixes.iter().map(|(occur, word)| format!("{occur:?} {word}")).collect();
            (prefixes.join(", "), rest)
        };
        assert_eq!(split("gre*"), ("Should gre".into(), String::new()));
        assert_eq!(split("Gre* OR tea"), ("Should gre".into(), "tea".into()));
        assert_eq!(split("tea OR gre*"), ("Should gre".into(), "tea".into()));
        assert_eq!(split("tea AND gre*"), ("Must gre".into(), "tea".into()));
        assert_eq!(split("a* AND b* OR c"), ("Must a, Should b".into(), "c".into()));
        assert_eq!(split("-gre* tea"), ("MustNot gre".into(), "tea".into()));
        assert_eq!(split("\"green te\"* x"), (String::new(), "\"green te\"* x".into()));
        assert_eq!(split("* OR"), (String::new(), "* OR".into()));
    }
}
