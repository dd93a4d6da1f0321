//! The vector index on lancedb. Small tables are scanned in memory, larger ones through an IVF index.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::{PoisonError, RwLock};

use arrow_array::{RecordBatch, RecordBatchIterator};
use arrow_schema::{DataType, SchemaRef};
use async_trait::async_trait;
use futures::TryStreamExt;
use lancedb::index::Index;
use lancedb::index::scalar::BTreeIndexBuilder;
use lancedb::index::vector::IvfFlatIndexBuilder;
use lancedb::query::{ExecutableQuery, QueryBase, Select};
use lancedb::table::{CompactionOptions, Duration, OptimizeAction, OptimizeOptions};
use lancedb::{Connection, DistanceType, Table};
use memory_core::{Error, ErrorKind, Result};

use super::fault::{fault, guarded};
use super::filter::{condition, is_one_of};
use super::resident::{Resident, dot};
use super::rows::{AT, CATEGORY, KEY, REVISION, SCOPE, SESSION, TAGS, VECTOR, batch, components, keys, schema};
use super::{MAX_VECTOR_LIMIT, VectorIndex};
use crate::entry::{EntryKey, IndexEntry, IndexFilter};
use crate::ranking::Best;

const TABLE: &str = "entries";
/// A table is scanned in memory up to this many rows and bytes.
const RESIDENT_ROWS: usize = 20_000;
const RESIDENT_BYTES: usize = 64 << 20;
/// From this many rows on a table gets an IVF index; fewer train no useful one.
const INDEXED_ROWS: usize = 20_000;
/// Name of the IVF index, followed by the number of rows it was trained on.
const VECTOR_INDEX: &str = "vector_at_";
const KEY_INDEX: &str = "key_order";
/// Keys in one condition.
const KEYS_AT_ONCE: usize = 500;

/// Names the format of the vector index: part of every fingerprint.
pub fn vector_format() -> &'static str {
    "vector-1-f16"
}

/// A vector index in a directory.
pub struct LanceIndex {
    directory: PathBuf,
    dimensions: usize,
    schema: SchemaRef,
    table: Table,
    /// All rows and the version of the table they are the state of.
    resident: RwLock<Option<(u64, Resident)>>,
    /// Lets one caller at a time change the table; the engine resolves conflicts with other processes.
    writing: tokio::sync::Mutex<()>,
}

impl std::fmt::Debug for LanceIndex {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("LanceIndex").field("directory", &self.directory).finish_non_exhaustive()
    }
}

impl LanceIndex {
    /// Opens the index in `directory`, or makes an empty one where there is none.
    ///
    /// An index of vectors of another width or by another version is [`ErrorKind::Conflict`]: build a new generation.
    pub async fn open_or_create(directory: &Path, dimensions: usize) -> Result<Self> {
        guarded(directory, async {
            std::fs::create_dir_all(directory).map_err(|error| {
                Error::new(ErrorKind::Storage, "cannot create the directory of the vector index").with_source(error)
            })?;
            let schema = schema(dimensions)?;
            let connection = connect(directory).await?;
            let exists = directory.join(format!("{TABLE}.lance")).exists();
            let table = match exists {
                true => connection.open_table(TABLE).execute().await,
                false => match connection.create_empty_table(TABLE, schema.clone()).execute().await {
                    // Another process was faster.
                    Err(lancedb::Error::TableAlreadyExists { .. }) => connection.open_table(TABLE).execute().await,
                    created => created,
                },
            };
            Self::new(directory, dimensions, schema, table.map_err(fault)?).await
        })
        .await
    }

    /// Opens the index in `directory`. A missing one is [`ErrorKind::Corrupt`].
    pub async fn open(directory: &Path, dimensions: usize) -> Result<Self> {
        guarded(directory, async {
            if !directory.join(format!("{TABLE}.lance")).exists() {
                return Err(Error::new(ErrorKind::Corrupt, "the vector index is missing"));
            }
            let table = connect(directory).await?.open_table(TABLE).execute().await.map_err(fault)?;
            Self::new(directory, dimensions, schema(dimensions)?, table).await
        })
        .await
    }

