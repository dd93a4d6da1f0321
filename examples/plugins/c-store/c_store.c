/* A memory provider in plain C, as an example of the interface in memory_plugin.h.
 * SPDX-License-Identifier: Apache-2.0
 *
 * It keeps memories in a list as long as the program runs. Each call is completed before it returns. */
#define _POSIX_C_SOURCE 200809L
#include "memory_plugin.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* ---- Text that grows. When memory runs out it remembers that, and the reply becomes an error. ---- */

typedef struct {
    char *data;
    size_t len, cap;
    bool failed;
} text;

static void add(text *t, const void *bytes, size_t len) {
    if (t->failed)
        return;
    if (len > t->cap - t->len) {
        size_t cap = (t->len + len) * 2 + 64;
        char *data = realloc(t->data, cap);
        if (!data) {
            t->failed = true;
            return;
        }
        t->data = data;
        t->cap = cap;
    }
    if (len)
        memcpy(t->data + t->len, bytes, len);
    t->len += len;
}

static void put(text *t, const char *words) { add(t, words, strlen(words)); }

static void release(text *t) {
    free(t->data);
    memset(t, 0, sizeof *t);
}

static bool equal(const text *a, const text *b) { return a->len == b->len && (!a->len || !memcmp(a->data, b->data, a->len)); }

static bool is(const text *t, const char *words) {
    return t->len == strlen(words) && (!t->len || !memcmp(t->data, words, t->len));
}

/* A JSON string, quotes and escapes included. */
static void put_string(text *t, const char *s, size_t len) {
    add(t, "\"", 1);
    for (size_t i = 0; i < len; i++) {
        unsigned char c = (unsigned char)s[i];
        char escape[8];
        if (c == '"' || c == '\\')
            add(t, escape, (size_t)snprintf(escape, sizeof escape, "\\%c", c));
        else if (c < 0x20)
            add(t, escape, (size_t)snprintf(escape, sizeof escape, "\\u%04x", c));
        else
            add(t, s + i, 1);
    }
    add(t, "\"", 1);
}

static void put_field(text *t, const char *name, const text *value) {
    put(t, ",\"");
    put(t, name);
    put(t, "\":");
    put_string(t, value->data, value->len);
}

/* ---- Reading JSON: a value is where it starts; the end bounds all reading. NULL is "not there" or "not JSON". ---- */

typedef struct {
    const char *at, *end;
} json;

static void space(json *j) {
    while (j->at < j->end && strchr(" \t\r\n", *j->at) && *j->at)
        j->at++;
}

static bool take(json *j, char c) {
    space(j);
    if (j->at >= j->end || *j->at != c)
        return false;
    j->at++;
    return true;
}

static bool skip_string(json *j) {
    if (!take(j, '"'))
        return false;
    for (; j->at < j->end; j->at++) {
        if ((unsigned char)*j->at < 0x20)
            return false;
        if (*j->at == '\\')
            j->at++;
        else if (*j->at == '"') {
            j->at++;
            return true;
        }
    }
    return false;
}

static bool skip(json *j, int depth) {
    space(j);
    if (depth > 64 || j->at >= j->end)
        return false;
    char open = *j->at;
    if (open == '"')
        return skip_string(j);
    if (open == '{' || open == '[') {
        char close = open == '{' ? '}' : ']';
        j->at++;
        if (take(j, close))
            return true;
        do {
            if (open == '{' && (!skip_string(j) || !take(j, ':')))
                return false;
            if (!skip(j, depth + 1))
                return false;
        } while (take(j, ','));
        return take(j, close);
    }
    const char *start = j->at;
    while (j->at < j->end && strchr("+-.0123456789eEtrufalsn", *j->at) && *j->at)
        j->at++;
    return j->at > start;
}

static bool is_object(json j) {
    space(&j);
    if (j.at >= j.end || *j.at != '{' || !skip(&j, 0))
        return false;
    space(&j);
    return j.at == j.end;
}

/* The value of a field of an object. The text was found to be JSON before. */
static json field(json object, const char *name) {
    json missing = {NULL, NULL}, j = object;
    if (!j.at || !take(&j, '{'))
        return missing;
    size_t len = strlen(name);
    do {
        space(&j);
        const char *key = j.at + 1;
        if (!skip_string(&j))
            return missing;
        bool found = (size_t)(j.at - 1 - key) == len && !memcmp(key, name, len);
        if (!take(&j, ':'))
            return missing;
        space(&j);
        if (found)
            return j;
    } while (skip(&j, 0) && take(&j, ','));
    return missing;
}

