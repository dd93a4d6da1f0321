use std::sync::{Arc, Mutex};

use memory_core::{Memory, Message};
use serde_json::{Value, json};

use super::*;
use crate::transfer::import::{ImportFormat, ImportOptions};

/// A writer whose bytes can be looked at afterwards.
#[derive(Clone, Default)]
struct Shared(Arc<Mutex<Vec<u8>>>);

impl Write for Shared {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

fn now() -> Timestamp {
    "2026-01-02T03:04:05Z".parse().unwrap()
}

fn memory() -> Item {
    let memory: Memory = serde_json::from_value(json!({
        "id": "01HZY00000000000000000000A", "user": "小明", "space": "__default__", "owner": "user", "body": "喜欢乌龙茶\n# not a heading",
        "title": "茶", "tags": ["饮料"], "quality": 0.5, "observed_at": "2026-01-01", "created_at": "2026-01-01", "updated_at": "2026-01-01",
        "state": "deleted", "revision": 3, "access_count": 7,
    }))
    .unwrap();
    Item::Memory(Box::new(memory))
}

fn message() -> Item {
    let message: Message = serde_json::from_value(json!({
        "id": "01HZY00000000000000000000B", "user": "小明", "space": "__default__", "owner": "agent:coder", "session_id": "s1",
        "position": 2, "role": "assistant", "content": "## heading in a message", "created_at": "2026-01-02T09:00:00+08:00",
    }))
    .unwrap();
    Item::Message(Box::new(message))
}

fn write_all(exporter: &mut Exporter) {
    exporter.item(&memory()).unwrap();
    exporter.item(&message()).unwrap();
    exporter.document(&Scope::default(), "memory/MEMORY.md", "# 记忆\n".as_bytes()).unwrap();
}

fn text(format: ExportFormat) -> String {
    let shared = Shared::default();
    let mut exporter = export(format, None, Box::new(shared.clone()), now()).unwrap();
    write_all(&mut exporter);
    assert_eq!(exporter.finish().unwrap(), ExportReport { memories: 1, messages: 1, documents: 1 });
    let bytes = shared.0.lock().unwrap().clone();
    String::from_utf8(bytes).unwrap()
}

#[test]
fn the_bundle_has_a_header_and_an_item_a_line() {
    let text = text(ExportFormat::Ndjson);
    let lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines[0], json!({"format": "memory-bundle", "version": 1, "exported_at": "2026-01-02T03:04:05Z"}));
    assert_eq!(
        (lines[1]["type"].as_str(), lines[2]["type"].as_str(), lines[3]["type"].as_str()),
        (Some("memory"), Some("message"), Some("document"))
    );
    assert_eq!((lines[1]["revision"].as_u64(), lines[1]["state"].as_str()), (Some(3), Some("deleted")));
}

#[test]
fn the_json_form_is_one_value_even_when_empty() {
    let value: Value = serde_json::from_str(&text(ExportFormat::Json)).unwrap();
    assert_eq!(value["items"].as_array().unwrap().len(), 3);
    let shared = Shared::default();
    export(ExportFormat::Json, None, Box::new(shared.clone()), now()).unwrap().finish().unwrap();
    let value: Value = serde_json::from_slice(&shared.0.lock().unwrap()).unwrap();
    assert_eq!(value["items"], json!([]));
}

#[test]
fn markdown_keeps_foreign_headings_out_of_its_own() {
    let text = text(ExportFormat::Markdown);
    let headings: Vec<&str> = text.lines().filter(|line| line.starts_with('#')).collect();
    assert_eq!(
        headings,
        [
            "# Memory",
            "## Memories of 小明 (user)",
            "## Session s1 of 小明 (agent:coder)",
            "## Document memory/MEMORY.md"
        ]
    );
    assert!(text.contains("喜欢乌龙茶") && text.contains("#饮料") && text.contains("deleted"));
}

#[tokio::test]
async fn both_forms_of_the_bundle_read_back() {
    let folder = tempfile::tempdir().unwrap();
    for (format, name) in [(ExportFormat::Ndjson, "a.ndjson"), (ExportFormat::Json, "a.json")] {
        let path = folder.path().join(name);
        let mut exporter = export(format, Some(&path), Box::new(std::io::sink()), now()).unwrap();
        write_all(&mut exporter);
        exporter.finish().unwrap();
        let taken = Taken::default();
        let options = ImportOptions { paths: vec![path], format: ImportFormat::Auto, ..Default::default() };
        let report = crate::transfer::import(&taken, &options, &memory_core::NoProgress).await.unwrap();
        assert_eq!((report.errors.total, report.stored), (0, 3), "{report:?}");
        assert_eq!(*taken.items.lock().unwrap(), [memory(), message()]);
        assert_eq!(*taken.documents.lock().unwrap(), [("memory/MEMORY.md".to_owned(), "# 记忆\n".as_bytes().to_vec())]);
    }
}

#[test]
fn a_file_appears_whole_or_not_at_all() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("export.ndjson");
    std::fs::write(&path, "old").unwrap();
    let mut exporter = export(ExportFormat::Ndjson, Some(&path), Box::new(std::io::sink()), now()).unwrap();
    exporter.item(&memory()).unwrap();
    assert!(exporter.document(&Scope::default(), "x.md", b"\xff").is_err());
    drop(exporter);
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "old");
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1, "no temporary file stays");

    assert!(export(ExportFormat::Ndjson, Some(folder.path()), Box::new(std::io::sink()), now()).is_err());
    let nowhere = folder.path().join("没有/x.ndjson");
    let error = export(ExportFormat::Ndjson, Some(&nowhere), Box::new(std::io::sink()), now()).err().unwrap();
    assert_eq!(error.kind(), ErrorKind::NotFound);
}

/// Takes what the import reads.
#[derive(Default)]
struct Taken {
    items: Mutex<Vec<Item>>,
    documents: Mutex<Vec<(String, Vec<u8>)>>,
}

#[async_trait::async_trait]
impl crate::transfer::ImportTarget for Taken {
    async fn write(&self, _request: memory_core::WriteRequest) -> Result<memory_core::WriteReport> {
        Err(Error::unexpected("a bundle is not written anew"))
    }

    async fn insert(&self, items: Vec<Item>, _force: bool) -> Result<memory_core::WriteReport> {
        let result = memory_core::WriteResult::with_id(memory_core::WriteOutcome::Stored, "x");
        let report = memory_core::WriteReport { items: vec![result; items.len()] };
        self.items.lock().unwrap().extend(items);
        Ok(report)
    }

    async fn import_document(&self, _: &Scope, path: &str, _: &[u8]) -> Result<memory_core::WriteResult> {
        Err(Error::unexpected(format!("{path} is not imported anew")))
    }

    async fn restore_document(&self, _: &Scope, path: &str, content: &[u8]) -> Result<memory_core::WriteResult> {
        self.documents.lock().unwrap().push((path.to_owned(), content.to_vec()));
        Ok(memory_core::WriteResult::with_id(memory_core::WriteOutcome::Stored, path))
    }
}