    async fn new(directory: &Path, dimensions: usize, schema: SchemaRef, table: Table) -> Result<Self> {
        let types = |schema: &SchemaRef| -> Vec<(String, DataType)> {
            schema.fields().iter().map(|field| (field.name().clone(), field.data_type().clone())).collect()
        };
        if types(&table.schema().await.map_err(fault)?) != types(&schema) {
            return Err(Error::new(ErrorKind::Conflict, "the vector index was built with another format or width")
                .with_hint("run `memory reindex` to build it anew"));
        }
        Ok(Self {
            directory: directory.to_owned(),
            dimensions,
            schema,
            table,
            resident: RwLock::new(None),
            writing: tokio::sync::Mutex::new(()),
        })
    }

    /// The newest state of the table, and its version.
    async fn latest(&self) -> Result<(Table, u64)> {
        self.table.checkout_latest().await.map_err(fault)?;
        let snapshot = self.table.query_snapshot().await.map_err(fault)?;
        let version = snapshot.version().await.map_err(fault)?;
        Ok((snapshot, version))
    }

    /// Answers from memory, if the table at `version` is there or small enough to be loaded.
    async fn ask_memory<T>(&self, table: &Table, version: u64, ask: impl Fn(&Resident) -> T) -> Result<Option<T>> {
        if let Some((held, resident)) = &*self.resident.read().unwrap_or_else(PoisonError::into_inner)
            && *held == version
        {
            return Ok(Some(ask(resident)));
        }
        let rows = table.count_rows(None).await.map_err(fault)?;
        if rows > RESIDENT_ROWS || rows * self.dimensions * size_of::<f32>() > RESIDENT_BYTES {
            self.forget();
            return Ok(None);
        }
        let columns = [KEY, REVISION, AT, SCOPE, SESSION, CATEGORY, TAGS, VECTOR];
        let mut stream = table.query().select(Select::columns(&columns)).execute().await.map_err(fault)?;
        let mut resident = Resident::new(self.dimensions);
        while let Some(batch) = stream.try_next().await.map_err(fault)? {
            resident.load(&batch)?;
        }
        let answer = ask(&resident);
        *self.resident.write().unwrap_or_else(PoisonError::into_inner) = Some((version, resident));
        Ok(Some(answer))
    }

    fn forget(&self) {
        *self.resident.write().unwrap_or_else(PoisonError::into_inner) = None;
    }

    async fn search_table(
        &self,
        table: &Table,
        vector: &[f32],
        filter: &IndexFilter,
        limit: usize,
    ) -> Result<Vec<(EntryKey, f32)>> {
        let rows = table.count_rows(None).await.map_err(fault)?;
        let query = table
            .query()
            .only_if_expr(condition(filter))
            .limit(limit)
            .select(Select::columns(&[KEY, VECTOR]))
            .nearest_to(vector)
            .and_then(|query| {
                query.column(VECTOR).distance_type(DistanceType::Dot).minimum_nprobes(probes(rows, filter))
            })
            .map_err(fault)?;
        let batches: Vec<RecordBatch> = query.execute().await.map_err(fault)?.try_collect().await.map_err(fault)?;
        let mut best = Best::new(limit);
        for batch in &batches {
            let components = components(batch, self.dimensions)?;
            for (key, candidate) in keys(batch)?.iter().zip(components.chunks_exact(self.dimensions)) {
                best.offer(dot(vector, candidate), key.as_u64());
            }
        }
        best.into_sorted().map(|(key, score)| Ok((EntryKey::from_u64(key)?, score))).collect()
    }

    async fn score_in_table(&self, table: &Table, vector: &[f32], wanted: &[EntryKey]) -> Result<Vec<Option<f32>>> {
        let mut scores = HashMap::new();
        for some in wanted.chunks(KEYS_AT_ONCE) {
            let query = table.query().only_if_expr(is_one_of(some)).select(Select::columns(&[KEY, VECTOR]));
            let mut stream = query.execute().await.map_err(fault)?;
            while let Some(batch) = stream.try_next().await.map_err(fault)? {
                let components = components(&batch, self.dimensions)?;
                for (key, candidate) in keys(&batch)?.into_iter().zip(components.chunks_exact(self.dimensions)) {
                    scores.insert(key, dot(vector, candidate));
                }
            }
        }
        Ok(wanted.iter().map(|key| scores.get(key).copied()).collect())
    }