/* Goes through an array: `*j` starts at it; answers the next item each time. */
static json next_item(json *j, bool *started) {
    json missing = {NULL, NULL};
    if (!j->at || !take(j, *started ? ',' : '['))
        return missing;
    *started = true;
    space(j);
    json item = *j;
    if (j->at < j->end && *j->at == ']')
        return missing;
    return skip(j, 0) ? item : missing;
}

static unsigned hex4(const char *s) {
    char digits[5] = {s[0], s[1], s[2], s[3], 0};
    return (unsigned)strtoul(digits, NULL, 16);
}

static void put_utf8(text *t, unsigned c) {
    char b[4];
    size_t n = c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
    static const unsigned char lead[] = {0, 0, 0xc0, 0xe0, 0xf0};
    for (size_t i = n - 1; i > 0; i--, c >>= 6)
        b[i] = (char)(0x80 | (c & 0x3f));
    b[0] = (char)(n == 1 ? c : lead[n] | c);
    add(t, b, n);
}

/* A string without its escapes; false when the value is none. */
static bool string(json j, text *out) {
    if (!j.at || j.at >= j.end || *j.at != '"')
        return false;
    const char *s = j.at + 1;
    while (s < j.end && *s != '"') {
        if (*s != '\\') {
            add(out, s++, 1);
            continue;
        }
        if (j.end - s < 6 && s[1] == 'u')
            return false;
        static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
        const char *simple = strchr(from, s[1]);
        if (s[1] == 'u') {
            unsigned c = hex4(s + 2);
            s += 6;
            if (c >= 0xd800 && c < 0xdc00 && j.end - s >= 6 && s[0] == '\\' && s[1] == 'u') {
                c = 0x10000 + ((c - 0xd800) << 10) + (hex4(s + 2) - 0xdc00);
                s += 6;
            }
            put_utf8(out, c >= 0xd800 && c < 0xe000 ? 0xfffd : c);
        } else if (simple && s[1]) {
            add(out, to + (simple - from), 1);
            s += 2;
        } else
            return false;
    }
    return !out->failed;
}

static double number(json j, double otherwise) {
    return j.at && j.at < j.end && strchr("-0123456789", *j.at) ? strtod(j.at, NULL) : otherwise;
}

static size_t count_of(json j, size_t otherwise) {
    double n = number(j, (double)otherwise);
    return n < 0 ? 0 : n > 1e9 ? 1000000000 : (size_t)n;
}

static bool is_true(json j) { return j.at && j.end - j.at >= 4 && !memcmp(j.at, "true", 4); }

/* ---- The store ---- */

typedef struct {
    char id[27], at[32];
    text user, space, owner, body;
} memory;

typedef struct {
    const mem_host_v1 *host;
    memory *list;
    size_t count, cap;
    unsigned long made;
} store;

typedef struct {
    text user, space, owners[6];
    size_t owner_count;
    bool leader, temporary;
} viewer;

static void forget(store *s, size_t place) {
    memory *m = &s->list[place];
    release(&m->user), release(&m->space), release(&m->owner), release(&m->body);
    memmove(m, m + 1, (--s->count - place) * sizeof *m);
}

static void owner(viewer *v, const char *prefix, json name) {
    text *t = &v->owners[v->owner_count];
    put(t, prefix);
    if (string(name, t))
        v->owner_count++;
    else
        release(t);
}

/* Who asks, and the owners whose memories that viewer may read. */
static bool read_viewer(json j, viewer *v) {
    memset(v, 0, sizeof *v);
    if (!string(field(j, "user"), &v->user) || !string(field(j, "space"), &v->space))
        return false;
    put(&v->owners[v->owner_count++], "user");
    owner(v, "agent:", field(j, "agent"));
    owner(v, "workspace:", field(j, "workspace"));
    owner(v, "session:", field(j, "session"));
    json team = field(j, "team"), member = field(field(team, "role"), "member");
    text team_name = {0}, role = {0};
    v->leader = string(field(team, "role"), &role) && is(&role, "leader");
    v->temporary = is(&role, "temporary");
    release(&role);
    if (string(field(team, "name"), &team_name)) {
        owner(v, "team:", field(team, "name"));
        if (member.at) {
            text *t = &v->owners[v->owner_count];
            put(t, "member:"), add(t, team_name.data, team_name.len), put(t, "/");
            if (string(member, t))
                v->owner_count++;
        }
    }
    release(&team_name);
    return true;
}

