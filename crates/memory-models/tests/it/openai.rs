//! The service embedder against a real HTTP server on the loopback interface.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::{HeaderMap, Method, StatusCode, Uri};
use axum::response::{IntoResponse, Response};
use memory_core::{ErrorKind, ErrorStatus, SafeUrl, Secret};
use memory_models::{EmbedCost, Embedder, OpenAiConfig, OpenAiEmbedder, Purpose, RetryPolicy};
use serde_json::{Value, json};

const KEY: &str = "canary-sk-0123456789";

struct Seen {
    method: Method,
    path: String,
    authorization: Option<String>,
    content_type: Option<String>,
    body: Value,
}

/// A server that answers by script: each call takes the next reply; after the last, vectors of width 3.
#[derive(Clone, Default)]
struct Service {
    seen: Arc<Mutex<Vec<Seen>>>,
    replies: Arc<Mutex<VecDeque<Response>>>,
}

impl Service {
    async fn start(replies: impl IntoIterator<Item = Response>) -> (Self, OpenAiConfig) {
        let service = Self::default();
        service.replies.lock().unwrap().extend(replies);
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let base = format!("http://{}/v1/", listener.local_addr().unwrap());
        let router = Router::new().fallback(answer).with_state(service.clone());
        tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
        let mut config = OpenAiConfig::new(SafeUrl::new(base), Secret::new(KEY), "text-embedding-test");
        config.retry = RetryPolicy { base: Duration::from_millis(1), ..RetryPolicy::default() };
        (service, config)
    }

    fn calls(&self) -> usize {
        self.seen.lock().unwrap().len()
    }
}

async fn answer(State(service): State<Service>, method: Method, uri: Uri, headers: HeaderMap, body: Bytes) -> Response {
    let header = |name: &str| headers.get(name).map(|value| value.to_str().unwrap().to_owned());
    let body: Value = serde_json::from_slice(&body).unwrap();
    let inputs = body["input"].as_array().map_or(0, Vec::len);
    service.seen.lock().unwrap().push(Seen {
        method,
        path: uri.path().to_owned(),
        authorization: header("authorization"),
        content_type: header("content-type"),
        body,
    });
    let scripted = service.replies.lock().unwrap().pop_front();
    scripted.unwrap_or_else(|| vectors((0..inputs).rev().map(|index| (index, json!([index + 1, 0.0, 0.0])))))
}

fn vectors(items: impl IntoIterator<Item = (usize, Value)>) -> Response {
    let data: Vec<Value> = items
        .into_iter()
        .map(|(index, embedding)| json!({"object": "embedding", "index": index, "embedding": embedding}))
        .collect();
    axum::Json(json!({"object": "list", "data": data, "model": "m", "usage": {"total_tokens": 1}})).into_response()
}

fn failure(status: u16, retry_after: Option<&str>) -> Response {
    let body = json!({"error": {"message": format!("no luck with {KEY}"), "type": "x"}}).to_string();
    let mut response = (StatusCode::from_u16(status).unwrap(), body).into_response();
    if let Some(wait) = retry_after {
        response.headers_mut().insert("retry-after", wait.parse().unwrap());
    }
    response
}

fn texts(count: usize) -> Vec<String> {
    (0..count).map(|number| format!("文本 {number}")).collect()
}

#[tokio::test]
async fn the_call_is_what_the_api_asks_for() {
    let (service, mut config) = Service::start([]).await;
    config.dimensions = Some(3);
    let embedder = OpenAiEmbedder::new(config).unwrap();
    assert_eq!((embedder.cost(), embedder.dimensions()), (EmbedCost::Remote, 3));
    embedder.embed(&["你好".to_owned()], Purpose::Query).await.unwrap();
    let seen = service.seen.lock().unwrap().pop().unwrap();
    assert_eq!((seen.method, seen.path.as_str()), (Method::POST, "/v1/embeddings"));
    assert_eq!(seen.authorization.as_deref(), Some("Bearer canary-sk-0123456789"));
    assert_eq!(seen.content_type.as_deref(), Some("application/json"));
    let expected =
        json!({"model": "text-embedding-test", "input": ["你好"], "dimensions": 3, "encoding_format": "float"});
    assert_eq!(seen.body, expected);
}

