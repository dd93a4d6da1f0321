//! The store against a plain map: random operations, reopened and killed in between, and the two always agree.
//!
//! Short by default; `MEMORY_TEST_STEPS` makes it long.

use std::collections::BTreeMap;

use memory_core::{
    DeleteRequest, Item, ListRequest, MemoryChanges, NewMemory, NewMessage, NoProgress, RecallReason, Role, Scope,
    SearchRequest, State, UpdateRequest, Viewer, WriteItem, WriteOutcome, WriteRequest,
};
use memory_engine::{Memory, ReindexTarget};
use provider_builtin::BuiltinProvider;
use tests::{Home, Numbers, number_of};

/// Sentences with a place for a word that nothing else has.
const SENTENCES: [&str; 6] = [
    "The recipe calls for {} and a pinch of salt",
    "会议室的钥匙在{}那里",
    "{} が好きな食べ物です",
    "Remember that {} arrives by the evening train 🚂",
    "{} 아침에 산책합니다",
    "Nobody in the office has seen {} since spring",
];

#[derive(Debug, Clone, PartialEq)]
struct Expected {
    word: String,
    text: String,
    state: State,
}

#[derive(Debug, Default)]
struct Model {
    memories: BTreeMap<String, Expected>,
    /// Messages in the order they were said.
    messages: Vec<(String, String)>,
    /// Texts that were forgotten and are refused.
    forgotten: Vec<String>,
    words: usize,
}

impl Model {
    /// A word that no text has, in letters only: digits would be guarded as numbers.
    fn word(&mut self) -> String {
        self.words += 1;
        let mut rest = self.words;
        let mut word = String::from("zu");
        while rest > 0 {
            word.push(char::from(b'a' + u8::try_from(rest % 20).unwrap()));
            word.push('o');
            rest /= 20;
        }
        word + "x"
    }

    fn text(&mut self, numbers: &mut Numbers) -> (String, String) {
        let word = self.word();
        let text = numbers.pick(&SENTENCES).replace("{}", &word);
        (word, text)
    }

    fn of_state(&self, state: State) -> Vec<String> {
        self.memories.iter().filter(|(_, it)| it.state == state).map(|(id, _)| id.clone()).collect()
    }
}

fn viewer() -> Viewer {
    Viewer::default()
}

fn item(text: &str) -> WriteItem {
    WriteItem::Memory(Box::new(NewMemory::new(Scope::default(), text)))
}

struct Run {
    home: Home,
    memory: Memory,
    provider: BuiltinProvider,
    model: Model,
    numbers: Numbers,
}

impl Run {
    async fn new(seed: u64) -> Self {
        let home = Home::new();
        let memory = home.open().await;
        let provider = memory.builtin.as_deref().unwrap().clone();
        Self { home, memory, provider, model: Model::default(), numbers: Numbers::seeded(seed) }
    }

    async fn reopen(&mut self) {
        self.memory.engine.shutdown().await.unwrap();
        self.memory = self.home.open().await;
        self.provider = self.memory.builtin.as_deref().unwrap().clone();
    }

