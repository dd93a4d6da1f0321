/* The interface between the `memory` program and its plugins, version 1.0.
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

/* Major version of the interface. */
#define MEM_ABI_MAJOR 1
/* Minor version of the interface: it counts what was appended. */
#define MEM_ABI_MINOR 0
/* What `mem_plugin_abi` answers: major in the upper 16 bits, minor in the lower. */
#define MEM_ABI_VERSION 65536
/* Done; the payload is the reply. */
#define MEM_STATUS_OK 0
/* Failed; the payload is an error object. */
#define MEM_STATUS_ERROR 1
/* The code panicked and caught itself; the payload is an error object. */
#define MEM_STATUS_PANIC 2
/* Cancelled; the payload is empty or an error object. */
#define MEM_STATUS_CANCELLED 3
/* Level of a log line: an error. */
#define MEM_LOG_ERROR 0
/* Level of a log line: a warning. */
#define MEM_LOG_WARN 1
/* Level of a log line: information. */
#define MEM_LOG_INFO 2
/* Level of a log line: for finding faults. */
#define MEM_LOG_DEBUG 3
/* Level of a log line: everything. */
#define MEM_LOG_TRACE 4

/* Releases a buffer. Called once, from any thread, with the fields of the buffer. */
typedef void (*mem_free_fn)(uint8_t *ptr, size_t len, size_t cap);

/* Borrowed bytes, valid only while the function runs that they were given to. UTF-8 wherever they are text or JSON;
 * not terminated by a zero. */
typedef struct mem_slice {
    /* The first byte; may be null when `len` is 0. */
    const uint8_t *ptr;
    /* How many bytes. */
    size_t len;
} mem_slice;

/* Owned bytes. The receiver releases them, once, with their own `free`. */
typedef struct mem_buf {
    /* The first byte; may be null when `len` is 0. */
    uint8_t *ptr;
    /* How many bytes. */
    size_t len;
    /* For `free`: how many bytes were allocated, or whatever the owner wants to remember. */
    size_t cap;
    /* Releases the bytes; null when there is nothing to release. */
    mem_free_fn free;
} mem_buf;

/* Completes a call. Called exactly once for each call, from any thread, also before the call returns. `context` is
 * the number that came with the call, not a pointer. The receiver owns `payload`. */
typedef void (*mem_done_fn)(uint64_t context, int32_t status, mem_buf payload);

/* What the host offers to one instance of a plugin. Valid for ever. Every function may be called from any thread, at
 * any time between `open` and the end of `close`. */
typedef struct mem_host_v1 {
    /* sizeof this table, as far as its writer knows it. */
    uint32_t size;
    /* The minor version its writer knows. */
    uint32_t abi_minor;
    /* Pass it to every function of this table. */
    void *ctx;
    /* Writes a line to the log of the host. `level` is one of MEM_LOG_…. */
    void (*log)(void *ctx, uint32_t level, mem_slice target, mem_slice message);
    /* The folder for what must last. It exists; the bytes are valid for ever. */
    mem_slice (*data_dir)(void *ctx);
    /* The folder for what can be made again. It exists; the bytes are valid for ever. */
    mem_slice (*cache_dir)(void *ctx);
    /* Asks the host: `info`, `embed`. Returns at once; `done` runs exactly once, with `done_context`. */
    void (*call)(void *ctx, mem_slice method, mem_slice request, mem_done_fn done, uint64_t done_context);
} mem_host_v1;

/* What a plugin offers. The host calls the functions of one instance from one thread, one after the other; they return
 * promptly, and longer work is done elsewhere. Nothing may unwind out of them. */
typedef struct mem_plugin_v1 {
    /* sizeof this table, as far as its writer knows it. */
    uint32_t size;
    /* The minor version its writer knows. */
    uint32_t abi_minor;
    /* Opens an instance with its configuration, a JSON object. Answers a status; 0 sets `out_instance`, anything
     * else may set `out_error` to an error object. May take a while. There can be several instances. */
    int32_t (*open)(const mem_host_v1 *host, mem_slice config, void **out_instance, mem_buf *out_error);
    /* Starts a call and returns. `request` is a JSON object. `done` runs exactly once, with `context`. */
    void (*call)(void *instance, uint64_t id, mem_slice method, mem_slice request, mem_done_fn done, uint64_t context);
    /* Asks to stop the call `id`. It is completed all the same, with MEM_STATUS_CANCELLED or with its result. A
     * number that is not under way is ignored. */
    void (*cancel)(void *instance, uint64_t id);
    /* Completes what is under way, joins the threads and releases the instance. */
    void (*close)(void *instance);
} mem_plugin_v1;

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
