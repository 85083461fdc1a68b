#!/usr/bin/env bash
# Installs the Debian package into a Debian 12 that has nothing else, and uses it there as five kinds of users would, each in seconds.
# Needs root, debootstrap and a way to a mirror of Debian; leaves nothing behind.
#
# Usage: packaging/try_package.sh PACKAGE.deb [MIRROR]
set -euo pipefail
package=$(realpath "${1:?usage: packaging/try_package.sh PACKAGE.deb [MIRROR]}")
mirror=("${@:2:1}")  # none: debootstrap's own
tree=$(mktemp -d)

leave() {
  umount "$tree/proc" 2>/dev/null || true
  rm -rf --one-file-system "$tree"
}
trap leave EXIT

debootstrap --variant=minbase bookworm "$tree" "${mirror[@]}" >/dev/null
mount -t proc proc "$tree/proc"
cp /etc/resolv.conf "$tree/etc/"
cp "$package" "$tree/root/lockstep.deb"

chroot "$tree" /bin/bash -euo pipefail <<'USERS'
cd /root
export DEBIAN_FRONTEND=noninteractive
apt=(apt-get -qq -o APT::Sandbox::User=root -o Dpkg::Use-Pty=0)
"${apt[@]}" update
"${apt[@]}" install -y --no-install-recommends ./lockstep.deb >/dev/null
echo "installed with $(dpkg-query -W -f '${Installed-Size}' lockstep) KiB: $(lockstep --version)"

began=$EPOCHREALTIME
told() {  # seconds since the last one
  local now=$EPOCHREALTIME
  printf '%-52s %6.2f s\n' "$1" "$(((${now/./} - ${began/./}) / 10000))e-2"
  began=$EPOCHREALTIME
}

# Sizing a cluster for a model that one has.
cat >config.json <<'MODEL'
{"model_type": "llama", "hidden_size": 8192, "intermediate_size": 28672, "num_hidden_layers": 80,
 "num_attention_heads": 64, "num_key_value_heads": 8, "vocab_size": 128256, "max_position_embeddings": 8192,
 "hidden_act": "silu", "rms_norm_eps": 1e-5, "tie_word_embeddings": false, "torch_dtype": "bfloat16"}
MODEL
lockstep import config.json -o llama.yaml 2>/dev/null
told "import config.json"
lockstep run dlrm_nvswitch -o answer >/dev/null
test -s answer/report.html -a -s answer/timeline.json.gz
told "run dlrm_nvswitch"
lockstep size llama.yaml --gpus 256 --tokens 15T --price 2.5 --set workload.global_batch=512 -o size >/dev/null 2>&1
test -s size/report.html
told "size llama.yaml --gpus 256"
lockstep plan llama3_8b_fsdp -o plan --emit megatron >/dev/null 2>&1
test -s plan/launch_1.sh
told "plan llama3_8b_fsdp --emit megatron"

# Sharding a recommendation model.
lockstep search dlrm_nvswitch -o shards >/dev/null 2>&1
test -s shards/report.html
told "search dlrm_nvswitch"

# A trace that one has.
lockstep run gpt2_8xa100 --set steps=2 -o recorded >/dev/null 2>&1
lockstep replay recorded/timeline.json.gz --set what_if.cuda_graphs=true \
  --set 'what_if.kernels=[{match: gemm, faster: 2}]' -o again >again.txt 2>&1
grep -q "CUDA graphs" again.txt
test -s again/report.html
told "run gpt2_8xa100, and replay its timeline"

# A machine that one has, or would like to have.
printf '\tGPU0\tGPU1\tNIC0\tCPU Affinity\nGPU0\t X \tNV12\tPXB\t0-31\nGPU1\tNV12\t X \tSYS\t32-63\nNIC0\tPXB\tSYS\t X \n' |
  lockstep import - -o machine.yaml 2>/dev/null
lockstep topology machine.yaml --svg machine.svg >/dev/null
test -s machine.svg
told "import nvidia-smi's matrix, topology"

# From scripts.
printf 'name: from a script\ncluster: dgx1v\nworkload: { model: dlrm_default, global_batch: 8192 }\nparallelism: { ranks: 8 }\n' |
  lockstep run - --no-timeline --json - -q | grep '"step_time_s"' >/dev/null
told "run - --json -"
lockstep sweep gpt2_8xa100 --set workload.global_batch=32,64,128 -o sweep >/dev/null 2>&1
test -s sweep/sweep.csv
told "sweep of three points"

lockstep generate dlrm_nvswitch -o benchmark >/dev/null    # a small program
cp -r /usr/share/lockstep/scenarios/gpt2_8xa100 mine       # one's own scenario
(cd mine && lockstep run scenario.yaml -q >/dev/null)
lockstep validate mpt_fsdp_h100 --every 20 >/dev/null      # shipped measurements
test -s /usr/share/bash-completion/completions/lockstep
told "generate, run scenario.yaml, validate"
echo "all journeys passed"
USERS
