#!/usr/bin/env bash
# Generates the Chakra workloads of docs/performance.md and runs each with chakra_speed: once as `lockstep run` does,
# once without recording a critical path. Needs 350 MB in the temporary folder at a time.
#
# Usage: bench/chakra/compare.sh [BUILD]      the build folder, build/ unless said
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
build=${1:-$here/../../build}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

measure() {  # NAME RANKS KIND [OPTION...]
  local name=$1 ranks=$2 nodes=$(( ($2 + 7) / 8 ))
  shift 2
  mkdir "$folder/$name"
  "$here/generate.py" "$@" --ranks "$ranks" --out "$folder/$name/rank"
  for critical_path in "" no-critical-path; do
    echo "$name, $ranks ranks${critical_path:+, $critical_path}"
    # shellcheck disable=SC2086
    timeout 600 "$build/chakra_speed" "$folder/$name/rank.%d.et" "dgx_h100 x $nodes" "$ranks" $critical_path
  done
  rm -r "${folder:?}/$name"
}

for ranks in 8 64 512 1024; do
  measure dp1000 "$ranks" data_parallel
  measure dp1000j5 "$ranks" data_parallel --jitter 0.05
done
measure chain100k 8 chain --nodes 100000
for ranks in 8 64 512 1024; do
  measure chain1kj "$ranks" chain --nodes 1000 --jitter 0.2
done
for ranks in 8 64 512 1024 4096 16384; do
  measure all_reduce_64MiB "$ranks" all_reduce --bytes 67108864
done
