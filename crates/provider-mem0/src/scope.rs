//! Where a scope is kept at Mem0, and what of Mem0 a viewer may read.
//!
//! The user there is the configured one, else the user of the request; a space other than the configured one is a user of
//! its own. An agent is `agent_id`, other owners are an `agent_id` that says what they are, a session is `run_id`. Since the
//! platform drops ids from what it extracts, the same is written into the metadata, and every answer is checked against it.
//!
//! An id there has no white space (the server trims it or refuses it), and `*` means everybody. Names that have such are
//! encoded; a configured id is sent as it is.

use memory_core::{Attributes, DEFAULT_NAME, Owner, Scope, Team, TeamRole, Viewer};
use serde_json::{Map, Value};

use crate::config::Mem0Config;
use crate::filter::Selection;
use crate::wire::RemoteMemory;

/// The owner, unless it is the user.
pub(crate) const OWNER: &str = "memory_owner";
/// The user there, wherever an agent is named: what an agent said keeps only the agent's id.
pub(crate) const USER: &str = "memory_user";
/// The user here, when it shares a configured user there with others.
pub(crate) const LOCAL_USER: &str = "memory_local_user";
/// The space, unless it is the configured one.
pub(crate) const SPACE: &str = "memory_space";

/// A name as an id, distinct from that of every other name.
fn id_of(name: &str) -> String {
    let mut id = String::with_capacity(name.len());
    for c in name.chars() {
        if c.is_whitespace() || c == '%' || name == "*" {
            let mut bytes = [0; 4];
            id.extend(c.encode_utf8(&mut bytes).bytes().map(|byte| format!("%{byte:02X}")));
        } else {
            id.push(c);
        }
    }
    id
}

impl Mem0Config {
    fn local_user<'a>(&'a self, user: &'a str) -> &'a str {
        if user == DEFAULT_NAME { &self.home_user } else { user }
    }

    fn local_space<'a>(&'a self, space: &'a str) -> &'a str {
        if space == DEFAULT_NAME { &self.home_space } else { space }
    }

    /// The user there.
    pub(crate) fn remote_user(&self, user: &str, space: &str) -> String {
        let configured = &self.section.user_id;
        let user = if configured.is_empty() { id_of(self.local_user(user)) } else { configured.clone() };
        match self.local_space(space) {
            space if space == self.home_space => user,
            space => format!("{user}/{}", id_of(space)),
        }
    }

    /// The user there where nobody says.
    pub(crate) fn home_user(&self) -> String {
        self.remote_user(DEFAULT_NAME, DEFAULT_NAME)
    }

    fn agent_of(&self, owner: &Owner) -> Option<String> {
        match owner {
            _ if !self.section.agent_id.is_empty() => Some(self.section.agent_id.clone()),
            Owner::User | Owner::Session(_) => None,
            Owner::Agent(name) => Some(id_of(name)),
            other => Some(id_of(&other.to_string())),
        }
    }

    fn app_id(&self) -> Option<&str> {
        Some(self.section.app_id.as_str()).filter(|id| !id.is_empty())
    }

    fn run_id(&self) -> Option<&str> {
        Some(self.section.run_id.as_str()).filter(|id| !id.is_empty())
    }

    /// The ids and the metadata under which something of `scope`, said in `session`, is kept.
    pub(crate) fn address(&self, scope: &Scope, session: Option<&str>) -> Address {
        let user = self.remote_user(&scope.user, &scope.space);
        let agent = self.agent_of(&scope.owner);
        let own_session = match &scope.owner {
            Owner::Session(id) => Some(id_of(id)),
            _ => session.filter(|session| *session != DEFAULT_NAME).map(id_of),
        };
        let mut marks = Map::new();
        let mut mark = |key: &str, value: &str| marks.insert(key.to_owned(), value.into());
        if scope.owner != Owner::User {
            mark(OWNER, &scope.owner.to_string());
        }
        if agent.is_some() {
            mark(USER, &user);
        }
        let local = self.local_user(&scope.user);
        if !self.section.user_id.is_empty() && local != self.home_user {
            mark(LOCAL_USER, local);
        }
        let space = self.local_space(&scope.space);
        if space != self.home_space {
            mark(SPACE, space);
        }
        let mut ids = Map::new();
        let named = [("user_id", Some(user.as_str())), ("agent_id", agent.as_deref())];
        for (key, value) in named.into_iter().chain([("run_id", self.run_id().or(own_session.as_deref()))]) {
            if let Some(value) = value {
                ids.insert(key.to_owned(), value.into());
            }
        }
        Address { ids, app_id: self.app_id().map(str::to_owned), marks }
    }
}

