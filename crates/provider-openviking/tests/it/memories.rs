//! Single memories: what is sent, what is kept, and that nothing is kept twice.

use memory_conformance::fake::Fault;
use memory_core::{
    DeleteRequest, ErrorKind, Id, Item, ListRequest, ListSort, MemoryChanges, MemoryProvider, NewMemory, Relevance,
    State, UpdateRequest, WriteOutcome,
};
use serde_json::json;

use super::support::*;

const ULID: &str = "01ARZ3NDEKTSV4RRFFQ69G5FAV";

fn full() -> NewMemory {
    NewMemory {
        title: Some("早餐".into()),
        category: Some("preference".into()),
        tags: vec!["food".into(), "上海".into()],
        keywords: vec!["congee".into()],
        attrs: json!({"stars": 4}).as_object().cloned().unwrap(),
        event_at: Some(time("2026-02-03T08:00:00+08:00")),
        external_id: Some("crm-7/客户".into()),
        relevance: Relevance::High,
        ..note("Rice porridge on Sundays 🍚")
    }
}

#[tokio::test]
async fn a_memory_is_a_file_with_its_fields_in_the_last_line() {
    let setup = setup().await;
    let result = setup.write(NewMemory { external_id: Some(ULID.into()), ..full() }).await.unwrap();
    assert_eq!((result.outcome, result.id.as_deref()), (WriteOutcome::Stored, Some(ULID)));
    let uri = format!("viking://user/default/memories/notes/{ULID}.md");
    let requests = setup.server.take_recorded();
    let lines: Vec<String> = requests.iter().map(|request| request.line()).collect();
    let read =
        "GET /api/v1/content/read?uri=viking%3A%2F%2Fuser%2Fdefault%2Fmemories%2Fnotes%2F01ARZ3NDEKTSV4RRFFQ69G5FAV.md";
    assert_eq!(lines[2..], [read, "POST /api/v1/content/write"]);
    let body = requests[3].json();
    assert_eq!(body.as_object().unwrap().keys().collect::<Vec<_>>(), ["uri", "content", "mode"]);
    assert_eq!((body["uri"].as_str(), body["mode"].as_str()), (Some(uri.as_str()), Some("create")));
    let content = body["content"].as_str().unwrap();
    let (text, fields) = content.split_once("\n\n<!-- memory ").unwrap();
    assert_eq!(text, "# 早餐\n\nRice porridge on Sundays 🍚");
    let fields: serde_json::Value = serde_json::from_str(fields.strip_suffix(" -->").unwrap()).unwrap();
    let expected = json!({
        "category": "preference", "title": "早餐", "tags": ["food", "上海"], "keywords": ["congee"], "relevance": "high",
        "attrs": {"stars": 4}, "external_id": ULID, "event_at": "2026-02-03T08:00:00+08:00",
        "created_at": "2026-06-01T12:00:00Z",
    });
    assert_eq!(fields, expected);
}

#[tokio::test]
async fn a_foreign_id_is_one_file_whatever_happens() {
    for minor in ["0.5.2", "0.4.9", "0.3.24"] {
        let setup = version(minor).await;
        // The answer is lost, and the write is made again.
        setup.provider.health().await;
        setup.server.fail_next([Fault::Status(503, json!({"error": {"code": "UNAVAILABLE"}}))]);
        assert!(setup.write(full()).await.unwrap_err().is_retryable());
        let first = setup.write(full()).await.unwrap();
        let again = setup.write(full()).await.unwrap();
        assert_eq!((again.outcome, &again.id), (WriteOutcome::Deduped, &first.id), "{minor}");
        let changed = setup.write(NewMemory { body: "Noodles".into(), ..full() }).await.unwrap();
        assert_eq!((changed.outcome, &changed.id), (WriteOutcome::Superseded, &first.id), "{minor}");
        assert_eq!(setup.viking.files().len(), 1);
        for name in ["crm-7/客户", first.id.as_deref().unwrap(), &first.id.as_deref().unwrap().to_lowercase()[..8]] {
            let memory = setup.get(name).await.unwrap();
            assert_eq!((memory.body.as_str(), memory.revision), ("Noodles", 2), "{minor} {name}");
        }
        let uri = setup.viking.files().into_keys().next().unwrap();
        assert_eq!(setup.get(&uri).await.unwrap().external_id.as_deref(), Some("crm-7/客户"));
    }
}

