//! Which folder a scope has, and who may look where.

use memory_core::{DEFAULT_NAME, Id, Owner, Scope, Viewer};

use crate::client::Caller;

/// Between the parts of a text that is hashed; no name contains it.
const SEPARATOR: char = '\u{1f}';

/// The folder of one scope.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Place {
    /// The scope.
    pub(crate) scope: Scope,
    /// The peer that stands for it; `None` for the user itself.
    pub(crate) peer: Option<String>,
    /// Where its memories are, without a slash at the end.
    pub(crate) root: String,
}

impl Place {
    /// Where the memory called `name` is kept.
    pub(crate) fn note(&self, name: &Id) -> String {
        format!("{}/notes/{name}.md", self.root)
    }

    /// True when a file or folder is part of it. Folders of other scopes inside it are not.
    pub(crate) fn contains(&self, uri: &str) -> bool {
        uri.strip_prefix(self.root.as_str())
            .and_then(|rest| if rest.is_empty() { Some("") } else { rest.strip_prefix('/') })
            .is_some_and(|rest| rest != "scopes" && !rest.starts_with("scopes/"))
    }

    /// The session there of a session here. A plain name of the user's own stays as it is.
    pub(crate) fn session(&self, session: &str) -> String {
        if self.peer.is_none() && is_safe(session) && !session.starts_with("scoped-") {
            return session.to_owned();
        }
        let peer = self.peer.as_deref().unwrap_or_default();
        format!("scoped-{}-{}", slug(session), digest(&[&self.root, peer, session]))
    }
}

impl Caller<'_> {
    /// The folder of a scope.
    pub(crate) fn place(&self, scope: &Scope) -> Place {
        let config = &self.server.config;
        let home = format!("viking://user/{}", self.user);
        let user = match self.server.user_of(&scope.user) {
            name if name == DEFAULT_NAME || safe_name(name) == self.user => "",
            name => name,
        };
        let space = if scope.space == DEFAULT_NAME { config.default_space.as_str() } else { scope.space.as_str() };
        let space = if space == DEFAULT_NAME { "" } else { space };
        let peer = if user.is_empty() && space.is_empty() && scope.owner == Owner::User {
            (!config.peer.is_empty()).then(|| config.peer.clone())
        } else {
            let owner = scope.owner.to_string();
            Some(format!("{}-{}", slug(&owner), digest(&[&config.peer, user, space, &owner])))
        };
        let root = match &peer {
            None => format!("{home}/memories"),
            Some(peer) if self.connection.has_peers => format!("{home}/peers/{peer}/memories"),
            Some(peer) => format!("{home}/memories/scopes/{peer}"),
        };
        Place { scope: scope.clone(), peer, root }
    }

    /// The folders a viewer may read.
    pub(crate) fn places(&self, viewer: &Viewer) -> Vec<Place> {
        viewer.readable().iter().map(|scope| self.place(scope)).collect()
    }

    /// Whether a viewer with these folders and this session there may see a file or folder. What is not a user's is the
    /// account's, and for everyone in it. Folders above what may be seen may be listed, entry by entry.
    pub(crate) fn may_see(&self, uri: &str, places: &[Place], session: Option<&str>) -> bool {
        let Some(path) = uri.strip_prefix("viking://") else { return false };
        let path = path.trim_end_matches('/');
        let parts: Vec<&str> = path.split('/').collect();
        if parts.iter().any(|part| matches!(*part, "." | "..")) {
            return false;
        }
        let uri = format!("viking://{path}");
        let above =
            |below: &str| below.strip_prefix(uri.as_str()).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
        if path.is_empty() || places.iter().any(|place| place.contains(&uri) || above(&place.root)) {
            return true;
        }
        let is_home = places.iter().any(|place| place.root == format!("viking://user/{}/memories", self.user));
        match parts.as_slice() {
            ["user", user, "resources" | "skills", ..] => *user == self.user && is_home,
            ["user", user, "sessions", name, ..] => *user == self.user && session == Some(*name),
            ["user" | "session" | "temp" | "queue" | "upload" | "system", ..] => false,
            _ => true,
        }
    }
}

/// A name that is made of plain letters and digits stays itself; any other becomes one that is, distinct from all others.
pub(crate) fn safe_name(name: &str) -> String {
    if is_safe(name) { name.to_owned() } else { format!("{}-{}", slug(name), digest(&[name])) }
}

/// Names, at most 64 characters, that mean the same in paths, headers and addresses.
fn is_safe(name: &str) -> bool {
    (1..=64).contains(&name.len()) && name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_'))
}

