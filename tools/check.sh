#!/usr/bin/env bash
# Builds everything and runs every test; the exit code says whether all passed.
#
# Usage: tools/check.sh [CTEST-ARGUMENT...]      e.g. tools/check.sh -L unit, tools/check.sh -LE style
set -euo pipefail
cd "$(dirname "$0")/.."

cmake --preset release
cmake --build build
ctest --test-dir build --parallel "$(nproc)" --output-on-failure "$@"
