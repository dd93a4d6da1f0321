//! The embedding cache: vectors by embedder and text, so that a rebuild never embeds a text twice.

use std::sync::Arc;

use async_trait::async_trait;
use memory_core::{Error, ErrorKind, Result};
use memory_models::{EmbeddingCache, TextHash};
use rusqlite::{Connection, OptionalExtension, params};

use super::Store;
use super::row::SqliteResult;
use crate::blocking::blocking;

/// Keeps vectors in the store.
pub(crate) struct SqliteEmbeddingCache(pub(crate) Arc<Store>);

#[async_trait]
impl EmbeddingCache for SqliteEmbeddingCache {
    async fn get_many(&self, embedder_id: &str, hashes: &[TextHash]) -> Result<Vec<Option<Vec<f32>>>> {
        let (store, embedder_id, hashes) = (self.0.clone(), embedder_id.to_owned(), hashes.to_vec());
        blocking(move || {
            store.read("read the embedding cache", |connection| {
                let Some(embedder) = known_embedder(connection, &embedder_id)? else {
                    return Ok(vec![None; hashes.len()]);
                };
                let mut select = connection
                    .prepare_cached("SELECT vector FROM embedding_cache WHERE embedder = ?1 AND hash = ?2")
                    .stored()?;
                let mut vectors = Vec::with_capacity(hashes.len());
                for hash in &hashes {
                    let bytes: Option<Vec<u8>> =
                        select.query_row(params![embedder, hash.0], |row| row.get(0)).optional().stored()?;
                    vectors.push(bytes.map(|bytes| decode(&bytes)).transpose()?);
                }
                Ok(vectors)
            })
        })
        .await
    }

    async fn put_many(&self, embedder_id: &str, vectors: &[(TextHash, Vec<f32>)]) -> Result<()> {
        let (store, embedder_id, vectors) = (self.0.clone(), embedder_id.to_owned(), vectors.to_vec());
        blocking(move || {
            store.write("write the embedding cache", |connection| {
                connection.execute("INSERT OR IGNORE INTO embedders(id) VALUES (?1)", params![embedder_id]).stored()?;
                let embedder = known_embedder(connection, &embedder_id)?;
                let mut insert = connection
                    .prepare_cached(
                        "INSERT OR REPLACE INTO embedding_cache(embedder, hash, vector) VALUES (?1, ?2, ?3)",
                    )
                    .stored()?;
                for (hash, vector) in &vectors {
                    insert.execute(params![embedder, hash.0, encode(vector)]).stored()?;
                }
                Ok(())
            })
        })
        .await
    }
}

impl Store {
    /// Removes cached vectors of these texts, for erasure.
    pub(crate) fn forget_embeddings(connection: &Connection, hashes: &[TextHash]) -> Result<()> {
        let mut delete = connection.prepare_cached("DELETE FROM embedding_cache WHERE hash = ?1").stored()?;
        for hash in hashes {
            delete.execute(params![hash.0]).stored()?;
        }
        Ok(())
    }
}

fn known_embedder(connection: &Connection, id: &str) -> Result<Option<i64>> {
    connection
        .prepare_cached("SELECT key FROM embedders WHERE id = ?1")
        .stored()?
        .query_row(params![id], |row| row.get(0))
        .optional()
        .stored()
}

fn encode(vector: &[f32]) -> Vec<u8> {
    vector.iter().flat_map(|value| value.to_le_bytes()).collect()
}

fn decode(bytes: &[u8]) -> Result<Vec<f32>> {
    let (numbers, rest) = bytes.as_chunks::<4>();
    if !rest.is_empty() {
        return Err(Error::new(ErrorKind::Corrupt, "a cached vector is damaged"));
    }
    Ok(numbers.iter().map(|number| f32::from_le_bytes(*number)).collect())
}
