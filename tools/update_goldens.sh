#!/usr/bin/env bash
# Writes what build/lockstep says now into scenarios/*/expected.txt and tests/inputs/*/*.expected, and shows each
# difference. A prediction that moved belongs into CHANGELOG.md under Predictions: what, from, to, why.
#
# Usage: tools/update_goldens.sh [NAME...]      scenario folders or transcripts by name; all of them unless said
set -euo pipefail
cd "$(dirname "$0")/.."

wanted() {  # NAME of a golden, names asked for
  local name=$1 asked
  shift
  [[ $# -eq 0 ]] && return 0
  for asked in "$@"; do
    [[ "$asked" == "$name" ]] && return 0
  done
  return 1
}

code=0
shopt -s nullglob
for file in scenarios/*/scenario.yaml tests/inputs/*/*.expected; do
  case $file in
    scenarios/*) kind=golden path=$(dirname "$file") name=$(basename "$path") ;;
    *) kind=input path=$file name=$(basename "$file" .expected) ;;
  esac
  wanted "$name" "$@" || continue
  echo "-- $name"
  python3 -B tools/run_transcript.py "$kind" "$path" --update || code=1
done
tools/readme_answers.py --write
tools/reference.py --write
exit "$code"
