#!/usr/bin/env python3
"""Each kind of file that `lockstep import` reads becomes a scenario that `lockstep run` accepts.

    import_formats.py build/lockstep tests/inputs/import

For each case: the keys that the scenario has to have, each with its origin; what has to be listed as not understood or
not modelled; and the exit code of a run of it.
"""
import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path

LLAMA = {"model_type": "llama", "hidden_size": 1024, "intermediate_size": 2816, "num_hidden_layers": 4,
         "num_attention_heads": 16, "num_key_value_heads": 4, "vocab_size": 32000, "max_position_embeddings": 4096,
         "hidden_act": "silu", "rms_norm_eps": 1e-5, "tie_word_embeddings": False, "torch_dtype": "bfloat16"}
BERT = {"model_type": "bert", "hidden_size": 256, "intermediate_size": 1024, "num_hidden_layers": 2,
        "num_attention_heads": 4, "vocab_size": 30522, "max_position_embeddings": 512, "type_vocab_size": 2}

# model_type: (config.json, text that the scenario has to have)
MODELS = {
    "llama": (LLAMA, ["layers: 4 .*num_hidden_layers", "kv_heads: 4 ", "implementation: hugging_face_llama",
                      "precision: bf16 .*torch_dtype"]),
    "mistral": ({**LLAMA, "model_type": "mistral", "sliding_window": 1024}, ["sliding_window: attention sees all"]),
    "mixtral": ({**LLAMA, "model_type": "mixtral", "num_local_experts": 8, "num_experts_per_tok": 2},
                ["count: 8 .*num_local_experts", "per_token: 2 ", "feed_forward: 2816 ", "implementation: megatron"]),
    "qwen2": ({**LLAMA, "model_type": "qwen2", "use_sliding_window": False, "sliding_window": 1024},
              ["qkv_bias: true"]),
    "qwen3": ({**LLAMA, "model_type": "qwen3", "head_dim": 128}, ["qk_norm: true", "head_size: 128 .*head_dim"]),
    "qwen3_moe": ({**LLAMA, "model_type": "qwen3_moe", "head_dim": 64, "num_experts": 16, "num_experts_per_tok": 4,
                   "moe_intermediate_size": 512, "decoder_sparse_step": 1},
                  ["count: 16 ", "feed_forward: 512 .*moe_intermediate_size", "dropless: true"]),
    "deepseek_v3": ({**LLAMA, "model_type": "deepseek_v3", "n_routed_experts": 16, "num_experts_per_tok": 4,
                     "n_shared_experts": 1, "moe_intermediate_size": 512, "first_k_dense_replace": 1,
                     "kv_lora_rank": 128, "q_lora_rank": 256, "qk_rope_head_dim": 32, "qk_nope_head_dim": 64,
                     "v_head_dim": 64, "num_nextn_predict_layers": 1},
                    ["key_value_rank: 128 ", "rotary_size: 32 ", "dense_layers: 1 ", "shared: 1 ",
                     "num_nextn_predict_layers: multi-token prediction"]),
    "deepseek_v2": ({**LLAMA, "model_type": "deepseek_v2", "n_routed_experts": 16, "num_experts_per_tok": 4,
                     "n_shared_experts": 2, "moe_intermediate_size": 512, "first_k_dense_replace": 1,
                     "kv_lora_rank": 128, "q_lora_rank": None, "qk_rope_head_dim": 32, "qk_nope_head_dim": 64,
                     "v_head_dim": 64},
                    ["key_value_rank: 128 ", "(?s)^(?!.*(query_rank|queries|q_lora_rank))"]),
    "gpt2": ({"model_type": "gpt2", "n_embd": 256, "n_layer": 2, "n_head": 4, "n_positions": 1024, "n_inner": None,
              "vocab_size": 50257, "activation_function": "gelu_new"}, ["layers: 2 .*n_layer", "gelu: composed"]),
    "gpt_neox": ({**BERT, "model_type": "gpt_neox", "type_vocab_size": 0, "rotary_pct": 0.25},
                 ["residual: parallel ", "rotary_share: 0.25 .*rotary_pct", "position_encoding: rotary"]),
    "bert": (BERT, ["family: bert", "token_types: 2 "]),
    "opt": ({"model_type": "opt", "hidden_size": 256, "ffn_dim": 1024, "num_hidden_layers": 2,
             "num_attention_heads": 4, "vocab_size": 50272, "max_position_embeddings": 2048,
             "word_embed_proj_dim": 256}, ["family: opt"]),
    "opt_narrow_words": ({"model_type": "opt", "hidden_size": 256, "ffn_dim": 1024, "num_hidden_layers": 2,
                          "num_attention_heads": 4, "vocab_size": 50272, "max_position_embeddings": 2048,
                          "word_embed_proj_dim": 128, "do_layer_norm_before": False},
                         ["word_embed_proj_dim: words are as wide as the model",
                          "do_layer_norm_before: layers are normalised before"]),
    "t5": ({"model_type": "t5", "d_model": 256, "d_kv": 64, "d_ff": 1024, "num_layers": 2, "num_heads": 4,
            "vocab_size": 32128, "feed_forward_proj": "gated-gelu", "tie_word_embeddings": False},
           ["activation: gated_gelu", "tied: false", "encoder_decoder:"]),
    "unheard_of": ({**LLAMA, "model_type": "unheard_of", "mixture_of_depths": True},
                   ["a model of type 'unheard_of' is not known", "mixture_of_depths"]),
    "unheard_of_tied": ({key: value for key, value in {**LLAMA, "model_type": "unheard_of"}.items()
                         if key != "tie_word_embeddings"}, ["tied: true .*PretrainedConfig's default"]),
}

