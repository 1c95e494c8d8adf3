#!/bin/sh
# Resolve the lock files anew from pyproject.toml: exact versions with hashes, one set for every Python from 3.10 on.
# Needs `uv` (pip install uv) and the network. Look at the difference before you commit it.
#
#   build.lock  what builds the few requirements that have no wheel; installed first, by itself
#   run.lock    what a run needs
#   test.lock   run.lock and what `./rocelab test` needs on top
set -eu
cd "$(dirname -- "$0")"

compile() {
    UV_CUSTOM_COMPILE_COMMAND=requirements/update.sh uv pip compile --quiet --universal --python-version 3.10 \
        --generate-hashes --no-annotate --no-emit-package colorama --build-constraint build.in "$@"
}

compile --output-file build.lock build.in
compile --output-file run.lock ../pyproject.toml
compile --output-file test.lock --constraint run.lock --extra ryu --extra test ../pyproject.toml