#[tokio::test]
async fn without_key_and_dimensions_none_are_sent() {
    let (service, mut config) = Service::start([]).await;
    config.key = Secret::default();
    OpenAiEmbedder::new(config).unwrap().embed(&texts(1), Purpose::Passage).await.unwrap();
    let seen = service.seen.lock().unwrap().pop().unwrap();
    assert_eq!(seen.authorization, None);
    assert_eq!(seen.body, json!({"model": "text-embedding-test", "input": ["文本 0"], "encoding_format": "float"}));
}

#[tokio::test]
async fn batches_come_back_in_order_and_blank_texts_are_not_sent() {
    let (service, mut config) = Service::start([]).await;
    config.batch_texts = 2;
    config.maximum_characters = 4;
    let embedder = OpenAiEmbedder::new(config).unwrap();
    let wanted = ["a", "", "b", " \n", "cdefgh"].map(str::to_owned);
    let result = embedder.embed(&wanted, Purpose::Passage).await.unwrap();
    let covered: Vec<bool> = result.iter().map(Option::is_some).collect();
    assert_eq!(covered, [true, false, true, false, true]);
    // The server answers in reverse and with lengths 1 and 2: all normalised.
    assert!(result.iter().flatten().all(|vector| vector == &[1.0, 0.0, 0.0]));
    let seen = service.seen.lock().unwrap();
    let inputs: Vec<&Value> = seen.iter().map(|seen| &seen.body["input"]).collect();
    assert_eq!(inputs, [&json!(["a", "b"]), &json!(["cdef"])]);
    assert_eq!(embedder.dimensions(), 3);
}

#[tokio::test]
async fn each_text_gets_its_own_vector_whatever_the_order_and_the_encoding() {
    // 0.0 and 2.0 as little-endian f32 in base64.
    let reply = vectors([(1, json!("AAAAAAAAAEA=")), (0, json!([5.0, 0.0]))]);
    let (_, config) = Service::start([reply]).await;
    let embedder = OpenAiEmbedder::new(config).unwrap();
    let result = embedder.embed(&texts(2), Purpose::Passage).await.unwrap();
    assert_eq!(result, [Some(vec![1.0, 0.0]), Some(vec![0.0, 1.0])]);
}

#[tokio::test]
async fn the_width_is_found_once_and_held_to() {
    let replies = [vectors([(0, json!([1, 0]))]), vectors([(0, json!([1, 0, 0]))])];
    let (service, config) = Service::start(replies).await;
    let embedder = OpenAiEmbedder::new(config).unwrap();
    assert_eq!(embedder.dimensions(), 0);
    embedder.prepare().await.unwrap();
    embedder.prepare().await.unwrap();
    assert_eq!((embedder.dimensions(), service.calls()), (2, 1));
    let error = embedder.embed(&texts(1), Purpose::Passage).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::BadReply);
    assert!(error.to_string().contains("3 numbers instead of 2"), "{error}");
}

#[tokio::test]
async fn vectors_without_direction_are_refused() {
    for vector in [json!([0, 0]), json!([1e39, 0]), json!([])] {
        let (_, config) = Service::start([vectors([(0, vector)])]).await;
        let error = OpenAiEmbedder::new(config).unwrap().embed(&texts(1), Purpose::Passage).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::BadReply);
    }
}

#[tokio::test]
async fn temporary_failures_are_tried_again() {
    let replies = [failure(429, Some("0")), failure(503, None), failure(500, None)];
    let (service, config) = Service::start(replies).await;
    let result = OpenAiEmbedder::new(config).unwrap().embed(&texts(1), Purpose::Passage).await.unwrap();
    assert!(result[0].is_some());
    assert_eq!(service.calls(), 4);
}

