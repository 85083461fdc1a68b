#!/bin/sh
# Measures how like its source a generated program is, on a machine with GPUs.
#
#   tools/capture/benchmark.sh LOCKSTEP SOURCE FOLDER [OPTIONS OF generate]
#
# SOURCE is a scenario, or Kineto traces of tools/capture/capture.py (whose un-profiled steps are the truth). Writes the
# program into FOLDER, builds it, runs it twice (host time as recorded, and none), and scores both. The rival, PyTorch's
# et_replay (facebookresearch/param), has to be run beside it on the same execution trace, in the same minute:
#   python -m et_replay.tools.et_replay --input execution_trace.json --profile-replay
set -e
if [ $# -lt 3 ]; then
  sed -n '2,12p' "$0"
  exit 2
fi
lockstep=$1
source=$2
folder=$3
shift 3
"$lockstep" generate "$source" -o "$folder" "$@"
"$lockstep" generate --check "$folder"
if [ -f "$folder/CMakeLists.txt" ]; then
  cmake -S "$folder" -B "$folder/build" && cmake --build "$folder/build" -j
fi
nvidia-smi --query-gpu=name,clocks.sm,clocks.mem,power.draw --format=csv || true
for host in recorded none; do
  mkdir -p "$folder/measured-$host"
  "$folder/run.sh" --host "$host" --output "$(cd "$folder/measured-$host" && pwd)"
  echo "host time: $host"
  "$lockstep" generate --score "$folder" --measured "$folder/measured-$host"
done
