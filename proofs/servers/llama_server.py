"""Runs a real llama.cpp server on loopback until its standard input closes.

    python3 llama_server.py tiny.gguf PORT
"""

import os
import sys

import xllamacpp


def main(model, port):
    parameters = xllamacpp.CommonParams()
    parameters.model.path = model
    parameters.n_ctx = 32768
    parameters.n_parallel = 1
    parameters.hostnames = ["127.0.0.1"]
    parameters.port = port
    parameters.cpuparams.n_threads = 1
    parameters.use_jinja = True
    parameters.warmup = False
    server = xllamacpp.Server(parameters)
    print(f"listening 127.0.0.1:{port}", flush=True)
    sys.stdin.read()
    del server
    os._exit(0)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
