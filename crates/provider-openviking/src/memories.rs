//! Single memories: written, looked up, listed, changed, forgotten.

use memory_core::{
    DeleteReport, DeleteRequest, Error, ErrorKind, GetReport, IdPrefix, Item, ListPage, ListRequest, ListSort, Memory,
    MemoryChanges, NewMemory, Result, State, UpdateRequest, Viewer, WriteOutcome, WriteResult,
};

use crate::client::Caller;
use crate::document::id_of;
use crate::files::File;
use crate::identity::{Place, essence, name_of_external, name_of_text};
use crate::wire::Entry;

/// How many memories that began as the same text are told apart.
const MOST_NAMESAKES: usize = 50;

/// How many items a list has when it does not say.
const PAGE: usize = 50;

impl File {
    /// The memory as others see it: where nothing better is known, its address is its foreign id.
    pub(crate) fn outward(self) -> Memory {
        let mut memory = self.memory;
        memory.external_id.get_or_insert(self.uri);
        memory
    }
}

impl Caller<'_> {
    /// Writes a memory. The same foreign id, else the same text, is the same memory; `force` keeps a text twice.
    pub(crate) async fn write_memory(&self, new: NewMemory, force: bool) -> Result<WriteResult> {
        if new.body.trim().is_empty() {
            return Ok(WriteResult::rejected("the text is empty"));
        }
        if let Err(error) = new.scope.check() {
            return Ok(WriteResult::rejected(error.message()));
        }
        let place = self.place(&new.scope);
        let named = new.id.clone().or_else(|| new.external_id.as_deref().map(|id| name_of_external(&place, id)));
        let Some(name) = named else { return self.write_text(&place, new, force).await };
        let uri = place.note(&name);
        let Some(known) = self.memory(&place, &uri).await? else { return self.create(&place, &uri, new).await };
        let now = self.server.clock.now();
        let mut memory = fresh(&place, &uri, new, now);
        let former = known.memory;
        (memory.created_at, memory.revision) = (former.created_at, former.revision);
        (memory.updated_at, memory.state) = (former.updated_at, former.state);
        memory.observed_at = former.observed_at;
        if memory == former {
            return Ok(WriteResult::with_id(WriteOutcome::Deduped, name.as_str()));
        }
        (memory.updated_at, memory.observed_at, memory.revision) = (now, now, former.revision + 1);
        self.put(&place, &uri, &memory, true).await?;
        Ok(WriteResult::with_id(WriteOutcome::Superseded, name.as_str()))
    }

    async fn write_text(&self, place: &Place, new: NewMemory, force: bool) -> Result<WriteResult> {
        for turn in 0..MOST_NAMESAKES {
            let name = name_of_text(place, &new.body, turn);
            let uri = place.note(&name);
            match self.memory(place, &uri).await? {
                None => return self.create(place, &uri, new).await,
                Some(known) if !force && essence(&known.memory.body) == essence(&new.body) => {
                    return Ok(WriteResult::with_id(WriteOutcome::Deduped, name.as_str()));
                }
                Some(_) => {}
            }
        }
        Err(Error::new(ErrorKind::Conflict, "there are too many memories that began as this text")
            .with_hint("give the memory an external id"))
    }

    async fn create(&self, place: &Place, uri: &str, new: NewMemory) -> Result<WriteResult> {
        let memory = fresh(place, uri, new, self.server.clock.now());
        self.put(place, uri, &memory, false).await?;
        Ok(WriteResult::with_id(WriteOutcome::Stored, memory.id.as_str()))
    }

    /// What a viewer means by an address, a foreign id, an id or a unique beginning of one.
    pub(crate) async fn locate(&self, viewer: &Viewer, name: &str) -> Result<Option<File>> {
        let name = name.trim();
        if name.is_empty() {
            return Err(Error::invalid("an id is empty"));
        }
        let places = self.places(viewer);
        if name.contains("://") {
            return match places.iter().find(|place| place.contains(name)) {
                Some(place) if name.ends_with(".md") && !name.contains("/.") => self.memory(place, name).await,
                _ => Ok(None),
            };
        }
        let guesses = places.iter().map(|place| (place.clone(), place.note(&name_of_external(place, name)))).collect();
        if let Some(file) = self.memories(guesses).await?.into_iter().next() {
            return Ok(Some(file));
        }
        let Ok(prefix) = name.parse::<IdPrefix>() else { return Ok(None) };
        let mut fitting: Vec<(&Place, Entry)> = Vec::new();
        for place in &places {
            let files = self.files(place).await?.into_iter();
            fitting.extend(
                files.filter(|file| id_of(&file.uri).as_str().starts_with(prefix.as_str())).map(|file| (place, file)),
            );
        }
        match fitting.as_slice() {
            [] => Ok(None),
            [(place, file)] => self.memory(place, &file.uri).await,
            [..] => Err(Error::new(ErrorKind::Conflict, format!("`{name}` fits {} memories", fitting.len()))
                .with_hint("write more characters of the id")),
        }
    }

    /// Looks up names one by one.
    pub(crate) async fn get_memories(&self, viewer: &Viewer, names: &[String]) -> Result<GetReport> {
        let mut report = GetReport::default();
        for name in names {
            match self.locate(viewer, name).await? {
                Some(file) => report.items.push(Item::Memory(Box::new(file.outward()))),
                None => report.missing.push(name.clone()),
            }
        }
        Ok(report)
    }

    /// A page of memories, last changed first unless asked otherwise.
    pub(crate) async fn list_memories(&self, request: &ListRequest) -> Result<ListPage> {
        if request.sort == ListSort::Accessed {
            return Err(Error::new(ErrorKind::Unsupported, "OpenViking does not tell when a memory was last recalled")
                .with_hint("sort by `recent` or `created`"));
        }
        let places = self.places(&request.viewer);
        let mut files: Vec<(&Place, Entry)> = Vec::new();
        for place in &places {
            files.extend(self.files(place).await?.into_iter().map(|file| (place, file)));
        }
        files.sort_by(|(_, a), (_, b)| b.modified.cmp(&a.modified).then_with(|| a.uri.cmp(&b.uri)));
        let start = match &request.cursor {
            None => 0,
            Some(cursor) => {
                cursor.parse().map_err(|_| Error::invalid("the cursor is not one of a list of OpenViking"))?
            }
        };
        let limit = if request.limit == 0 { PAGE } else { request.limit };
        let wanted = files.len();
        let files: Vec<(Place, String)> = files.into_iter().map(|(place, file)| (place.clone(), file.uri)).collect();
        let mut page = ListPage::default();
        // Only the order by change is known before the files are read.
        if request.sort != ListSort::Recent {
            let mut all = self.memories(files).await?;
            all.retain(|file| fits(request, &file.memory));
            match request.sort {
                ListSort::Created => all.sort_by_key(|file| std::cmp::Reverse(file.memory.created_at)),
                _ => all.sort_by_key(|file| std::cmp::Reverse(file.memory.relevance)),
            }
            page.next = (start + limit < all.len()).then(|| (start + limit).to_string());
            let items = all.into_iter().skip(start).take(limit);
            page.items = items.map(|file| Item::Memory(Box::new(file.outward()))).collect();
            return Ok(page);
        }
        let mut position = start;
        while page.items.len() < limit && position < wanted {
            let step = limit - page.items.len();
            let part: Vec<(Place, String)> = files.iter().skip(position).take(step).cloned().collect();
            position += part.len();
            let read = self.memories(part).await?.into_iter().filter(|file| fits(request, &file.memory));
            page.items.extend(read.map(|file| Item::Memory(Box::new(file.outward()))));
        }
        page.next = (position < wanted).then(|| position.to_string());
        Ok(page)
    }

    /// Changes one memory. The caller keeps two changes of this process apart.
    pub(crate) async fn update_memory(&self, request: UpdateRequest) -> Result<WriteResult> {
        if request.changes.body.as_ref().is_some_and(|body| body.trim().is_empty()) {
            return Err(Error::invalid("the new text is empty").with_hint("delete the memory instead"));
        }
        let missing = || Error::not_found(format!("OpenViking has no memory `{}`", request.id));
        let File { place, uri, mut memory } = self.locate(&request.viewer, &request.id).await?.ok_or_else(missing)?;
        if !request.viewer.may_write(&place.scope) {
            return Err(Error::new(ErrorKind::Forbidden, format!("this viewer may not change `{}`", request.id)));
        }
        if let Some(expected) = request.expected_revision.filter(|expected| *expected != memory.revision) {
            let message = format!("`{}` stands at revision {}, not {expected}", request.id, memory.revision);
            return Err(Error::new(ErrorKind::Conflict, message).with_hint("read it again"));
        }
        apply(request.changes, &mut memory);
        memory.revision += 1;
        memory.updated_at = self.server.clock.now();
        self.put(&place, &uri, &memory, true).await?;
        Ok(WriteResult::with_id(WriteOutcome::Stored, memory.id.as_str()))
    }

    /// Forgets memories.
    pub(crate) async fn delete_memories(&self, request: &DeleteRequest) -> Result<DeleteReport> {
        let mut report = DeleteReport { dry_run: request.dry_run, ..DeleteReport::default() };
        for name in &request.ids {
            let Some(file) = self.locate(&request.viewer, name).await? else {
                report.missing.push(name.clone());
                continue;
            };
            if !request.viewer.may_write(&file.place.scope) {
                return Err(Error::new(ErrorKind::Forbidden, format!("this viewer may not forget `{name}`")));
            }
            if !request.dry_run {
                self.delete(&file.place, &file.uri).await?;
            }
            let id = file.memory.id.to_string();
            if !report.deleted.contains(&id) {
                report.deleted.push(id);
            }
        }
        if !report.deleted.is_empty() {
            report.notes.push("OpenViking cannot restore what is deleted".to_owned());
        }
        if request.erase && !report.deleted.is_empty() {
            report.notes.push(
                "messages from which OpenViking extracted a memory stay in the archive of their session".to_owned(),
            );
        }
        Ok(report)
    }
}

