#!/bin/bash
#SBATCH --nodes=2
# A small GPT, as a team keeps it in a script.
export CUDA_DEVICE_MAX_CONNECTIONS=1
GPUS=8
NNODES=${SLURM_NNODES:-2}
TP=2
LAYERS=$((2 * 4))
DATA=/data/tokens
MODEL_ARGS="--num-layers $LAYERS --hidden-size 2048 \
  --num-attention-heads 16 --seq-length 2048"
PARALLEL=(
    --tensor-model-parallel-size ${TP}   # within a node
    --pipeline-model-parallel-size 2
    --sequence-parallel
    --use-distributed-optimizer
)
PARALLEL+=(--overlap-grad-reduce --overlap-param-gather)
if [ -n "$DEBUG" ]; then
  EXTRA="--log-interval 1"
fi
torchrun --nproc_per_node=$GPUS --nnodes $NNODES --node_rank "$RANK" pretrain_gpt.py \
  $MODEL_ARGS "${PARALLEL[@]}" $EXTRA \
  --group-query-attention --num-query-groups 4 --ffn-hidden-size 5632 \
  --max-position-embeddings 2048 --normalization RMSNorm --swiglu --position-embedding-type rope \
  --disable-bias-linear --untie-embeddings-and-output-weights --attention-dropout 0.0 --hidden-dropout 0.0 \
  --micro-batch-size 1 --global-batch-size 32 --vocab-size 32000 --bf16 --lr 3e-4 --data-path $DATA \
  --recompute-granularity selective --use-flash-attn --new-switch-of-ours 3
