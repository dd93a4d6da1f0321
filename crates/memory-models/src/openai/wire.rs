//! The JSON of the embeddings API.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Serialize};

#[derive(Serialize)]
pub(super) struct Request<'a> {
    pub(super) model: &'a str,
    pub(super) input: &'a [&'a str],
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) dimensions: Option<usize>,
    pub(super) encoding_format: &'a str,
}

#[derive(Deserialize)]
struct Reply {
    data: Vec<Item>,
}

#[derive(Deserialize)]
struct Item {
    index: Option<usize>,
    embedding: Vector,
}

/// Some services send base64 whatever they were asked for.
#[derive(Deserialize)]
#[serde(untagged)]
enum Vector {
    Numbers(Vec<f32>),
    Base64(String),
}

/// The vectors of a reply in the order of the `expected` inputs; `Err` says what makes no sense.
pub(super) fn read_reply(body: &[u8], expected: usize) -> Result<Vec<Vec<f32>>, String> {
    let reply: Reply = serde_json::from_slice(body).map_err(|error| {
        format!("no embeddings in it ({:?} at line {}, column {})", error.classify(), error.line(), error.column())
    })?;
    if reply.data.len() != expected {
        return Err(format!("{} vectors for {expected} texts", reply.data.len()));
    }
    let mut vectors: Vec<Option<Vec<f32>>> = vec![None; expected];
    for (position, item) in reply.data.into_iter().enumerate() {
        let index = item.index.unwrap_or(position);
        match vectors.get_mut(index) {
            Some(slot @ None) => *slot = Some(item.embedding.decode()?),
            Some(_) => return Err(format!("two vectors with index {index}")),
            None => return Err(format!("a vector with index {index} for {expected} texts")),
        }
    }
    Ok(vectors.into_iter().flatten().collect())
}

impl Vector {
    fn decode(self) -> Result<Vec<f32>, String> {
        match self {
            Self::Numbers(numbers) => Ok(numbers),
            Self::Base64(text) => {
                let bytes = STANDARD.decode(text.trim()).map_err(|_| "a vector that is not base64".to_owned())?;
                match bytes.as_chunks::<4>() {
                    (numbers, []) => Ok(numbers.iter().map(|number| f32::from_le_bytes(*number)).collect()),
                    _ => Err(format!("a base64 vector of {} bytes", bytes.len())),
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn replies_come_in_the_order_of_their_index() {
        // 1.0 and -2.0 as little-endian f32.
        let body =
            br#"{"object":"list","data":[{"index":1,"embedding":[3,4.5]},{"index":0,"embedding":"AACAPwAAAMA="}]}"#;
        assert_eq!(read_reply(body, 2).unwrap(), [vec![1.0, -2.0], vec![3.0, 4.5]]);
        let body = br#"{"data":[{"embedding":[1]},{"embedding":[2]}]}"#;
        assert_eq!(read_reply(body, 2).unwrap(), [vec![1.0], vec![2.0]]);
    }

    #[test]
    fn nonsense_is_named() {
        for (body, expected, reason) in [
            ("<html>", 1, "no embeddings"),
            (r#"{"data":[]}"#, 1, "0 vectors for 1"),
            (r#"{"data":[{"index":0,"embedding":[1]},{"index":0,"embedding":[1]}]}"#, 2, "two vectors"),
            (r#"{"data":[{"index":7,"embedding":[1]}]}"#, 1, "index 7"),
            (r#"{"data":[{"index":0,"embedding":"AAA="}]}"#, 1, "2 bytes"),
            (r#"{"data":[{"index":0,"embedding":"!!"}]}"#, 1, "not base64"),
        ] {
            let error = read_reply(body.as_bytes(), expected).unwrap_err();
            assert!(error.contains(reason), "{error}");
        }
    }

    proptest! {
        #[test]
        fn any_bytes_are_safe(body in proptest::collection::vec(any::<u8>(), 0..200), expected in 0usize..4) {
            let _ = read_reply(&body, expected);
        }
    }
}