/// Where something is kept.
#[derive(Debug)]
pub(crate) struct Address {
    /// `user_id`, `agent_id`, `run_id`.
    pub(crate) ids: Map<String, Value>,
    /// The application, which only the platform knows.
    pub(crate) app_id: Option<String>,
    /// Its part of the metadata.
    pub(crate) marks: Attributes,
}

/// The viewer whose own place `scope` is.
pub(crate) fn viewer_of(scope: &Scope) -> Viewer {
    let mut viewer = Viewer::user(&scope.user, &scope.space);
    let team = |name: &str, role| Some(Team { name: name.to_owned(), role });
    match &scope.owner {
        Owner::User => {}
        Owner::Agent(name) => viewer.agent = Some(name.clone()),
        Owner::Workspace(name) => viewer.workspace = Some(name.clone()),
        Owner::Team(name) => viewer.team = team(name, TeamRole::Leader),
        Owner::Member { team: name, member } => viewer.team = team(name, TeamRole::Member(member.clone())),
        Owner::Session(id) => viewer.session = Some(id.clone()),
    }
    viewer
}

/// What a viewer may read.
#[derive(Debug)]
pub(crate) struct View<'a> {
    config: &'a Mem0Config,
    viewer: &'a Viewer,
    user: String,
    agents: Vec<String>,
}

impl<'a> View<'a> {
    /// The view of a viewer.
    pub(crate) fn new(config: &'a Mem0Config, viewer: &'a Viewer) -> Self {
        let mut agents: Vec<String> =
            viewer.readable().iter().filter_map(|scope| config.agent_of(&scope.owner)).collect();
        agents.dedup();
        Self { config, viewer, user: config.remote_user(&viewer.user, &viewer.space), agents }
    }

    /// What to ask for.
    pub(crate) fn selection(&self) -> Selection {
        let owned = |id: Option<&str>| id.map(str::to_owned);
        Selection {
            user: self.user.clone(),
            agents: self.agents.clone(),
            app: owned(self.config.app_id()),
            run: owned(self.config.run_id()),
            conditions: Vec::new(),
        }
    }

    /// The scope of something, when the viewer may read it. Whatever was asked for, this decides.
    pub(crate) fn scope_of(&self, item: &RemoteMemory) -> Option<Scope> {
        let mark = |key: &str| item.metadata.as_ref()?.get(key)?.as_str();
        let other = |wanted: Option<&str>, found: Option<&str>| matches!((wanted, found), (Some(a), Some(b)) if a != b);
        let of_the_user = match (item.user_id.as_deref(), item.agent_id.as_deref()) {
            (Some(user), _) => user == self.user,
            (None, Some(agent)) => {
                self.agents.iter().any(|known| known == agent) && mark(USER) == Some(self.user.as_str())
            }
            (None, None) => false,
        };
        let config = self.config;
        let local = config.local_user(&self.viewer.user);
        let of_the_local_user =
            config.section.user_id.is_empty() || mark(LOCAL_USER).unwrap_or(&config.home_user) == local;
        let of_the_space = mark(SPACE).unwrap_or(&config.home_space) == config.local_space(&self.viewer.space);
        let elsewhere = other(config.app_id(), item.app_id.as_deref()) || other(config.run_id(), item.run());
        if !of_the_user || !of_the_local_user || !of_the_space || elsewhere {
            return None;
        }
        let owner = mark(OWNER).and_then(|owner| owner.parse().ok()).unwrap_or_else(|| self.owner_by_id(item));
        let scope = Scope { user: self.viewer.user.clone(), space: self.viewer.space.clone(), owner };
        self.viewer.may_read(&scope).then_some(scope)
    }