fn fits(request: &ListRequest, memory: &Memory) -> bool {
    memory.state == request.state.unwrap_or(State::Active)
        && (request.categories.is_empty()
            || memory.category.as_ref().is_some_and(|one| request.categories.contains(one)))
        && request.tags.iter().all(|tag| memory.tags.contains(tag))
}

/// A memory as it is first written.
fn fresh(place: &Place, uri: &str, new: NewMemory, now: memory_core::Timestamp) -> Memory {
    let created_at = new.created_at.unwrap_or(now);
    Memory {
        id: id_of(uri),
        scope: place.scope.clone(),
        kind: new.kind,
        category: new.category,
        title: new.title,
        body: new.body,
        tags: new.tags,
        keywords: new.keywords,
        relevance: new.relevance,
        quality: new.quality.unwrap_or(0.5),
        attrs: new.attrs,
        place: new.place,
        origin: new.origin,
        source_sessions: new.source_sessions,
        external_id: new.external_id,
        event_at: new.event_at,
        observed_at: new.observed_at.unwrap_or(created_at),
        created_at,
        updated_at: created_at,
        accessed_at: None,
        access_count: 0,
        expires_at: new.expires_at,
        state: State::Active,
        compression: memory_core::Compression::Raw,
        pinned: new.pinned,
        revision: 1,
    }
}

fn apply(changes: MemoryChanges, memory: &mut Memory) {
    fn set<T>(field: &mut T, change: Option<T>) {
        if let Some(value) = change {
            *field = value;
        }
    }
    set(&mut memory.body, changes.body);
    set(&mut memory.title, changes.title);
    set(&mut memory.category, changes.category);
    set(&mut memory.tags, changes.tags);
    set(&mut memory.keywords, changes.keywords);
    set(&mut memory.relevance, changes.relevance);
    set(&mut memory.event_at, changes.event_at);
    set(&mut memory.expires_at, changes.expires_at);
    set(&mut memory.pinned, changes.pinned);
    for (name, value) in changes.attrs.unwrap_or_default() {
        if value.is_null() {
            memory.attrs.shift_remove(&name);
        } else {
            memory.attrs.insert(name, value);
        }
    }
}
