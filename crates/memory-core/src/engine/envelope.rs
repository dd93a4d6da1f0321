//! The raw text of a user inside the envelope that some agent frameworks put around it.

use serde_json::Value;

/// The longest text before the envelope, in characters.
const LONGEST_PREFIX: usize = 400;

/// What the user said. JiuwenSwarm hands its agents a prefix line followed by a JSON object with `source`, `content`,
/// `type` and more; of that, this is `content`. Any other text is returned as it is. Always without blanks around it.
pub fn raw_user_text(text: &str) -> String {
    content_of_envelope(text).unwrap_or_else(|| text.to_owned()).trim().to_owned()
}

fn content_of_envelope(text: &str) -> Option<String> {
    let (prefix, envelope) = text.split_at(text.find('{')?);
    // Without the prefix it is JSON that the user wrote.
    if prefix.trim().is_empty() || prefix.chars().count() > LONGEST_PREFIX {
        return None;
    }
    let Value::Object(fields) = serde_json::from_str(envelope.trim_end()).ok()? else { return None };
    if !fields.contains_key("source")
        || !(fields.contains_key("type") || fields.contains_key("preferred_response_language"))
    {
        return None;
    }
    match fields.get("content")? {
        Value::String(content) => Some(content.clone()),
        // The parts of a multimodal message.
        Value::Array(parts) => {
            let texts = parts.iter().filter_map(|part| part.get("text").and_then(Value::as_str));
            Some(texts.collect::<Vec<_>>().join(" "))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_envelope_is_taken_off() {
        let envelope = serde_json::json!({
            "source": "feishu", "preferred_response_language": "zh", "content": "我对花生过敏 {真的}", "type": "text",
            "chat_type": "group", "sender": "张三", "files_updated_by_user": "{}",
        });
        assert_eq!(raw_user_text(&format!("你收到一条消息：\n{envelope}")), "我对花生过敏 {真的}");
        assert_eq!(raw_user_text(&format!("You received a message:\n{envelope:#}\n")), "我对花生过敏 {真的}");
        let parts = serde_json::json!({"source": "web", "type": "text", "content": [{"type": "text", "text": "a"}, {"type": "image"}, {"text": "b"}]});
        assert_eq!(raw_user_text(&format!("You received a message: {parts}")), "a b");
    }

    #[test]
    fn other_texts_stay_as_they_are() {
        for text in [
            "hello",
            "{\"source\":\"a\",\"type\":\"b\",\"content\":\"pasted by the user\"}",
            "look at {\"content\": \"this\"}",
            "你收到一条消息：\n{\"source\":\"feishu\",\"type\":\"text\",\"content\":\"cut of",
            "fn main() { println!(\"source\"); }",
        ] {
            assert_eq!(raw_user_text(text), text);
        }
        assert_eq!(raw_user_text("  记忆 \n"), "记忆");
    }
}
