"""Models by name as a function that trains one step. Inputs are random, made once, on the device."""
import contextlib

import torch
from torch import nn

from dlrm import Dlrm
from resnet import resnet50
from transformer import Transformer

GPT2 = {"vocabulary": 50257, "positions": 1024, "hidden": 768, "layers": 12, "heads": 12, "causal": True}
BERT = {"vocabulary": 30522, "positions": 512, "hidden": 768, "layers": 12, "heads": 12, "causal": False}


def dlrm(batch, device):
    model = Dlrm(tables=8, rows=1_000_000, dim=64).to(device)
    dense = torch.rand(batch, 512, device=device)
    indices = torch.randint(0, 1_000_000, (8, batch), device=device)
    clicked = torch.randint(0, 2, (batch, 1), device=device).float()
    loss = nn.BCEWithLogitsLoss()
    return model, torch.optim.SGD(model.parameters(), lr=0.1), lambda: loss(model(dense, indices).float(), clicked)


def language_model(shape, batch, device):
    model = Transformer(**shape).to(device)
    words = torch.randint(0, shape["vocabulary"], (batch, shape["positions"]), device=device)
    wanted = torch.randint(0, shape["vocabulary"], (batch * shape["positions"],), device=device)
    loss = nn.CrossEntropyLoss()
    return model, torch.optim.AdamW(model.parameters(), lr=1e-4), lambda: loss(model(words).flatten(0, 1).float(), wanted)


def images(batch, device, order=torch.contiguous_format):
    model = resnet50().to(device, memory_format=order)
    pictures = torch.rand(batch, 3, 224, 224, device=device).to(memory_format=order)
    wanted = torch.randint(0, 1000, (batch,), device=device)
    loss = nn.CrossEntropyLoss()
    return model, torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9), lambda: loss(model(pictures).float(), wanted)


def hugging_face(make, batch, device):
    """make(transformers): a model whose own loss is taken."""
    import transformers  # pylint: disable=import-outside-toplevel
    model, sequence = make(transformers)
    model = model.to(device)
    words = torch.randint(0, model.config.vocab_size, (batch, sequence), device=device)
    return model, torch.optim.AdamW(model.parameters(), lr=1e-4), lambda: model(input_ids=words, labels=words).loss


def hf_gpt2(transformers):
    return transformers.GPT2LMHeadModel(transformers.GPT2Config(attn_implementation="eager", use_cache=False)), 1024


def hf_bert(transformers):
    return transformers.BertForMaskedLM(transformers.BertConfig(attn_implementation="eager")), 512


def hf_llama(transformers):
    """The shapes of Llama 3.2 1B."""
    return transformers.LlamaForCausalLM(transformers.LlamaConfig(
        vocab_size=128256, hidden_size=2048, intermediate_size=8192, num_hidden_layers=16, num_attention_heads=32, num_key_value_heads=8,
        max_position_embeddings=8192, tie_word_embeddings=True, attn_implementation="sdpa", use_cache=False)), 2048


BUILDERS = {
    "dlrm": dlrm,
    "gpt2": lambda batch, device: language_model(GPT2, batch, device),
    "bert": lambda batch, device: language_model(BERT, batch, device),
    "resnet50": images,
    "resnet50_nhwc": lambda batch, device: images(batch, device, torch.channels_last),
    "hf_gpt2": lambda batch, device: hugging_face(hf_gpt2, batch, device),
    "hf_bert": lambda batch, device: hugging_face(hf_bert, batch, device),
    "hf_llama": lambda batch, device: hugging_face(hf_llama, batch, device),
}


def training_step(name, batch, precision, device, compiled):
    """A function without arguments: forward, backward, optimizer."""
    torch.manual_seed(1)
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = precision != "fp32"
    model, optimizer, loss_of = BUILDERS[name](batch, device)
    model.train()
    if compiled:
        model.compile()
    cast_to = {"bf16": torch.bfloat16, "fp16": torch.float16}.get(precision)
    # Loss scaling is for CUDA, and cannot unscale the sparse gradients of embeddings in FP16's range any better.
    scaler = torch.amp.GradScaler(device) if precision == "fp16" and name != "dlrm" else None

    def step():
        optimizer.zero_grad(set_to_none=True)
        with torch.autocast(device, dtype=cast_to) if cast_to else contextlib.nullcontext():
            loss = loss_of()
        if scaler is None:
            loss.backward()
            optimizer.step()
        else:
            scaler.scale(loss).backward()
            scaler.step(optimizer)
            scaler.update()

    return step
