//! The command line as a table.

use std::path::PathBuf;

use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{ArgAction, Args, Parser, Subcommand, ValueEnum};
use memory_core::{GroupBy, HitKind, ListSort, Relevance, SearchMode, State, Timestamp};
use memory_engine::Chosen;
use memory_engine::transfer::{ExportFormat, ImportFormat};
use serde::de::DeserializeOwned;

/// Long-term memory for AI agents.
#[derive(Debug, Parser)]
#[command(name = "memory", version, arg_required_else_help = true, propagate_version = true, max_term_width = 110)]
#[command(after_help = "Exit codes: 0 done, 1 failed, 2 wrong usage, 3 not found, 4 refused, 130 interrupted.\n\
    Every setting has a variable: see `memory config show --origin`.")]
pub(crate) struct Arguments {
    #[command(flatten)]
    pub(crate) global: Global,
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// Flags of every command.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Global options")]
pub(crate) struct Global {
    /// The configuration file [MEMORY_CONFIG]
    #[arg(long, global = true, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    /// The folder of everything [MEMORY_HOME]
    #[arg(long, global = true, value_name = "DIR")]
    pub(crate) home: Option<PathBuf>,
    /// Whose memories [MEMORY_USER_ID]
    #[arg(long, global = true, value_name = "NAME")]
    pub(crate) user: Option<String>,
    /// The isolation partition [MEMORY_SCOPE_ID]
    #[arg(long, global = true, value_name = "NAME")]
    pub(crate) space: Option<String>,
    /// The agent that asks
    #[arg(long, global = true, value_name = "NAME")]
    pub(crate) agent: Option<String>,
    /// The workspace or project it asks in
    #[arg(long, global = true, value_name = "NAME")]
    pub(crate) workspace: Option<String>,
    /// The team, as its leader; TEAM/MEMBER as one of its members
    #[arg(long, global = true, value_name = "TEAM")]
    pub(crate) team: Option<String>,
    /// The session it asks in
    #[arg(long, global = true, value_name = "ID")]
    pub(crate) session: Option<String>,
    /// Print results and errors as JSON
    #[arg(long, global = true)]
    pub(crate) json: bool,
    /// Print results and errors only
    #[arg(short, long, global = true, conflicts_with = "verbose")]
    pub(crate) quiet: bool,
    /// Log more; twice for still more [MEMORY_LOG]
    #[arg(short, long, global = true, action = ArgAction::Count)]
    pub(crate) verbose: u8,
    /// When to use colours
    #[arg(long, global = true, value_name = "WHEN", default_value = "auto")]
    pub(crate) color: Color,
    /// Act instead of showing what would happen
    #[arg(short, long, global = true)]
    pub(crate) yes: bool,
}

/// When to use colours.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Color {
    /// On a terminal, unless NO_COLOR is set.
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Create the home, a commented config.yaml and an empty workspace
    Init,
    /// Write a memory
    Add(AddArguments),
    /// Recall
    Search(Box<SearchArguments>),
    /// Show memories, messages or passages
    Get(Ids),
    /// List memories or messages
    List(ListArguments),
    /// Change one memory; fields not given stay as they are
    Update(UpdateArguments),
    /// Forget: shows what would go, and acts with --yes
    Forget(ForgetArguments),
    /// Bring back what was forgotten
    Restore(RestoreArguments),
    /// Show the former states of a memory
    History(OneId),
    /// Take in conversations, memories, bundles and Markdown
    Import(ImportArguments),
    /// Write everything, or what one viewer may read
    Export(ExportArguments),
    /// Show how memory is doing, on one page
    Status,
    /// Count what is stored
    Stats,
    /// Write, recall and forget once, and explain what is wrong
    Doctor(DoctorArguments),
    /// Rebuild the indexes
    Reindex(ReindexArguments),
    /// Show and check the configuration
    #[command(subcommand)]
    Config(ConfigCommand),
    /// Show and check providers
    #[command(subcommand)]
    Provider(ProviderCommand),
    /// List, trust, check and begin providers in libraries of third parties
    #[command(subcommand)]
    Plugin(PluginCommand),
    /// List, check and install embedding models
    #[command(subcommand)]
    Model(ModelCommand),
    /// Measure how well search finds, and how fast everything is
    #[command(subcommand)]
    Bench(BenchCommand),
    /// Print shell completions
    Completions(CompletionsArguments),
    /// Print the manual page
    Man,
}

