//! Variables: the environment of the process, `.env`, and the layer made of either. The kind of a key decides how a value
//! is read, an empty value means unset, and no value is repeated in a message.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::{Path, PathBuf};

use figment::value::Value;

use super::dotenv::{self, Assignment};
use super::keys::{self, GENERIC_PREFIX, KEYS, Key};
use super::kind::Base;
use super::layer::Layer;
use super::nearest::{nearest_key, nearest_name};
use super::problem::{Problems, quoted};
use super::yaml::is_plugin_name;
use super::{Finding, SettingOrigin, Severity};

/// The variables of a process and the directory it runs in. Printed, it shows names only.
#[derive(Clone, Default)]
pub struct Environment {
    variables: BTreeMap<String, String>,
    /// Names whose value is not UTF-8.
    unreadable: BTreeSet<String>,
    current_directory: PathBuf,
}

impl Environment {
    /// That of this process. The one place that reads it.
    pub fn of_process() -> Self {
        let mut environment =
            Self { current_directory: std::env::current_dir().unwrap_or_default(), ..Self::default() };
        for (name, value) in std::env::vars_os() {
            let Ok(name) = name.into_string() else { continue };
            match value.into_string() {
                Ok(value) => drop(environment.variables.insert(name, value)),
                Err(_) => drop(environment.unreadable.insert(name)),
            }
        }
        environment
    }

    /// A given one.
    pub fn new<N: Into<String>, V: Into<String>>(
        variables: impl IntoIterator<Item = (N, V)>,
        current_directory: impl Into<PathBuf>,
    ) -> Self {
        Self {
            variables: variables.into_iter().map(|(name, value)| (name.into(), value.into())).collect(),
            unreadable: BTreeSet::new(),
            current_directory: current_directory.into(),
        }
    }

    /// The value of a variable; empty means unset.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.variables.get(name).map(String::as_str).filter(|value| !value.trim().is_empty())
    }

    /// Where relative paths start.
    pub fn current_directory(&self) -> &Path {
        &self.current_directory
    }

    /// The home of the user.
    pub(super) fn user_home(&self) -> Option<&Path> {
        self.get("HOME").map(Path::new)
    }
}

impl fmt::Debug for Environment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Environment").field("names", &self.variables.keys().collect::<Vec<_>>()).finish_non_exhaustive()
    }
}

/// Variables of one source.
pub(super) enum Variables<'a> {
    Process(&'a Environment),
    Dotenv { path: PathBuf, values: BTreeMap<String, Assignment> },
}

impl<'a> Variables<'a> {
    /// Reads the text of a `.env` file.
    pub(super) fn dotenv(path: PathBuf, text: &str, problems: &mut Problems) -> Self {
        let (values, bad) = dotenv::parse(text);
        for line in bad {
            let hint = Some("write NAME=VALUE, NAME=\"VALUE\", or a comment after #".to_owned());
            problems.add(format!("{}:{}", path.display(), line.line), line.message, hint);
        }
        Self::Dotenv { path, values }
    }

    pub(super) fn get(&self, name: &str) -> Option<&str> {
        match self {
            Self::Process(environment) => environment.get(name),
            Self::Dotenv { values, .. } => {
                values.get(name).map(|found| found.value.as_str()).filter(|value| !value.trim().is_empty())
            }
        }
    }

    fn names(&self) -> Vec<&str> {
        match self {
            Self::Process(environment) => environment.variables.keys().map(String::as_str).collect(),
            Self::Dotenv { values, .. } => values.keys().map(String::as_str).collect(),
        }
    }

    fn is_unreadable(&self, name: &str) -> bool {
        matches!(self, Self::Process(environment) if environment.unreadable.contains(name))
    }

    pub(super) fn place(&self, name: &str) -> String {
        match self {
            Self::Process(_) => format!("environment variable {name}"),
            Self::Dotenv { path, values } => match values.get(name) {
                Some(found) => format!("{}:{}: {name}", path.display(), found.line),
                None => path.display().to_string(),
            },
        }
    }

    fn origin(&self, name: &str) -> SettingOrigin {
        match self {
            Self::Process(_) => SettingOrigin::Environment { variable: name.to_owned() },
            Self::Dotenv { path, values } => SettingOrigin::Dotenv {
                variable: name.to_owned(),
                path: path.clone(),
                line: values.get(name).map_or(0, |found| found.line),
            },
        }
    }
}

/// Makes layers of variables.
pub(super) struct VariableReader<'a> {
    pub(super) base: Base<'a>,
    /// Names of plugin sections, so that `ACME_STORE` finds `acme-store`.
    pub(super) plugins: &'a BTreeSet<String>,
    pub(super) problems: &'a mut Problems,
    pub(super) notes: &'a mut Vec<Finding>,
}

