//! How long a call takes through the interface: `measure LIBRARY`, with the library of `faulty-plugin`. Prints the median and
//! the 99th percentile in microseconds.
#![allow(clippy::print_stdout, clippy::indexing_slicing, reason = "an example that prints")]

use std::time::Instant;

use memory_core::{MemoryProvider, Viewer};
use plugin_sdk::host::{LoadOptions, PluginDirectory, PluginProvider, platform};

const CALLS: usize = 3000;

#[tokio::main(flavor = "multi_thread", worker_threads = 2)]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let library = std::env::args().nth(1).ok_or("measure LIBRARY")?;
    let folder = tempfile::tempdir()?;
    let root = folder.path().join("plugins");
    std::fs::create_dir_all(root.join("faulty"))?;
    std::fs::copy(library, root.join("faulty/library.so"))?;
    let manifest = format!(
        "[plugin]\nname = \"faulty\"\nversion = \"0.1.0\"\nabi = \"1.0\"\n[library]\n\"{}\" = {{ file = \"library.so\" }}\n",
        platform()
    );
    std::fs::write(root.join("faulty/plugin.toml"), manifest)?;
    let plugin = PluginDirectory::new(root).find("faulty")?;
    let provider =
        PluginProvider::load(&plugin, LoadOptions::new(folder.path().join("d"), folder.path().join("c"))).await?;
    let viewer = Viewer::default();
    for (label, text) in [("13 B", "x".repeat(13)), ("17 KB", "字x ".repeat(17 * 1024 / 5))] {
        let mut times = Vec::with_capacity(CALLS);
        for _ in 0..CALLS {
            let start = Instant::now();
            // The plugin sends the ids back: the payload goes both ways.
            let report = provider.get(&viewer, std::slice::from_ref(&text)).await?;
            times.push(start.elapsed().as_secs_f64() * 1e6);
            assert_eq!(report.missing.first(), Some(&text));
        }
        times.sort_by(f64::total_cmp);
        println!("{label} each way: p50 {:.1} µs, p99 {:.1} µs", times[CALLS / 2], times[CALLS * 99 / 100]);
    }
    provider.shutdown().await?;
    Ok(())
}
