//! The client against raw sockets, which answer what no well-behaved server would.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, missing_docs)]

use std::sync::{Arc, Mutex};
use std::time::Duration;

use memory_core::{Error, ErrorKind, SafeUrl, Secret};
use memory_http::{JsonClient, JsonClientBuilder, Method, Reply, Service};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

const KEY: &str = "canary-key";

/// Answers every connection with these bytes and closes it; `None` never answers. Keeps what it was sent.
struct Server {
    url: String,
    received: Arc<Mutex<Vec<String>>>,
    _task: Task,
}

struct Task(tokio::task::JoinHandle<()>);

impl Drop for Task {
    fn drop(&mut self) {
        self.0.abort();
    }
}

async fn serve(answer: Option<Vec<u8>>) -> Server {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let received = Arc::new(Mutex::new(Vec::new()));
    let kept = received.clone();
    let task = tokio::spawn(async move {
        let mut open = Vec::new();
        loop {
            let (mut stream, _) = listener.accept().await.unwrap();
            let mut text = Vec::new();
            loop {
                let mut part = [0; 4096];
                let count = stream.read(&mut part).await.unwrap();
                text.extend_from_slice(&part[..count]);
                if count == 0 || is_whole(&text) {
                    break;
                }
            }
            kept.lock().unwrap().push(String::from_utf8(text).unwrap());
            match &answer {
                // The client may have hung up on a huge answer.
                Some(answer) => drop(stream.write_all(answer).await),
                None => open.push(stream),
            }
        }
    });
    Server { url, received, _task: Task(task) }
}

fn is_whole(request: &[u8]) -> bool {
    let text = String::from_utf8_lossy(request);
    let Some((head, body)) = text.split_once("\r\n\r\n") else { return false };
    let length = head.lines().find_map(|line| line.strip_prefix("content-length: ")?.parse().ok()).unwrap_or(0);
    body.len() >= length
}

fn answer(status: &str, headers: &str, body: &str) -> Option<Vec<u8>> {
    let length = body.len();
    Some(
        format!("HTTP/1.1 {status}\r\n{headers}content-length: {length}\r\nconnection: close\r\n\r\n{body}")
            .into_bytes(),
    )
}

fn service(url: &str) -> Service {
    Service {
        name: "Test",
        url: SafeUrl::new(url),
        key: Secret::new(KEY),
        key_hint: "check the key",
        url_hint: "check the address",
    }
}

fn builder(url: &str) -> JsonClientBuilder {
    JsonClient::builder(service(url)).header("x-api-key", KEY).unwrap()
}

async fn get(client: &JsonClient) -> Result<Value, Error> {
    let reply: Reply = client.call(Method::GET, &["v1", "things", ""], &[], &[], None).await?;
    reply.json(client.service())
}

#[tokio::test]
async fn a_request_is_exactly_what_was_asked_for() {
    let server = serve(answer("200 OK", "", "{}")).await;
    let client = builder(&format!("{}/base/?tenant=t", server.url)).build().unwrap();
    let segments = ["v2", "用户", "a b/c?d#e%2Fé", ""];
    let (query, body) = ([("q", "茶 & more=1")], json!({"text": "茶"}));
    client.call(Method::PUT, &segments, &query, &[("x-more", "1")], Some(&body)).await.unwrap();
    client.call(Method::GET, &["plain"], &[], &[], None).await.unwrap();
    let received = server.received.lock().unwrap().clone();
    let first: Vec<&str> = received[0].lines().collect();
    assert_eq!(
        first[0],
        "PUT /base/v2/%E7%94%A8%E6%88%B7/a%20b%2Fc%3Fd%23e%252F%C3%A9/?tenant=t&q=%E8%8C%B6+%26+more%3D1 HTTP/1.1"
    );
    for header in ["x-api-key: canary-key", "x-more: 1", "content-type: application/json"] {
        assert!(first.contains(&header), "{header}: {first:?}");
    }
    assert_eq!(first.last(), Some(&"{\"text\":\"茶\"}"));
    assert!(received[1].starts_with("GET /base/plain?tenant=t HTTP/1.1\r\n"), "{}", received[1]);
}

#[tokio::test]
async fn a_name_that_would_change_the_path_is_refused_before_anything_is_sent() {
    let server = serve(answer("200 OK", "", "{}")).await;
    let client = builder(&server.url).build().unwrap();
    for segments in [&["things", "..", ""][..], &["things", "."], &["things", "", "history"], &["", "things"], &[".."]]
    {
        let error = client.call(Method::DELETE, segments, &[], &[], None).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidRequest, "{segments:?}");
    }
    assert!(server.received.lock().unwrap().is_empty());
    client.call(Method::DELETE, &["things", "..."], &[], &[], None).await.unwrap();
}

#[tokio::test]
async fn a_redirect_is_not_followed() {
    let elsewhere = serve(answer("200 OK", "", "{}")).await;
    for status in ["301 Moved", "302 Found", "307 Temporary", "308 Permanent"] {
        let server = serve(answer(status, &format!("location: {}/v1/things/\r\n", elsewhere.url), "")).await;
        let error = get(&builder(&server.url).build().unwrap()).await.unwrap_err();
        assert_eq!((error.kind(), error.is_retryable()), (ErrorKind::BadReply, false), "{error}");
        assert!(error.hints()[0].contains("redirects"), "{error:?}");
    }
    assert!(elsewhere.received.lock().unwrap().is_empty());
}