impl VariableReader<'_> {
    /// The layer of everything that sets a key outright.
    pub(super) fn layer(&mut self, name: &'static str, variables: &Variables<'_>) -> Layer {
        let mut layer = Layer::new(name);
        let mut generic = BTreeSet::new();
        for key in keys::settings() {
            let generic_name = key.generic_variable().unwrap_or_default();
            let names = std::iter::once(generic_name.as_str()).chain(key.variables.iter().copied());
            self.first(key, names, variables, &mut layer);
            generic.insert(generic_name);
        }
        for name in variables.names() {
            match name.strip_prefix(GENERIC_PREFIX) {
                Some(_) if generic.contains(name) || variables.get(name).is_none() => {}
                Some(rest) => self.plugin_or_unknown(name, rest, variables, &mut layer),
                None => self.note_slip(name, variables),
            }
        }
        layer
    }

    /// The layer of what counts only where nothing else sets a key. The variables belong to other programs, so elsewhere
    /// their values do not matter.
    pub(super) fn fallbacks(&mut self, sources: &[&Variables<'_>], is_set: &dyn Fn(&str) -> bool) -> Layer {
        let mut layer = Layer::new("fallback");
        for key in keys::settings().filter(|key| !is_set(key.path)) {
            for variables in sources {
                if !layer.origins.contains_key(key.path) {
                    self.first(key, key.fallbacks.iter().copied(), variables, &mut layer);
                }
            }
        }
        layer
    }

    fn first<'n>(
        &mut self,
        key: &Key,
        mut names: impl Iterator<Item = &'n str>,
        variables: &Variables<'_>,
        layer: &mut Layer,
    ) {
        let Some(name) = names.find(|name| variables.get(name).is_some() || variables.is_unreadable(name)) else {
            return;
        };
        let Some(text) = variables.get(name) else {
            self.problems.add(variables.place(name), "the value is not UTF-8 text", None);
            return;
        };
        match (key.kind.read_text(text, self.base), key.unknown_means) {
            (Ok(value), _) => layer.set(key.path, value, variables.origin(name)),
            (Err(_), Some(meaning)) if key.variables.contains(&name) => {
                layer.set(key.path, Value::from(meaning), variables.origin(name));
                self.notes.push(Finding {
                    severity: Severity::Warning,
                    path: key.path.to_owned(),
                    message: format!("{}: the value is not known and counts as {meaning}", variables.place(name)),
                    hint: format!("set it to {}", key.kind.expected()),
                });
            }
            (Err(_), _) => {
                self.problems.add(
                    variables.place(name),
                    format!("expected {} for `{}`", key.kind.expected(), key.path),
                    None,
                );
            }
        }
    }

    fn plugin_or_unknown(&mut self, name: &str, rest: &str, variables: &Variables<'_>, layer: &mut Layer) {
        let path = format!("memory.{}", rest.to_ascii_lowercase().replace("__", "."));
        let plugin = path.strip_prefix("memory.external.").and_then(|rest| rest.split_once('.'));
        if let (Some((plugin, setting)), Some(text)) = (plugin, variables.get(name))
            && is_plugin_name(plugin)
            && !keys::is_section(&format!("{}.{plugin}", keys::PLUGIN_PARENT))
            && setting.split('.').all(|part| !part.is_empty())
        {
            let written = self.plugins.iter().find(|known| known.replace('-', "_") == plugin);
            let plugin = written.map_or(plugin, String::as_str);
            layer.set(
                &format!("{}.{plugin}.{setting}", keys::PLUGIN_PARENT),
                Value::from(text),
                variables.origin(name),
            );
            return;
        }
        let hint = nearest_key(&path)
            .map(|known| known.strip_prefix("memory.").unwrap_or(known).replace('.', "__").to_ascii_uppercase())
            .map(|known| format!("did you mean {GENERIC_PREFIX}{known}?"));
        self.problems.add(variable_place(variables, name), "this variable fits no key", hint);
    }

    /// Other programs use `MEMORY_…` too, so a likely slip is only pointed out.
    fn note_slip(&mut self, name: &str, variables: &Variables<'_>) {
        let known = || KEYS.iter().flat_map(|key| key.variables.iter().chain(key.fallbacks)).copied();
        if !name.starts_with("MEMORY_") || known().any(|known| known == name) || variables.get(name).is_none() {
            return;
        }
        if let Some(near) = nearest_name(known(), name, 2) {
            self.notes.push(Finding {
                severity: Severity::Warning,
                path: String::new(),
                message: format!("{} is not known and has no effect", variable_place(variables, name)),
                hint: format!("did you mean {near}?"),
            });
        }
    }
}

/// The place of a variable whose name nobody vouches for.
fn variable_place(variables: &Variables<'_>, name: &str) -> String {
    let shown = quoted(name);
    if shown.starts_with('`') { variables.place(name) } else { format!("a variable that begins with {GENERIC_PREFIX}") }
}
