"""Writes a tiny llama model whose words are chosen, for a real llama.cpp server to run.

    python3 llama_model.py tiny.gguf

The model is a coin: whenever it is its turn, it either calls the tool `pick` or says "done" and ends; llama.cpp's own
parser makes tool calls of its text. Attention and feed-forward weights are zero, so the next token depends on the last
one alone, by the table TRANSITIONS.
"""

import sys

import gguf
import numpy as np

WIDTH, LAYERS, HEADS, FORWARD, CONTEXT = 64, 1, 4, 64, 32768

TEMPLATE = """{%- if tools %}<|im_start|>system
You may call functions. They are described within <tools></tools>:
<tools>
{%- for tool in tools %}
{{ tool | tojson }}
{%- endfor %}
</tools>
For each function call, return a json object with function name and arguments within <tool_call></tool_call> XML tags:
<tool_call>
{"name": <function-name>, "arguments": <args-json-object>}
</tool_call><|im_end|>
{% endif %}
{%- for message in messages %}
{%- if message.role == 'tool' %}<|im_start|>user
<tool_response>
{{ message.content }}
</tool_response><|im_end|>
{% elif message.tool_calls %}<|im_start|>assistant
{%- if message.content %}
{{ message.content }}
{%- endif %}
{%- for tool_call in message.tool_calls %}
<tool_call>
{"name": "{{ tool_call.function.name }}", "arguments": {{ tool_call.function.arguments | tojson }}}
</tool_call>
{%- endfor %}<|im_end|>
{% else %}<|im_start|>{{ message.role }}
{{ message.content }}<|im_end|>
{% endif %}
{%- endfor %}
{%- if add_generation_prompt %}<|im_start|>assistant
{% endif %}"""


def byte_tokens():
    """The printable stand-ins of the 256 bytes, as byte-level BPE writes them."""
    shown = [*range(33, 127), *range(161, 173), *range(174, 256)]
    stand_ins, extra = {byte: chr(byte) for byte in shown}, 0
    for byte in range(256):
        if byte not in stand_ins:
            stand_ins[byte] = chr(256 + extra)
            extra += 1
    return [stand_ins[byte] for byte in range(256)]


BYTES = byte_tokens()
# A call in pieces, so that its arguments stream.
CALL = ['<tool_call>\n{"name": "pick", "arguments": ', '{"side": ', '"left"}', '}\n</tool_call>']
SPECIAL = ["<|im_start|>", "<|im_end|>", "<|endoftext|>", *CALL, "done"]
TOKENS = BYTES + SPECIAL
NUMBER = {token: number for number, token in enumerate(TOKENS)}
NEWLINE = BYTES[ord("\n")]
# What may follow what.
TRANSITIONS = [
    (NEWLINE, CALL[0]),
    (NEWLINE, "done"),
    ("done", "<|im_end|>"),
    *zip(CALL, [*CALL[1:], "<|im_end|>"]),
]


def main(path):
    random = np.random.default_rng(7)
    embedding = random.standard_normal((len(TOKENS), WIDTH)).astype(np.float32)
    embedding /= np.sqrt((embedding**2).mean(axis=1, keepdims=True))
    output = np.zeros((len(TOKENS), WIDTH), dtype=np.float32)
    for before, after in TRANSITIONS:
        output[NUMBER[after]] += embedding[NUMBER[before]] * (14.0 / WIDTH)

    writer = gguf.GGUFWriter(path, "llama")
    writer.add_name("coin")
    writer.add_context_length(CONTEXT)
    writer.add_embedding_length(WIDTH)
    writer.add_block_count(LAYERS)
    writer.add_feed_forward_length(FORWARD)
    writer.add_head_count(HEADS)
    writer.add_head_count_kv(HEADS)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_rope_dimension_count(WIDTH // HEADS)
    writer.add_vocab_size(len(TOKENS))
    writer.add_file_type(0)
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("gpt-2")
    writer.add_token_list(TOKENS)
    # 1 is an ordinary token, 3 a control token, 4 one that stays whole in text.
    writer.add_token_types([1] * 256 + [3] * 3 + [4] * (len(SPECIAL) - 3))
    writer.add_token_merges(["t h"])
    writer.add_bos_token_id(NUMBER["<|endoftext|>"])
    writer.add_eos_token_id(NUMBER["<|im_end|>"])
    writer.add_chat_template(TEMPLATE)
    writer.add_tensor("token_embd.weight", embedding)
    writer.add_tensor("output_norm.weight", np.ones(WIDTH, np.float32))
    writer.add_tensor("output.weight", output)
    for layer in range(LAYERS):
        block = f"blk.{layer}."
        for norm in ("attn_norm", "ffn_norm"):
            writer.add_tensor(f"{block}{norm}.weight", np.ones(WIDTH, np.float32))
        for square in ("attn_q", "attn_k", "attn_v", "attn_output"):
            writer.add_tensor(f"{block}{square}.weight", np.zeros((WIDTH, WIDTH), np.float32))
        for name, shape in {"ffn_gate": (FORWARD, WIDTH), "ffn_up": (FORWARD, WIDTH), "ffn_down": (WIDTH, FORWARD)}.items():
            writer.add_tensor(f"{block}{name}.weight", np.zeros(shape, np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


if __name__ == "__main__":
    main(sys.argv[1])