    /// The owner of something that another program wrote, which says so only by its ids.
    fn owner_by_id(&self, item: &RemoteMemory) -> Owner {
        match item.agent_id.as_deref() {
            None => Owner::User,
            Some(agent) if agent == self.config.section.agent_id => Owner::User,
            Some(agent) => match agent.parse::<Owner>() {
                Ok(owner) if owner != Owner::User => owner,
                _ => Owner::Agent(agent.to_owned()),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use memory_core::config::{Config, Mem0Dialect};
    use serde_json::json;

    fn config(change: impl FnOnce(&mut Config)) -> Mem0Config {
        let mut config = Config::default();
        config.memory.external.mem0.dialect = Mem0Dialect::SelfHosted;
        change(&mut config);
        Mem0Config::of(&config).unwrap()
    }

    fn item(value: Value) -> RemoteMemory {
        serde_json::from_value(value).unwrap()
    }

    #[test]
    fn the_user_there_is_the_configured_one_then_the_named_one_then_the_shared_one() {
        let both = config(|config| {
            config.memory.external.user_id = "shared".into();
            config.memory.external.mem0.user_id = "alice".into();
        });
        assert_eq!(both.remote_user("bob", DEFAULT_NAME), "alice");
        let shared = config(|config| config.memory.external.user_id = "shared".into());
        assert_eq!(shared.remote_user("张三", DEFAULT_NAME), "张三");
        assert_eq!(shared.home_user(), "shared");
        assert_eq!(config(|_| {}).home_user(), DEFAULT_NAME);
        assert_eq!(shared.remote_user("bob", "work"), "bob/work");
        for (name, id) in [("*", "%2A"), ("a*", "a*"), (" 张 三", "%20张%20三"), ("a%20b", "a%2520b"), ("50%", "50%25")]
        {
            assert_eq!(shared.remote_user(name, DEFAULT_NAME), id);
        }
        let spaced = config(|config| config.memory.external.scope_id = "work".into());
        assert_eq!(spaced.remote_user("bob", "work"), "bob");
    }

    #[test]
    fn every_scope_has_a_place_that_only_its_viewers_read() {
        let config = config(|_| {});
        let owners = ["user", "agent:a", "workspace:w", "team:t", "member:t/m", "session:s"];
        let scopes = owners.map(|owner| Scope { user: "u".into(), space: "s".into(), owner: owner.parse().unwrap() });
        let viewers = scopes.each_ref().map(viewer_of);
        for scope in scopes {
            let address = config.address(&scope, None);
            let mut stored = Value::Object(address.ids);
            stored["metadata"] = Value::Object(address.marks);
            let mut extracted = stored.clone();
            extracted.as_object_mut().unwrap().retain(|key, _| key == "metadata" || key == "user_id");
            for stored in [stored, extracted] {
                for viewer in &viewers {
                    let found = View::new(&config, viewer).scope_of(&item(stored.clone()));
                    assert_eq!(found, viewer.may_read(&scope).then(|| scope.clone()), "{scope:?} {viewer:?}");
                }
                for stranger in
                    [Viewer::user("v", "s"), Viewer::user("u", DEFAULT_NAME), Viewer::user("u/s", DEFAULT_NAME)]
                {
                    assert_eq!(View::new(&config, &stranger).scope_of(&item(stored.clone())), None, "{stranger:?}");
                }
            }
        }
    }

    #[test]
    fn what_an_agent_said_is_found_by_the_agent_of_the_same_user_only() {
        let config = config(|config| config.memory.external.mem0.agent_id = "helper".into());
        let said = |user: &str| item(json!({"id": "x", "agent_id": "helper", "metadata": {"memory_user": user}}));
        let viewer = Viewer::user("u", DEFAULT_NAME);
        let view = View::new(&config, &viewer);
        assert!(view.scope_of(&said("u")).is_some());
        assert_eq!(view.scope_of(&said("v")), None);
        assert_eq!(view.scope_of(&item(json!({"id": "x", "agent_id": "helper"}))), None);
        assert_eq!(view.scope_of(&item(json!({"id": "x"}))), None, "what says nothing is nobody's");
    }

    #[test]
    fn users_that_share_a_configured_user_are_kept_apart() {
        let config = config(|config| {
            config.memory.external.user_id = "home".into();
            config.memory.external.mem0.user_id = "alice".into();
        });
        let foreign = item(json!({"id": "x", "user_id": "alice"}));
        let scope = Scope { user: "bob".into(), ..Scope::default() };
        let marks = config.address(&scope, None).marks;
        let bobs = item(json!({"id": "x", "user_id": "alice", "metadata": marks}));
        let sees = |user: &str, item: &RemoteMemory| {
            View::new(&config, &Viewer::user(user, DEFAULT_NAME)).scope_of(item).is_some()
        };
        assert!(sees("home", &foreign) && sees(DEFAULT_NAME, &foreign) && !sees("bob", &foreign));
        assert!(!sees("home", &bobs) && sees("bob", &bobs) && !sees("carol", &bobs));
    }
}
