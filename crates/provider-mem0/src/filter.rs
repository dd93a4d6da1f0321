//! What to ask for, in the filter language of the platform and in the plain parameters of the self-hosted server.
//!
//! On the server only what it is known to understand is asked for; every condition is checked again on what comes back.

use serde_json::{Map, Value, json};

use crate::scope::USER;

/// What is selected, before any condition that only this side can check.
#[derive(Debug, Clone)]
pub(crate) struct Selection {
    /// The user there.
    pub(crate) user: String,
    /// Agents whose words are wanted too.
    pub(crate) agents: Vec<String>,
    /// The configured application.
    pub(crate) app: Option<String>,
    /// The configured run.
    pub(crate) run: Option<String>,
    /// Further conditions, for the platform.
    pub(crate) conditions: Vec<Value>,
}

impl Selection {
    /// The filter of the platform. It never has an `OR` beside another key: the platform would drop it.
    pub(crate) fn filters(&self) -> Value {
        let mut parts = vec![self.whose()];
        parts.extend(self.app.iter().map(|id| json!({ "app_id": id })));
        parts.extend(self.run.iter().map(|id| json!({ "run_id": id })));
        parts.extend(self.conditions.iter().cloned());
        if parts.len() == 1 { parts.remove(0) } else { json!({ "AND": parts }) }
    }

    /// The user's, and what the platform keeps under an agent alone although it was said to this user.
    fn whose(&self) -> Value {
        let user = json!({ "user_id": self.user });
        let agent = match self.agents.as_slice() {
            [] => return user,
            [agent] => json!({ "agent_id": agent }),
            agents => json!({ "agent_id": { "in": agents } }),
        };
        let said_to_the_user = json!({ "metadata": { USER: self.user } });
        json!({ "OR": [user, { "AND": [agent, said_to_the_user] }] })
    }

    /// The ids of the self-hosted server, as a query.
    pub(crate) fn top_level(&self) -> Vec<(&str, &str)> {
        let mut ids = vec![("user_id", self.user.as_str())];
        ids.extend(self.run.as_deref().map(|id| ("run_id", id)));
        ids
    }

    /// The ids of the self-hosted server, as a filter.
    pub(crate) fn top_level_filters(&self) -> Value {
        let ids: Map<String, Value> =
            self.top_level().into_iter().map(|(key, value)| (key.to_owned(), value.into())).collect();
        Value::Object(ids)
    }

    /// Only what has one of these external ids.
    pub(crate) fn with_external_ids(mut self, ids: &[&str]) -> Self {
        self.conditions.push(any(ids.iter().map(|id| json!({ "metadata": { "external_id": id } }))));
        self
    }

    /// Only these categories: ours in the metadata, or those Mem0 gave.
    pub(crate) fn with_categories(mut self, categories: &[String]) -> Self {
        if !categories.is_empty() {
            let ours = categories.iter().map(|category| json!({ "metadata": { "category": category } }));
            self.conditions.push(any(ours.chain([json!({ "categories": { "in": categories } })])));
        }
        self
    }
}

fn any(parts: impl Iterator<Item = Value>) -> Value {
    let mut parts: Vec<Value> = parts.collect();
    if parts.len() == 1 { parts.remove(0) } else { json!({ "OR": parts }) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn filters_are_as_simple_as_they_can_be() {
        let plain = Selection { user: "张三".into(), agents: vec![], app: None, run: None, conditions: vec![] };
        assert_eq!(plain.filters(), json!({"user_id": "张三"}));
        let app = Selection { app: Some("a".into()), run: Some("r".into()), ..plain.clone() };
        assert_eq!(app.filters(), json!({"AND": [{"user_id": "张三"}, {"app_id": "a"}, {"run_id": "r"}]}));
        assert_eq!(app.top_level_filters(), json!({"user_id": "张三", "run_id": "r"}));
        let agent = Selection { agents: vec!["x".into()], ..plain.clone() };
        assert_eq!(
            agent.filters(),
            json!({"OR": [{"user_id": "张三"}, {"AND": [{"agent_id": "x"}, {"metadata": {"memory_user": "张三"}}]}]})
        );
        assert_eq!(
            plain.with_external_ids(&["1", "2"]).with_categories(&["c".into()]).filters(),
            json!({"AND": [
                {"user_id": "张三"},
                {"OR": [{"metadata": {"external_id": "1"}}, {"metadata": {"external_id": "2"}}]},
                {"OR": [{"metadata": {"category": "c"}}, {"categories": {"in": ["c"]}}]},
            ]})
        );
    }
}
