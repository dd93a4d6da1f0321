//! Keeping the vector table small and quick: search structures, joined files, dropped states.

use lancedb::index::Index;
use lancedb::index::scalar::{BTreeIndexBuilder, BitmapIndexBuilder};
use lancedb::index::vector::IvfFlatIndexBuilder;
use lancedb::table::{CompactionOptions, Duration, OptimizeAction, OptimizeOptions};
use lancedb::{DistanceType, Table};
use memory_core::Result;

use super::fault::fault;
use super::rows::{KEY, KIND, SCOPE, VECTOR};
use crate::entry::IndexFilter;

/// From this many rows on a table gets an IVF index; fewer train no useful one.
const INDEXED_ROWS: usize = 20_000;
/// Name of the IVF index, followed by the number of rows it was trained on.
const VECTOR_INDEX: &str = "vector_at_";
const KEY_INDEX: &str = "key_order";
const SCOPE_INDEX: &str = "scope_rows";
const KIND_INDEX: &str = "kind_rows";
/// Rows of one partition of the IVF index, about.
const PARTITION_ROWS: usize = 4_096;
/// So few partitions are always looked into.
const FEWEST_PROBES: usize = 20;

fn partitions(rows: usize) -> usize {
    (rows / PARTITION_ROWS).max(1)
}

/// How many partitions to look into: a share of them, larger when a filter leaves few rows in each.
pub(super) fn probes(rows: usize, filter: &IndexFilter) -> usize {
    let share = if filter.is_scope_only() { 12 } else { 4 };
    (partitions(rows) / share).max(FEWEST_PROBES)
}

/// The names of all search structures.
pub(super) async fn index_names(table: &Table) -> Result<Vec<String>> {
    Ok(table.list_indices().await.map_err(fault)?.into_iter().map(|index| index.name).collect())
}

/// Builds, extends or renews the search structures that a table of its size needs.
pub(super) async fn renew_indices(table: &Table) -> Result<()> {
    let rows = table.count_rows(None).await.map_err(fault)?;
    if rows < INDEXED_ROWS {
        return Ok(());
    }
    let names = index_names(table).await?;
    if !names.iter().any(|name| name == KEY_INDEX) {
        let index = Index::BTree(BTreeIndexBuilder::default());
        table.create_index(&[KEY], index).name(KEY_INDEX.to_owned()).execute().await.map_err(fault)?;
    }
    // Every search asks for scopes, many for kinds. Without these the column of a million rows is read each time.
    for (column, name) in [(SCOPE, SCOPE_INDEX), (KIND, KIND_INDEX)] {
        if !names.iter().any(|known| known == name) {
            let index = Index::Bitmap(BitmapIndexBuilder::default());
            table.create_index(&[column], index).name(name.to_owned()).execute().await.map_err(fault)?;
        }
    }
    let trained_on = |name: &String| name.strip_prefix(VECTOR_INDEX)?.parse::<usize>().ok();
    let newest = names.iter().filter_map(trained_on).max();
    if newest.is_none_or(|trained| rows >= trained.saturating_mul(2)) {
        let index = IvfFlatIndexBuilder::default()
            .distance_type(DistanceType::Dot)
            .num_partitions(u32::try_from(partitions(rows)).unwrap_or(u32::MAX));
        let name = format!("{VECTOR_INDEX}{rows}");
        table.create_index(&[VECTOR], Index::IvfFlat(index)).name(name).execute().await.map_err(fault)?;
        for old in names.iter().filter(|name| trained_on(name).is_some()) {
            table.drop_index(old).await.map_err(fault)?;
        }
    }
    let extend = OptimizeAction::Index(OptimizeOptions::default());
    table.optimize(extend).await.map_err(fault)?;
    Ok(())
}

/// Joins small files and rewrites those in which more than `deleted_share` of the rows are deleted.
pub(super) async fn compact(table: &Table, deleted_share: f32) -> Result<()> {
    let options = CompactionOptions { materialize_deletions_threshold: deleted_share, ..Default::default() };
    let compact = OptimizeAction::Compact { options, remap_options: None };
    table.optimize(compact).await.map_err(fault)?;
    Ok(())
}

/// Drops states older than `older_than`; with `everything` also files that a running change of another process may
/// still need.
pub(super) async fn prune(table: &Table, older_than: Duration, everything: bool) -> Result<()> {
    let prune = OptimizeAction::Prune {
        older_than: Some(older_than),
        delete_unverified: everything.then_some(true),
        error_if_tagged_old_versions: None,
    };
    table.optimize(prune).await.map_err(fault)?;
    Ok(())
}
