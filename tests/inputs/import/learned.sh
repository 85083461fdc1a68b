torchrun --nproc_per_node 8 pretrain_gpt.py \
    --num-layers 2 --hidden-size 256 --num-attention-heads 4 --no-rope-fusion \
    --seq-length 512 --max-position-embeddings 512 --padded-vocab-size 50304 \
    --micro-batch-size 1 --global-batch-size 8 --bf16 # positions are learned
