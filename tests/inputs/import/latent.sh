#!/bin/bash
# Normalised latent vectors: a switch of its own in Megatron-LM.
ARGS=(
    --num-layers 2 --hidden-size 256 --num-attention-heads 4 --kv-channels 64 # --num-experts 8
    # --group-query-attention \
    --multi-latent-attention --kv-lora-rank 32 --q-lora-rank 48 --qk-head-dim 64 --qk-pos-emb-head-dim 32 --v-head-dim 64
    --qk-layernorm --no-rope-fusion
    --position-embedding-type rope --normalization RMSNorm --swiglu --disable-bias-linear
    --untie-embeddings-and-output-weights --attention-dropout 0.0 --hidden-dropout 0.0
    --seq-length 512 --max-position-embeddings 512 --padded-vocab-size 32000
    --micro-batch-size 1 --global-batch-size 8 --bf16
)
torchrun --nproc_per_node 8 pretrain_gpt.py ${ARGS[@]}   # one node