# files (of the folder, or ids): text that the scenario has to have
FILES = {
    ("pretrain.sh",): [
        r"cluster: dgx_h100 x 2 ", r"layers: 8 .*pretrain.sh:10 --num-layers", r"tensor: 2 .*--tensor-model-parallel-size",
        r"pipeline: 2 .*pretrain.sh:14 ", "sharding: zero1 ", "overlap_gradients: true ", "kv_heads: 4 ",
        "activation: swiglu ", "recompute: selective ", "vocabulary: 32000 ", "global_batch: 32 ",
        "overlap-param-gather: parameters are gathered", "--new-switch-of-ours", "--lr"],
    ("debug_model.toml",): ["from: llama3_8b .*model.flavor", "implementation: torchtitan", "sequence: 2048 ",
                            "recompute: operators ", "compile: inductor ", "zero3_implementation: fsdp2"],
    ("zero3.json",): ["sharding: zero3 .*zero3.json:8 zero_optimization.stage", "global_batch: 32 ", "micro_batch: 2 ",
                      "clip_gradients: true ", "zero_quantized_weights: ZeRO", "own_extension", "ranks: 8 |x 1 "],
    ("accelerate.yaml",): ["zero3_implementation: fsdp2", "recompute: full ", "precision: bf16 "],
    ("nemo.yaml",): ["layers: 8 .*model.num_layers", "positions: 2048 ", "bias: false ", "sharding: zero1 ",
                     "precision: bf16 .*trainer.precision", "recompute: selective ", "tied: false "],
    ("options.sh",): ["layers: 8 .*options.sh:3 --num-layers", "tensor: 2 ", "attention: unfused ", "precision: fp32 "],
    ("experts.toml",): ["model: deepseek_v3 ", "recompute: selective ", "Megatron's selective recomputation",
                        "reshard_after_forward: false ", "reduce_each_micro_batch: false "],
    ("meta-llama/Meta-Llama-3-8B",): ["from: llama3_8b "],
    ("example.sh",): ["precision: fp8 ", "fp8_parameters: true ", "vocabulary: 32000 ", "x 2 ", "the job starts 8 GPUs, and the plan takes 16: 16 are taken",
                      "--sequence-parallel"],
    ("pretrain.sh", "topo.txt"): ["a100_80gb", "nvlink3, count: 12", "count: 4 ", "pex0", "pipeline: 2 "],
    ("latent.sh",): ["key_value_rank: 32 ", "query_rank: 48 "],
    ("learned.sh",): ["layers: 2 "],
    ("sharded.sh",): ["sharding: zero3 .*sharded.sh:8 --use-torch-fsdp2", "zero3_implementation: fsdp2 .*--use-torch-fsdp2"],
    ("model_args.yaml",): ["layers: 4 .*model_args.yaml:5 --num-layers", "position_encoding: rotary ", "tensor: 2 ",
                           "(?s)^(?!.*(expert_tensor|kv_heads|not understood))"],
    ("plain_queries.sh",): ["key_value_rank: 32 ", "dense_layers: 1 ", "(?s)^(?!.*query_rank)",
                            "(?s)^(?!.*not understood)", "# +--trust-remote-code"],
    ("meta-llama/Meta-Llama-3-8B", "zero3.json"): ["llama3_8b", "zero3 ", "global_batch: 32 "],
}
MACHINES = {
    ("topo.txt",): ["(?s)^(?!.*not understood)", "gpu: a100_80gb .*topo.txt", "gpu2 gpu3 nic1, with: pex0", "nvswitch"],
    ("nccl.xml",): ["gpu: h100_80gb ", "network: infiniband_ndr .*speed=400000", "nvlink4, count: 18", "pcie5_x16"],
    ("fabric.ibnet",): ["count: 2}", "node0.nic0 node0.nic1 node1.nic0, with: leaf0", "count: 2}", "infiniband_hdr"],
    ("blocks.conf",): ["kind: leaf, count: 2}", "kind: spine, count: 1}", "blocks.conf:2 BlockName: SLURM does not say what"],
    ("topology.conf",): ["not said by the files:\n#   topology.conf:4 cables: SLURM", "(?s)^(?!.*not understood)", "count: 4}", r"node0.nic\* node1.nic\*", "spine"],
    ("comments.conf",): ["count: 6}", "kind: leaf, count: 3}", r"node4.nic\* node5.nic\*, with: leaf2", "# +LinkSpeed, Comment\n"],
    ("three_tiers.conf",): ["kind: leaf, count: 4}", "kind: spine, count: 2}", "name: core, kind: core", "connect: spine0, with: core0"],
}
# a broken file: what the message says
BROKEN = {
    ("model.json", '{"model_type": "llama",\n "hidden_size": }'): r"model\.json:2: no JSON",
    ("model2.json", '{"model_type": "llama",\n "hidden_size": "big", "num_hidden_layers": 2}'):
        r"model2\.json:2:\d+: hidden_size: big is not a whole number",
    ("model3.json", '{"model_type": "llama", "vocab_size": 5}'): "without the size 'layers'",
    ("words.sh", "torchrun pretrain_gpt.py --num-layers 8 --tensor-model-parallel-size $TP\n"):
        r"words\.sh:1:\d+: --tensor-model-parallel-size: the script does not set \$TP",
    ("t5.sh", "torchrun pretrain_t5.py --encoder-num-layers 12 --micro-batch-size 2\n"):
        r"t5\.sh:1:\d+: no file says the sizes of the model, a T5 \(--encoder-num-layers\): give its config\.json",
    ("mamba.sh", "torchrun pretrain_mamba.py --micro-batch-size 2\n"): r"mamba\.sh:1:10: the model is a Mamba \(pretrain_mamba\.py\)",
    ("hybrid.sh", 'A="--micro-batch-size 2 \n --hybrid-override-pattern M-M* \n"\n'):
        r"hybrid\.sh:2:\d+: the model is a hybrid of Mamba and attention \(--hybrid-override-pattern\).*add --num-layers",
    ("args.yaml", "MODEL_ARGS:\n  --encoder-num-layers: 2\n  --micro-batch-size: 2\n"):
        r"args\.yaml:2:3: no file says the sizes of the model, a T5 \(--encoder-num-layers\)",
    ("spec.sh", "torchrun pretrain_gpt.py --micro-batch-size 2 --spec megatron.core.models.mamba.layers stack\n"):
        r"spec\.sh:1:\d+: the model is a Mamba \(--spec\)",
    ("flash.sh", "torchrun pretrain_gpt.py --num-layers 2 --hidden-size 256 --num-attention-heads 4 --seq-length 128 "
                 "--use-flash-attn --micro-batch-size 1\n"):
        r"flash\.sh:1:\d+: flash attention computes in fp16 or bf16 only; use --bf16 or --attention-backend unfused\n",
    ("experts.sh", "torchrun pretrain_gpt.py --num-layers 2 --hidden-size 256 --num-attention-heads 4 --seq-length 128 "
                   "--num-experts 4 --bf16 --tensor-model-parallel-size 2 --micro-batch-size 1 --disable-bias-linear\n"):
        r"experts\.sh:1:\d+: experts with tensor 2 need --sequence-parallel:",
    ("heads.json", json.dumps({**LLAMA, "num_attention_heads": 7, "num_key_value_heads": 7}, indent=1)):
        r"heads\.json:\d+:\d+: 'num_attention_heads': 7 heads do not divide",
    ("trees.conf", "SwitchName=a Nodes=n[1-2]\nSwitchName=b Nodes=n[3-4]\n"):
        r"trees\.conf:2:1: no switches join 'n3' below 'b' with 'n1' below 'a'",
    ("llama4.toml", '[model]\nname = "llama4"\nflavor = "17bx16e"\n[training]\nlocal_batch_size = 8\n[parallelism]\n'
                    'expert_parallel_degree = 4\n'): r"llama4\.toml:\d+:1: no file says the sizes of the experts of the model",
    ("job.toml", "[training]\nseq_len = = 4\n[parallelism]\n"): r"job\.toml:2:\d+: no TOML",
    ("go.sh", "torchrun pretrain_gpt.py --num-layers 8 --data 'open\n"): r"go\.sh:1:\d+: a single quote has no end",
    ("ds.json", '{\n"zero_optimization": {"stage": 5}}'): r"ds\.json:2:\d+: zero_optimization\.stage: ZeRO has stages",
    ("t.txt", "\tGPU0\tGPU1\nGPU0\t X \tNVX\nGPU1\tNV1\t X \n"): r"t\.txt:2:1: 'NVX' is no connection",
    ("n.xml", "<system><cpu></system>"): r"n\.xml:1:1: no XML",
    ("topology.conf", "SwitchName=a Nodes=x[1-\n"): r"topology\.conf:1:1: ",
    ("quote.conf", "# two\nSwitchName=a Nodes=\"x[1-2]\n"): r"quote\.conf:2:1: the value of 'Nodes' has a quote",
    ("bracket.conf", "SwitchName=a \\\n  Nodes=x]1[\n"): r"bracket\.conf:1:1: 'x\]1\[' has a bracket without its other half",
    ("ranges.conf", "SwitchName=a Nodes=x[1-2b]\n"): r"ranges\.conf:1:1: '1-2b' is no range",
}


