//! A process is killed at any moment, not only where the code expects it.

use std::collections::BTreeSet;
use std::process::Stdio;
use std::sync::mpsc::channel;
use std::thread;
use std::time::Duration;

use memory_core::Item;
use tests::{Home, Numbers, number_of};

const MESSAGES: usize = 3_500;

/// Several transactions and index batches long, in two languages.
fn conversation() -> String {
    (0..MESSAGES)
        .map(|number| {
            let text = if number % 2 == 0 {
                format!("line {number} about the harbour")
            } else {
                format!("第{number}句关于港口")
            };
            format!(
                "{{\"session_id\":\"s{}\",\"role\":\"user\",\"content\":\"{text}\",\"external_id\":\"m{number}\"}}\n",
                number % 7
            )
        })
        .collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn an_import_killed_at_any_moment_is_completed_by_the_next() {
    let mut numbers = Numbers::seeded(20_260_301);
    let home = Home::new();
    let file = home.file("harbour.ndjson", conversation());
    let path = file.to_str().unwrap();
    let mut killed = 0;
    let mut acknowledged = BTreeSet::new();
    for _ in 0..number_of("MEMORY_TEST_KILLS", 6) {
        let mut command = home.command();
        command.args(["import", path, "--json"]).stdout(Stdio::null()).stderr(Stdio::null());
        let mut child = command.spawn().unwrap();
        // The child runs for a while that the seed decides; it is no measure of anything.
        let (_sender, receiver) = channel::<()>();
        let pause = thread::spawn({
            let life = Duration::from_millis(numbers.next() % 4_000);
            move || receiver.recv_timeout(life)
        });
        let _ = pause.join();
        child.kill().unwrap();
        killed += usize::from(!child.wait().unwrap().success());

        let ids: BTreeSet<String> = messages(&home).await.into_iter().map(|(id, _)| id).collect();
        assert!(acknowledged.is_subset(&ids), "what was there is there");
        acknowledged = ids;
    }
    assert!(killed > 0, "every import ended before it was killed");

    let report = home.json(&["import", path]);
    assert_eq!(report["deduped"].as_u64().unwrap() as usize, acknowledged.len(), "{report}");
    assert_eq!(report["stored"].as_u64().unwrap() as usize, MESSAGES - acknowledged.len(), "{report}");
    let found = messages(&home).await;
    let distinct: BTreeSet<&String> = found.iter().map(|(_, external)| external).collect();
    assert_eq!((found.len(), distinct.len()), (MESSAGES, MESSAGES), "every message exactly once");
    let stats = home.json(&["stats"]);
    assert_eq!((&stats["messages"], &stats["index"]["lag"]), (&MESSAGES.into(), &0.into()), "{stats}");
    let doctor = home.run(&["doctor", "--json"]);
    assert_eq!(doctor.value()["ok"], true, "{}", doctor.out);
    let recall = home.json(&["search", "line 1234 about the harbour"]);
    assert_eq!(
        (&recall["outcome"], &recall["hits"][0]["external_id"]),
        (&"complete".into(), &"m1234".into()),
        "{recall}"
    );
}

async fn messages(home: &Home) -> Vec<(String, String)> {
    let message = |item| match item {
        Item::Message(message) => Some((message.id.to_string(), message.external_id.unwrap())),
        _ => None,
    };
    home.items().await.into_iter().filter_map(message).collect()
}
