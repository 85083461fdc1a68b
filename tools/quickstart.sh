#!/usr/bin/env bash
# From a clean clone to a timeline: installs what is missing, builds build/lockstep, runs one scenario.
#
# Usage: tools/quickstart.sh [SCENARIO]     a folder of scenarios/, dlrm_mlperf_a100 unless said
set -euo pipefail
cd "$(dirname "$0")/.."

scenario=${1:-dlrm_mlperf_a100}
output=out/$scenario

if [[ ! -f scenarios/$scenario/scenario.yaml ]]; then
  echo "There is no scenarios/$scenario/scenario.yaml. These exist:" >&2
  find scenarios -mindepth 2 -name scenario.yaml -printf '  %h\n' 2>/dev/null | sed 's,scenarios/,,' | sort >&2
  exit 2
fi

tools/install_dependencies.sh
cmake --preset release >/dev/null
cmake --build build --target lockstep

echo
echo "\$ build/lockstep run scenarios/$scenario/scenario.yaml -o $output"
build/lockstep run "scenarios/$scenario/scenario.yaml" -o "$output"

cat <<MESSAGE

The timeline is $PWD/$output/timeline.json.gz
To look at it, open https://ui.perfetto.dev (or chrome://tracing in Chromium) and drop the file on the page.
All figures are in $output/metrics.json, every parameter with its origin in $output/effective.yaml.
MESSAGE