    fn check(&self, vector: &[f32]) -> Result<()> {
        let width = vector.len();
        if width != self.dimensions {
            let expected = self.dimensions;
            return Err(Error::invalid(format!("the vector has {width} dimensions, the index {expected}")));
        }
        match vector.iter().all(|value| value.is_finite()) {
            true => Ok(()),
            false => Err(Error::invalid("the vector contains a value that is not a number")),
        }
    }

    async fn write(&self, upserts: &[IndexEntry], deletes: &[EntryKey]) -> Result<()> {
        let mut newest: HashMap<EntryKey, &IndexEntry> = HashMap::new();
        for entry in upserts {
            if let Some(vector) = &entry.vector {
                self.check(vector)?;
            }
            let kept = newest.entry(entry.key).or_insert(entry);
            if kept.revision <= entry.revision {
                *kept = entry;
            }
        }
        let without_vector = newest.values().filter(|entry| entry.vector.is_none()).map(|entry| entry.key);
        let deletes: HashSet<EntryKey> = deletes.iter().copied().chain(without_vector).collect();
        let deletes: Vec<EntryKey> = deletes.into_iter().collect();
        let mut rows: Vec<&IndexEntry> = newest.into_values().filter(|entry| entry.vector.is_some()).collect();
        rows.sort_unstable_by_key(|entry| entry.key);

        self.table.checkout_latest().await.map_err(fault)?;
        let before = self.table.version().await.map_err(fault)?;
        let mut commits = Vec::new();
        for some in deletes.chunks(KEYS_AT_ONCE) {
            let condition = is_one_of(some);
            // An empty deletion would still write a new version.
            let present = self.table.query().only_if_expr(condition.clone()).select(Select::columns(&[KEY])).limit(1);
            let present: Vec<RecordBatch> =
                present.execute().await.map_err(fault)?.try_collect().await.map_err(fault)?;
            if present.iter().any(|batch| batch.num_rows() > 0) {
                commits.push(self.table.delete(&condition).await.map_err(fault)?.version);
            }
        }
        if !rows.is_empty() {
            let batch = batch(&self.schema, self.dimensions, &rows)?;
            let reader = RecordBatchIterator::new([Ok(batch)], self.schema.clone());
            let mut merge = self.table.merge_insert(&[KEY]);
            merge
                .when_matched_update_all(Some(format!("target.{REVISION} < source.{REVISION}")))
                .when_not_matched_insert_all();
            commits.push(merge.execute(Box::new(reader)).await.map_err(fault)?.version);
        }
        self.follow(before, &commits, &rows, &deletes);
        Ok(())
    }

    /// Keeps the rows in memory up to date after own changes, unless another process changed something in between.
    fn follow(&self, before: u64, commits: &[u64], rows: &[&IndexEntry], deletes: &[EntryKey]) {
        let mut held = self.resident.write().unwrap_or_else(PoisonError::into_inner);
        let alone = commits.iter().zip(before + 1..).all(|(commit, expected)| *commit == expected);
        match &mut *held {
            Some((version, resident)) if *version == before && alone => {
                resident.apply(rows, deletes);
                *version = before + commits.len() as u64;
            }
            _ => *held = None,
        }
    }

    async fn index_names(&self) -> Result<Vec<String>> {
        Ok(self.table.list_indices().await.map_err(fault)?.into_iter().map(|index| index.name).collect())
    }

    /// Builds, extends or renews the search structures that a table of its size needs.
    async fn renew_indices(&self) -> Result<()> {
        let rows = self.table.count_rows(None).await.map_err(fault)?;
        if rows < INDEXED_ROWS {
            return Ok(());
        }
        let names = self.index_names().await?;
        if !names.iter().any(|name| name == KEY_INDEX) {
            let index = Index::BTree(BTreeIndexBuilder::default());
            self.table.create_index(&[KEY], index).name(KEY_INDEX.to_owned()).execute().await.map_err(fault)?;
        }
        let trained_on = |name: &String| name.strip_prefix(VECTOR_INDEX)?.parse::<usize>().ok();
        let newest = names.iter().filter_map(trained_on).max();
        if newest.is_none_or(|trained| rows >= trained.saturating_mul(2)) {
            let index = IvfFlatIndexBuilder::default().distance_type(DistanceType::Dot);
            let name = format!("{VECTOR_INDEX}{rows}");
            self.table.create_index(&[VECTOR], Index::IvfFlat(index)).name(name).execute().await.map_err(fault)?;
            for old in names.iter().filter(|name| trained_on(name).is_some()) {
                self.table.drop_index(old).await.map_err(fault)?;
            }
        }
        let extend = OptimizeAction::Index(OptimizeOptions::default());
        self.table.optimize(extend).await.map_err(fault)?;
        Ok(())
    }

