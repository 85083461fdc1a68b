#!/usr/bin/env bash
# Builds everything and runs every test, readers also under sanitizers and fuzzers; the exit code says whether all
# passed. With arguments: the tests of the release build that they choose.
#
# Usage: tools/check.sh [CTEST-ARGUMENT...]      e.g. tools/check.sh -L unit, tools/check.sh -LE style
set -euo pipefail
cd "$(dirname "$0")/.."

cmake --preset release
cmake --build build
ctest --test-dir build --parallel "$(nproc)" --output-on-failure "$@"

if [[ $# -eq 0 ]]; then
  cmake --preset asan
  cmake --build build/asan --target sanitized
  ctest --test-dir build/asan --parallel "$(nproc)" --output-on-failure -L sanitized
fi
