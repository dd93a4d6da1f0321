//! One call to the service.

use std::time::Duration;

use memory_core::{Error, ErrorKind, Result, SafeUrl, Secret};
use reqwest::header::{AUTHORIZATION, HeaderMap, HeaderValue};
use reqwest::redirect::Policy;
use reqwest::{Client, Url};

use super::{errors, wire};

/// A reply may hold this much for each text (a wide vector in decimal digits), and a bit around.
const BYTES_PER_TEXT: usize = 256 << 10;
const BYTES_AROUND: usize = 1 << 20;

pub(super) struct EmbeddingsClient {
    http: Client,
    pub(super) url: SafeUrl,
    key: Secret,
}

impl EmbeddingsClient {
    pub(super) fn new(base: &SafeUrl, key: &Secret, timeout: Duration) -> Result<Self> {
        let url = endpoint(base)?;
        let mut headers = HeaderMap::new();
        if !key.is_empty() {
            let mut value = HeaderValue::try_from(format!("Bearer {}", key.expose())).map_err(|_| {
                Error::new(ErrorKind::ConfigInvalid, "the embedding key has characters that no header can carry")
                    .with_hint("check EMBED_API_KEY for line breaks and quotes")
            })?;
            value.set_sensitive(true);
            headers.insert(AUTHORIZATION, value);
        }
        // A redirect would turn the call into a GET or carry texts to an address nobody configured.
        let mut builder = Client::builder()
            .default_headers(headers)
            .redirect(Policy::none())
            .connect_timeout(timeout.min(Duration::from_secs(10)))
            .timeout(timeout);
        if is_loopback(&url) {
            builder = builder.no_proxy();
        }
        let safe = SafeUrl::new(url.as_str());
        let http = builder.build().map_err(|error| errors::of_transport(error, &safe))?;
        Ok(Self { http, url: safe, key: key.clone() })
    }

    pub(super) async fn call(&self, request: &wire::Request<'_>) -> Result<Vec<Vec<f32>>> {
        let sent = self.http.post(self.url.expose()).json(request).send().await;
        let mut reply = sent.map_err(|error| errors::of_transport(error, &self.url))?;
        let limit = request.input.len() * BYTES_PER_TEXT + BYTES_AROUND;
        let mut body = Vec::new();
        while let Some(part) = reply.chunk().await.map_err(|error| errors::of_transport(error, &self.url))? {
            if body.len() + part.len() > limit {
                return Err(errors::of_nonsense("it is far too long", &self.url));
            }
            body.extend_from_slice(&part);
        }
        if !reply.status().is_success() {
            return Err(errors::of_reply(reply.status(), reply.headers(), &body, &self.url, &self.key));
        }
        wire::read_reply(&body, request.input.len()).map_err(|reason| errors::of_nonsense(&reason, &self.url))
    }
}

/// The address of the call: people write the base with and without slashes and with the call's own name at its end.
pub(super) fn endpoint(base: &SafeUrl) -> Result<Url> {
    let invalid = |reason: &str| {
        Error::new(ErrorKind::ConfigInvalid, format!("the embedding address `{base}` {reason}"))
            .with_hint("set EMBED_API_BASE to an address such as https://api.openai.com/v1")
    };
    let mut url = Url::parse(base.expose().trim()).map_err(|error| invalid(&format!("is not an address: {error}")))?;
    if !matches!(url.scheme(), "http" | "https") {
        return Err(invalid("is neither http nor https"));
    }
    let path = url.path().trim_end_matches('/');
    let path = path.strip_suffix("/embeddings").unwrap_or(path).trim_end_matches('/');
    let path = format!("{path}/embeddings");
    url.set_path(&path);
    url.set_fragment(None);
    Ok(url)
}

fn is_loopback(url: &Url) -> bool {
    let host = url.host_str().unwrap_or_default();
    let address = host.trim_start_matches('[').trim_end_matches(']').parse::<std::net::IpAddr>();
    host == "localhost" || address.is_ok_and(|address| address.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_way_to_write_the_base_leads_to_the_call() {
        for base in
            ["http://h/v1", " http://h/v1/ ", "http://h/v1///", "http://h/v1/embeddings", "http://h/v1/embeddings/#x"]
        {
            assert_eq!(endpoint(&SafeUrl::new(base)).unwrap().as_str(), "http://h/v1/embeddings", "{base}");
        }
        assert_eq!(endpoint(&SafeUrl::new("https://h")).unwrap().as_str(), "https://h/embeddings");
        let azure = endpoint(&SafeUrl::new("https://h/openai/deployments/m?api-version=1")).unwrap();
        assert_eq!(azure.as_str(), "https://h/openai/deployments/m/embeddings?api-version=1");
        for base in ["", "api.example.com/v1", "ftp://h", "http://"] {
            assert_eq!(endpoint(&SafeUrl::new(base)).unwrap_err().kind(), ErrorKind::ConfigInvalid, "{base}");
        }
        let error = endpoint(&SafeUrl::new("ftp://me:canary@h")).unwrap_err();
        assert!(!format!("{error} {error:?}").contains("canary"));
    }

    #[test]
    fn local_services_are_reached_without_a_proxy() {
        for (base, local) in
            [("http://localhost:1", true), ("http://127.0.0.2", true), ("http://[::1]:8", true), ("http://a.b", false)]
        {
            assert_eq!(is_loopback(&Url::parse(base).unwrap()), local, "{base}");
        }
    }

    #[test]
    fn a_key_no_header_can_carry_is_refused_without_showing_it() {
        let key = Secret::new("canary\nkey");
        let result = EmbeddingsClient::new(&SafeUrl::new("http://h"), &key, Duration::from_secs(1));
        let error = result.err().unwrap();
        assert_eq!(error.kind(), ErrorKind::ConfigInvalid);
        assert!(!format!("{error} {error:?}").contains("canary"));
    }
}