#[tokio::test]
async fn a_huge_reply_is_given_up() {
    let body = " ".repeat(4096);
    let server = serve(answer("200 OK", "", &body)).await;
    let client = builder(&server.url).largest_reply(4095).build().unwrap();
    let error = get(&client).await.unwrap_err();
    assert!(error.kind() == ErrorKind::BadReply && error.to_string().contains("too long"), "{error}");
    let client = builder(&server.url).largest_reply(4096).build().unwrap();
    assert!(get(&client).await.unwrap_err().to_string().contains("expected JSON"), "as much as allowed is read");
}

#[tokio::test]
async fn a_reply_that_breaks_off_or_never_comes_is_worth_another_try() {
    let cut = b"HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\n{\"results\": [".to_vec();
    for answer in [cut, b"HTTP/1.1 200 OK\r\ncontent-le".to_vec(), Vec::new()] {
        let server = serve(Some(answer)).await;
        let error = get(&builder(&server.url).build().unwrap()).await.unwrap_err();
        assert_eq!((error.kind(), error.is_retryable()), (ErrorKind::Unreachable, true), "{error}");
        assert!(error.message().contains("broke off"), "{error}");
    }
    let server = serve(None).await;
    let client = builder(&server.url).timeout(Duration::from_millis(200)).build().unwrap();
    let error = get(&client).await.unwrap_err();
    assert_eq!((error.kind(), error.is_retryable()), (ErrorKind::Timeout, true), "{error}");
    let error = get(&builder("http://127.0.0.1:1").build().unwrap()).await.unwrap_err();
    assert_eq!((error.kind(), error.hints()), (ErrorKind::Unreachable, &["check the address".to_owned()][..]));
}

#[tokio::test]
async fn every_status_has_its_kind() {
    for (status, kind) in [
        ("400 x", ErrorKind::InvalidRequest),
        ("401 x", ErrorKind::Unauthorized),
        ("403 x", ErrorKind::Unauthorized),
        ("404 x", ErrorKind::NotFound),
        ("408 x", ErrorKind::Timeout),
        ("409 x", ErrorKind::Conflict),
        ("422 x", ErrorKind::InvalidRequest),
        ("429 x", ErrorKind::Busy),
        ("500 x", ErrorKind::Unreachable),
        ("501 x", ErrorKind::Unsupported),
        ("503 x", ErrorKind::Unreachable),
        ("504 x", ErrorKind::Timeout),
    ] {
        let server = serve(answer(status, "retry-after: 1.5\r\n", r#"{"detail": "the\nreason"}"#)).await;
        let error = get(&builder(&server.url).build().unwrap()).await.unwrap_err();
        assert_eq!(error.kind(), kind, "{status}: {error}");
        assert!(error.message().ends_with(&format!("answered {}: the reason", &status[..3])), "{error}");
        assert_eq!(error.retry_after_ms(), error.is_retryable().then_some(1_500), "{status}");
    }
    for (header, expected) in
        [("-1", None), ("NaN", None), ("Wed, 21 Oct 2026 07:28:00 GMT", None), ("0", Some(0)), (" 7 ", Some(7_000))]
    {
        let server = serve(answer("429 x", &format!("retry-after: {header}\r\n"), "")).await;
        let error = get(&builder(&server.url).build().unwrap()).await.unwrap_err();
        assert_eq!(error.retry_after_ms(), expected, "{header}");
    }
}

#[tokio::test]
async fn the_key_is_never_printed() {
    let address = "http://user:canary-password@127.0.0.1:1/?key=canary-query";
    let client = builder(address).build().unwrap();
    let mut shown = format!("{client:?} {}", get(&client).await.unwrap_err().to_json());
    for body in [json!({"detail": format!("no such key {KEY}")}), json!([KEY]), json!(format!("{KEY}{KEY}"))] {
        let server = serve(answer("401 x", "", &body.to_string())).await;
        let error = get(&builder(&server.url).build().unwrap()).await.unwrap_err();
        shown += &format!("{error} {error:?} {}", error.to_json());
    }
    assert!(!shown.contains("canary"), "{shown}");
    for wrong in ["line\nbreak", "\u{7f}"] {
        let error = JsonClient::builder(service("http://h")).header("x-api-key", wrong).unwrap_err();
        assert!(error.kind() == ErrorKind::ConfigInvalid && !error.to_string().contains(wrong), "{error}");
    }
}

#[tokio::test]
async fn what_a_service_says_cannot_steer_a_terminal() {
    let body = json!({"detail": "\u{1b}[31mred\u{7} \u{9b}2J 红"}).to_string();
    let server = serve(answer("500 x", "", &body)).await;
    let error = get(&builder(&server.url).build().unwrap()).await.unwrap_err();
    assert!(error.to_string().ends_with("[31mred 2J 红"), "{error}");
    assert!(!error.to_string().chars().any(char::is_control));
}

#[test]
fn an_address_must_be_one() {
    for wrong in ["", "host", "ftp://host", "http://", "file:///etc/passwd", "http://[::"] {
        let error = builder(wrong).build().unwrap_err();
        assert_eq!((error.kind(), error.hints()), (ErrorKind::ConfigInvalid, &["check the address".to_owned()][..]));
    }
}