/// The letters and digits of a name, for people to recognise it by.
fn slug(name: &str) -> String {
    let plain: String =
        name.chars().map(|c| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '-' }).collect();
    let words: Vec<&str> = plain.split('-').filter(|word| !word.is_empty()).collect();
    let slug: String = words.join("-").chars().take(24).collect();
    if slug.is_empty() { "x".to_owned() } else { slug.trim_end_matches('-').to_owned() }
}

/// 80 bits that stand for the parts.
fn digest(parts: &[&str]) -> String {
    let text = parts.join(&SEPARATOR.to_string()) + &SEPARATOR.to_string();
    Id::of_foreign(&text).as_str().chars().skip(10).collect::<String>().to_ascii_lowercase()
}

/// The name under which a memory with this foreign id is kept in a scope. One that is an id already is unique everywhere.
pub(crate) fn name_of_external(place: &Place, external_id: &str) -> Id {
    let plain = Id::of_foreign(external_id);
    let keeps_its_bits = external_id.eq_ignore_ascii_case(plain.as_str())
        || external_id.replace('-', "").eq_ignore_ascii_case(&plain.to_uuid().replace('-', ""));
    if keeps_its_bits { plain } else { name_of(place, "external", external_id, 0) }
}

/// The name under which a text without a foreign id is kept in a scope; `turn` counts other texts that took the place.
pub(crate) fn name_of_text(place: &Place, text: &str, turn: usize) -> Id {
    name_of(place, "text", &essence(text), turn)
}

fn name_of(place: &Place, what: &str, key: &str, turn: usize) -> Id {
    Id::of_foreign(&[place.root.as_str(), what, key, &turn.to_string()].join(&SEPARATOR.to_string()))
}

/// What makes two texts the same: not case, spaces and the full stop at the end.
pub(crate) fn essence(text: &str) -> String {
    let text = text.to_lowercase();
    let words: Vec<&str> = text.split_whitespace().collect();
    words.join(" ").trim_end_matches(['.', '。', '!', '！', '…']).trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_safe_and_distinct() {
        assert_eq!(safe_name("alice_1"), "alice_1");
        let names: Vec<String> = ["李雷", "韩梅梅", "a b", "a-b c", "a/b", "../x", "", " "].map(safe_name).to_vec();
        for (position, name) in names.iter().enumerate() {
            assert!(is_safe(name), "{name}");
            assert!(!names[..position].contains(name), "{name}");
        }
    }

    #[test]
    fn a_session_keeps_its_name_only_when_it_is_plain_and_the_users_own() {
        let own = Place { scope: Scope::default(), peer: None, root: "viking://user/u/memories".into() };
        let other = Place { peer: Some("p".into()), root: "viking://user/u/peers/p/memories".into(), ..own.clone() };
        assert_eq!(own.session("__default__"), "__default__");
        let names = [own.session("周二"), own.session("scoped-x"), other.session("周二"), other.session("__default__")];
        assert!(names.iter().all(|name| name.starts_with("scoped-") && is_safe(name)), "{names:?}");
        assert_eq!(names.iter().collect::<std::collections::BTreeSet<_>>().len(), 4);
        assert_eq!(own.session("周二"), names[0]);
    }

    #[test]
    fn a_folder_contains_its_files_and_no_neighbours() {
        let own = Place { scope: Scope::default(), peer: None, root: "viking://user/u/memories".into() };
        assert!(own.contains("viking://user/u/memories/notes/a.md") && own.contains("viking://user/u/memories"));
        for other in [
            "viking://user/u/memories2/a.md",
            "viking://user/u/memories/scopes/p/notes/a.md",
            "viking://user/v/memories/a",
        ] {
            assert!(!own.contains(other), "{other}");
        }
    }

    #[test]
    fn a_foreign_id_that_is_an_id_stays_it() {
        let place = Place { scope: Scope::default(), peer: None, root: "r".into() };
        let ulid = "01ARZ3NDEKTSV4RRFFQ69G5FAV";
        assert_eq!(name_of_external(&place, ulid).as_str(), ulid);
        let uuid = "0188bac7-4afa-78aa-bc3b-bd1eef28d881";
        assert_eq!(name_of_external(&place, uuid).to_uuid(), uuid);
        let elsewhere = Place { root: "s".into(), ..place.clone() };
        assert_ne!(name_of_external(&place, "crm-7/客户"), name_of_external(&elsewhere, "crm-7/客户"));
        assert_eq!(essence("User likes GREEN tea. "), essence("user  likes green tea"));
        assert_ne!(essence("C++"), essence("C"));
    }
}
