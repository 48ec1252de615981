# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes a small llama model of random weights as a GGUF file, for llama.cpp.

What it says is noise; what a token costs does not depend on it. A token's graph has about
a hundred nodes, after each of which all threads meet at a barrier, so waits decide the speed.
"""

import random
import struct
from array import array

# As small as llama.cpp takes it with heads of 64: 100 nodes of 10 to 30 us.
VOCABULARY, WIDTH, LAYERS, FEED, HEADS, CONTEXT = 512, 256, 4, 512, 4, 512
UINT32, FLOAT32, STRING = 4, 6, 8
ALIGNMENT = 32


def _text(value):
    return struct.pack("<Q", len(value)) + value.encode()


def _tensors():
    yield "token_embd.weight", (WIDTH, VOCABULARY)
    yield "output_norm.weight", (WIDTH,)
    yield "output.weight", (WIDTH, VOCABULARY)
    for layer in range(LAYERS):
        for name, shape in (("attn_norm", (WIDTH,)), ("ffn_norm", (WIDTH,)), ("attn_q", (WIDTH, WIDTH)),
                            ("attn_k", (WIDTH, WIDTH)), ("attn_v", (WIDTH, WIDTH)), ("attn_output", (WIDTH, WIDTH)),
                            ("ffn_gate", (WIDTH, FEED)), ("ffn_up", (WIDTH, FEED)), ("ffn_down", (FEED, WIDTH))):
            yield f"blk.{layer}.{name}.weight", shape


def write(path):
    keys = [("general.architecture", STRING, "llama"), ("llama.context_length", UINT32, CONTEXT),
            ("llama.embedding_length", UINT32, WIDTH), ("llama.block_count", UINT32, LAYERS),
            ("llama.feed_forward_length", UINT32, FEED), ("llama.attention.head_count", UINT32, HEADS),
            ("llama.attention.layer_norm_rms_epsilon", FLOAT32, 1e-5),
            ("llama.rope.dimension_count", UINT32, WIDTH // HEADS), ("llama.vocab_size", UINT32, VOCABULARY),
            ("tokenizer.ggml.model", STRING, "no_vocab")]
    tensors = list(_tensors())
    head = b"GGUF" + struct.pack("<IQQ", 3, len(tensors), len(keys))
    for name, kind, value in keys:
        packed = _text(value) if kind == STRING else struct.pack("<f" if kind == FLOAT32 else "<I", value)
        head += _text(name) + struct.pack("<I", kind) + packed
    offset = 0
    for name, shape in tensors:
        head += _text(name) + struct.pack(f"<I{len(shape)}QIQ", len(shape), *shape, 0, offset)
        count = 1
        for side in shape:
            count *= side
        offset += -(-count * 4 // ALIGNMENT) * ALIGNMENT
    weights = random.Random(1)
    with open(path, "wb") as file:
        file.write(head + bytes(-len(head) % ALIGNMENT))
        for _, shape in tensors:
            count = shape[0] * (shape[1] if len(shape) > 1 else 1)
            data = array("f", (weights.uniform(-0.1, 0.1) for _ in range(count))).tobytes()
            file.write(data + bytes(-len(data) % ALIGNMENT))