def run(lockstep, *words):
    done = subprocess.run([lockstep, *words], capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL)
    return done.returncode, done.stdout, done.stderr


class Checks:
    def __init__(self, lockstep, folder):
        self.lockstep, self.folder, self.complaints = lockstep, folder, []

    def expect(self, what, good, detail=""):
        if not good:
            self.complaints.append(f"{what}: {detail}")

    def imported(self, name, files, wanted, runs):
        scenario = self.folder / f"{re.sub('[^a-z0-9]', '_', name.lower())}.yaml"
        code, _, said = run(self.lockstep, "import", *files, "-o", str(scenario))
        self.expect(name, code == 0, f"import: exit code {code}\n{said}")
        if code != 0:
            return
        text = scenario.read_text()
        for line in wanted:
            self.expect(name, re.search(line, text), f"no '{line}' in\n{text}")
        unsaid = [line for line in text.splitlines()
                  if re.match(r"\s+[a-z_]+: [^#{]+$", line) and not line.rstrip().endswith(":")]
        self.expect(name, not unsaid, f"keys without an origin: {unsaid}")
        words = ["run", str(scenario), "--no-timeline", "-o", str(self.folder / "out"), "--set", "steps=1",
                 "--set", "memory.check_capacity=false"]
        code, _, said = run(self.lockstep, *(words if runs else ["topology", str(scenario)]))
        self.expect(name, code == 0, f"{words[0]}: exit code {code}\n{said}\n{text}")