/// `memory add`
#[derive(Debug, Args)]
pub(crate) struct AddArguments {
    /// The text; `-` reads it from standard input
    #[arg(required = true, value_name = "TEXT")]
    pub(crate) text: Vec<String>,
    #[command(flatten)]
    pub(crate) fields: FieldArguments,
    /// A foreign id: adding it again is the same memory
    #[arg(long, value_name = "ID")]
    pub(crate) external_id: Option<String>,
    /// Write even what was forgotten before or is nearly the same as another
    #[arg(long)]
    pub(crate) force: bool,
}

/// Fields of a memory.
#[derive(Debug, Default, Args)]
pub(crate) struct FieldArguments {
    /// A short title
    #[arg(long)]
    pub(crate) title: Option<String>,
    /// A category such as fact, preference, decision, lesson or note
    #[arg(long, value_name = "NAME")]
    pub(crate) category: Option<String>,
    /// A label to filter by (repeatable)
    #[arg(long = "tag", value_name = "TAG")]
    pub(crate) tags: Vec<String>,
    /// How much it matters
    #[arg(long, value_parser = names::<Relevance>(&["low", "medium", "high"]))]
    pub(crate) relevance: Option<Relevance>,
    /// Further words to find it by, separated by commas (repeatable)
    #[arg(long, value_name = "WORDS", value_delimiter = ',')]
    pub(crate) keywords: Vec<String>,
    /// When what it tells of happened
    #[arg(long, value_name = "TIME", value_parser = optional_time)]
    pub(crate) event_at: Option<OptionalTime>,
    /// When it stops being true
    #[arg(long, value_name = "TIME", value_parser = optional_time)]
    pub(crate) expires: Option<OptionalTime>,
    /// An attribute; the value is JSON, or else text (repeatable)
    #[arg(long = "attr", value_name = "KEY=VALUE", value_parser = attribute)]
    pub(crate) attributes: Vec<(String, serde_json::Value)>,
}

/// `memory search`
#[derive(Debug, Args)]
pub(crate) struct SearchArguments {
    /// The question
    #[arg(required_unless_present = "batch", conflicts_with = "batch", value_name = "QUERY")]
    pub(crate) query: Vec<String>,
    /// Answer the questions in FILE (`-` for standard input), one JSON object a line
    #[arg(long, value_name = "FILE")]
    pub(crate) batch: Option<PathBuf>,
    /// The most hits, or groups
    #[arg(short = 'n', long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=10_000))]
    pub(crate) limit: Option<u64>,
    /// How candidates are found
    #[arg(long, value_parser = names::<SearchMode>(&["hybrid", "text", "vector"]))]
    pub(crate) mode: Option<SearchMode>,
    /// Only this kind (repeatable)
    #[arg(long = "kind", value_name = "KIND", value_parser = names::<HitKind>(KINDS))]
    pub(crate) kinds: Vec<HitKind>,
    /// Only this category (repeatable)
    #[arg(long = "category", value_name = "NAME")]
    pub(crate) categories: Vec<String>,
    /// Only what has this tag (repeatable: all of them)
    #[arg(long = "tag", value_name = "TAG")]
    pub(crate) tags: Vec<String>,
    /// Only what happened at or after
    #[arg(long, value_name = "TIME")]
    pub(crate) since: Option<Timestamp>,
    /// Only what happened before
    #[arg(long, value_name = "TIME")]
    pub(crate) until: Option<Timestamp>,
    /// Leave out hits below this score, 0 to 1
    #[arg(long, value_name = "SCORE")]
    pub(crate) min_score: Option<f64>,
    /// A condition, such as {"category":"fact"}
    #[arg(long, value_name = "JSON")]
    pub(crate) filter: Option<String>,
    /// Messages to show before and after a message
    #[arg(long, value_name = "N")]
    pub(crate) neighbors: Option<usize>,
    /// One hit for each session or document
    #[arg(long, value_parser = names::<GroupBy>(&["session", "document"]))]
    pub(crate) group_by: Option<GroupBy>,
    /// When the question is asked, for "last week"; default now
    #[arg(long, value_name = "TIME")]
    pub(crate) at: Option<Timestamp>,
    /// Read the question with operators, phrases and prefixes
    #[arg(long)]
    pub(crate) raw: bool,
    /// Say how each score came about
    #[arg(long)]
    pub(crate) explain: bool,
}

