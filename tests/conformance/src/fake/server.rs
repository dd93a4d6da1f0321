//! The HTTP side of every stand-in.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::{HeaderMap, Method, StatusCode, Uri};
use serde_json::Value;

/// A request as it came.
#[derive(Debug, Clone)]
pub struct Recorded {
    /// `GET`, `POST` …
    pub method: String,
    /// The path, percent-encoded as sent.
    pub path: String,
    /// The query, as sent.
    pub query: String,
    /// The headers.
    pub headers: HeaderMap,
    /// The body.
    pub body: Bytes,
}

/// What a stand-in works with.
pub type Request = Recorded;

impl Recorded {
    /// The body as JSON; `null` when it is empty.
    pub fn json(&self) -> Value {
        if self.body.is_empty() { Value::Null } else { serde_json::from_slice(&self.body).unwrap() }
    }

    /// The value of a header.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).map(|value| value.to_str().unwrap())
    }

    /// `METHOD path?query`.
    pub fn line(&self) -> String {
        let mark = if self.query.is_empty() { "" } else { "?" };
        format!("{} {}{mark}{}", self.method, self.path, self.query)
    }
}

/// The answer of a stand-in.
#[derive(Debug, Clone)]
pub struct Response {
    /// The HTTP status.
    pub status: u16,
    /// The body.
    pub body: Value,
}

impl Response {
    /// 200 with a body.
    pub fn ok(body: Value) -> Self {
        Self { status: 200, body }
    }

    /// A status with a body.
    pub fn status(status: u16, body: Value) -> Self {
        Self { status, body }
    }
}

/// What goes wrong instead of an answer.
#[derive(Debug, Clone)]
pub enum Fault {
    /// This status with this body; the request has no effect.
    Status(u16, Value),
    /// This status with `Retry-After` in seconds.
    RetryAfter(u16, u64),
    /// The effect happens, and the connection breaks in the middle of the answer.
    CutInHalf,
    /// The effect happens, and the answer never comes.
    HangAfterEffect,
    /// Nothing happens, and the answer never comes.
    Hang,
    /// 200 with a body that is not JSON.
    NotJson,
    /// 302 to another address.
    Redirect(String),
    /// 200 with a body of so many bytes.
    Huge(usize),
}

type Handler = Arc<dyn Fn(&Request) -> Response + Send + Sync>;

struct Shared {
    handler: Handler,
    recorded: Mutex<Vec<Recorded>>,
    faults: Mutex<VecDeque<Fault>>,
    /// What goes wrong always, where the path ends so.
    constant: Mutex<Option<(String, Fault)>>,
}

/// A stand-in that listens on loopback until it is dropped.
pub struct FakeServer {
    url: String,
    shared: Arc<Shared>,
    task: tokio::task::JoinHandle<()>,
}

impl FakeServer {
    /// Starts one on a free port; `handler` answers every request.
    pub async fn start(handler: impl Fn(&Request) -> Response + Send + Sync + 'static) -> Self {
        Self::start_at("127.0.0.1:0", handler).await
    }

    /// Starts one at an address, such as that of one that was stopped.
    pub async fn start_at(address: &str, handler: impl Fn(&Request) -> Response + Send + Sync + 'static) -> Self {
        let shared = Arc::new(Shared {
            handler: Arc::new(handler),
            recorded: Mutex::default(),
            faults: Mutex::default(),
            constant: Mutex::default(),
        });
        let listener = tokio::net::TcpListener::bind(address).await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let router = Router::new().fallback(answer).with_state(shared.clone());
        let task = tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
        Self { url, shared, task }
    }

    /// Where it listens.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Every request so far.
    pub fn recorded(&self) -> Vec<Recorded> {
        self.shared.recorded.lock().unwrap().clone()
    }

    /// Every request so far, forgotten afterwards.
    pub fn take_recorded(&self) -> Vec<Recorded> {
        std::mem::take(&mut *self.shared.recorded.lock().unwrap())
    }

    /// The next requests meet these faults, one each.
    pub fn fail_next(&self, faults: impl IntoIterator<Item = Fault>) {
        self.shared.faults.lock().unwrap().extend(faults);
    }

    /// Every request meets this fault, until `None`.
    pub fn fail_always(&self, fault: Option<Fault>) {
        *self.shared.constant.lock().unwrap() = fault.map(|fault| (String::new(), fault));
    }

    /// Every request whose path ends so meets this fault, in place of what was said before.
    pub fn fail_always_at(&self, end_of_path: &str, fault: Fault) {
        *self.shared.constant.lock().unwrap() = Some((end_of_path.to_owned(), fault));
    }
}

impl Drop for FakeServer {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn answer(
    State(shared): State<Arc<Shared>>,
    method: Method,
    uri: Uri,
    headers: HeaderMap,
    body: Bytes,
) -> axum::response::Response {
    let request = Recorded {
        method: method.to_string(),
        path: uri.path().to_owned(),
        query: uri.query().unwrap_or_default().to_owned(),
        headers,
        body,
    };
    shared.recorded.lock().unwrap().push(request.clone());
    let next = shared.faults.lock().unwrap().pop_front();
    let constant = || shared.constant.lock().unwrap().clone().filter(|(end, _)| request.path.ends_with(end));
    let fault = next.or_else(|| constant().map(|(_, fault)| fault));
    let reply = |status: u16, headers: &[(&str, &str)], body: Body| {
        let mut builder = axum::response::Response::builder()
            .status(StatusCode::from_u16(status).unwrap())
            .header("content-type", "application/json");
        for (name, value) in headers {
            builder = builder.header(*name, *value);
        }
        builder.body(body).unwrap()
    };
    let hang = || tokio::time::sleep(Duration::from_secs(3600));
    match fault {
        None => {
            let response = (shared.handler)(&request);
            reply(response.status, &[], Body::from(response.body.to_string()))
        }
        Some(Fault::Status(status, body)) => reply(status, &[], Body::from(body.to_string())),
        Some(Fault::RetryAfter(status, seconds)) => {
            reply(status, &[("retry-after", &seconds.to_string())], Body::from(r#"{"detail":"slow down"}"#))
        }
        Some(Fault::CutInHalf) => {
            let text = (shared.handler)(&request).body.to_string();
            let length = (text.len() + 10).to_string();
            let parts = futures_of(vec![Ok(Bytes::from(text)), Err(std::io::Error::other("cut"))]);
            reply(200, &[("content-length", &length)], Body::from_stream(parts))
        }
        Some(Fault::HangAfterEffect) => {
            let _ = (shared.handler)(&request);
            hang().await;
            reply(504, &[], Body::empty())
        }
        Some(Fault::Hang) => {
            hang().await;
            reply(504, &[], Body::empty())
        }
        Some(Fault::NotJson) => reply(200, &[], Body::from("<html>a proxy says hello</html>")),
        Some(Fault::Redirect(to)) => reply(302, &[("location", &to)], Body::empty()),
        Some(Fault::Huge(bytes)) => reply(200, &[], Body::from(vec![b' '; bytes])),
    }
}

fn futures_of(parts: Vec<std::io::Result<Bytes>>) -> impl futures::Stream<Item = std::io::Result<Bytes>> {
    futures::stream::iter(parts)
}