    async fn compact(&self, deleted_share: f32) -> Result<()> {
        let options = CompactionOptions { materialize_deletions_threshold: deleted_share, ..Default::default() };
        let compact = OptimizeAction::Compact { options, remap_options: None };
        self.table.optimize(compact).await.map_err(fault)?;
        Ok(())
    }

    async fn prune(&self, older_than: Duration, everything: bool) -> Result<()> {
        let prune = OptimizeAction::Prune {
            older_than: Some(older_than),
            delete_unverified: everything.then_some(true),
            error_if_tagged_old_versions: None,
        };
        self.table.optimize(prune).await.map_err(fault)?;
        Ok(())
    }
}

#[async_trait]
impl VectorIndex for LanceIndex {
    async fn apply(&self, upserts: &[IndexEntry], deletes: &[EntryKey]) -> Result<()> {
        let _writing = self.writing.lock().await;
        guarded(&self.directory, self.write(upserts, deletes)).await
    }

    async fn search(&self, vector: &[f32], filter: &IndexFilter, limit: usize) -> Result<Vec<(EntryKey, f32)>> {
        self.check(vector)?;
        let limit = limit.min(MAX_VECTOR_LIMIT);
        if limit == 0 || filter.admits_nothing() {
            return Ok(Vec::new());
        }
        guarded(&self.directory, async {
            let (table, version) = self.latest().await?;
            match self.ask_memory(&table, version, |rows| rows.search(vector, filter, limit)).await? {
                Some(hits) => Ok(hits),
                None => self.search_table(&table, vector, filter, limit).await,
            }
        })
        .await
    }

    async fn score(&self, vector: &[f32], keys: &[EntryKey]) -> Result<Vec<Option<f32>>> {
        self.check(vector)?;
        if keys.is_empty() {
            return Ok(Vec::new());
        }
        guarded(&self.directory, async {
            let (table, version) = self.latest().await?;
            match self.ask_memory(&table, version, |rows| rows.score(vector, keys)).await? {
                Some(scores) => Ok(scores),
                None => self.score_in_table(&table, vector, keys).await,
            }
        })
        .await
    }

    async fn count(&self) -> Result<u64> {
        guarded(&self.directory, async {
            let (table, _) = self.latest().await?;
            Ok(table.count_rows(None).await.map_err(fault)? as u64)
        })
        .await
    }

    async fn optimize(&self) -> Result<()> {
        let _writing = self.writing.lock().await;
        guarded(&self.directory, async {
            self.table.checkout_latest().await.map_err(fault)?;
            self.compact(0.1).await?;
            self.renew_indices().await?;
            self.prune(Duration::hours(1), false).await
        })
        .await
    }

    async fn purge(&self) -> Result<()> {
        let _writing = self.writing.lock().await;
        guarded(&self.directory, async {
            self.table.checkout_latest().await.map_err(fault)?;
            // A search structure holds copies of the vectors.
            for name in self.index_names().await? {
                self.table.drop_index(&name).await.map_err(fault)?;
            }
            self.compact(0.0).await?;
            self.renew_indices().await?;
            self.prune(Duration::zero(), true).await
        })
        .await
    }
}

/// How many partitions to look into. Partitions number about the square root of the rows; the share grows when a
/// filter leaves few rows in each.
fn probes(rows: usize, filter: &IndexFilter) -> usize {
    let share = if filter.is_scope_only() { 8 } else { 4 };
    (rows.isqrt() / share).max(20)
}

async fn connect(directory: &Path) -> Result<Connection> {
    // A relative path may be taken for the address of a cloud service.
    let path = std::path::absolute(directory).map_err(|error| {
        Error::new(ErrorKind::Storage, "the directory of the vector index has no absolute path").with_source(error)
    })?;
    let path = path.to_str().ok_or_else(|| {
        Error::new(ErrorKind::ConfigInvalid, "the path of the vector index is not valid Unicode")
            .with_context("path", path.display())
    })?;
    lancedb::connect(path).execute().await.map_err(fault)
}