const KINDS: &[&str] = &["memory", "message", "document", "fact", "lesson"];

/// Ids.
#[derive(Debug, Args)]
pub(crate) struct Ids {
    /// Ids, or their first 6 or more characters
    #[arg(required = true, value_name = "ID")]
    pub(crate) ids: Vec<String>,
}

/// One id.
#[derive(Debug, Args)]
pub(crate) struct OneId {
    /// An id, or its first 6 or more characters
    #[arg(value_name = "ID")]
    pub(crate) id: String,
}

/// `memory list`
#[derive(Debug, Args)]
pub(crate) struct ListArguments {
    /// Memories or messages
    #[arg(long, value_parser = names::<HitKind>(&["memory", "message"]), default_value = "memory")]
    pub(crate) kind: HitKind,
    /// Only this category (repeatable)
    #[arg(long = "category", value_name = "NAME")]
    pub(crate) categories: Vec<String>,
    /// Only what has this tag (repeatable: all of them)
    #[arg(long = "tag", value_name = "TAG")]
    pub(crate) tags: Vec<String>,
    /// Only this state
    #[arg(long, value_parser = names::<State>(&["active", "archived", "expired", "deleted"]))]
    pub(crate) state: Option<State>,
    /// The order
    #[arg(long, default_value = "recent",
        value_parser = names::<ListSort>(&["recent", "created", "relevance", "accessed", "importance"]))]
    pub(crate) sort: ListSort,
    /// The most items
    #[arg(short = 'n', long, value_name = "N", default_value_t = 50, value_parser = clap::value_parser!(u64).range(1..=10_000))]
    pub(crate) limit: u64,
    /// Go on where the list before ended (its `next`)
    #[arg(long, value_name = "CURSOR", conflicts_with = "all")]
    pub(crate) cursor: Option<String>,
    /// Everything, page after page
    #[arg(long)]
    pub(crate) all: bool,
}

/// `memory update`
#[derive(Debug, Args)]
pub(crate) struct UpdateArguments {
    #[command(flatten)]
    pub(crate) id: OneId,
    /// A new text; `-` reads it from standard input
    #[arg(value_name = "TEXT")]
    pub(crate) text: Vec<String>,
    /// The same as TEXT
    #[arg(long, value_name = "TEXT", conflicts_with = "text")]
    pub(crate) body: Option<String>,
    /// An empty value clears a field; tags and keywords are replaced as a whole
    #[command(flatten)]
    pub(crate) fields: FieldArguments,
    /// Never archive or evict it
    #[arg(long, value_name = "BOOL")]
    pub(crate) pinned: Option<bool>,
    /// Refuse unless it stands at this revision
    #[arg(long, value_name = "N")]
    pub(crate) revision: Option<u64>,
    /// Show the change and do not make it
    #[arg(long, conflicts_with = "yes")]
    pub(crate) dry_run: bool,
}

/// `memory forget`
#[derive(Debug, Args)]
pub(crate) struct ForgetArguments {
    #[command(flatten)]
    pub(crate) ids: Ids,
    /// Remove the text for good, not to be restored
    #[arg(long)]
    pub(crate) erase: bool,
    /// Show what would go (the default without --yes)
    #[arg(long, conflicts_with = "yes")]
    pub(crate) dry_run: bool,
}

/// `memory restore`
#[derive(Debug, Args)]
pub(crate) struct RestoreArguments {
    #[command(flatten)]
    pub(crate) ids: Ids,
    /// Show what would come back
    #[arg(long, conflicts_with = "yes")]
    pub(crate) dry_run: bool,
}

