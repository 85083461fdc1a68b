#!/bin/bash
# Latent attention whose queries have no latent vector (no --q-lora-rank), one dense layer before those of experts.
MODEL_ARGS=" \
    --num-layers 3 --hidden-size 256 --num-attention-heads 4 --ffn-hidden-size 1024 \
    --multi-latent-attention --kv-lora-rank 32 --qk-head-dim 64 --qk-pos-emb-head-dim 32 --v-head-dim 64 \
    --num-experts 8 --moe-router-topk 2 --moe-ffn-hidden-size 128 --moe-layer-freq ([0]+[1]*2) \
    --position-embedding-type rope --normalization RMSNorm --swiglu --disable-bias-linear \
    --untie-embeddings-and-output-weights --attention-dropout 0.0 --hidden-dropout 0.0 \
    --seq-length 512 --max-position-embeddings 512 --padded-vocab-size 32000 \
    --micro-batch-size 1 --global-batch-size 8 --bf16 --trust-remote-code \
"
torchrun --nproc_per_node 8 pretrain_gpt.py ${MODEL_ARGS}
