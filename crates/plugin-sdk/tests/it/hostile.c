/* A plugin with one fault, chosen when it is compiled. It leaves a mark as soon as it is opened. */
#define _POSIX_C_SOURCE 200809L
#include "memory_plugin.h"
#include <stdio.h>
#include <string.h>
#include <unistd.h>

__attribute__((constructor)) static void mark(void) {
    FILE *file = fopen(MARKER, "a");
    if (file)
        fclose(file);
}

static mem_buf lend(const char *text) {
    mem_buf buf = {(uint8_t *)text, strlen(text), 0, NULL};
    return buf;
}

static int32_t open_it(const mem_host_v1 *host, mem_slice config, void **instance, mem_buf *error) {
    (void)host, (void)config, (void)instance, (void)error;
#ifdef OPEN_STATUS
    return 77;
#endif
#ifdef OPEN_GARBAGE
    *error = lend("\x1b[2Jthe key sk-\xff is\nwrong");
    return MEM_STATUS_ERROR;
#endif
#ifndef OPEN_NOTHING
    static int one;
    *instance = &one;
#endif
    return MEM_STATUS_OK;
}

static const char *reply(mem_slice method) {
    if (method.len == 8 && !memcmp(method.ptr, "describe", 8))
#ifdef DESCRIBE_NONSENSE
        return "[1, 2";
#elif defined(DESCRIBE_WRONG_CAPABILITY)
        return "{\"name\":\"hostile\",\"version\":\"0.1.0\",\"capability\":{\"write\":\"maybe\"}}";
#elif defined(DESCRIBE_OTHER_VERSION)
        return "{\"name\":\"hostile\",\"version\":\"9\"}";
#else
        return "{\"name\":\"hostile\",\"version\":\"0.1.0\",\"capability\":{\"search\":true,\"flies\":true},\"new\":1}";
#endif
    if (method.len == 5 && !memcmp(method.ptr, "write", 5))
        return "{\"items\":[]}";
    if (method.len == 6 && !memcmp(method.ptr, "search", 6))
#ifdef REPLY_NOT_JSON
        return "no JSON at all";
#elif defined(REPLY_EMPTY)
        return "";
#elif defined(REPLY_WRONG_TYPE)
        return "{\"outcome\":\"complete\",\"hits\":7}";
#elif defined(REPLY_NOT_UTF8)
        return "{\"outcome\":\"\xff\xfe\"}";
#elif defined(REPLY_FOREIGN)
        return "{\"outcome\":\"complete\",\"took_ms\":0,\"arms\":{},\"index_lag\":0,\"hits\":[{\"id\":\"01ARZ3NDEKTSV4RRFFQ69G5FAV\","
               "\"kind\":\"memory\",\"score\":7.5,\"scores\":{},\"text\":\"secret of somebody\",\"tags\":[],\"user\":\"somebody\","
               "\"space\":\"__default__\",\"owner\":\"user\",\"created_at\":\"2026-01-01T00:00:00Z\",\"source\":{\"provider\":\"\"},"
               "\"neighbors\":[]},{\"id\":\"01ARZ3NDEKTSV4RRFFQ69G5FAW\",\"kind\":\"memory\",\"score\":7.5,\"scores\":{},"
               "\"text\":\"mine\",\"tags\":[],\"user\":\"__default__\",\"space\":\"__default__\",\"owner\":\"user\","
               "\"created_at\":\"2026-01-01T00:00:00Z\",\"source\":{\"provider\":\"\"},\"neighbors\":[]}]}";
#else
        return "{\"outcome\":\"empty\",\"reason\":\"no_match\",\"took_ms\":0,\"arms\":{},\"index_lag\":0,\"hits\":[]}";
#endif
    return "{}";
}

static void call_it(void *instance, uint64_t id, mem_slice method, mem_slice request, mem_done_fn done, uint64_t context) {
    (void)instance, (void)id, (void)request;
    int search = method.len == 6 && !memcmp(method.ptr, "search", 6);
    (void)search;
#ifdef NEVER_COMPLETES
    if (search)
        return;
#endif
#ifdef BLOCKS
    if (search)
        for (;;)
            pause();
#endif
#ifdef UNKNOWN_STATUS
    if (search) {
        done(context, 77, lend("{}"));
        return;
    }
#endif
#ifdef ABSURD_LENGTH
    if (search) {
        mem_buf absurd = {(uint8_t *)"x", (size_t)1 << 60, 0, NULL};
        done(context, MEM_STATUS_OK, absurd);
        return;
    }
#endif
    done(context, MEM_STATUS_OK, lend(reply(method)));
#ifdef COMPLETES_TWICE
    done(context, MEM_STATUS_ERROR, lend("{\"message\":\"again\"}"));
    done(context + 1000, MEM_STATUS_OK, lend("{}"));
    done(0xdeadbeef, MEM_STATUS_OK, lend("{}"));
#endif
}

static void cancel_it(void *instance, uint64_t id) { (void)instance, (void)id; }

static void close_it(void *instance) {
    (void)instance;
#ifdef BLOCKS_IN_CLOSE
    for (;;)
        pause();
#endif
}

static const mem_plugin_v1 TABLE = {
#ifdef SHORT_TABLE
    .size = 16,
#else
    .size = sizeof(mem_plugin_v1),
#endif
    .open = open_it,
    .call = call_it,
    .cancel = cancel_it,
#ifndef NO_CLOSE
    .close = close_it,
#endif
};

#ifndef NO_VERSION
MEM_PLUGIN_EXPORT uint32_t mem_plugin_abi(void) {
#ifdef WRONG_MAJOR
    return 2 << 16;
#elif defined(OTHER_MINOR)
    return MEM_ABI_VERSION + 3;
#else
    return MEM_ABI_VERSION;
#endif
}
#endif

#ifndef NO_TABLE
MEM_PLUGIN_EXPORT const mem_plugin_v1 *mem_plugin_api_v1(void) {
#ifdef NULL_TABLE
    return NULL;
#endif
    return &TABLE;
}
#endif