/// `memory import`
#[derive(Debug, Args)]
pub(crate) struct ImportArguments {
    /// Files and folders; `-` for standard input
    #[arg(required = true, value_name = "PATH")]
    pub(crate) paths: Vec<PathBuf>,
    /// What they are
    #[arg(long, default_value = "auto",
        value_parser = PossibleValuesParser::new(["auto", "messages", "memories", "markdown"]).map(|name| import_format(&name)))]
    pub(crate) format: ImportFormat,
    /// Count what would be taken in
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Take in even what was forgotten before
    #[arg(long)]
    pub(crate) force: bool,
}

/// `memory export`
#[derive(Debug, Args)]
pub(crate) struct ExportArguments {
    /// How it is written; without it, by the name of PATH, else ndjson
    #[arg(long,
        value_parser = PossibleValuesParser::new(["json", "ndjson", "markdown"]).map(|name| export_format(&name)))]
    pub(crate) format: Option<ExportFormat>,
    /// The file to write; default standard output
    #[arg(short, long, value_name = "PATH")]
    pub(crate) output: Option<PathBuf>,
}

/// `memory doctor`
#[derive(Debug, Args)]
pub(crate) struct DoctorArguments {
    /// Repair what can be repaired
    #[arg(long)]
    pub(crate) fix: bool,
}

/// `memory reindex`
#[derive(Debug, Args)]
pub(crate) struct ReindexArguments {
    /// Only the text index
    #[arg(long, conflicts_with = "vector")]
    pub(crate) text: bool,
    /// Only the vector index
    #[arg(long)]
    pub(crate) vector: bool,
}

/// `memory bench …`
#[derive(Debug, Subcommand)]
pub(crate) enum BenchCommand {
    /// Recall on data sets: folders with messages.ndjson and queries.ndjson. The home is not touched
    Retrieval {
        /// The folders
        #[arg(required = true)]
        data: Vec<PathBuf>,
    },
    /// Writes, indexing, search, memory and disk on made-up text. The home is not touched
    Speed {
        /// How many items
        #[arg(long, default_value_t = 10_000)]
        items: usize,
        /// Messages of conversations instead of memories
        #[arg(long)]
        messages: bool,
        /// Where to work, and to leave the store; default is a temporary folder that is removed
        #[arg(long)]
        keep: Option<PathBuf>,
    },
}

/// `memory config …`
#[derive(Debug, Subcommand)]
pub(crate) enum ConfigCommand {
    /// Print the configuration in effect; keys are masked
    Show {
        /// Say where each value comes from
        #[arg(long)]
        origin: bool,
    },
    /// Say what does not make sense and what to do
    Check,
    /// Print where the configuration is, or is looked for
    Path,
}

/// `memory provider …`
#[derive(Debug, Subcommand)]
pub(crate) enum ProviderCommand {
    /// What exists, what is in use
    List,
    /// Write, recall and forget once at a provider, and say what is wrong
    Check {
        /// Its name; default the one in use
        name: Option<String>,
    },
    /// Show what waits to be handed to the external provider
    Queue(QueueArguments),
    /// Compare both sides: shows what one has and the other lacks, and reconciles with --yes
    Sync {
        /// Show the differences (the default without --yes)
        #[arg(long, conflicts_with = "yes")]
        dry_run: bool,
    },
}

/// `memory provider queue`
#[derive(Debug, Args)]
pub(crate) struct QueueArguments {
    /// Try it again now: its number, or all
    #[arg(long, value_name = "NUMBER|all", value_parser = chosen, conflicts_with = "drop")]
    pub(crate) retry: Option<Chosen>,
    /// Give it up: shows what would be lost, and removes it with --yes
    #[arg(long, value_name = "NUMBER|all", value_parser = chosen)]
    pub(crate) drop: Option<Chosen>,
    /// The most entries to show
    #[arg(short = 'n', long, value_name = "N", default_value_t = 50, value_parser = clap::value_parser!(u64).range(1..=100_000))]
    pub(crate) limit: u64,
}

