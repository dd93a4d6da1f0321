//! The vector index on lancedb. Tables that fit are scanned in memory, larger ones through an IVF index.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};

use arrow_array::{RecordBatch, RecordBatchIterator};
use arrow_schema::{DataType, SchemaRef};
use async_trait::async_trait;
use futures::TryStreamExt;
use lancedb::query::{ExecutableQuery, QueryBase, Select};
use lancedb::table::Duration;
use lancedb::{Connection, DistanceType, Table};
use memory_core::{Error, ErrorKind, Result};

use super::fault::{fault, guarded};
use super::filter::{condition, is_one_of, simplified};
use super::maintenance::{compact, index_names, probes, prune, renew_indices};
use super::residence::Residence;
use super::rows::{KEY, REVISION, VECTOR, batch, components, keys, schema};
use super::vectors::dot;
use super::{MAX_VECTOR_LIMIT, VectorIndex};
use crate::entry::{EntryKey, IndexEntry, IndexFilter};
use crate::ranking::Best;

const TABLE: &str = "entries";
/// The column that the engine adds to what it finds. Not asking for it makes the engine warn at every search.
const DISTANCE: &str = "_distance";
/// Keys in one condition.
const KEYS_AT_ONCE: usize = 500;

/// Names the format of the vector index: part of every fingerprint.
pub fn vector_format() -> &'static str {
    "vector-2-f32"
}

/// A vector index in a directory.
pub struct LanceIndex {
    directory: PathBuf,
    dimensions: usize,
    schema: SchemaRef,
    table: Table,
    residence: Residence,
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

    /// Keeps at most `rows` rows in memory; with 0 every search goes to the files.
    pub fn with_resident_rows(mut self, rows: usize) -> Self {
        self.residence.limit(rows);
        self
    }

    /// Keeps the vectors of at most `rows` rows in memory as they are, and one byte a component of more rows.
    pub fn with_exact_rows(mut self, rows: usize) -> Self {
        self.residence.limit_exact(rows);
        self
    }

    /// How many rows are in memory now. A search that finds a large table unchanged has it loaded in the background.
    pub fn rows_in_memory(&self) -> usize {
        self.residence.rows()
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
            residence: Residence::new(dimensions),
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

    async fn search_table(
        &self,
        table: &Table,
        vector: &[f32],
        filter: &IndexFilter,
        limit: usize,
    ) -> Result<Vec<(EntryKey, f32)>> {
        let rows = table.count_rows(None).await.map_err(fault)?;
        let filter = &simplified(filter);
        let query = table
            .query()
            .only_if_expr(condition(filter))
            .limit(limit)
            .select(Select::columns(&[KEY, VECTOR, DISTANCE]))
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
        self.residence.follow(before, &commits, &rows, &deletes);
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
            if let Some(hits) = self.residence.search(version, vector, filter, limit).await? {
                return Ok(hits);
            }
            // Another search may replace the rows in memory between loading and asking.
            if self.residence.load(&self.directory, &table, version).await?
                && let Some(hits) = self.residence.search(version, vector, filter, limit).await?
            {
                return Ok(hits);
            }
            self.search_table(&table, vector, filter, limit).await
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
            match self.residence.score(version, vector, keys) {
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
            compact(&self.table, 0.1).await?;
            renew_indices(&self.table).await?;
            prune(&self.table, Duration::hours(1), false).await
        })
        .await
    }

    async fn version(&self) -> Result<u64> {
        guarded(&self.directory, async { Ok(self.latest().await?.1) }).await
    }

    async fn purge(&self) -> Result<()> {
        let _writing = self.writing.lock().await;
        guarded(&self.directory, async {
            self.table.checkout_latest().await.map_err(fault)?;
            // A search structure holds copies of the vectors.
            for name in index_names(&self.table).await? {
                self.table.drop_index(&name).await.map_err(fault)?;
            }
            compact(&self.table, 0.0).await?;
            renew_indices(&self.table).await?;
            prune(&self.table, Duration::zero(), true).await
        })
        .await
    }
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
