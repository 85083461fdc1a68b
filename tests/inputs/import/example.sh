#!/bin/bash
# An example as public ones are: one node, options in quotes, a plan for more GPUs than it starts.
GPUS_PER_NODE=8
NUM_NODES=1
MODEL=(
    --num-layers 16
    --hidden-size 1024
    --num-attention-heads 16
    --seq-length 2048
    --max-position-embeddings 2048
)
DTYPE=(--bf16)
if [[ "$1" == "fp8" ]]; then
    DTYPE+=(
        "--fp8-format hybrid"
        "--fp8-param-gather"
        "--vocab-size 32000"
    )
fi
PARALLEL=(
    --tensor-model-parallel-size 1
    --pipeline-model-parallel-size 16
    --sequence-parallel
)
torchrun --nproc_per_node $GPUS_PER_NODE --nnodes $NUM_NODES pretrain_gpt.py \
    ${MODEL[@]} ${DTYPE[@]} ${PARALLEL[@]} --micro-batch-size 1 --global-batch-size 64
