//! The document tools under the names and arguments that prompts already use. A tool that fails answers, it does not
//! break the agent's loop.

use memory_core::{ErrorKind, MemoryProvider, Viewer};
use provider_builtin::BuiltinProvider;
use serde_json::{Value, json};

use crate::support::{Home, add, memory, viewer};

async fn call(provider: &BuiltinProvider, tool: &str, arguments: Value) -> Value {
    provider.call_tool(&viewer(), tool, arguments).await.unwrap()
}

async fn done(provider: &BuiltinProvider, tool: &str, arguments: Value) -> Value {
    let answer = call(provider, tool, arguments).await;
    assert_eq!((&answer["success"], &answer["error"]), (&json!(true), &Value::Null), "{answer}");
    answer["data"].clone()
}

async fn failed(provider: &BuiltinProvider, tool: &str, arguments: Value) -> String {
    let shown = arguments.to_string();
    let answer = call(provider, tool, arguments).await;
    assert_eq!((&answer["success"], &answer["data"]), (&json!(false), &Value::Null), "{tool} {shown}: {answer}");
    answer["error"].as_str().unwrap().to_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn five_tools_with_their_required_arguments() {
    let provider = Home::new().open().await;
    let tools: Vec<(String, Value)> =
        provider.tools().into_iter().map(|tool| (tool.name, tool.parameters["required"].clone())).collect();
    assert_eq!(
        tools,
        [
            ("memory_search".to_owned(), json!(["query"])),
            ("memory_get".to_owned(), json!(["path"])),
            ("read_memory".to_owned(), json!(["path"])),
            ("write_memory".to_owned(), json!(["path", "content"])),
            ("edit_memory".to_owned(), json!(["path", "old_text", "new_text"])),
        ]
    );
    for (tool, required) in tools {
        let error = failed(&provider, &tool, json!({})).await;
        assert!(error.contains(required[0].as_str().unwrap()), "{tool}: {error}");
    }
    let error = provider.call_tool(&viewer(), "format_disk", json!({})).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotFound);
    assert!(error.message().starts_with("Unknown tool:"), "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn written_read_edited_and_found() {
    let home = Home::new();
    let provider = home.open().await;
    let written =
        done(&provider, "write_memory", json!({"path": "2026-03-02.md", "content": "# Monday\n\nBought a kettle.\n"}))
            .await;
    assert_eq!(
        (&written["path"], &written["file_existed"], &written["appended"]),
        (&json!("memory/2026-03-02.md"), &json!(false), &json!(false))
    );
    let more =
        done(&provider, "write_memory", json!({"path": "2026-03-02.md", "content": "修好了水壶。\n", "append": true}))
            .await;
    assert_eq!((&more["file_existed"], &more["appended"]), (&json!(true), &json!(true)));
    let read = done(&provider, "read_memory", json!({"path": "2026-03-02.md"})).await;
    assert!(
        read["text"].as_str().unwrap().starts_with("# Monday\n\nBought a kettle.\n")
            && read["text"].as_str().unwrap().contains("修好了水壶。")
    );
    let part = done(&provider, "memory_get", json!({"path": "memory/2026-03-02.md", "from_line": 3, "lines": 1})).await;
    assert_eq!(
        (&part["text"], &part["start_line"], &part["end_line"], &part["truncated"]),
        (&json!("Bought a kettle."), &json!(3), &json!(3), &json!(true))
    );

    let hash = read["content_hash"].as_str().unwrap();
    let edit = |old: &str, new: &str, hash: &str| json!({"path": "2026-03-02.md", "old_text": old, "new_text": new, "expected_hash": hash});
    done(&provider, "edit_memory", edit("a kettle", "a teapot", hash)).await;
    let conflict = failed(&provider, "edit_memory", edit("a teapot", "a samovar", hash)).await;
    assert!(conflict.contains("changed"), "a state read before is refused: {conflict}");
    let overwrite = json!({"path": "2026-03-02.md", "content": "gone", "expected_hash": hash});
    failed(&provider, "write_memory", overwrite).await;

    let results = done(&provider, "memory_search", json!({"query": "teapot"})).await["results"].clone();
    let first = &results[0];
    assert_eq!((&first["path"], &first["source"]), (&json!("memory/2026-03-02.md"), &json!("memory")), "{results}");
    let citation = first["citation"].as_str().unwrap();
    let (start, end) = (first["start_line"].as_u64().unwrap(), first["end_line"].as_u64().unwrap());
    let expected = if start == end {
        format!("memory/2026-03-02.md#L{start}")
    } else {
        format!("memory/2026-03-02.md#L{start}-L{end}")
    };
    assert_eq!(citation, expected);
    for key in ["id", "snippet", "score", "date"] {
        assert!(!first[key].is_null(), "{key}: {first}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_edit_fits_exactly_once() {
    let provider = Home::new().open().await;
    done(&provider, "write_memory", json!({"path": "MEMORY.md", "content": "one fish\ntwo fish\n红鱼\n"})).await;
    let edit = |old: &str| json!({"path": "MEMORY.md", "old_text": old, "new_text": "bird"});
    let (none, several) =
        (failed(&provider, "edit_memory", edit("shark")).await, failed(&provider, "edit_memory", edit("fish")).await);
    assert_ne!(none, several, "zero and several matches are told apart");
    failed(&provider, "edit_memory", edit("")).await;
    done(&provider, "edit_memory", edit("红鱼")).await;
    let read = done(&provider, "read_memory", json!({"path": "MEMORY.md"})).await;
    assert_eq!(read["text"], "one fish\ntwo fish\nbird");
}

#[tokio::test(flavor = "multi_thread")]
async fn no_path_leads_out_of_the_workspace() {
    let home = Home::new();
    let provider = home.open().await;
    done(&provider, "write_memory", json!({"path": "MEMORY.md", "content": "inside"})).await;
    let outside = home.path().parent().unwrap().join("outside.md");
    std::fs::write(&outside, "outside").unwrap();
    std::os::unix::fs::symlink(&outside, home.workspace().join("memory/link.md")).unwrap();
    std::os::unix::fs::symlink(home.path().parent().unwrap(), home.workspace().join("memory/folder")).unwrap();
    for path in [
        "../outside.md",
        "../../outside.md",
        "memory/../../../outside.md",
        outside.to_str().unwrap(),
        "/etc/passwd",
        "link.md",
        "memory/link.md",
        "memory/folder/outside.md",
        "memory/..",
        "",
        ".",
        "MEMORY.md\0.md",
        "memory/store.db",
        "~/x.md",
        "notes.txt",
    ] {
        failed(&provider, "read_memory", json!({"path": path})).await;
        failed(&provider, "write_memory", json!({"path": path, "content": "taken over"})).await;
        failed(&provider, "edit_memory", json!({"path": path, "old_text": "outside", "new_text": "taken over"})).await;
    }
    assert_eq!(std::fs::read_to_string(&outside).unwrap(), "outside");
}

#[tokio::test(flavor = "multi_thread")]
async fn results_are_limited_in_number_and_length() {
    let home = Home::new();
    let provider = home.open().await;
    for number in 0..15 {
        add(&provider, memory(&format!("puffin fact number {number}: {}", format!("w{number}x ").repeat(400)))).await;
    }
    let results = |data: &Value| data["results"].as_array().unwrap().clone();
    let usual = results(&done(&provider, "memory_search", json!({"query": "puffin"})).await);
    assert_eq!(usual.len(), 10, "ten unless asked otherwise");
    assert!(usual.iter().all(|result| result["snippet"].as_str().unwrap().chars().count() <= 700));
    assert_eq!(results(&done(&provider, "memory_search", json!({"query": "puffin", "max_results": 3})).await).len(), 3);
    assert_eq!(
        results(&done(&provider, "memory_search", json!({"query": "puffin", "maxResults": 99})).await).len(),
        15
    );
    failed(&provider, "memory_search", json!({"query": "  "})).await;
    failed(&provider, "memory_search", json!({"query": 7})).await;
    failed(&provider, "memory_search", json!({"query": "puffin", "max_results": "many"})).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn secrets_do_not_reach_a_document() {
    let home = Home::new();
    let provider = home.open().await;
    let key = format!("ghp_{}", "aB3dE5fG7hJ9kL1mN3pQ5rS7tU9vW1xY3zA5");
    let written =
        done(&provider, "write_memory", json!({"path": "MEMORY.md", "content": format!("token {key}\n")})).await;
    assert!(written["note"].is_string(), "{written}");
    assert!(!std::fs::read_to_string(home.workspace().join("memory/MEMORY.md")).unwrap().contains(&key));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_temporary_team_reads_its_parents_documents_and_writes_none() {
    let home = Home::new();
    let provider = home.open().await;
    let team = |role| Viewer { team: Some(memory_core::Team { name: "crew".into(), role }), ..viewer() };
    let (leader, temporary) = (team(memory_core::TeamRole::Leader), team(memory_core::TeamRole::Temporary));
    let arguments = json!({"path": "MEMORY.md", "content": "the crew meets at the pier\n"});
    let answer = provider.call_tool(&leader, "write_memory", arguments.clone()).await.unwrap();
    assert_eq!(answer["success"], true, "{answer}");
    let read = provider.call_tool(&temporary, "read_memory", json!({"path": "MEMORY.md"})).await.unwrap();
    assert_eq!(read["data"]["text"], "the crew meets at the pier", "{read}");
    let refused = provider.call_tool(&temporary, "write_memory", arguments).await.unwrap();
    assert_eq!(refused["success"], false, "{refused}");
}
