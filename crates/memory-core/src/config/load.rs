//! Finds the home and the configuration file, and lays the sources over one another.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use figment::Figment;
use figment::value::Value;

use super::environment::{Environment, VariableReader, Variables};
use super::kind::{Base, read_flag, resolve_path};
use super::layer::Layer;
use super::nearest::nearest_key;
use super::problem::{Problems, quoted};
use super::{CONFIG, Config, DOTENV_FIRST, Finding, HOME, SettingOrigin, Severity, keys, yaml};
use crate::{Error, ErrorKind, Result};

/// Reads the configuration. It can be used again and again: each time everything is read anew.
///
/// Strongest first: flag, environment, `.env` in the home, configuration file, fallback variables, default. The switch
/// `MEMORY_DOTENV_FIRST` puts `.env` above the environment.
#[derive(Debug, Clone, Default)]
pub struct Loader {
    environment: Environment,
    home: Option<PathBuf>,
    config: Option<PathBuf>,
    overrides: Vec<Override>,
    dotenv_first: bool,
}

#[derive(Clone)]
struct Override {
    flag: String,
    path: String,
    value: String,
}

impl std::fmt::Debug for Override {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} = {}", self.flag, self.path)
    }
}

/// The configuration in effect, and how it came about.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Loaded {
    /// The values.
    pub config: Config,
    /// The folder of everything.
    pub home: PathBuf,
    /// Where the home came from.
    pub home_origin: SettingOrigin,
    /// The file that was read, if there was one.
    pub config_path: Option<PathBuf>,
    /// The places that were looked at, in order.
    pub searched: Vec<PathBuf>,
    /// The `.env` that was read, if there was one.
    pub dotenv_path: Option<PathBuf>,
    pub(super) origins: BTreeMap<String, SettingOrigin>,
    pub(super) notes: Vec<Finding>,
    user_home: Option<PathBuf>,
}

impl Loaded {
    /// Where the value at `path` came from.
    pub fn origin(&self, path: &str) -> SettingOrigin {
        self.origins.get(path).cloned().unwrap_or_default()
    }

    /// The folder of the documents: `memory.workspace_dir`, or `workspace` in the home.
    pub fn workspace_dir(&self) -> PathBuf {
        let configured = &self.config.memory.workspace_dir;
        if configured.as_os_str().is_empty() { self.home.join("workspace") } else { configured.clone() }
    }

    /// The folder of the plugins: `memory.plugin_dir`, or `~/.plugins/memory`. Without a home of the user it lies in the
    /// home.
    pub fn plugin_dir(&self) -> PathBuf {
        let configured = &self.config.memory.plugin_dir;
        match &self.user_home {
            _ if !configured.as_os_str().is_empty() => configured.clone(),
            Some(user_home) => user_home.join(".plugins/memory"),
            None => self.home.join("plugins"),
        }
    }
}

impl Loader {
    /// A loader for this environment.
    pub fn new(environment: Environment) -> Self {
        Self { environment, ..Self::default() }
    }

    /// The home that `--home` names.
    pub fn with_home(mut self, home: impl Into<PathBuf>) -> Self {
        self.home = Some(home.into());
        self
    }

    /// The file that `--config` names.
    pub fn with_config(mut self, file: impl Into<PathBuf>) -> Self {
        self.config = Some(file.into());
        self
    }

    /// A value given by a flag, such as `--user` for `memory.external.user_id`. Of two for one key the later one wins.
    pub fn with_override(mut self, flag: impl Into<String>, path: impl Into<String>, value: impl Into<String>) -> Self {
        self.overrides.push(Override { flag: flag.into(), path: path.into(), value: value.into() });
        self
    }

    /// Lets `.env` win over the environment.
    pub fn with_dotenv_first(mut self) -> Self {
        self.dotenv_first = true;
        self
    }

