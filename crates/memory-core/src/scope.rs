//! Who owns a memory, and who is asking. Every write takes a [`Scope`], every read a [`Viewer`].

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::{Error, Result};

/// The user and the space that apply when none is named.
pub const DEFAULT_NAME: &str = "__default__";

/// The longest name of a user, space, agent, workspace, team, member or session, in characters.
pub const LONGEST_NAME: usize = 128;

const SEPARATOR: char = '\u{1f}';

/// What a memory belongs to inside a user and a space.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub enum Owner {
    /// The user: visible to every viewer of that user and space.
    #[default]
    User,
    /// One agent (a *role* in rolebox).
    Agent(String),
    /// One workspace or project.
    Workspace(String),
    /// A team: read by its members, written by its leader.
    Team(String),
    /// One member of a team.
    Member {
        /// The team.
        team: String,
        /// The member's name inside the team.
        member: String,
    },
    /// One session only.
    Session(String),
}

impl fmt::Display for Owner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::User => f.write_str("user"),
            Self::Agent(name) => write!(f, "agent:{name}"),
            Self::Workspace(name) => write!(f, "workspace:{name}"),
            Self::Team(name) => write!(f, "team:{name}"),
            Self::Member { team, member } => write!(f, "member:{team}/{member}"),
            Self::Session(id) => write!(f, "session:{id}"),
        }
    }
}

impl FromStr for Owner {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let owner = match text.split_once(':') {
            None if text == "user" => Self::User,
            Some(("agent", name)) => Self::Agent(name.to_owned()),
            Some(("workspace", name)) => Self::Workspace(name.to_owned()),
            Some(("team", name)) => Self::Team(name.to_owned()),
            Some(("session", id)) => Self::Session(id.to_owned()),
            Some(("member", names)) => match names.split_once('/') {
                Some((team, member)) => Self::Member { team: team.to_owned(), member: member.to_owned() },
                None => return Err(Error::invalid("an owner `member:` is written member:TEAM/NAME")),
            },
            _ => {
                return Err(Error::invalid(
                    "an owner is `user`, or agent:, workspace:, team:, member: or session: and a name",
                ));
            }
        };
        owner.check()?;
        Ok(owner)
    }
}

impl Owner {
    fn check(&self) -> Result<()> {
        match self {
            Self::User => Ok(()),
            Self::Agent(name) => check_name("agent", name),
            Self::Workspace(name) => check_name("workspace", name),
            Self::Team(name) => check_team(name),
            Self::Session(id) => check_name("session", id),
            Self::Member { team, member } => {
                check_team(team)?;
                check_name("member", member)
            }
        }
    }
}

impl Serialize for Owner {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Owner {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(|error: Error| serde::de::Error::custom(error.message()))
    }
}

/// Where a memory is kept: the tenant, the isolation partition, and the owner inside them.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Scope {
    /// The tenant (`user_id`).
    pub user: String,
    /// The isolation partition (`scope_id`).
    pub space: String,
    /// The owner inside the partition.
    pub owner: Owner,
}

impl Default for Scope {
    fn default() -> Self {
        Self { user: DEFAULT_NAME.to_owned(), space: DEFAULT_NAME.to_owned(), owner: Owner::User }
    }
}

impl Scope {
    /// The one text that stands for this scope in the store and in the indexes. Distinct scopes have distinct keys,
    /// because no name may contain the separator.
    pub fn key(&self) -> String {
        format!("{}{SEPARATOR}{}{SEPARATOR}{}", self.user, self.space, self.owner)
    }

    /// Reads a key back.
    pub fn from_key(key: &str) -> Result<Self> {
        let mut parts = key.split(SEPARATOR);
        match (parts.next(), parts.next(), parts.next(), parts.next()) {
            (Some(user), Some(space), Some(owner), None) => {
                Ok(Self { user: user.to_owned(), space: space.to_owned(), owner: owner.parse()? })
            }
            _ => Err(Error::new(crate::ErrorKind::Corrupt, "a stored scope is damaged")),
        }
    }