static void release_viewer(viewer *v) {
    release(&v->user), release(&v->space);
    for (size_t i = 0; i < sizeof v->owners / sizeof *v->owners; i++)
        release(&v->owners[i]);
}

static bool may_read(const viewer *v, const memory *m) {
    if (!equal(&v->user, &m->user) || !equal(&v->space, &m->space))
        return false;
    for (size_t i = 0; i < v->owner_count; i++)
        if (equal(&v->owners[i], &m->owner))
            return true;
    return false;
}

/* The memories of a team are its leader's to change, and a temporary team changes nothing. */
static bool may_write(const viewer *v, const memory *m) {
    bool of_team = m->owner.len > 5 && !memcmp(m->owner.data, "team:", 5);
    return !v->temporary && (v->leader || !of_team);
}

/* An id: 26 characters, the time first, so that ids sort by it. */
static void make_id(store *s, char id[27]) {
    static const char digits[] = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    unsigned long long time = (unsigned long long)now.tv_sec * 1000 + (unsigned long long)now.tv_nsec / 1000000;
    unsigned long long rest = (unsigned long long)now.tv_nsec, count = ++s->made;
    for (int i = 9; i >= 0; i--, time >>= 5)
        id[i] = digits[time & 31];
    for (int i = 17; i >= 10; i--, count >>= 5)
        id[i] = digits[count & 31];
    for (int i = 25; i >= 18; i--, rest >>= 5)
        id[i] = digits[rest & 31];
    id[26] = 0;
}

/* ---- Finding: the part of the question's words that a text has. Words without spaces, as in Chinese, count by pairs of
 * characters. ---- */

static char lower(char c) { return c >= 'A' && c <= 'Z' ? (char)(c + 32) : c; }

static bool contains(const text *t, const char *word, size_t len) {
    for (size_t i = 0; i + len <= t->len; i++) {
        size_t k = 0;
        while (k < len && lower(t->data[i + k]) == lower(word[k]))
            k++;
        if (k == len)
            return true;
    }
    return false;
}

static size_t character(const char *s, const char *end) {
    size_t n = 1;
    while (s + n < end && ((unsigned char)s[n] & 0xc0) == 0x80)
        n++;
    return n;
}

static double word_score(const text *t, const char *word, const char *end) {
    if (contains(t, word, (size_t)(end - word)))
        return 1;
    size_t pairs = 0, found = 0;
    if ((unsigned char)*word >= 0x80)
        for (size_t first; word + (first = character(word, end)) < end; word += first) {
            size_t both = first + character(word + first, end);
            pairs++;
            found += contains(t, word, both);
        }
    return pairs ? (double)found / (double)pairs : 0;
}

static double score(const text *question, const text *body) {
    double sum = 0, words = 0;
    const char *at = question->data, *end = at + question->len;
    while (at < end) {
        const char *start = at;
        while (at < end && (unsigned char)*at > ' ')
            at++;
        if (at > start) {
            words++;
            sum += word_score(body, start, at);
        } else
            at++;
    }
    return words > 0 ? sum / words : 0;
}

/* ---- The methods: each writes a reply or answers an error. ---- */

typedef struct {
    const char *kind, *message, *hint;
} failure;

static const failure FINE = {NULL, NULL, NULL}, NO_VIEWER = {"invalid_request", "the request has no viewer", NULL},
                     NO_ID = {"invalid_request", "an id is 26 letters and digits, or its first 6 or more", NULL};

static void put_memory(text *out, const memory *m) {
    put(out, "{\"type\":\"memory\",\"id\":\""), put(out, m->id), put(out, "\"");
    put_field(out, "user", &m->user), put_field(out, "space", &m->space), put_field(out, "owner", &m->owner);
    put_field(out, "body", &m->body);
    put(out, ",\"quality\":0.5,\"revision\":1");
    static const char *const times[] = {"observed_at", "created_at", "updated_at"};
    for (int i = 0; i < 3; i++)
        put(out, ",\""), put(out, times[i]), put(out, "\":\""), put(out, m->at), put(out, "\"");
    put(out, "}");
}