    /// Reads everything. One error names all that is wrong.
    pub fn load(&self) -> Result<Loaded> {
        let mut problems = Problems::default();
        let mut notes = Vec::new();
        let (home, home_origin) = self.find_home()?;

        let dotenv_path = home.join(".env");
        let dotenv_text = yaml::read_file(&dotenv_path)?;
        let has_dotenv = dotenv_text.is_some();
        let dotenv = Variables::dotenv(dotenv_path.clone(), &dotenv_text.unwrap_or_default(), &mut problems);
        note_home_in_dotenv(&dotenv, &mut notes);
        let process = Variables::Process(&self.environment);
        let dotenv_first = self.dotenv_first || dotenv_comes_first(&process, &dotenv, &mut problems);
        let sources = if dotenv_first { [&dotenv, &process] } else { [&process, &dotenv] };

        let (config_path, searched, text) = self.find_config(&home, &sources)?;
        let lookup = |name: &str| sources.iter().find_map(|source| source.get(name)).map(str::to_owned);
        let file = match (&config_path, text) {
            (Some(path), Some(text)) => {
                let base = self.base(path.parent().unwrap_or(Path::new("")));
                yaml::layer(&text, path, base, &lookup, &mut problems)
            }
            _ => Layer::new("file"),
        };

        let plugins = plugin_names(&file, &lookup);
        let mut layer_of = |variables: &Variables<'_>, directory: &Path| {
            let name = if matches!(variables, Variables::Process(_)) { "environment" } else { ".env" };
            let base = self.base(directory);
            VariableReader { base, plugins: &plugins, problems: &mut problems, notes: &mut notes }
                .layer(name, variables)
        };
        let current = self.environment.current_directory();
        let dotenv_layer = layer_of(&dotenv, &home);
        let process_layer = layer_of(&process, current);
        let flags = self.flags(&mut problems);
        let is_set = |path: &str| {
            [&file, &dotenv_layer, &process_layer, &flags].iter().any(|layer| layer.origins.contains_key(path))
        };
        let fallback =
            VariableReader { base: self.base(current), plugins: &plugins, problems: &mut problems, notes: &mut notes }
                .fallbacks(&sources, &is_set);
        problems.into_result()?;

