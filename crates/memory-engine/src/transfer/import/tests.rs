use std::io::Write;
use std::path::Path;
use std::sync::Mutex;

use async_trait::async_trait;
use memory_core::{NoProgress, Role, Scope, WriteOutcome};

use super::*;

/// Keeps what it is given, the way a store would answer for it.
#[derive(Default)]
struct Recorder {
    writes: Mutex<Vec<Vec<WriteItem>>>,
    inserts: Mutex<Vec<Item>>,
    documents: Mutex<Vec<(Scope, String, Vec<u8>)>>,
}

fn stored(count: usize) -> WriteReport {
    WriteReport {
        items: (0..count).map(|number| WriteResult::with_id(WriteOutcome::Stored, number.to_string())).collect(),
    }
}

#[async_trait]
impl ImportTarget for Recorder {
    async fn write(&self, request: WriteRequest) -> Result<WriteReport> {
        let report = stored(request.items.len());
        self.writes.lock().unwrap().push(request.items);
        Ok(report)
    }

    async fn insert(&self, items: Vec<Item>, _force: bool) -> Result<WriteReport> {
        let report = stored(items.len());
        self.inserts.lock().unwrap().extend(items);
        Ok(report)
    }

    async fn import_document(&self, scope: &Scope, path: &str, content: &[u8]) -> Result<WriteResult> {
        self.documents.lock().unwrap().push((scope.clone(), path.to_owned(), content.to_vec()));
        Ok(WriteResult::with_id(WriteOutcome::Stored, path))
    }

    async fn restore_document(&self, scope: &Scope, path: &str, content: &[u8]) -> Result<WriteResult> {
        if path.contains("..") {
            return Err(Error::new(memory_core::ErrorKind::Forbidden, "outside of the workspace"));
        }
        self.import_document(scope, path, content).await
    }
}

impl Recorder {
    fn messages(&self) -> Vec<NewMessage> {
        let writes = self.writes.lock().unwrap();
        let items = writes.iter().flatten().filter_map(|item| match item {
            WriteItem::Message(message) => Some((**message).clone()),
            WriteItem::Memory(_) => None,
        });
        items.collect()
    }

    fn memories(&self) -> Vec<NewMemory> {
        let writes = self.writes.lock().unwrap();
        let items = writes.iter().flatten().filter_map(|item| match item {
            WriteItem::Memory(memory) => Some((**memory).clone()),
            WriteItem::Message(_) => None,
        });
        items.collect()
    }
}

use memory_core::{NewMemory, NewMessage};

async fn run(paths: &[&Path], change: impl FnOnce(&mut ImportOptions)) -> (Recorder, Result<ImportReport>) {
    let recorder = Recorder::default();
    let mut options =
        ImportOptions { paths: paths.iter().map(|path| path.to_path_buf()).collect(), ..Default::default() };
    change(&mut options);
    let report = import(&recorder, &options, &NoProgress).await;
    (recorder, report)
}

fn write(folder: &Path, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
    let path = folder.join(name);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(&path, content).unwrap();
    path
}

#[tokio::test]
async fn bad_lines_are_named_and_the_rest_is_kept() {
    let folder = tempfile::tempdir().unwrap();
    let mut content = Vec::new();
    for line in [
        br#"{"session_id":"s1","role":"user","speaker":"Ann","content":"hello","created_at":"2026-01-02T03:04:05Z"}"#
            .as_slice(),
        b"{\"session_id\":\"s1\",\"role\":\"user\",\"content\":\"\xff\"}",
        br#"{"session_id":"s1","role":"user","content":"\ud83d"}"#,
        br#"{"session_id":"s1","role":"user"}"#,
        br#"{"session_id":"s1","role":"robot","content":"x"}"#,
        br#"{"session_id":5,"role":"user","content":"x"}"#,
        b"",
        br#"["session_id"]"#,
        br#"{"session_id":"s1","role":"user","content":"x","created_at":"yesterday"}"#,
        "{\"session_id\":\"s1\",\"role\":\"assistant\",\"content\":\"你好 👋\",\"user\":\"小明\"}".as_bytes(),
    ] {
        content.extend_from_slice(line);
        content.push(b'\n');
    }
    let path = write(folder.path(), "a.ndjson", content);
    let (recorder, report) = run(&[&path], |_| {}).await;
    let report = report.unwrap();
    let lines: Vec<u64> = report.errors.listed.iter().filter_map(|problem| problem.line).collect();
    assert_eq!(lines, [2, 3, 4, 5, 6, 8, 9]);
    for (problem, words) in report.errors.listed.iter().zip([
        "UTF-8",
        "surrogate",
        "`content` is missing",
        "`role`",
        "`session_id`",
        "not a JSON object",
        "`created_at`",
    ]) {
        assert!(problem.reason.contains(words), "{problem:?}");
        assert_eq!(problem.source, path.display().to_string());
    }
    assert_eq!((report.messages, report.stored, report.errors.total), (2, 2, 7));
    let messages = recorder.messages();
    assert_eq!((messages[1].role, messages[1].content.as_str()), (Role::Assistant, "你好 👋"));
    assert_eq!(messages[1].scope.user, "小明");
}