#[tokio::test]
async fn a_race_for_a_file_is_settled() {
    let setup = version("0.3.24").await;
    setup.provider.health().await;
    // The file is not there when it is looked for, and is there when it is written.
    let missing =
        json!({"status": "error", "error": {"code": "NOT_FOUND", "message": "File not found: x", "details": {}}});
    setup.add("the text").await;
    setup.server.fail_next([Fault::Status(404, missing)]);
    setup.add("the text").await;
    let modes: Vec<String> = setup
        .requests("POST", "/api/v1/content/write")
        .iter()
        .map(|request| request.json()["mode"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(modes, ["create", "create", "replace"]);
    assert_eq!(setup.viking.files().len(), 1);
}

#[tokio::test]
async fn a_changed_text_does_not_stand_in_the_way_of_the_former_one() {
    let setup = setup().await;
    let first = setup.add("The car is blue").await;
    setup.update(&first, MemoryChanges { body: Some("The car is red".into()), ..Default::default() }).await.unwrap();
    let second = setup.add("The car is blue").await;
    assert_ne!(first, second);
    assert_eq!(setup.get(&first).await.unwrap().body, "The car is red");
    assert_eq!(setup.write(note("the car is BLUE.")).await.unwrap().id, Some(second));
    let empty = setup.write(note(" \n ")).await.unwrap();
    assert_eq!((empty.outcome, empty.id), (WriteOutcome::Rejected, None));
}

#[tokio::test]
async fn what_the_server_extracted_is_a_memory_like_any_other() {
    let setup = setup().await;
    let uri = "viking://user/default/memories/preferences/default/tea.md";
    setup.viking.put(uri, "- prefers oolong 乌龙茶");
    setup.viking.put("viking://user/default/memories/preferences/.overview.md", "prefers oolong overview");
    let (texts, next) = setup.list(ListRequest::default()).await;
    assert_eq!((texts, next), (vec!["- prefers oolong 乌龙茶".to_owned()], None));
    let recall = setup.provider.search(memory_core::SearchRequest::new(viewer(), "oolong")).await.unwrap();
    let [hit] = &recall.hits[..] else { panic!("{recall:?}") };
    assert_eq!((hit.id.clone(), hit.category.as_deref()), (Id::of_foreign(uri), Some("preference")));
    assert_eq!((hit.external_id.as_deref(), hit.source.path.as_deref()), (Some(uri), Some(uri)));
    assert_eq!(hit.created_at.to_string(), "2026-01-02T00:00:01Z", "as the server dates it");
    let id = hit.id.to_string();
    for name in [uri, id.as_str(), &id[..7].to_lowercase()] {
        assert_eq!(setup.get(name).await.unwrap().body, "- prefers oolong 乌龙茶", "{name}");
    }
    setup.update(&id, MemoryChanges { body: Some("- prefers green tea".into()), ..Default::default() }).await.unwrap();
    assert_eq!(setup.ask("green tea").await, ["- prefers green tea"]);
    assert_eq!(setup.delete(&id).await.unwrap(), vec![id.clone()]);
    assert!(setup.get(&id).await.is_none() && setup.get(uri).await.is_none());
    assert!(setup.get("viking://user/default/memories/preferences/.overview.md").await.is_none());
}

#[tokio::test]
async fn a_prefix_that_fits_two_is_a_conflict() {
    let setup = setup().await;
    for id in ["01ARZ3NDEKTSV4RRFFQ69G5FAV", "01ARZ3NDEKTSV4RRFFQ69G5FAW"] {
        setup.write(NewMemory { id: Some(id.parse().unwrap()), ..note(id) }).await.unwrap();
    }
    let error = setup.provider.get(&viewer(), &["01arz3".to_owned()]).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Conflict, "{error}");
    assert_eq!(setup.get("01ARZ3NDEKTSV4RRFFQ69G5FAW").await.unwrap().body, "01ARZ3NDEKTSV4RRFFQ69G5FAW");
    assert!(setup.get("01ARZ4").await.is_none());
    assert_eq!(setup.provider.get(&viewer(), &[" ".to_owned()]).await.unwrap_err().kind(), ErrorKind::InvalidRequest);
}

#[tokio::test]
async fn lists_are_newest_first_in_pages_and_by_other_orders() {
    let setup = setup().await;
    for number in 0..7 {
        let created_at = Some(time("2026-05-01T00:00:00Z").plus_seconds(-number));
        let relevance = if number == 3 { Relevance::High } else { Relevance::Low };
        let tags = if number % 2 == 0 { vec!["even".to_owned()] } else { Vec::new() };
        setup.write(NewMemory { created_at, relevance, tags, ..note(&format!("number {number}")) }).await.unwrap();
    }
    let mut all = Vec::new();
    let mut cursor = None;
    loop {
        let (texts, next) = setup.list(ListRequest { limit: 3, cursor, ..ListRequest::default() }).await;
        all.extend(texts);
        cursor = next;
        if cursor.is_none() {
            break;
        }
    }
    assert_eq!(all, ["number 6", "number 5", "number 4", "number 3", "number 2", "number 1", "number 0"]);
    let sorted = |sort| ListRequest { sort, limit: 2, ..ListRequest::default() };
    let (texts, next) = setup.list(sorted(ListSort::Created)).await;
    assert_eq!((texts, next.as_deref()), (vec!["number 0".into(), "number 1".into()], Some("2")));
    assert_eq!(setup.list(sorted(ListSort::Importance)).await.0[0], "number 3");
    let (texts, _) = setup.list(ListRequest { tags: vec!["even".into()], limit: 2, ..ListRequest::default() }).await;
    assert_eq!(texts, ["number 6", "number 4"]);
    let error = setup.provider.list(sorted(ListSort::Accessed)).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unsupported);
    let wrong = ListRequest { cursor: Some("x".into()), ..ListRequest::default() };
    assert_eq!(setup.provider.list(wrong).await.unwrap_err().kind(), ErrorKind::InvalidRequest);
    let tree = setup.lines().into_iter().find(|line| line.contains("/fs/tree")).unwrap();
    assert!(tree.ends_with("&output=original&node_limit=100000&level_limit=16"), "{tree}");
}