        let mut layers = vec![fallback, file, dotenv_layer, process_layer, flags];
        if dotenv_first {
            layers.swap(2, 3);
        }
        let (config, origins) = merge(layers)?;
        Ok(Loaded {
            config,
            home,
            home_origin,
            config_path,
            searched,
            dotenv_path: has_dotenv.then_some(dotenv_path),
            origins,
            notes,
            user_home: self.environment.user_home().map(Path::to_path_buf),
        })
    }

    fn base<'a>(&'a self, directory: &'a Path) -> Base<'a> {
        Base { directory, user_home: self.environment.user_home() }
    }

    fn resolve(&self, path: &str, directory: &Path, place: &str) -> Result<PathBuf> {
        resolve_path(path, self.base(directory)).map(PathBuf::from).ok_or_else(|| {
            Error::new(ErrorKind::ConfigInvalid, format!("{place}: this is not a usable path"))
                .with_hint("write an absolute path, or one that begins with ~/")
        })
    }

    fn resolve_flag(&self, path: &Path, flag: &str) -> Result<PathBuf> {
        let unusable = || Error::new(ErrorKind::ConfigInvalid, format!("{flag}: this path is not UTF-8 text"));
        self.resolve(path.to_str().ok_or_else(unusable)?, self.environment.current_directory(), flag)
    }

    fn find_home(&self) -> Result<(PathBuf, SettingOrigin)> {
        if let Some(home) = self.home.as_deref().filter(|home| !home.as_os_str().is_empty()) {
            return Ok((self.resolve_flag(home, "--home")?, SettingOrigin::Flag { flag: "--home".into() }));
        }
        let current = self.environment.current_directory();
        for variable in HOME.variables {
            if let Some(home) = self.environment.get(variable) {
                let home = self.resolve(home.trim(), current, variable)?;
                return Ok((home, SettingOrigin::Environment { variable: (*variable).to_owned() }));
            }
        }
        let folder = standard_folder(&self.environment, HOME.fallbacks, ".local/share").ok_or_else(|| {
            Error::new(ErrorKind::ConfigInvalid, "there is no place for the home of memory: HOME is not set")
                .with_hint("set MEMORY_HOME, or pass --home")
        })?;
        Ok((folder.join("memory"), SettingOrigin::Default))
    }

    /// The file to read, the places looked at, and its text.
    fn find_config(
        &self,
        home: &Path,
        sources: &[&Variables<'_>],
    ) -> Result<(Option<PathBuf>, Vec<PathBuf>, Option<String>)> {
        if let Some((path, place)) = self.explicit_config(home, sources)? {
            let text = yaml::read_file(&path)?.ok_or_else(|| {
                Error::new(ErrorKind::ConfigInvalid, format!("{place}: there is no file {}", path.display()))
                    .with_hint("create it with `memory init`, or name another file")
            })?;
            return Ok((Some(path.clone()), vec![path], Some(text)));
        }
        let mut searched = vec![home.join("config.yaml")];
        if let Some(folder) = standard_folder(&self.environment, CONFIG.fallbacks, ".config") {
            searched.push(folder.join("memory/config.yaml"));
        }
        for path in &searched {
            if let Some(text) = yaml::read_file(path)? {
                return Ok((Some(path.clone()), searched, Some(text)));
            }
        }
        Ok((None, searched, None))
    }

    fn explicit_config(&self, home: &Path, sources: &[&Variables<'_>]) -> Result<Option<(PathBuf, String)>> {
        if let Some(file) = self.config.as_deref().filter(|file| !file.as_os_str().is_empty()) {
            return Ok(Some((self.resolve_flag(file, "--config")?, "--config".into())));
        }
        for source in sources {
            for variable in CONFIG.variables {
                if let Some(file) = source.get(variable) {
                    let place = source.place(variable);
                    let directory = if matches!(source, Variables::Process(_)) {
                        self.environment.current_directory()
                    } else {
                        home
                    };
                    return Ok(Some((self.resolve(file.trim(), directory, &place)?, place)));
                }
            }
        }
        Ok(None)
    }

    fn flags(&self, problems: &mut Problems) -> Layer {
        let mut layer = Layer::new("flags");
        for Override { flag, path, value } in &self.overrides {
            match keys::find(path) {
                None => {
                    let hint = nearest_key(path).map(|known| format!("did you mean `{known}`?"));
                    problems.add(flag, format!("unknown key {}", quoted(path)), hint);
                }
                Some(key) => match key.kind.read_text(value, self.base(self.environment.current_directory())) {
                    Ok(value) => layer.set(key.path, value, SettingOrigin::Flag { flag: flag.clone() }),
                    Err(_) => problems.add(flag, format!("expected {} for `{path}`", key.kind.expected()), None),
                },
            }
        }
        layer
    }
}

/// `XDG_…_HOME` where it is absolute, as its specification asks, else the customary folder in the home of the user.
fn standard_folder(environment: &Environment, variables: &[&str], customary: &str) -> Option<PathBuf> {
    let (user_home, xdg) = variables.split_last()?;
    let xdg =
        xdg.iter().filter_map(|name| environment.get(name)).map(PathBuf::from).find(|folder| folder.is_absolute());
    xdg.or_else(|| environment.get(user_home).map(|home| Path::new(home).join(customary)))
}

fn dotenv_comes_first(process: &Variables<'_>, dotenv: &Variables<'_>, problems: &mut Problems) -> bool {
    for source in [process, dotenv] {
        for name in DOTENV_FIRST.variables {
            if let Some(text) = source.get(name) {
                return read_flag(text).unwrap_or_else(|| {
                    problems.add(source.place(name), format!("expected {}", DOTENV_FIRST.kind.expected()), None);
                    false
                });
            }
        }
    }
    false
}

fn note_home_in_dotenv(dotenv: &Variables<'_>, notes: &mut Vec<Finding>) {
    for variable in HOME.variables {
        if dotenv.get(variable).is_some() {
            notes.push(Finding {
                severity: Severity::Warning,
                path: HOME.path.to_owned(),
                message: format!("{} has no effect: the file is looked for in the home", dotenv.place(variable)),
                hint: "set it in the environment, or pass --home".to_owned(),
            });
        }
    }
}

/// Names of plugins that the file or a variable mentions.
fn plugin_names(file: &Layer, lookup: &dyn Fn(&str) -> Option<String>) -> BTreeSet<String> {
    let prefix = format!("{}.", keys::PLUGIN_PARENT);
    let sections =
        file.origins.keys().filter_map(|path| path.strip_prefix(&prefix)?.split_once('.')).map(|(name, _)| name);
    let mut names: BTreeSet<String> = sections.map(str::to_owned).collect();
    let provider = keys::find("memory.external.provider");
    names.extend(provider.into_iter().flat_map(|key| key.variables).filter_map(|variable| lookup(variable)));
    names.extend(file.text("memory.external.provider"));
    names
}

/// Later layers win. Every value has been checked already, so a failure here is a fault of the table.
fn merge(layers: Vec<Layer>) -> Result<(Config, BTreeMap<String, SettingOrigin>)> {
    let mut figment = Figment::new();
    let mut origins = BTreeMap::new();
    for layer in layers {
        figment = figment.merge(&layer);
        origins.extend(layer.origins);
    }
    let config: Config = figment.extract().map_err(|error| {
        let path = error.path.join(".");
        Error::unexpected(format!("the configuration at {} passed all checks but cannot be used", quoted(&path)))
    })?;
    Ok((config, origins))
}

impl Layer {
    fn text(&self, path: &str) -> Option<String> {
        Figment::from(self).find_value(path).ok().and_then(Value::into_string)
    }
}
