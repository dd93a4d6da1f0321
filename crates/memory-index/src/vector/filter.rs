//! The filter of a search as an expression tree of the engine. Values never pass through SQL text.

use lancedb::expr::{DfExpr, col, contains, lit};

use super::rows::{AT, CATEGORY, KEY, KIND, SCOPE, SESSION, TAGS, tag_mark};
use crate::entry::{EntryKey, EntryKind, IndexFilter};

/// The kinds that have vectors. Asking for all of them is asking for none.
const KINDS: [EntryKind; 3] = [EntryKind::Memory, EntryKind::Message, EntryKind::Chunk];

/// `filter` without a condition on kinds that every row meets: the engine would read a column of all rows for it.
pub(super) fn simplified(filter: &IndexFilter) -> IndexFilter {
    let any_kind = KINDS.iter().all(|kind| filter.kinds.contains(kind));
    IndexFilter { kinds: if any_kind { Vec::new() } else { filter.kinds.clone() }, ..filter.clone() }
}

/// The condition that `filter` puts on a row.
pub(super) fn condition(filter: &IndexFilter) -> DfExpr {
    let mut all = one_of(SCOPE, &filter.scopes);
    let mut also = |condition: DfExpr| all = all.clone().and(condition);
    if !filter.kinds.is_empty() {
        let kinds = filter.kinds.iter().map(|kind| lit(i64::from(*kind as u8))).collect();
        also(col(KIND).in_list(kinds, false));
    }
    for (name, values) in [(SESSION, &filter.sessions), (CATEGORY, &filter.categories)] {
        if !values.is_empty() {
            also(one_of(name, values));
        }
    }
    for tag in &filter.tags_all {
        also(has_tag(tag));
    }
    if let Some(any) = filter.tags_any.iter().map(|tag| has_tag(tag)).reduce(DfExpr::or) {
        also(any);
    }
    if let Some(since) = filter.since {
        also(col(AT).gt_eq(lit(since)));
    }
    if let Some(until) = filter.until {
        also(col(AT).lt(lit(until)));
    }
    all
}

/// The rows of `keys`.
pub(super) fn is_one_of(keys: &[EntryKey]) -> DfExpr {
    col(KEY).in_list(keys.iter().map(|key| lit(key.as_u64().cast_signed())).collect(), false)
}

fn one_of(name: &str, values: &[String]) -> DfExpr {
    col(name).in_list(values.iter().map(|value| lit(value.as_str())).collect(), false)
}

fn has_tag(tag: &str) -> DfExpr {
    contains(col(TAGS), lit(tag_mark(tag)))
}
