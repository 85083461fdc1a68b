#!/usr/bin/env bash
# Installs the wheel into a virtual environment of a Debian 12 that has nothing else but Python, and uses it there.
# Needs root, debootstrap and a way to a mirror of Debian; leaves nothing behind.
#
# Usage: packaging/try_wheel.sh WHEEL.whl [MIRROR]
set -euo pipefail
wheel=$(realpath "${1:?usage: packaging/try_wheel.sh WHEEL.whl [MIRROR]}")
mirror=("${@:2:1}")  # none: debootstrap's own
tree=$(mktemp -d)

leave() {
  umount "$tree/proc" 2>/dev/null || true
  rm -rf --one-file-system "$tree"
}
trap leave EXIT

debootstrap --variant=minbase --include=python3-venv bookworm "$tree" "${mirror[@]}" >/dev/null
mount -t proc proc "$tree/proc"
cp "$wheel" "$tree/root/"

chroot "$tree" /bin/bash -euo pipefail <<'USERS'
cd /root
python3 -m venv environment
environment/bin/pip install -q --no-index ./*.whl
PATH=/root/environment/bin:$PATH
echo "installed $(du -sm environment/lib/python3*/site-packages/lockstep | cut -f1) MB: $(lockstep --version)"

program=$(echo environment/lib/python3*/site-packages/lockstep/bin/lockstep)
ldd "$program" | grep -v -E "site-packages|linux-vdso|ld-linux|lib(c|m|gcc_s|stdc\\+\\+)\\.so" && exit 1

lockstep run dlrm_nvswitch -o answer >/dev/null
test -s answer/report.html
python3 - <<'PYTHON'
import lockstep

with open("/root/answer/metrics.json") as file:
    text = file.read()
answer = lockstep.run("dlrm_nvswitch")
assert repr(answer["step_time_s"]) in text, answer["step_time_s"]
rows = lockstep.sweep("gpt2_8xa100", {"workload.global_batch": [32, 64], "steps": [1]})
assert len(rows) == 2
assert lockstep.size("llama3_8b_fsdp", options=["--tokens", "1B", "--gpus", "16"])
try:
    lockstep.run("gpt2_8xa100", set={"workload.precison": "bf16"})
    raise SystemExit("no error for a misspelt key")
except lockstep.InputError as problem:
    assert "did you mean" in problem.problems[0][3]
PYTHON
echo "the program and the package answer alike"
USERS