static void put_hit(text *out, const memory *m, double value) {
    char number_text[64];
    snprintf(number_text, sizeof number_text, ",\"score\":%.6f,\"scores\":{}", value);
    put(out, "{\"kind\":\"memory\",\"id\":\""), put(out, m->id), put(out, "\""), put(out, number_text);
    put_field(out, "user", &m->user), put_field(out, "space", &m->space), put_field(out, "owner", &m->owner);
    put_field(out, "text", &m->body);
    put(out, ",\"tags\":[],\"neighbors\":[],\"source\":{\"provider\":\"c-store\"},\"created_at\":\"");
    put(out, m->at), put(out, "\"}");
}

static void describe(text *out) {
    put(out, "{\"name\":\"c-store\",\"version\":\"0.1.0\",\"description\":\"Keeps memories as long as the program runs\","
             "\"sdk_version\":\"c\",\"capability\":{\"write\":true,\"search\":true,\"get\":true,\"list\":true,"
             "\"delete\":true,\"offline\":true},\"tools\":[],\"guidance\":{\"en\":\"Ask with words of the memory.\"},"
             "\"features\":[]}");
}

static void write_item(store *s, json item, text *out) {
    memory m;
    memset(&m, 0, sizeof m);
    text type = {0};
    const char *reason = NULL;
    time_t now = time(NULL);
    struct tm utc;
    if (!string(field(item, "type"), &type) || !is(&type, "memory"))
        reason = "this store keeps memories only";
    else if (!string(field(item, "user"), &m.user) || !string(field(item, "space"), &m.space) ||
             !string(field(item, "owner"), &m.owner) || !string(field(item, "body"), &m.body))
        reason = "the memory has no scope or no text";
    else if (strspn(m.body.len ? m.body.data : "", " \t\r\n") >= m.body.len)
        reason = "the text is empty";
    else if (s->count == s->cap) {
        size_t cap = s->cap * 2 + 16;
        memory *list = realloc(s->list, cap * sizeof *list);
        if (list)
            s->list = list, s->cap = cap;
        else
            reason = "out of memory";
    }
    release(&type);
    if (reason) {
        put(out, "{\"outcome\":\"rejected\",\"reason\":\""), put(out, reason), put(out, "\"}");
        release(&m.user), release(&m.space), release(&m.owner), release(&m.body);
        return;
    }
    make_id(s, m.id);
    strftime(m.at, sizeof m.at, "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&now, &utc));
    s->list[s->count++] = m;
    put(out, "{\"outcome\":\"stored\",\"id\":\""), put(out, m.id), put(out, "\"}");
}

static failure write_items(store *s, json request, text *out) {
    json items = field(request, "items"), item;
    bool started = false;
    put(out, "{\"items\":[");
    for (bool first = true; (item = next_item(&items, &started)).at; first = false) {
        put(out, first ? "" : ",");
        write_item(s, item, out);
    }
    put(out, "]}");
    return FINE;
}

typedef struct {
    const memory *memory;
    double score;
} found;

static int best_first(const void *a, const void *b) {
    double one = ((const found *)a)->score, two = ((const found *)b)->score;
    return one < two ? 1 : one > two ? -1 : strcmp(((const found *)b)->memory->id, ((const found *)a)->memory->id);
}

/* The memories that fit a question, best first. NULL without memory to hold them. */
static found *find(store *s, const viewer *v, const text *question, double least, size_t *count) {
    found *hits = malloc((s->count + 1) * sizeof *hits);
    *count = 0;
    for (size_t i = 0; hits && i < s->count; i++) {
        double value = may_read(v, &s->list[i]) ? score(question, &s->list[i].body) : 0;
        if (value > 0 && value >= least)
            hits[(*count)++] = (found){&s->list[i], value};
    }
    if (hits)
        qsort(hits, *count, sizeof *hits, best_first);
    return hits;
}

static failure search(store *s, json request, text *out, bool prefetch) {
    viewer v;
    text question = {0};
    failure result = FINE;
    size_t count = 0, limit = prefetch ? 5 : count_of(field(request, "limit"), 10);
    if (!read_viewer(field(request, "viewer"), &v))
        result = NO_VIEWER;
    else if (!string(field(request, "query"), &question) || strspn(question.len ? question.data : "", " \t\r\n") >= question.len) {
        if (prefetch)
            put(out, "{\"text\":null}");
        else
            result = (failure){"invalid_request", "the question is empty", "ask with at least one word"};
    } else {
        found *hits = find(s, &v, &question, number(field(request, "min_score"), 0), &count);
        count = count < limit ? count : limit;
        if (prefetch) {
            text lines = {0};
            for (size_t i = 0; i < count; i++)
                put(&lines, i ? "\n- " : "- "), add(&lines, hits[i].memory->body.data, hits[i].memory->body.len);
            put(out, "{\"text\":");
            if (count)
                put_string(out, lines.data, lines.len);
            else
                put(out, "null");
            put(out, "}");
            release(&lines);
        } else {
            put(out, count ? "{\"outcome\":\"complete\"" : "{\"outcome\":\"empty\",\"reason\":");
            size_t visible = 0;
            for (size_t i = 0; i < s->count; i++)
                visible += may_read(&v, &s->list[i]);
            put(out, count ? "" : visible ? "\"no_match\"" : "\"nothing_stored\"");
            put(out, ",\"took_ms\":0,\"arms\":{},\"index_lag\":0,\"hits\":[");
            for (size_t i = 0; i < count; i++)
                put(out, i ? "," : ""), put_hit(out, hits[i].memory, hits[i].score);
            put(out, "]}");
        }
        free(hits);
    }
    release_viewer(&v), release(&question);
    return result;
}

/* A page, newest first. The cursor is the id that the page before ended with. */
static failure list(store *s, json request, text *out) {
    viewer v;
    text kind = {0}, cursor = {0};
    size_t limit = count_of(field(request, "limit"), 0), shown = 0, last = 0, i = s->count;
    bool messages = string(field(request, "kind"), &kind) && is(&kind, "message"), more = false;
    if (!read_viewer(field(request, "viewer"), &v)) {
        release_viewer(&v), release(&kind);
        return NO_VIEWER;
    }
    if (string(field(request, "cursor"), &cursor)) {
        while (i > 0 && !is(&cursor, s->list[i - 1].id))
            i--;
        i = i ? i - 1 : 0;
    }
    put(out, "{\"items\":[");
    for (limit = limit ? limit : 50; i > 0 && !messages && !more; i--) {
        if (!may_read(&v, &s->list[i - 1]))
            continue;
        more = shown == limit;
        if (!more) {
            put(out, shown++ ? "," : ""), put_memory(out, &s->list[i - 1]);
            last = i - 1;
        }
    }
    put(out, "],\"next\":");
    if (more)
        put_string(out, s->list[last].id, 26);
    else
        put(out, "null");
    put(out, "}");
    release_viewer(&v), release(&kind), release(&cursor);
    return FINE;
}

/* `get` and `delete`: what ids or their beginnings name, and what they do not. */
static failure by_id(store *s, json request, text *out, bool delete) {
    viewer v;
    failure result = FINE;
    text hit = {0}, missing = {0};
    json ids = field(request, "ids"), item;
    bool started = false, dry = is_true(field(request, "dry_run"));
    if (!read_viewer(field(request, "viewer"), &v))
        result = NO_VIEWER;
    while (!result.kind && (item = next_item(&ids, &started)).at) {
        text id = {0};
        size_t place = 0;
        if (!string(item, &id) || id.len < 6 || id.len > 26)
            result = NO_ID;
        for (size_t i = 0; i < id.len && !result.kind; i++) {
            char c = id.data[i];
            if (!((c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z')))
                result = NO_ID;
            id.data[i] = (char)(c >= 'a' && c <= 'z' ? c - 32 : c);
        }
        while (!result.kind && place < s->count &&
               (memcmp(s->list[place].id, id.data, id.len) || !may_read(&v, &s->list[place])))
            place++;
        if (delete && !result.kind && place < s->count && !may_write(&v, &s->list[place]))
            result = (failure){"forbidden", "this may be read, not changed", NULL};
        if (!result.kind && place == s->count) {
            put(&missing, missing.len ? "," : ""), put_string(&missing, id.data, id.len);
        } else if (!result.kind) {
            put(&hit, hit.len ? "," : "");
            if (delete)
                put_string(&hit, s->list[place].id, 26);
            else
                put_memory(&hit, &s->list[place]);
            if (delete && !dry)
                forget(s, place);
        }
        release(&id);
    }
    put(out, delete ? "{\"deleted\":[" : "{\"items\":["), add(out, hit.data, hit.len);
    put(out, "],\"missing\":["), add(out, missing.data, missing.len);
    put(out, !delete ? "]}" : dry ? "],\"dry_run\":true}" : "],\"dry_run\":false}");
    release_viewer(&v), release(&hit), release(&missing);
    return result;
}

static failure answer(store *s, const char *method, json request, text *out) {
    static const char *const unsupported[] = {"update", "history", "sync_turn"};
    if (!strcmp(method, "describe"))
        return describe(out), FINE;
    if (!strcmp(method, "write"))
        return write_items(s, request, out);
    if (!strcmp(method, "search") || !strcmp(method, "prefetch"))
        return search(s, request, out, *method == 'p');
    if (!strcmp(method, "get") || !strcmp(method, "delete"))
        return by_id(s, request, out, *method == 'd');
    if (!strcmp(method, "list"))
        return list(s, request, out);
    if (!strcmp(method, "initialize") || !strcmp(method, "end_session") || !strcmp(method, "shutdown"))
        return put(out, "{}"), FINE;
    if (!strcmp(method, "health")) {
        char message[64];
        snprintf(message, sizeof message, "{\"ok\":true,\"message\":\"%zu memories\"}", s->count);
        return put(out, message), FINE;
    }
    if (!strcmp(method, "call_tool"))
        return (failure){"not_found", "c-store has no tools", NULL};
    for (size_t i = 0; i < sizeof unsupported / sizeof *unsupported; i++)
        if (!strcmp(method, unsupported[i]))
            return (failure){"unsupported", "provider `c-store` does not offer this operation", NULL};
    return (failure){"unsupported", "c-store knows no such method", NULL};
}

/* ---- The interface ---- */

static void free_text(uint8_t *ptr, size_t len, size_t cap) {
    (void)len, (void)cap;
    free(ptr);
}

static mem_buf hand_over(text *t) {
    mem_buf buf = {(uint8_t *)t->data, t->len, t->cap, free_text};
    return buf;
}

static mem_buf error_object(failure f) {
    text t = {0};
    put(&t, "{\"kind\":\""), put(&t, f.kind), put(&t, "\",\"message\":");
    put_string(&t, f.message, strlen(f.message)), put(&t, ",\"retryable\":false,\"hints\":[");
    if (f.hint)
        put_string(&t, f.hint, strlen(f.hint));
    put(&t, "]}");
    return hand_over(&t);
}

static int32_t open_store(const mem_host_v1 *host, mem_slice config, void **out_instance, mem_buf *out_error) {
    json j = {(const char *)config.ptr, (const char *)config.ptr + config.len};
    if (!config.len || !is_object(j)) {
        *out_error = error_object((failure){"config_invalid", "the configuration is not a JSON object", NULL});
        return MEM_STATUS_ERROR;
    }
    store *s = calloc(1, sizeof *s);
    if (!s) {
        *out_error = error_object((failure){"unexpected", "out of memory", NULL});
        return MEM_STATUS_ERROR;
    }
    s->host = host;
    static const char target[] = "c-store", message[] = "open";
    host->log(host->ctx, MEM_LOG_INFO, (mem_slice){(const uint8_t *)target, sizeof target - 1},
              (mem_slice){(const uint8_t *)message, sizeof message - 1});
    *out_instance = s;
    return MEM_STATUS_OK;
}

static void call_store(void *instance, uint64_t id, mem_slice method, mem_slice request, mem_done_fn done, uint64_t context) {
    (void)id;
    json j = {(const char *)request.ptr, (const char *)request.ptr + request.len};
    char name[32] = {0};
    memcpy(name, method.ptr, method.len < sizeof name - 1 ? method.len : sizeof name - 1);
    text out = {0};
    failure f = {"invalid_request", "the request is not a JSON object", NULL};
    if (request.len && is_object(j))
        f = answer(instance, name, j, &out);
    if (out.failed)
        f = (failure){"unexpected", "out of memory", NULL};
    if (!f.kind) {
        done(context, MEM_STATUS_OK, hand_over(&out));
        return;
    }
    release(&out);
    done(context, MEM_STATUS_ERROR, error_object(f));
}

static void cancel_store(void *instance, uint64_t id) {
    (void)instance, (void)id; /* every call is completed before it returns */
}

static void close_store(void *instance) {
    store *s = instance;
    while (s->count)
        forget(s, s->count - 1);
    free(s->list);
    free(s);
}

static const mem_plugin_v1 TABLE = {
    .size = sizeof(mem_plugin_v1),
    .abi_minor = MEM_ABI_MINOR,
    .open = open_store,
    .call = call_store,
    .cancel = cancel_store,
    .close = close_store,
};

uint32_t mem_plugin_abi(void) { return MEM_ABI_VERSION; }

const mem_plugin_v1 *mem_plugin_api_v1(void) { return &TABLE; }
