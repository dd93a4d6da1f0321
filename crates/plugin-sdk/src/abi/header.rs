//! Writes the C header from the definition.

use std::fmt::Write as _;

use super::define::Described;
use super::{BUF, CONSTANTS, DONE_FN, FREE_FN, HOST_API, PLUGIN_API, SLICE};

const HEAD: &str = r#"/* The interface between the `memory` program and its plugins, version 1.0.
 *
 * A plugin is a shared library that exports the two functions at the end of this file. Messages are JSON objects in
 * UTF-8. docs/plugins.md lists the methods.
 *
 * Generated from crates/plugin-sdk/src/abi/mod.rs; do not edit. SPDX-License-Identifier: Apache-2.0 */
#ifndef MEMORY_PLUGIN_H
#define MEMORY_PLUGIN_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif
"#;

const TAIL: &str = r#"
#if defined(_WIN32)
#define MEM_PLUGIN_EXPORT __declspec(dllexport)
#else
#define MEM_PLUGIN_EXPORT __attribute__((visibility("default")))
#endif

/* Answers MEM_ABI_VERSION. */
MEM_PLUGIN_EXPORT uint32_t mem_plugin_abi(void);
/* Answers the table of the plugin, which must stay valid for ever. */
MEM_PLUGIN_EXPORT const mem_plugin_v1 *mem_plugin_api_v1(void);

#ifdef __cplusplus
}
#endif

#endif
"#;

/// The whole header.
fn header() -> String {
    let mut text = HEAD.to_owned();
    text.push('\n');
    for (name, value, docs) in CONSTANTS {
        comment(&mut text, "", docs);
        writeln!(text, "#define {name} {value}").unwrap();
    }
    // A function pointer type must stand before the structure that holds it, and `mem_buf` before what takes one.
    callback(&mut text, &FREE_FN);
    record(&mut text, &SLICE);
    record(&mut text, &BUF);
    callback(&mut text, &DONE_FN);
    record(&mut text, &HOST_API);
    record(&mut text, &PLUGIN_API);
    text.push_str(TAIL);
    text
}

fn comment(text: &mut String, indent: &str, docs: &[&str]) {
    if !docs.is_empty() {
        let lines: Vec<&str> = docs.iter().map(|line| line.trim()).collect();
        writeln!(text, "{indent}/* {} */", lines.join(&format!("\n{indent} * "))).unwrap();
    }
}

fn arguments(arguments: &[(&str, &str)]) -> String {
    let written: Vec<String> = arguments.iter().map(|(name, rust)| declaration(rust, name)).collect();
    written.join(", ")
}

fn callback(text: &mut String, item: &Described) {
    text.push('\n');
    comment(text, "", item.docs);
    writeln!(text, "typedef void (*{})({});", item.name, arguments(item.functions[0].arguments)).unwrap();
}

fn record(text: &mut String, item: &Described) {
    text.push('\n');
    comment(text, "", item.docs);
    writeln!(text, "typedef struct {} {{", item.name).unwrap();
    for field in item.fields {
        comment(text, "    ", field.docs);
        writeln!(text, "    {};", declaration(field.rust_type, field.name)).unwrap();
    }
    for function in item.functions {
        comment(text, "    ", function.docs);
        let result = if function.result.is_empty() { "void " } else { &declaration(function.result, "") };
        writeln!(text, "    {result}(*{})({});", function.name, arguments(function.arguments)).unwrap();
    }
    writeln!(text, "}} {};", item.name).unwrap();
}

/// A Rust type and a name as C writes them.
fn declaration(rust: &str, name: &str) -> String {
    let c = match rust {
        "u32" => "uint32_t ",
        "u64" => "uint64_t ",
        "i32" => "int32_t ",
        "usize" => "size_t ",
        "*const u8" => "const uint8_t *",
        "*mut u8" => "uint8_t *",
        "*mut c_void" => "void *",
        "*mut *mut c_void" => "void **",
        "*mut Buf" => "mem_buf *",
        "*const HostApiV1" => "const mem_host_v1 *",
        "Slice" => "mem_slice ",
        "Buf" => "mem_buf ",
        "DoneFn" => "mem_done_fn ",
        "Option<FreeFn>" => "mem_free_fn ",
        other => panic!("the header has no word for the type {other}"),
    };
    format!("{c}{name}")
}

/// `MEMORY_REGENERATE=1` writes the file instead.
#[test]
fn the_header_is_current() {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("include/memory_plugin.h");
    if std::env::var_os("MEMORY_REGENERATE").is_some() {
        std::fs::write(&path, header()).unwrap();
    }
    let found = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        found == header(),
        "{} is stale; run `MEMORY_REGENERATE=1 cargo test -p plugin-sdk header`",
        path.display()
    );
}

/// The frozen layout: whoever moves a field breaks every plugin.
#[test]
fn the_layout_is_frozen() {
    use super::{Buf, HostApiV1, PluginApiV1, Slice};
    use std::mem::{offset_of, size_of};
    let word = size_of::<usize>();
    assert_eq!((size_of::<Slice>(), size_of::<Buf>()), (2 * word, 4 * word));
    assert_eq!((size_of::<HostApiV1>(), size_of::<PluginApiV1>()), (8 + 5 * word, 8 + 4 * word));
    assert_eq!((offset_of!(PluginApiV1, size), offset_of!(PluginApiV1, abi_minor)), (0, 4));
    let plugin = [
        offset_of!(PluginApiV1, open),
        offset_of!(PluginApiV1, call),
        offset_of!(PluginApiV1, cancel),
        offset_of!(PluginApiV1, close),
    ];
    assert_eq!(plugin, [8, 8 + word, 8 + 2 * word, 8 + 3 * word]);
    let host = [
        offset_of!(HostApiV1, ctx),
        offset_of!(HostApiV1, log),
        offset_of!(HostApiV1, data_dir),
        offset_of!(HostApiV1, cache_dir),
        offset_of!(HostApiV1, call),
    ];
    assert_eq!(host, [8, 8 + word, 8 + 2 * word, 8 + 3 * word, 8 + 4 * word]);
}
