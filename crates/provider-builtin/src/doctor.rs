//! The doctor: looks at every part, does a live write → recall → forget round trip, and says of each finding what to do.

use memory_core::{
    Error, ErrorKind, MemoryProvider, NewMemory, NoProgress, Owner, Result, Scope, SearchRequest, Viewer, WriteItem,
    WriteRequest,
};
use memory_index::{IndexFilter, LanceIndex, TextIndex, VectorIndex};
use memory_models::Purpose;
use serde::Serialize;

use crate::blocking::blocking;
use crate::indexer::ReindexTarget;
use crate::provider::BuiltinProvider;
use crate::store::{IndexPhase, ResolvedItem, Store};

/// The tenant of the round trip, apart from everybody's memories.
const DOCTOR: &str = "__doctor__";

/// Changes that may wait without a remark.
const ORDINARY_LAG: u64 = 2_000;

/// One finding.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct DoctorCheck {
    /// What was looked at.
    pub name: String,
    /// True when it is as it should be.
    pub ok: bool,
    /// The finding, in one line.
    pub message: String,
    /// What to do, or what was done.
    pub fix: Option<String>,
}

/// All findings.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct DoctorReport {
    /// True when nothing is wrong.
    pub ok: bool,
    /// The findings.
    pub checks: Vec<DoctorCheck>,
}

impl BuiltinProvider {
    /// Looks at every part. With `fix`, damaged or lagging indexes are mended.
    pub async fn doctor(&self, fix: bool) -> Result<DoctorReport> {
        let mut checks = vec![self.check_store().await, self.check_embedder().await];
        checks.push(self.check_text_index(fix).await);
        checks.push(self.check_vector_index(fix).await);
        checks.push(self.check_rebuild(fix).await);
        checks.push(self.check_lag(fix).await);
        checks.push(self.check_documents().await);
        checks.push(self.check_round_trip().await);
        Ok(DoctorReport { ok: checks.iter().all(|check| check.ok), checks })
    }

    async fn check_store(&self) -> DoctorCheck {
        let this = self.clone();
        let found = blocking(move || {
            this.store().maintain("check the store", |connection| {
                let mut statement = connection.prepare("PRAGMA quick_check(1)")?;
                statement.query_row([], |row| row.get::<_, String>(0))
            })
        })
        .await;
        match found {
            Ok(answer) if answer == "ok" => good("store", "every page can be read"),
            Ok(answer) => bad("store", answer, "restore store.db from a backup, or re-import an export bundle"),
            Err(error) => failed("store", &error),
        }
    }

    async fn check_embedder(&self) -> DoctorCheck {
        let embedder = self.indexes().embedder();
        let sample = ["The doctor checks the embedder.".to_owned()];
        match embedder.embed(&sample, Purpose::Query).await {
            Ok(_) => good("embedder", format!("{} answers", embedder.id())),
            Err(error) => failed("embedder", &error),
        }
    }

    async fn check_text_index(&self, fix: bool) -> DoctorCheck {
        let found = match self.indexes().text().await {
            Ok(Some((_, index))) => {
                blocking(move || {
                    index.verify()?;
                    index.count()
                })
                .await
            }
            Ok(None) => return good("text index", "nothing has been indexed yet; search reads the store"),
            Err(error) => Err(error),
        };
        match found {
            Ok(count) => good("text index", format!("{count} entries can be read")),
            Err(error) => self.mend("text index", &error, ReindexTarget::Text, fix).await,
        }
    }

    async fn check_vector_index(&self, fix: bool) -> DoctorCheck {
        let found = match self.indexes().vector().await {
            Ok(Some((_, index))) => self.read_vectors(&index).await,
            Ok(None) => return self.missing_vector_index(fix).await,
            Err(error) => Err(error),
        };
        match found {
            Ok(count) => good("vector index", format!("{count} vectors can be read")),
            Err(error) => self.mend("vector index", &error, ReindexTarget::Vector, fix).await,
        }
    }

    /// Counts the vectors after a search among them: the count alone reads no vector.
    async fn read_vectors(&self, index: &LanceIndex) -> Result<u64> {
        let sample = ["The doctor looks at the vectors.".to_owned()];
        // An embedder that fails has a finding of its own.
        let vectors = self.indexes().embedder().embed(&sample, Purpose::Query).await.unwrap_or_default();
        if let Some(vector) = vectors.into_iter().next().flatten() {
            let scopes = self.read("find scopes", |connection| Store::all_scopes(connection)).await?;
            let filter = IndexFilter::scopes(scopes.iter().map(Scope::key));
            index.search(&vector, &filter, 1).await?;
        }
        index.count().await
    }

    async fn missing_vector_index(&self, fix: bool) -> DoctorCheck {
        let states =
            self.read("find an index", |connection| Store::index_states(connection, crate::indexer::VECTOR)).await;
        match states {
            Ok(states) if !states.is_empty() && self.indexes().embedder().id() != "none" => {
                let error = Error::new(ErrorKind::Corrupt, "it was made by another embedder");
                self.mend("vector index", &error, ReindexTarget::Vector, fix).await
            }
            Ok(_) => good("vector index", "no vectors have been indexed yet"),
            Err(error) => failed("vector index", &error),
        }
    }

    async fn mend(&self, name: &str, error: &Error, target: ReindexTarget, fix: bool) -> DoctorCheck {
        if !fix {
            return bad(name, error.to_string(), "run `memory doctor --fix` or `memory reindex`; nothing is lost");
        }
        self.indexes().close().await;
        match self.reindex(target, &NoProgress).await {
            Ok(_) => DoctorCheck {
                name: name.to_owned(),
                ok: true,
                message: format!("it was damaged: {error}"),
                fix: Some("it was built anew".to_owned()),
            },
            Err(error) => failed(name, &error),
        }
    }

