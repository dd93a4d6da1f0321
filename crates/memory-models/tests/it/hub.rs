//! Models from a hub, served on loopback.

use std::path::Path;

use axum::Router;
use axum::extract::Path as UrlPath;
use axum::http::StatusCode;
use axum::routing::get;
use memory_core::{ErrorKind, NoProgress, SafeUrl};
use memory_models::{HubModel, list_installed};

use crate::tiny_model;

/// Serves the files of a directory the way a hub does.
async fn hub(directory: &Path) -> String {
    let directory = directory.to_owned();
    let serve = move |UrlPath(file): UrlPath<String>| {
        let path = directory.join(file);
        async move { std::fs::read(path).map_err(|_| StatusCode::NOT_FOUND) }
    };
    let router = Router::new().route("/me/tiny/resolve/main/{*file}", get(serve));
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
    address
}

fn model(hub: &str, repository: &str) -> HubModel {
    HubModel { repository: repository.into(), revision: "main".into(), hub: SafeUrl::new(hub) }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_model_is_fetched_checked_and_installed() {
    let (published, models) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    tiny_model::write(published.path(), candle_core::DType::F32);
    let hub = hub(published.path()).await;
    let path = model(&hub, "me/tiny").install(models.path(), "tiny", &NoProgress).await.unwrap();
    assert_eq!(path, models.path().join("tiny"));
    let installed = list_installed(models.path()).unwrap();
    assert_eq!((installed.len(), installed[0].problem.clone()), (1, None));
    assert_eq!(std::fs::read_dir(models.path()).unwrap().count(), 1, "nothing partial is left");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_be_fetched_leaves_nothing() {
    let (published, models) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    tiny_model::write(published.path(), candle_core::DType::F32);
    std::fs::remove_file(published.path().join("tokenizer.json")).unwrap();
    let hub = hub(published.path()).await;
    for (hub, repository, kind) in [
        (hub.as_str(), "me/tiny", ErrorKind::NotFound),
        (hub.as_str(), "me/other", ErrorKind::NotFound),
        (hub.as_str(), "../tiny", ErrorKind::InvalidRequest),
        (hub.as_str(), "tiny", ErrorKind::InvalidRequest),
        ("http://127.0.0.1:9", "me/tiny", ErrorKind::Unreachable),
    ] {
        let error = model(hub, repository).install(models.path(), "tiny", &NoProgress).await.unwrap_err();
        assert_eq!(error.kind(), kind, "{repository}: {error}");
        assert_eq!(std::fs::read_dir(models.path()).unwrap().count(), 0, "{repository}");
    }
}
