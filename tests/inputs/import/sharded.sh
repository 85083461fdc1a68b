#!/bin/bash
# A small Llama, sharded by PyTorch's fully_shard.
torchrun --nproc_per_node 8 pretrain_gpt.py \
  --num-layers 8 --hidden-size 1024 --num-attention-heads 8 --seq-length 2048 --max-position-embeddings 2048 \
  --swiglu --normalization RMSNorm --disable-bias-linear --position-embedding-type rope \
  --untie-embeddings-and-output-weights --vocab-size 32000 \
  --micro-batch-size 2 --global-batch-size 32 --bf16 \
  --use-torch-fsdp2 --no-gradient-accumulation-fusion