def main(lockstep, inputs):
    with tempfile.TemporaryDirectory() as temporary:
        checks = Checks(lockstep, Path(temporary))
        for name, (config, wanted) in MODELS.items():
            folder = Path(temporary) / f"model-{name}"
            folder.mkdir()
            (folder / "config.json").write_text(json.dumps(config, indent=1))
            checks.imported(name, [str(folder / "config.json")], wanted, True)
        for cases, runs in ((FILES, True), (MACHINES, False)):
            for files, wanted in cases.items():
                paths = [str(inputs / file) if (inputs / file).exists() else file for file in files]
                checks.imported(" + ".join(files), paths, wanted, runs)
        for (name, text), wanted in BROKEN.items():
            path = Path(temporary) / name
            path.write_text(text)
            code, _, said = run(lockstep, "import", str(path))
            checks.expect(name, code == 2 and re.search(wanted, said), f"exit code {code}, '{wanted}' not in: {said}")
        for framework, wanted in {"megatron": "--tensor-model-parallel-size 2", "torchtitan": "tensor_parallel_degree=2",
                                  "deepspeed": '"stage": 1', "torchrun": "--nnodes=2"}.items():
            code, said, complained = run(lockstep, "import", str(inputs / "pretrain.sh"), "--emit", framework)
            checks.expect(framework, code == 0 and wanted in said, f"exit code {code}: {said}{complained}")
    print("\n".join(checks.complaints) or f"{len(MODELS) + len(FILES) + len(MACHINES)} imports, {len(BROKEN)} refusals")
    return 1 if checks.complaints else 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]).resolve(), Path(sys.argv[2]).resolve()))
