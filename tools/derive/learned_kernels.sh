#!/bin/sh
# Makes configs/learned_kernels/ again from the measured tables, and prints the errors that docs/learned_kernels.md
# tells. To be run after a formula of a kernel changed: networks that are not better than it are left out.
#
# Usage: tools/derive/learned_kernels.sh [DATA]     (default ../shared/data; build/lockstep has to be built)
set -eu
cd "$(dirname "$0")/../.."
data=${1:-../shared/data}/kernels
lockstep=build/lockstep
tables=$(mktemp -d)
trap 'rm -r "$tables"' EXIT

# Rows from 500 us on: NeuSight's times contain 15 to 60 us of the host.
neusight() { # GPU, Device: what to learn from, and its test part (layers of transformers)
  folder=$data/neusight/dataset
  set -- "$1" "$2" "$folder/train/collect"
  "$lockstep" calibrate import "$3/linear/p2.1.0/$2.csv.gz" "$3/bmm/p2.1.0/$2.csv.gz" "$3/ln/p2.1.0/$2.csv.gz" \
    "$3/softmax/p2.1.0/$2.csv.gz" "$3/add/p2.1.0/$2.csv.gz" "$3/relu/p2.1.0/$2.csv.gz" \
    --gpu "$1" --shortest 500us -o "$tables/neusight_train_$1.csv"
  neusight_test "$1" "$2"
}
neusight_test() {
  folder=$data/neusight/dataset/test
  "$lockstep" calibrate import "$folder/linear.csv.gz" "$folder/bmm.csv.gz" "$folder/ln.csv.gz" "$folder/softmax.csv.gz" \
    "$folder/elem.csv.gz" --gpu "$1" --device "$2" --shortest 500us -o "$tables/neusight_test_$1.csv"
}
vidur() { # GPU, folder: layers of two models are the test
  files=$(ls "$data/vidur_mlp/$2"/*.csv.gz | grep -v 'internlm\|phi-2')
  # shellcheck disable=SC2086 # one word a file
  "$lockstep" calibrate import $files --gpu "$1" -o "$tables/vidur_train_$1.csv"
  "$lockstep" calibrate import "$data/vidur_mlp/$2/internlm-20b.mlp.csv.gz" "$data/vidur_mlp/$2/phi-2.mlp.csv.gz" \
    --gpu "$1" -o "$tables/vidur_test_$1.csv"
}
fit() { # GPU, where from, table to learn from, tests ...
  gpu=$1 from=$2 table=$3
  shift 3
  "$lockstep" calibrate fit "$tables/$table.csv" $(for test; do printf -- '--test %s ' "$tables/$test.csv"; done) \
    -o "configs/learned_kernels/$gpu.yaml" || { echo "$gpu: nothing written"; return; }
  sed -i "s|^source: \"|&$from; |" "configs/learned_kernels/$gpu.yaml"
}

neusight="NeuSight (sitar-lab/NeuSight 6945927), operators of 500 us and more"
vidur="vidur (microsoft/vidur 7d47513), layers of models but internlm-20b and phi-2"
neusight p100_16gb_pcie "Tesla P100-PCIE-16GB"
neusight v100_32gb_pcie "Tesla V100-PCIE-32GB"
neusight a100_40gb_pcie "NVIDIA A100-PCIE-40GB"
neusight_test a100_80gb_pcie "NVIDIA A100 80GB PCIe"
neusight_test h100_80gb "NVIDIA H100 80GB HBM3"
vidur a100_80gb a100
vidur h100_80gb_boost h100

fit p100_16gb_pcie "$neusight" neusight_train_p100_16gb_pcie neusight_test_p100_16gb_pcie
fit v100_32gb_pcie "$neusight" neusight_train_v100_32gb_pcie neusight_test_v100_32gb_pcie
fit a100_40gb_pcie "$neusight" neusight_train_a100_40gb_pcie neusight_test_a100_40gb_pcie neusight_test_a100_80gb_pcie \
  neusight_test_h100_80gb
fit a100_80gb "$vidur" vidur_train_a100_80gb vidur_test_a100_80gb
fit h100_80gb "$vidur" vidur_train_h100_80gb_boost vidur_test_h100_80gb_boost