#[tokio::test]
async fn a_long_file_comes_in_batches() {
    let folder = tempfile::tempdir().unwrap();
    let line = |number: usize| {
        format!("{{\"session_id\":\"s{}\",\"role\":\"user\",\"content\":\"消息 {number}\"}}\n", number / 10)
    };
    let path = write(folder.path(), "long.jsonl", (0..2_345).map(line).collect::<String>());
    let (recorder, report) = run(&[&path], |_| {}).await;
    assert_eq!(report.unwrap().stored, 2_345);
    let sizes: Vec<usize> = recorder.writes.lock().unwrap().iter().map(Vec::len).collect();
    assert_eq!(sizes, [1_000, 1_000, 345]);
}

#[tokio::test]
async fn messages_without_a_foreign_id_get_the_same_one_every_time() {
    let folder = tempfile::tempdir().unwrap();
    let ok = r#"{"session_id":"s","role":"user","content":"ok"}"#;
    let other = r#"{"session_id":"s","role":"user","content":"ok","external_id":"mine"}"#;
    let path = write(folder.path(), "a.ndjson", format!("{ok}\n{ok}\n{other}\n"));
    let ids = |recorder: &Recorder| {
        recorder.messages().into_iter().map(|message| message.external_id.unwrap()).collect::<Vec<_>>()
    };
    let (first, _) = run(&[&path], |_| {}).await;
    let (second, _) = run(&[&path], |_| {}).await;
    assert_eq!(ids(&first), ids(&second));
    assert_ne!(ids(&first)[0], ids(&first)[1], "ok said twice is two messages");
    assert_eq!(ids(&first)[2], "mine");
}

#[tokio::test]
async fn memories_keep_their_fields() {
    let folder = tempfile::tempdir().unwrap();
    let lines = concat!(
        r#"{"body":"喜欢乌龙茶","category":"preference","tags":["茶"],"relevance":"high","attrs":{"城市":"上海"},"event_at":"2026-01-02"}"#,
        "\n",
        r#"{"body":"  "}"#,
        "\n",
        r#"{"body":"x","quality":2}"#,
        "\n",
        r#"{"body":"y","agent":"coder"}"#,
        "\n",
        r#"{"type":"message","body":"z"}"#,
        "\n",
    );
    let path = write(folder.path(), "m.ndjson", lines);
    let (recorder, report) = run(&[&path], |options| options.viewer = Viewer::user("u", "s")).await;
    let report = report.unwrap();
    assert_eq!((report.memories, report.errors.total), (2, 3));
    let memories = recorder.memories();
    assert_eq!((memories[0].body.as_str(), memories[0].tags.as_slice()), ("喜欢乌龙茶", ["茶".to_owned()].as_slice()));
    assert_eq!(memories[0].attrs["城市"], "上海");
    assert_eq!(memories[0].origin, memory_core::Origin::Import);
    assert_eq!(memories[0].scope.user, "u");
    assert_eq!(memories[1].scope.owner.to_string(), "agent:coder");
}

#[tokio::test]
async fn a_dry_run_counts_and_writes_nothing() {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), "notes/a.md", "# 笔记");
    write(folder.path(), "notes/deep/b.markdown", "text");
    write(folder.path(), "notes/.hidden/c.md", "text");
    write(folder.path(), "notes/picture.png", [0xff]);
    write(folder.path(), "notes/chat.ndjson", "{\"session_id\":\"s\",\"role\":\"user\",\"content\":\"x\"}\nbad\n");
    let (recorder, report) = run(&[&folder.path().join("notes")], |options| options.dry_run = true).await;
    let report = report.unwrap();
    assert_eq!((report.documents, report.messages, report.errors.total, report.stored), (2, 1, 1, 0));
    assert!(recorder.writes.lock().unwrap().is_empty() && recorder.documents.lock().unwrap().is_empty());
}

#[tokio::test]
async fn markdown_keeps_its_place_and_must_be_text() {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), "笔记/一.md", "# 一");
    write(folder.path(), "笔记/深/二.md", "# 二");
    write(folder.path(), "笔记/broken.md", b"# \xff");
    let (recorder, report) = run(&[&folder.path().join("笔记")], |_| {}).await;
    let report = report.unwrap();
    assert_eq!((report.documents, report.stored, report.errors.total), (2, 2, 1));
    assert!(report.errors.listed[0].reason.contains("UTF-8"), "{report:?}");
    let documents = recorder.documents.lock().unwrap();
    let paths: Vec<&str> = documents.iter().map(|(_, path, _)| path.as_str()).collect();
    assert_eq!(paths, ["笔记/一.md", "笔记/深/二.md"]);
    assert_eq!(documents[1].2, "# 二".as_bytes());
}