/// `memory plugin …`
#[derive(Debug, Subcommand)]
pub(crate) enum PluginCommand {
    /// The plugins that are installed, and which of them are trusted
    List,
    /// Trust a plugin as it is now: shows path, version and hash, and asks, or acts with --yes
    Trust {
        /// Its name
        name: String,
    },
    /// Take the trust in a plugin back
    Untrust {
        /// Its name
        name: String,
    },
    /// Load a plugin and examine it; runs its code
    Check {
        /// The name of an installed plugin, or the folder of one under development
        #[arg(value_name = "NAME|DIR")]
        plugin: PathBuf,
    },
    /// Write a plugin to begin with, in Rust
    New {
        /// The folder to write; its last part is the name of the plugin
        #[arg(value_name = "DIR")]
        folder: PathBuf,
        /// Where the plugin-sdk is: a folder, or the address of a git repository; default the registry
        #[arg(long, value_name = "PATH|URL")]
        sdk: Option<String>,
    },
}

/// `memory model …`
#[derive(Debug, Subcommand)]
pub(crate) enum ModelCommand {
    /// The models that are installed
    List,
    /// Load a model and try it
    Check {
        /// Its directory, or the name it was installed under
        path: PathBuf,
    },
    /// Check a model and copy it into the home
    Install {
        /// Its directory; with --from-hub its name there, OWNER/NAME
        path: PathBuf,
        /// The name to install it under; default the name of the directory
        #[arg(long)]
        name: Option<String>,
        /// Fetch it from a hub over the network
        #[arg(long)]
        from_hub: bool,
        /// The branch, tag or commit on the hub
        #[arg(long, default_value = "main", requires = "from_hub")]
        revision: String,
        /// The address of the hub
        #[arg(long, value_name = "URL", default_value = memory_models::DEFAULT_HUB, requires = "from_hub")]
        hub: String,
    },
}

/// `memory completions`
#[derive(Debug, Args)]
pub(crate) struct CompletionsArguments {
    /// The shell
    pub(crate) shell: clap_complete::Shell,
}

/// A time, or nothing when the value is empty.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct OptionalTime(pub(crate) Option<Timestamp>);

/// A parser for values that are one of a few names.
fn names<T: DeserializeOwned + Clone + Send + Sync + 'static>(
    names: &'static [&'static str],
) -> impl TypedValueParser<Value = T> {
    PossibleValuesParser::new(names).try_map(|name| serde_json::from_value::<T>(serde_json::Value::String(name)))
}

fn import_format(name: &str) -> ImportFormat {
    match name {
        "messages" => ImportFormat::Messages,
        "memories" => ImportFormat::Memories,
        "markdown" => ImportFormat::Markdown,
        _ => ImportFormat::Auto,
    }
}

fn export_format(name: &str) -> ExportFormat {
    match name {
        "json" => ExportFormat::Json,
        "markdown" => ExportFormat::Markdown,
        _ => ExportFormat::Ndjson,
    }
}

/// The number of a delivery, or `all`.
fn chosen(text: &str) -> Result<Chosen, String> {
    match text {
        "all" => Ok(Chosen::All),
        number => number.parse().map(Chosen::Number).map_err(|_| "write a number of the list, or all".to_owned()),
    }
}

fn optional_time(text: &str) -> Result<OptionalTime, memory_core::Error> {
    if text.trim().is_empty() { Ok(OptionalTime(None)) } else { text.parse().map(|time| OptionalTime(Some(time))) }
}

/// `key=value`; the value is JSON when it reads as such, else text.
fn attribute(text: &str) -> Result<(String, serde_json::Value), String> {
    let (key, value) = text.split_once('=').ok_or("write it as key=value")?;
    if key.trim().is_empty() {
        return Err("the key is empty".into());
    }
    let value = serde_json::from_str(value).unwrap_or_else(|_| value.into());
    Ok((key.trim().to_owned(), value))
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_table_is_sound() {
        Arguments::command().debug_assert();
    }

    #[test]
    fn attributes_are_json_or_text() {
        assert_eq!(attribute("n=3").unwrap(), ("n".into(), 3.into()));
        assert_eq!(attribute("城市=上海").unwrap(), ("城市".into(), "上海".into()));
        assert_eq!(attribute("a=b=c").unwrap(), ("a".into(), "b=c".into()));
        assert_eq!(attribute("gone=null").unwrap().1, serde_json::Value::Null);
        assert!(attribute("novalue").is_err() && attribute("=x").is_err());
    }
}
