//! Files of the server: read, written, listed, found and deleted.

use std::collections::HashMap;

use futures::StreamExt;
use memory_core::{Memory, Result, Timestamp};
use serde_json::{Value, json};

use crate::client::{Call, Caller};
use crate::document;
use crate::error::{exists_already, is_missing, of_reply};
use crate::identity::Place;
use crate::wire::{Entry, FindResult, Found, body};

/// How many files are read at once.
const READ_AT_ONCE: usize = 8;

/// The most entries asked for in one list; servers default to far fewer.
const MOST_ENTRIES: &str = "100000";

/// Folders that extracted events need are five deep; servers default to three.
const DEEPEST: &str = "16";

/// What is asked of the search of a server.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Question<'a> {
    pub(crate) query: &'a str,
    pub(crate) limit: usize,
    pub(crate) memories: bool,
    pub(crate) resources: bool,
    /// Only what is below this address.
    pub(crate) below: Option<&'a str>,
    /// Let the server's model think about the question, in the light of this session.
    pub(crate) deep: Option<&'a str>,
}

/// A file with its text and time.
#[derive(Debug, Clone)]
pub(crate) struct File {
    pub(crate) place: Place,
    pub(crate) uri: String,
    pub(crate) memory: Memory,
}

impl Caller<'_> {
    /// The text of a file as it was written.
    async fn read(&self, place: &Place, uri: &str) -> Result<Option<String>> {
        let segments = ["api", "v1", "content", "read"];
        self.found(&Call::get(&segments).query(&[("uri", uri)]).peer(place.peer.as_deref())).await
    }

    /// When a file was last changed; now, when the server does not say.
    pub(crate) async fn modified(&self, peer: Option<&str>, uri: &str) -> Result<Timestamp> {
        let segments = ["api", "v1", "fs", "stat"];
        let entry: Option<Entry> = self.found(&Call::get(&segments).query(&[("uri", uri)]).peer(peer)).await?;
        Ok(entry.and_then(|entry| entry.modified.parse().ok()).unwrap_or_else(|| self.server.clock.now()))
    }

    /// The memory in a file; `None` when there is no such file.
    pub(crate) async fn memory(&self, place: &Place, uri: &str) -> Result<Option<File>> {
        let Some(text) = self.read(place, uri).await? else { return Ok(None) };
        let now = self.server.clock.now();
        let mut memory = document::parse(place, uri, &text, now, now);
        if memory.external_id.as_deref() == Some(uri) {
            let modified = self.modified(place.peer.as_deref(), uri).await?;
            memory = document::parse(place, uri, &text, modified, now);
        }
        Ok(Some(File { place: place.clone(), uri: uri.to_owned(), memory }))
    }

    /// The memories in files, in order; files that are gone are left out.
    pub(crate) async fn memories(&self, files: Vec<(Place, String)>) -> Result<Vec<File>> {
        let reads = files.into_iter().map(|(place, uri)| async move { self.memory(&place, &uri).await });
        let read: Vec<Result<Option<File>>> = futures::stream::iter(reads).buffered(READ_AT_ONCE).collect().await;
        read.into_iter().filter_map(Result::transpose).collect()
    }

    /// Writes a memory to its file, whether that is there or not. Servers up to 0.4.9 insist on knowing which.
    pub(crate) async fn put(&self, place: &Place, uri: &str, memory: &Memory, is_there: bool) -> Result<()> {
        let content = document::render(memory);
        let mut modes = ["create", "replace"];
        if is_there {
            modes.reverse();
        }
        let [first, second] = modes;
        let reply = self.post_content(place, uri, &content, first).await?;
        let reply = if exists_already(&reply) || is_missing(&reply) {
            self.post_content(place, uri, &content, second).await?
        } else {
            reply
        };
        if reply.is_success() { Ok(()) } else { Err(of_reply(self.service(), &reply)) }
    }

    async fn post_content(&self, place: &Place, uri: &str, content: &str, mode: &str) -> Result<memory_http::Reply> {
        let segments = ["api", "v1", "content", "write"];
        let body = json!({"uri": uri, "content": content, "mode": mode});
        self.reply(&Call::post(&segments, &body).peer(place.peer.as_deref())).await
    }

    /// Deletes a file. One that is not there is deleted already.
    pub(crate) async fn delete(&self, place: &Place, uri: &str) -> Result<()> {
        let segments = ["api", "v1", "fs"];
        let call = Call::delete(&segments);
        let _: Option<Value> = self.found(&call.query(&[("uri", uri)]).peer(place.peer.as_deref())).await?;
        Ok(())
    }

    /// Every memory file of a folder, whichever subfolder it is in.
    pub(crate) async fn files(&self, place: &Place) -> Result<Vec<Entry>> {
        let segments = ["api", "v1", "fs", "tree"];
        let query = [
            ("uri", place.root.as_str()),
            ("output", "original"),
            ("node_limit", MOST_ENTRIES),
            ("level_limit", DEEPEST),
        ];
        let entries: Option<Vec<Entry>> =
            self.found(&Call::get(&segments).query(&query).peer(place.peer.as_deref())).await?;
        let mut entries = entries.unwrap_or_default();
        entries.retain(|entry| {
            let name = entry.uri.rsplit('/').next().unwrap_or_default();
            !entry.is_folder && name.ends_with(".md") && !name.starts_with('.') && place.contains(&entry.uri)
        });
        Ok(entries)
    }

    /// Asks the server what fits a question. A server that keeps peers apart is asked for each one alone.
    pub(crate) async fn find(&self, question: Question<'_>, places: &[Place]) -> Result<FindResult> {
        let alone = !self.server.config.peer.is_empty() && self.connection.has_peers;
        let groups: Vec<&[Place]> = if alone { places.chunks(1).collect() } else { vec![places] };
        let mut all = FindResult::default();
        for (position, group) in groups.into_iter().enumerate() {
            let resources = question.resources && position == 0;
            let found = self.find_in(Question { resources, ..question }, group).await?;
            all.memories.extend(found.memories);
            all.resources.extend(found.resources);
        }
        Ok(all)
    }

    async fn find_in(&self, question: Question<'_>, places: &[Place]) -> Result<FindResult> {
        let mut targets: Vec<&str> = Vec::new();
        let mut kinds = Vec::new();
        if question.memories {
            targets.extend(places.iter().map(|place| place.root.as_str()));
            kinds.push("memory");
        }
        if question.resources {
            targets.push("viking://resources");
            kinds.push("resource");
        }
        if let Some(below) = question.below {
            targets = vec![below];
        }
        if targets.is_empty() {
            return Ok(FindResult::default());
        }
        let threshold = self.server.config.threshold;
        let body = body([
            ("query", Some(json!(question.query))),
            ("target_uri", Some(json!(targets))),
            ("limit", Some(json!(question.limit))),
            ("context_type", self.connection.has_peers.then(|| json!(kinds))),
            ("level", self.connection.has_peers.then(|| json!(2))),
            ("score_threshold", (threshold > 0.0).then(|| json!(threshold))),
            ("session_id", question.deep.map(|session| json!(session))),
        ]);
        let segments = ["api", "v1", "search", if question.deep.is_some() { "search" } else { "find" }];
        let peer = places.first().and_then(|place| place.peer.as_deref());
        let mut found: FindResult = self.result(&Call::post(&segments, &body).peer(peer)).await?;
        found.memories.retain(Found::is_file);
        found.resources.retain(Found::is_file);
        Ok(found)
    }

    /// The memories that were found in these folders, best first, with how related they are and the server's own score.
    pub(crate) async fn read_found(
        &self,
        found: &[Found],
        places: &[Place],
        known: &mut HashMap<String, File>,
    ) -> Result<Vec<(f64, f64, File)>> {
        let of = |uri: &str| places.iter().find(|place| place.contains(uri));
        let unknown = found.iter().filter(|found| !known.contains_key(&found.uri));
        let wanted = unknown.filter_map(|found| Some((of(&found.uri)?.clone(), found.uri.clone()))).collect();
        known.extend(self.memories(wanted).await?.into_iter().map(|file| (file.uri.clone(), file)));
        let mut read: Vec<(f64, f64, File)> = found
            .iter()
            .filter_map(|found| Some((found.relatedness(), found.score, known.get(&found.uri)?.clone())))
            .collect();
        read.sort_by(|(a, _, x), (b, _, y)| b.total_cmp(a).then_with(|| x.uri.cmp(&y.uri)));
        Ok(read)
    }
}