#[tokio::test]
async fn retries_end_and_say_so() {
    let (service, config) = Service::start((0..9).map(|_| failure(503, None))).await;
    let error = OpenAiEmbedder::new(config).unwrap().embed(&texts(1), Purpose::Passage).await.unwrap_err();
    assert_eq!((error.kind(), error.status(), service.calls()), (ErrorKind::Unreachable, ErrorStatus::Persistent, 4));
    assert!(error.to_string().contains("attempts: 4"), "{error}");
}

#[tokio::test]
async fn a_long_wait_is_handed_to_the_caller() {
    let (service, config) = Service::start([failure(429, Some("3600"))]).await;
    let error = OpenAiEmbedder::new(config).unwrap().embed(&texts(1), Purpose::Passage).await.unwrap_err();
    assert_eq!((error.kind(), error.retry_after_ms(), service.calls()), (ErrorKind::Busy, Some(3_600_000), 1));
    assert!(error.is_retryable());
}

#[tokio::test]
async fn permanent_failures_are_not_tried_again_and_never_show_the_key() {
    for (status, kind) in [(401, ErrorKind::Unauthorized), (400, ErrorKind::InvalidRequest), (404, ErrorKind::NotFound)]
    {
        let (service, config) = Service::start([failure(status, None)]).await;
        let embedder = OpenAiEmbedder::new(config.clone()).unwrap();
        let error = embedder.embed(&texts(1), Purpose::Passage).await.unwrap_err();
        assert_eq!((error.kind(), service.calls()), (kind, 1));
        let printed = format!("{error} {error:?} {} {embedder:?} {config:?} {}", error.to_json(), embedder.id());
        assert!(printed.contains("no luck with ****"), "{printed}");
        assert!(!printed.contains("canary"), "{printed}");
    }
}

#[tokio::test]
async fn a_redirect_is_not_followed() {
    let mut redirect = failure(307, None);
    redirect.headers_mut().insert("location", "http://127.0.0.1:9/elsewhere".parse().unwrap());
    let (service, config) = Service::start([redirect]).await;
    let error = OpenAiEmbedder::new(config).unwrap().embed(&texts(1), Purpose::Passage).await.unwrap_err();
    assert_eq!((error.kind(), service.calls()), (ErrorKind::BadReply, 1));
}

#[tokio::test]
async fn nonsense_is_a_bad_reply() {
    for body in ["<html>", r#"{"data":[]}"#, r#"{"data":[{"index":5,"embedding":[1]}]}"#] {
        let (_, config) = Service::start([body.into_response()]).await;
        let error = OpenAiEmbedder::new(config).unwrap().embed(&texts(1), Purpose::Passage).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::BadReply, "{body}");
    }
    let (_, config) = Service::start(["x".repeat(3 << 20).into_response()]).await;
    let error = OpenAiEmbedder::new(config).unwrap().embed(&texts(1), Purpose::Passage).await.unwrap_err();
    assert!(error.to_string().contains("far too long"), "{error}");
}

#[tokio::test]
async fn nobody_listening_is_unreachable_without_credentials_in_the_message() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    drop(listener);
    let base = SafeUrl::new(format!("http://me:canary@{address}/v1"));
    let mut config = OpenAiConfig::new(base, Secret::new(KEY), "m");
    config.retry = RetryPolicy { attempts: 2, base: Duration::from_millis(1), ..RetryPolicy::default() };
    let error = OpenAiEmbedder::new(config).unwrap().embed(&texts(1), Purpose::Query).await.unwrap_err();
    assert_eq!((error.kind(), error.status()), (ErrorKind::Unreachable, ErrorStatus::Persistent));
    let printed = format!("{error} {error:?}");
    assert!(printed.contains(&address.to_string()) && !printed.contains("canary"), "{printed}");
}

#[tokio::test]
async fn a_silent_service_times_out() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let base = SafeUrl::new(format!("http://{}", listener.local_addr().unwrap()));
    let mut config = OpenAiConfig::new(base, Secret::default(), "m");
    config.timeout = Duration::from_millis(50);
    config.retry.attempts = 1;
    let error = OpenAiEmbedder::new(config).unwrap().embed(&texts(1), Purpose::Query).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Timeout);
}
