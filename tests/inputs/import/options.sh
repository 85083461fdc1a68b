# Read by another script, which starts the job.
TP=${TP:-2}
MODEL_OPTIONS="--num-layers 8 --hidden-size 512 --num-attention-heads 8 --seq-length 1024 \
  --max-position-embeddings 1024 --micro-batch-size 1 --global-batch-size 16"
MODEL_OPTIONS="$MODEL_OPTIONS --tensor-model-parallel-size 2 --vocab-size 32000"