    /// An interrupted rebuild does no harm, the index in use is whole, but changes are kept for it until it goes on.
    async fn check_rebuild(&self, fix: bool) -> DoctorCheck {
        let name = "rebuild";
        let unfinished = self.read("find an unfinished index", |connection| {
            let is_unfinished = |kind: &str| -> Result<bool> {
                let states = Store::index_states(connection, kind)?;
                Ok(states.iter().any(|state| state.phase == IndexPhase::Building))
            };
            Ok((is_unfinished(crate::indexer::TEXT)?, is_unfinished(crate::indexer::VECTOR)?))
        });
        let target = match unfinished.await {
            Ok((false, false)) => return good(name, "no rebuild is unfinished"),
            Ok((true, true)) => ReindexTarget::All,
            Ok((true, false)) => ReindexTarget::Text,
            Ok((false, true)) => ReindexTarget::Vector,
            Err(error) => return failed(name, &error),
        };
        let mut check = good(name, "a rebuild is under way or was interrupted; the index in use is whole");
        check.fix = Some("run `memory doctor --fix` or `memory reindex` to go on with it".to_owned());
        if fix {
            match self.reindex(target, &NoProgress).await {
                Ok(_) => check.fix = Some("it was finished".to_owned()),
                // Whoever has the lock is at it.
                Err(error) if error.kind() == ErrorKind::Busy => {}
                Err(error) => return failed(name, &error),
            }
        }
        check
    }

    async fn check_lag(&self, fix: bool) -> DoctorCheck {
        if fix && let Err(error) = self.index_pending(&NoProgress).await {
            return failed("index lag", &error);
        }
        match self.indexer().lag().await {
            Ok(lag) if lag <= ORDINARY_LAG => good("index lag", format!("{lag} changes wait, search sees them")),
            Ok(lag) => bad(
                "index lag",
                format!("{lag} changes wait, more than a search looks through"),
                "run `memory doctor --fix` or `memory reindex`",
            ),
            Err(error) => failed("index lag", &error),
        }
    }

    async fn check_documents(&self) -> DoctorCheck {
        match self.sync_documents(&NoProgress).await {
            Ok(report) if report.skipped.is_empty() => good("documents", "every Markdown file can be read"),
            Ok(report) => {
                let first: Vec<String> =
                    report.skipped.iter().take(3).map(|(path, reason)| format!("{path}: {reason}")).collect();
                // A file left out is told, but the memory itself is sound.
                DoctorCheck {
                    name: "documents".to_owned(),
                    ok: true,
                    message: format!("{} files are left out ({})", report.skipped.len(), first.join("; ")),
                    fix: Some("mend or move these files if they should be found".to_owned()),
                }
            }
            Err(error) => failed("documents", &error),
        }
    }

    async fn check_round_trip(&self) -> DoctorCheck {
        match self.round_trip().await {
            Ok(()) => good("round trip", "a memory was written, recalled and forgotten"),
            Err(error) => failed("round trip", &error),
        }
    }

    async fn round_trip(&self) -> Result<()> {
        let mark = self.store().next_id();
        let viewer = Viewer::user(DOCTOR, DOCTOR);
        let scope = Scope { user: DOCTOR.to_owned(), space: DOCTOR.to_owned(), owner: Owner::User };
        let memory = NewMemory::new(scope, format!("The doctor wrote this as {mark} 医生的检查"));
        let request = WriteRequest { items: vec![WriteItem::Memory(Box::new(memory))], force: true, repeated: false };
        let written = self.write(request).await?;
        let id = written.items.into_iter().next().and_then(|item| item.id);
        let id = id.ok_or_else(|| Error::unexpected("the written memory has no id"))?;
        for question in [format!("What did the doctor write as {mark}?"), "医生的检查".to_owned()] {
            let recall = self.search(SearchRequest::new(viewer.clone(), question)).await?;
            if !recall.hits.iter().any(|hit| hit.id.as_str() == id) {
                return Err(
                    Error::unexpected("what was written is not recalled").with_hint("run `memory doctor --fix`")
                );
            }
        }
        let (asked, forgotten) = (viewer.clone(), id.clone());
        self.write_store("forget", move |connection| match Store::resolve(connection, &asked, &forgotten)? {
            Some(ResolvedItem::Memory(row)) => Store::erase_memory(connection, &row),
            _ => Err(Error::unexpected("the written memory cannot be found by its id")),
        })
        .await?;
        let recall = self.search(SearchRequest::new(viewer, "医生的检查")).await?;
        match recall.hits.iter().any(|hit| hit.id.as_str() == id) {
            true => Err(Error::unexpected("what was forgotten is still recalled")),
            false => Ok(()),
        }
    }
}

fn good(name: &str, message: impl Into<String>) -> DoctorCheck {
    DoctorCheck { name: name.to_owned(), ok: true, message: message.into(), fix: None }
}

fn bad(name: &str, message: impl Into<String>, fix: &str) -> DoctorCheck {
    DoctorCheck { name: name.to_owned(), ok: false, message: message.into(), fix: Some(fix.to_owned()) }
}

fn failed(name: &str, error: &Error) -> DoctorCheck {
    DoctorCheck { name: name.to_owned(), ok: false, message: error.to_string(), fix: error.hints().first().cloned() }
}