    /// An error when a name is empty, too long or has control characters.
    pub fn check(&self) -> Result<()> {
        check_name("user", &self.user)?;
        check_name("space", &self.space)?;
        self.owner.check()
    }
}

/// The part a viewer plays in a team.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TeamRole {
    /// Reads and writes the team's memories.
    Leader,
    /// Reads the team's memories, writes its own.
    Member(String),
    /// A short-lived team: reads the memories of the team it came from and writes nothing.
    Temporary,
}

/// A viewer's team.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Team {
    /// The team's name; for a temporary team, the name of the team it reads.
    pub name: String,
    /// The part the viewer plays.
    pub role: TeamRole,
}

/// Who is asking. It resolves to the owners that may be read and to the one that may be written.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Viewer {
    /// The tenant.
    pub user: String,
    /// The isolation partition.
    pub space: String,
    /// The agent that asks, if any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// The workspace it asks in, if any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workspace: Option<String>,
    /// The team it belongs to, if any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub team: Option<Team>,
    /// The session it asks in, if any. It opens the memories private to that session, and narrows messages to it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
}

impl Default for Viewer {
    fn default() -> Self {
        Self::user(DEFAULT_NAME, DEFAULT_NAME)
    }
}

impl Viewer {
    /// A viewer of a user's own memories in a space.
    pub fn user(user: impl Into<String>, space: impl Into<String>) -> Self {
        Self { user: user.into(), space: space.into(), agent: None, workspace: None, team: None, session: None }
    }

    /// An error when a name is empty, too long or has control characters.
    pub fn check(&self) -> Result<()> {
        self.readable().iter().try_for_each(Scope::check)
    }

    /// The scopes this viewer may read: the user's own, and those of the agent, workspace, team and session named.
    pub fn readable(&self) -> Vec<Scope> {
        let mut owners = vec![Owner::User];
        owners.extend(self.agent.clone().map(Owner::Agent));
        owners.extend(self.workspace.clone().map(Owner::Workspace));
        if let Some(team) = &self.team {
            owners.push(Owner::Team(team.name.clone()));
            if let TeamRole::Member(member) = &team.role {
                owners.push(Owner::Member { team: team.name.clone(), member: member.clone() });
            }
        }
        owners.extend(self.session.clone().map(Owner::Session));
        owners.into_iter().map(|owner| self.scope(owner)).collect()
    }

    /// The keys of [`Viewer::readable`].
    pub fn readable_keys(&self) -> Vec<String> {
        self.readable().iter().map(Scope::key).collect()
    }

    /// Where a memory written by this viewer goes: the most specific of session, team, workspace, agent, user.
    pub fn writable(&self) -> Result<Scope> {
        match &self.session {
            Some(session) => {
                self.refuse_temporary_team()?;
                Ok(self.scope(Owner::Session(session.clone())))
            }
            None => self.conversation(),
        }
    }

    /// Whom a conversation of this viewer belongs to: team, workspace, agent or user, never the session.
    pub fn conversation(&self) -> Result<Scope> {
        self.refuse_temporary_team()?;
        let owner = match (&self.team, &self.workspace, &self.agent) {
            (Some(Team { name, role: TeamRole::Member(member) }), _, _) => {
                Owner::Member { team: name.clone(), member: member.clone() }
            }
            (Some(team), _, _) => Owner::Team(team.name.clone()),
            (None, Some(workspace), _) => Owner::Workspace(workspace.clone()),
            (None, None, Some(agent)) => Owner::Agent(agent.clone()),
            (None, None, None) => Owner::User,
        };
        Ok(self.scope(owner))
    }

    /// True when this viewer may read what belongs to `scope`.
    pub fn may_read(&self, scope: &Scope) -> bool {
        self.readable().contains(scope)
    }

    /// True when this viewer may change what belongs to `scope`: everything it reads, except that the memories of a
    /// team are its leader's, and a temporary team changes nothing.
    pub fn may_write(&self, scope: &Scope) -> bool {
        let allowed = match (&self.team, &scope.owner) {
            (Some(team), _) if team.role == TeamRole::Temporary => false,
            (Some(team), Owner::Team(_)) => team.role == TeamRole::Leader,
            _ => true,
        };
        allowed && self.may_read(scope)
    }

