//! Whatever stands in a file or a variable: no panic, and no credential in a message.

use super::super::{check, show};
use super::{Folder, everything};
use crate::Result;
use crate::config::Loaded;

const CANARY: &str = "sk-canary-4f9a2c71e6";

/// SplitMix64: small, seeded, good enough to stir text.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    fn below(&mut self, limit: usize) -> usize {
        (self.next() % limit as u64) as usize
    }

    fn pick<'t>(&mut self, from: &[&'t str]) -> &'t str {
        from[self.below(from.len())]
    }
}

const YAML_PIECES: &[&str] = &[
    "memory",
    "external",
    "mem0",
    "api_key",
    "engine",
    "search",
    "limit",
    "user_id",
    "acme",
    "server",
    "api_keys",
    "<<",
    ": ",
    ":",
    "\n",
    "\n  ",
    "\n    ",
    "\n\t",
    "- ",
    "[",
    "]",
    "{",
    "}",
    ", ",
    "\"",
    "'",
    "|\n",
    ">\n",
    "# ",
    "---\n",
    "...\n",
    "&a ",
    "*a",
    "!t ",
    "!!str ",
    "%YAML 1.2\n",
    "? ",
    "0042",
    "1e999",
    ".nan",
    "true",
    "null",
    "~",
    "${",
    "}",
    "${KEY}",
    "${KEY:-x}",
    "\\",
    "\0",
    "\u{85}",
    "\u{2028}",
    "\u{feff}",
    "记忆",
    "🙂",
    "\r",
    "@",
    "`",
    " at line 3 column 5",
    CANARY,
];

const DOTENV_PIECES: &[&str] = &[
    "MEMORY_ENGINE",
    "MEM0_API_KEY",
    "MEMORY__SEARCH__LIMIT",
    "MEMORY__",
    "MEMORY__X__Y",
    "DREAMING_INTERVAL",
    "export ",
    "=",
    " ",
    "\n",
    "\r\n",
    "\"",
    "'",
    "#",
    "\\",
    "\\n",
    "$",
    "${A}",
    "\0",
    "\u{feff}",
    "键",
    "🙂",
    "MEMORY_CONFIG",
    "MEMORY_DOTENV_FIRST",
    CANARY,
];

fn stir(random: &mut Random, pieces: &[&str]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for _ in 0..random.below(40) {
        bytes.extend_from_slice(random.pick(pieces).as_bytes());
    }
    if random.below(8) == 0 {
        let at = random.below(bytes.len() + 1);
        bytes.insert(at, random.next() as u8);
    }
    bytes
}

/// What a person would see of the outcome. Addresses of the canary's own file are not part of it.
fn seen(outcome: &Result<Loaded>) -> String {
    match outcome {
        Err(error) => format!("{} {error:?} {}", everything(error), error.to_json()),
        Ok(loaded) => format!("{:?}", check(loaded)),
    }
}

#[test]
fn any_yaml_is_read_or_refused_without_echo() {
    let folder = Folder::new();
    let mut random = Random(20_260_102);
    let mut outcomes = [0, 0];
    for round in 0..3_000 {
        let head = if round % 2 == 0 { "memory:\n  external:\n    mem0:\n      " } else { "" };
        let bytes = [head.as_bytes(), &stir(&mut random, YAML_PIECES)].concat();
        let file = folder.write("c.yaml", &bytes);
        let outcome = folder.loader(&[("KEY", CANARY)]).with_config(file).load();
        let seen = seen(&outcome);
        assert!(!seen.contains(CANARY), "{:?}\n{seen}", String::from_utf8_lossy(&bytes));
        outcomes[usize::from(outcome.is_ok())] += 1;
    }
    assert!(outcomes.iter().all(|count| *count > 50), "{outcomes:?}");
}

#[test]
fn a_credential_in_any_known_key_is_never_echoed() {
    let folder = Folder::new();
    for key in super::super::keys::settings() {
        for value in
            [CANARY.to_owned(), format!("[{CANARY}]"), format!("{{ {CANARY}: 1 }}"), format!("{{ x: {CANARY} }}")]
        {
            let (mut yaml, parts) = (String::new(), key.path.split('.').collect::<Vec<_>>());
            for (depth, part) in parts.iter().enumerate() {
                let end = if depth + 1 == parts.len() { format!(" {value}\n") } else { "\n".to_owned() };
                yaml.push_str(&format!("{}{part}:{end}", "  ".repeat(depth)));
            }
            if let Err(error) = folder.load(&yaml, &[]) {
                assert!(!everything(&error).contains(CANARY), "{yaml}\n{error}");
            }
        }
        let names =
            key.variables.iter().chain(key.fallbacks).map(|name| (*name).to_owned()).chain(key.generic_variable());
        for name in names {
            if let Err(error) = folder.load("", &[(&name, CANARY)]) {
                assert!(!everything(&error).contains(CANARY), "{name}\n{error}");
            }
        }
        if key.kind.is_secret() {
            let name = key.generic_variable().unwrap();
            let loaded = folder.load("", &[(&name, CANARY)]).unwrap();
            assert!(!format!("{:?} {loaded:?}", show(&loaded)).contains(CANARY), "{name}");
        }
    }
}

#[test]
fn any_dotenv_is_read_or_refused_without_echo() {
    let folder = Folder::new();
    let mut random = Random(7);
    let mut outcomes = [0, 0];
    for _ in 0..3_000 {
        let bytes = stir(&mut random, DOTENV_PIECES);
        folder.write("home/.env", &bytes);
        let outcome = folder.loader(&[]).load();
        // A path is the one thing that has to be repeated to be of use.
        if !bytes.windows(14).any(|window| window == b"MEMORY_CONFIG=") {
            let seen = seen(&outcome);
            assert!(!seen.contains(CANARY), "{:?}\n{seen}", String::from_utf8_lossy(&bytes));
        }
        outcomes[usize::from(outcome.is_ok())] += 1;
    }
    assert!(outcomes.iter().all(|count| *count > 50), "{outcomes:?}");
}

#[test]
fn random_bytes_never_panic() {
    let folder = Folder::new();
    let mut random = Random(1);
    for _ in 0..400 {
        let bytes: Vec<u8> = (0..random.below(60)).map(|_| random.next() as u8).collect();
        let printable: Vec<u8> = bytes.iter().map(|byte| b' ' + byte % 95).collect();
        for content in [bytes, printable] {
            let file = folder.write("c.yaml", &content);
            folder.write("home/.env", &content);
            drop(folder.loader(&[]).with_config(file).load());
        }
    }
}