#[tokio::test]
async fn what_has_expired_is_listed_as_such_and_not_found() {
    let setup = setup().await;
    let expires_at = Some(time("2026-05-31"));
    setup.write(NewMemory { expires_at, ..note("the parking permit") }).await.unwrap();
    assert!(setup.ask("parking permit").await.is_empty());
    assert!(setup.list(ListRequest::default()).await.0.is_empty());
    let (texts, _) = setup.list(ListRequest { state: Some(State::Expired), ..ListRequest::default() }).await;
    assert_eq!(texts, ["the parking permit"]);
}

#[tokio::test]
async fn deleting_is_one_call_and_can_be_rehearsed() {
    let setup = setup().await;
    let id = setup.add("The walnut tree").await;
    let request =
        |dry_run| DeleteRequest { viewer: viewer(), ids: vec![id.clone(), ULID.into()], erase: true, dry_run };
    let rehearsed = setup.provider.delete(request(true)).await.unwrap();
    assert_eq!(
        (rehearsed.deleted.as_slice(), rehearsed.missing.as_slice()),
        (&[id.clone()][..], &[ULID.to_owned()][..])
    );
    assert_eq!(setup.viking.files().len(), 1);
    setup.server.take_recorded();
    let report = setup.provider.delete(request(false)).await.unwrap();
    assert_eq!((report.deleted.as_slice(), report.notes.len()), (&[id.clone()][..], 2));
    let deletes: Vec<String> = setup.lines().into_iter().filter(|line| line.starts_with("DELETE")).collect();
    assert_eq!(deletes, [format!("DELETE /api/v1/fs?uri=viking%3A%2F%2Fuser%2Fdefault%2Fmemories%2Fnotes%2F{id}.md")]);
    assert!(setup.viking.files().is_empty());
}

#[tokio::test]
async fn an_update_keeps_what_it_does_not_name() {
    let setup = setup().await;
    let id = setup.write(full()).await.unwrap().id.unwrap();
    let attrs = json!({"stars": null, "city": "上海"}).as_object().cloned();
    let changes = MemoryChanges { body: Some("Noodles".into()), title: Some(None), attrs, ..Default::default() };
    setup.update(&id, changes).await.unwrap();
    let memory = setup.get(&id).await.unwrap();
    assert_eq!((memory.body.as_str(), memory.title, memory.revision), ("Noodles", None, 2));
    assert_eq!(serde_json::Value::from(memory.attrs), json!({"city": "上海"}));
    assert_eq!(memory.tags, ["food", "上海"]);
    let old = UpdateRequest { viewer: viewer(), id, changes: MemoryChanges::default(), expected_revision: Some(1) };
    assert_eq!(setup.provider.update(old).await.unwrap_err().kind(), ErrorKind::Conflict);
    let report = setup.provider.get(&viewer(), &["crm-7/客户".into(), "nothing".into()]).await.unwrap();
    assert!(matches!(&report.items[..], [Item::Memory(_)]) && report.missing == ["nothing"]);
    assert_eq!(setup.provider.history(&viewer(), ULID).await.unwrap_err().kind(), ErrorKind::Unsupported);
}
