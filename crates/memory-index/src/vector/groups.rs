//! What a filter looks at besides the time. Most rows share it with many others: it is kept, and judged, once for each
//! combination.

use std::collections::HashMap;

use crate::entry::{EntryKind, IndexFilter};

/// A name that occurs in rows, by number; 0 stands for none.
type Name = u32;

/// One combination of values.
#[derive(Clone, PartialEq, Eq, Hash)]
struct Group {
    kind: EntryKind,
    scope: Name,
    session: Name,
    category: Name,
    tags: Box<[Name]>,
}

/// All combinations that occur.
#[derive(Default)]
pub(super) struct Groups {
    names: HashMap<Box<str>, Name>,
    numbers: HashMap<Group, u32>,
    groups: Vec<Group>,
}

/// Which combinations a filter admits, and when.
pub(super) struct Admission {
    groups: Vec<bool>,
    since: Option<i64>,
    until: Option<i64>,
}

impl Groups {
    /// The number of the combination.
    pub(super) fn number<'a>(
        &mut self,
        kind: EntryKind,
        scope: Option<&str>,
        session: Option<&str>,
        category: Option<&str>,
        tags: impl Iterator<Item = &'a str>,
    ) -> u32 {
        let group = Group {
            kind,
            scope: self.name(scope),
            session: self.name(session),
            category: self.name(category),
            tags: tags.map(|tag| self.name(Some(tag))).collect(),
        };
        if let Some(number) = self.numbers.get(&group) {
            return *number;
        }
        let number = u32::try_from(self.groups.len()).unwrap_or(u32::MAX);
        self.groups.push(group.clone());
        self.numbers.insert(group, number);
        number
    }

    fn name(&mut self, text: Option<&str>) -> Name {
        let Some(text) = text else { return 0 };
        if let Some(name) = self.names.get(text) {
            return *name;
        }
        let name = Name::try_from(self.names.len() + 1).unwrap_or(Name::MAX);
        self.names.insert(text.into(), name);
        name
    }

    /// Judges every combination. A name that no row has is [`Name::MAX`], which no row carries.
    pub(super) fn admission(&self, filter: &IndexFilter) -> Admission {
        let numbers = |names: &[String]| -> Vec<Name> {
            names.iter().map(|name| self.names.get(name.as_str()).copied().unwrap_or(Name::MAX)).collect()
        };
        let wanted = |list: &[Name], name: Name| list.is_empty() || list.contains(&name);
        let (scopes, sessions) = (numbers(&filter.scopes), numbers(&filter.sessions));
        let (categories, all, any) =
            (numbers(&filter.categories), numbers(&filter.tags_all), numbers(&filter.tags_any));
        let admits = |group: &Group| {
            scopes.contains(&group.scope)
                && (filter.kinds.is_empty() || filter.kinds.contains(&group.kind))
                && wanted(&sessions, group.session)
                && wanted(&categories, group.category)
                && all.iter().all(|tag| group.tags.contains(tag))
                && (any.is_empty() || any.iter().any(|tag| group.tags.contains(tag)))
        };
        Admission { groups: self.groups.iter().map(admits).collect(), since: filter.since, until: filter.until }
    }
}

impl Admission {
    pub(super) fn admits(&self, group: u32, at: i64) -> bool {
        self.groups.get(group as usize).is_some_and(|admitted| *admitted)
            && self.since.is_none_or(|since| at >= since)
            && self.until.is_none_or(|until| at < until)
    }
}