    async fn step(&mut self) -> &'static str {
        match self.numbers.below(100) {
            0..24 => self.write(1).await,
            24..32 => self.write(4).await,
            32..38 => self.write_again().await,
            38..50 => self.update().await,
            50..60 => self.forget(false).await,
            60..66 => self.restore().await,
            66..70 => self.forget(true).await,
            70..80 => self.say().await,
            80..87 => self.index().await,
            87..90 => self.reindex().await,
            90..94 => self.add_from_a_process_that_dies().await,
            94..96 => self.try_forgotten().await,
            _ => {
                self.reopen().await;
                self.check().await;
                "reopen"
            }
        }
    }

    async fn write(&mut self, count: usize) -> &'static str {
        let texts: Vec<(String, String)> = (0..count).map(|_| self.model.text(&mut self.numbers)).collect();
        let items = texts.iter().map(|(_, text)| item(text)).collect();
        let report = self.memory.engine.write(WriteRequest { items, force: true, repeated: false }).await.unwrap();
        for (result, (word, text)) in report.items.into_iter().zip(texts) {
            assert_eq!(result.outcome, WriteOutcome::Stored, "{text}: {result:?}");
            self.model.memories.insert(result.id.unwrap(), Expected { word, text, state: State::Active });
        }
        "write"
    }

    async fn write_again(&mut self) -> &'static str {
        let active = self.model.of_state(State::Active);
        if active.is_empty() {
            return "nothing to repeat";
        }
        let id = self.numbers.pick(&active).clone();
        let text = self.model.memories[&id].text.clone();
        let items = vec![item(&text), item(&format!("  {text}  "))];
        let report = self.memory.engine.write(WriteRequest { items, force: false, repeated: false }).await.unwrap();
        for result in report.items {
            assert_eq!((result.outcome, result.id.as_ref()), (WriteOutcome::Deduped, Some(&id)), "{text}");
        }
        "write again"
    }

    async fn try_forgotten(&mut self) -> &'static str {
        if self.model.forgotten.is_empty() {
            return "nothing forgotten";
        }
        let text = self.numbers.pick(&self.model.forgotten).clone();
        let report = self
            .memory
            .engine
            .write(WriteRequest { items: vec![item(&text)], force: false, repeated: false })
            .await
            .unwrap();
        assert_eq!(report.items[0].outcome, WriteOutcome::Rejected, "{text}");
        "write what was forgotten"
    }

    async fn update(&mut self) -> &'static str {
        let active = self.model.of_state(State::Active);
        if active.is_empty() {
            return "nothing to update";
        }
        let id = self.numbers.pick(&active).clone();
        let (word, text) = self.model.text(&mut self.numbers);
        let request = UpdateRequest {
            viewer: viewer(),
            id: id.clone(),
            changes: MemoryChanges { body: Some(text.clone()), ..MemoryChanges::default() },
            expected_revision: None,
        };
        self.memory.engine.update(request).await.unwrap();
        self.model.memories.insert(id, Expected { word, text, state: State::Active });
        "update"
    }

    async fn forget(&mut self, erase: bool) -> &'static str {
        let mut there = self.model.of_state(State::Active);
        if erase {
            there.extend(self.model.of_state(State::Deleted));
        }
        if there.is_empty() {
            return "nothing to forget";
        }
        let id = self.numbers.pick(&there).clone();
        let request = DeleteRequest { viewer: viewer(), ids: vec![id.clone()], erase, dry_run: false };
        let report = self.memory.engine.delete(request).await.unwrap();
        assert_eq!(report.deleted, std::slice::from_ref(&id));
        let expected = self.model.memories.get_mut(&id).unwrap();
        if !self.model.forgotten.contains(&expected.text) {
            self.model.forgotten.push(expected.text.clone());
        }
        expected.state = State::Deleted;
        if erase {
            self.model.memories.remove(&id);
            return "erase";
        }
        "forget"
    }

    async fn restore(&mut self) -> &'static str {
        let deleted = self.model.of_state(State::Deleted);
        if deleted.is_empty() {
            return "nothing to restore";
        }
        let id = self.numbers.pick(&deleted).clone();
        let report = self.provider.restore(&viewer(), std::slice::from_ref(&id), false).await.unwrap();
        assert_eq!(report.restored, std::slice::from_ref(&id));
        let expected = self.model.memories.get_mut(&id).unwrap();
        expected.state = State::Active;
        self.model.forgotten.retain(|text| *text != expected.text);
        "restore"
    }

    async fn say(&mut self) -> &'static str {
        let text = format!("someone said {}", self.model.word());
        let message = NewMessage::new(Scope::default(), "talk", Role::User, text.clone());
        let items = vec![WriteItem::Message(Box::new(message))];
        let report = self.memory.engine.write(WriteRequest { items, force: false, repeated: false }).await.unwrap();
        self.model.messages.push((report.items[0].id.clone().unwrap(), text));
        "say"
    }

    async fn index(&mut self) -> &'static str {
        let report = self.provider.index_pending(&NoProgress).await.unwrap();
        assert_eq!((report.lag, report.skipped), (0, None));
        "index"
    }

    async fn reindex(&mut self) -> &'static str {
        let target = *self.numbers.pick(&[ReindexTarget::All, ReindexTarget::Text, ReindexTarget::Vector]);
        self.provider.reindex(target, &NoProgress).await.unwrap();
        "reindex"
    }

    async fn add_from_a_process_that_dies(&mut self) -> &'static str {
        let (word, text) = self.model.text(&mut self.numbers);
        let durable = self.numbers.below(2) == 1;
        let failpoint = if durable { "after_commit" } else { "before_commit" };
        let run = self.home.run_until(failpoint, 1, &["add", "--force", &text]);
        assert!(run.aborted(), "{run:?}");
        if durable {
            let request = SearchRequest::new(viewer(), word.clone());
            let recall = self.memory.engine.search(request).await.unwrap();
            assert_eq!(recall.hits[0].text, text, "{recall:?}");
            let id = recall.hits[0].id.to_string();
            self.model.memories.insert(id, Expected { word, text, state: State::Active });
        }
        "a writer dies"
    }

    async fn check(&self) {
        for (id, expected) in &self.model.memories {
            let report = self.memory.engine.get(&viewer(), std::slice::from_ref(id)).await.unwrap();
            match (expected.state, &report.items[..]) {
                (State::Active, [Item::Memory(memory)]) => {
                    assert_eq!((&memory.body, memory.state), (&expected.text, State::Active))
                }
                (State::Deleted, []) => {}
                (state, items) => panic!("{id} should be {state:?}: {items:?}"),
            }
        }
        self.check_lists().await;
        self.check_searches().await;
    }

    async fn check_lists(&self) {
        for state in [State::Active, State::Deleted] {
            let request = ListRequest { viewer: viewer(), state: Some(state), limit: 7, ..ListRequest::default() };
            let mut listed = BTreeMap::new();
            let mut request = Some(request);
            while let Some(asked) = request.take() {
                let page = self.memory.engine.list(asked.clone()).await.unwrap();
                for item in page.items {
                    let Item::Memory(memory) = item else { panic!("{item:?}") };
                    assert_eq!(listed.insert(memory.id.to_string(), memory.body), None, "a list names nothing twice");
                }
                request = page.next.map(|cursor| ListRequest { cursor: Some(cursor), ..asked });
            }
            let expected: BTreeMap<String, String> = self
                .model
                .memories
                .iter()
                .filter(|(_, it)| it.state == state)
                .map(|(id, it)| (id.clone(), it.text.clone()))
                .collect();
            assert_eq!(listed, expected, "{state:?}");
        }
        let request = ListRequest {
            viewer: viewer(),
            kind: Some(memory_core::HitKind::Message),
            limit: 1_000,
            ..ListRequest::default()
        };
        let page = self.memory.engine.list(request).await.unwrap();
        let mut messages: Vec<(u64, String, String)> = page
            .items
            .into_iter()
            .map(|item| match item {
                Item::Message(message) => (message.position, message.id.to_string(), message.content),
                item => panic!("{item:?}"),
            })
            .collect();
        messages.sort();
        let messages: Vec<(String, String)> = messages.into_iter().map(|(_, id, text)| (id, text)).collect();
        assert_eq!(messages, self.model.messages);
    }

    async fn check_searches(&self) {
        for (id, expected) in &self.model.memories {
            let recall = self.memory.engine.search(SearchRequest::new(viewer(), expected.word.clone())).await.unwrap();
            let place = recall.hits.iter().position(|hit| hit.id.as_str() == id);
            let texts: Vec<&String> = recall.hits.iter().map(|hit| &hit.text).collect();
            match expected.state {
                State::Active => {
                    assert_eq!(place, Some(0), "{} {texts:?} {:?}", expected.text, recall.reason);
                    assert_eq!(recall.hits[0].text, expected.text);
                }
                _ => assert_eq!(place, None, "{} was forgotten: {texts:?}", expected.text),
            }
            assert!(recall.reason.is_none_or(|reason| reason == RecallReason::NoMatch), "{recall:?}");
        }
        for (id, text) in &self.model.messages {
            let word = text.rsplit(' ').next().unwrap();
            let recall = self.memory.engine.search(SearchRequest::new(viewer(), word)).await.unwrap();
            assert_eq!(recall.hits.first().map(|hit| hit.id.as_str()), Some(id.as_str()), "{text}: {recall:?}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_store_agrees_with_a_plain_map() {
    let mut run = Run::new(4_711).await;
    let steps = number_of("MEMORY_TEST_STEPS", 160);
    let mut done: BTreeMap<&'static str, usize> = BTreeMap::new();
    for _ in 0..steps {
        *done.entry(run.step().await).or_default() += 1;
    }
    run.reopen().await;
    run.check().await;
    run.provider.index_pending(&NoProgress).await.unwrap();
    run.check().await;
    println!("{done:?}");
    let statistics = run.provider.statistics(None).await.unwrap();
    assert_eq!(statistics.memories as usize, run.model.of_state(State::Active).len());
    assert_eq!(statistics.messages as usize, run.model.messages.len());
    let doctor = run.provider.doctor(false).await.unwrap();
    assert!(doctor.ok, "{doctor:?}");
    run.memory.engine.shutdown().await.unwrap();
}