#[cfg(unix)]
#[tokio::test]
async fn pipes_links_and_loops_are_left_alone_and_reported() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join("notes");
    write(&root, "a.md", "# a");
    std::os::unix::fs::symlink(&root, root.join("loop")).unwrap();
    let made = std::process::Command::new("mkfifo").arg(root.join("pipe.md")).status().unwrap();
    assert!(made.success());
    let (_, report) = run(&[&root], |_| {}).await;
    let report = report.unwrap();
    assert_eq!((report.documents, report.errors.total, report.skipped.total), (1, 0, 2));
    let reasons: Vec<&str> = report.skipped.listed.iter().map(|problem| problem.reason.as_str()).collect();
    assert!(reasons.iter().any(|reason| reason.contains("named pipe")), "{reasons:?}");
    assert!(reasons.iter().any(|reason| reason.contains("symbolic link")), "{reasons:?}");

    let (_, report) = run(&[&root.join("pipe.md")], |_| {}).await;
    let error = report.unwrap_err();
    assert_eq!(error.kind(), memory_core::ErrorKind::InvalidRequest);
    assert!(error.message().contains("a named pipe"), "{error}");
    let (_, report) = run(&[Path::new("/dev/null")], |_| {}).await;
    assert!(report.unwrap_err().message().contains("a device"));
}

#[tokio::test]
async fn missing_paths_and_unknown_formats_are_said_before_anything_is_written() {
    let folder = tempfile::tempdir().unwrap();
    let good = write(folder.path(), "a.ndjson", "{\"body\":\"x\"}\n");
    let (recorder, report) = run(&[&good, &folder.path().join("没有")], |_| {}).await;
    assert_eq!(report.unwrap_err().kind(), memory_core::ErrorKind::NotFound);
    assert!(recorder.writes.lock().unwrap().is_empty());

    let empty = folder.path().join("empty");
    std::fs::create_dir(&empty).unwrap();
    assert_eq!(run(&[&empty], |_| {}).await.1.unwrap_err().kind(), memory_core::ErrorKind::NotFound);

    let odd = write(folder.path(), "odd.txt", "hello\nworld\n");
    let (recorder, report) = run(&[&odd, &good], |_| {}).await;
    let report = report.unwrap();
    assert_eq!((report.errors.total, report.stored), (1, 1));
    assert!(report.errors.listed[0].reason.contains("session_id"), "{report:?}");
    assert_eq!(recorder.memories().len(), 1);
    let (recorder, _) = run(&[&odd], |options| options.format = ImportFormat::Markdown).await;
    assert_eq!(recorder.documents.lock().unwrap()[0].1, "odd.txt");
}

#[tokio::test]
async fn a_bundle_restores_items_and_documents() {
    let folder = tempfile::tempdir().unwrap();
    let message = serde_json::json!({"type": "message", "id": "01HZY00000000000000000000A", "user": "u", "space": "s", "owner": "user",
        "session_id": "1", "position": 4, "role": "user", "content": "早上好", "created_at": "2026-01-02T03:04:05Z", "attrs": {}});
    let document = |path: &str| serde_json::json!({"type": "document", "user": "u", "space": "s", "owner": "user", "path": path, "text": "# 记忆"});
    let header = r#"{"format":"memory-bundle","version":1}"#;
    let lines = format!(
        "{header}\n{message}\n{}\n{}\n{{\"type\":\"chunk\"}}\n",
        document("memory/MEMORY.md"),
        document("../x.md")
    );
    let path = write(folder.path(), "bundle.ndjson", lines);
    for format in [ImportFormat::Auto, ImportFormat::Memories] {
        let (recorder, report) = run(&[&path], |options| options.format = format).await;
        let report = report.unwrap();
        assert_eq!((report.messages, report.documents, report.stored, report.rejected), (1, 2, 2, 1), "{report:?}");
        let lines: Vec<_> = report.errors.listed.iter().filter_map(|problem| problem.line).collect();
        assert_eq!(lines, [5, 4]);
        let inserts = recorder.inserts.lock().unwrap();
        let Item::Message(message) = &inserts[0] else { panic!("{inserts:?}") };
        assert_eq!((message.position, message.content.as_str()), (4, "早上好"));
    }
    let newer = write(folder.path(), "newer.ndjson", "{\"format\":\"memory-bundle\",\"version\":9}\n");
    let (_, report) = run(&[&newer], |_| {}).await;
    assert!(report.unwrap().errors.listed[0].reason.contains("version 9"));
}

#[tokio::test]
async fn an_overlong_line_is_reported() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.ndjson");
    let mut file = std::io::BufWriter::new(std::fs::File::create(&path).unwrap());
    writeln!(file, "{{\"body\":\"before\"}}").unwrap();
    writeln!(file, "{{\"body\":\"{}\"}}", "x".repeat(lines::LONGEST_LINE)).unwrap();
    writeln!(file, "{{\"body\":\"after\"}}").unwrap();
    file.flush().unwrap();
    let (recorder, report) = run(&[&path], |_| {}).await;
    let report = report.unwrap();
    assert_eq!((report.memories, report.errors.total, report.errors.listed[0].line), (2, 1, Some(2)));
    assert_eq!(recorder.memories()[1].body, "after");
}