    fn scope(&self, owner: Owner) -> Scope {
        Scope { user: self.user.clone(), space: self.space.clone(), owner }
    }

    fn refuse_temporary_team(&self) -> Result<()> {
        match &self.team {
            Some(team) if team.role == TeamRole::Temporary => Err(Error::new(
                crate::ErrorKind::Forbidden,
                "a temporary team reads its parent team and writes nothing",
            )),
            _ => Ok(()),
        }
    }
}

fn check_name(what: &str, name: &str) -> Result<()> {
    let problem = if name.trim().is_empty() {
        "is empty"
    } else if name.chars().count() > LONGEST_NAME {
        "is longer than 128 characters"
    } else if name.chars().any(char::is_control) {
        "has control characters"
    } else {
        return Ok(());
    };
    Err(Error::invalid(format!("the {what} name {problem}")))
}

fn check_team(name: &str) -> Result<()> {
    check_name("team", name)?;
    if name.contains('/') {
        return Err(Error::invalid("a team name may not contain `/`"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with_team(role: TeamRole) -> Viewer {
        Viewer { team: Some(Team { name: "red".into(), role }), ..Viewer::default() }
    }

    #[test]
    fn keys_round_trip_and_differ() {
        let scopes = [
            Scope::default(),
            Scope { owner: Owner::Agent("a:b".into()), ..Scope::default() },
            Scope { owner: Owner::Member { team: "t".into(), member: "m/n".into() }, ..Scope::default() },
            Scope { user: "张三".into(), owner: Owner::Session("s".into()), ..Scope::default() },
        ];
        for scope in &scopes {
            assert_eq!(&Scope::from_key(&scope.key()).unwrap(), scope);
            scope.check().unwrap();
        }
        let keys: std::collections::HashSet<String> = scopes.iter().map(Scope::key).collect();
        assert_eq!(keys.len(), scopes.len());
    }

    #[test]
    fn a_name_cannot_forge_another_scope() {
        let forged = Scope { user: format!("a{SEPARATOR}b"), ..Scope::default() };
        assert!(forged.check().is_err());
        assert!(Scope { user: " ".into(), ..Scope::default() }.check().is_err());
        assert!(Scope { user: "x".repeat(129), ..Scope::default() }.check().is_err());
        assert!(Scope { user: "字".repeat(128), ..Scope::default() }.check().is_ok());
    }

    #[test]
    fn a_member_reads_the_team_but_writes_its_own() {
        let member = with_team(TeamRole::Member("ann".into()));
        let team = Scope { owner: Owner::Team("red".into()), ..Scope::default() };
        assert!(member.may_read(&team));
        assert!(!member.may_write(&team));
        assert_eq!(member.writable().unwrap().owner.to_string(), "member:red/ann");
        assert_eq!(with_team(TeamRole::Leader).writable().unwrap(), team);
    }

    #[test]
    fn a_temporary_team_writes_nothing() {
        let temporary = with_team(TeamRole::Temporary);
        assert!(temporary.may_read(&Scope { owner: Owner::Team("red".into()), ..Scope::default() }));
        assert!(temporary.writable().is_err());
        assert!(!temporary.may_write(&Scope::default()));
    }

    #[test]
    fn another_user_space_agent_or_session_is_not_readable() {
        let viewer = Viewer { agent: Some("a".into()), session: Some("1".into()), ..Viewer::user("u", "s") };
        let own = Scope { user: "u".into(), space: "s".into(), owner: Owner::User };
        assert!(viewer.may_read(&own));
        for scope in [
            Scope { user: "v".into(), ..own.clone() },
            Scope { space: "t".into(), ..own.clone() },
            Scope { owner: Owner::Agent("b".into()), ..own.clone() },
            Scope { owner: Owner::Session("2".into()), ..own.clone() },
            Scope { owner: Owner::Team("a".into()), ..own },
        ] {
            assert!(!viewer.may_read(&scope), "{scope:?}");
        }
    }
}
