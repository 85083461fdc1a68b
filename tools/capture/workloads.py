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


def images(batch, device):
    model = resnet50().to(device)
    pictures = torch.rand(batch, 3, 224, 224, device=device)
    wanted = torch.randint(0, 1000, (batch,), device=device)
    loss = nn.CrossEntropyLoss()
    return model, torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9), lambda: loss(model(pictures).float(), wanted)


BUILDERS = {
    "dlrm": dlrm,
    "gpt2": lambda batch, device: language_model(GPT2, batch, device),
    "bert": lambda batch, device: language_model(BERT, batch, device),
    "resnet50": images,
}


def training_step(name, batch, precision, device):
    """A function without arguments: forward, backward, optimizer."""
    torch.manual_seed(1)
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = precision != "fp32"
    model, optimizer, loss_of = BUILDERS[name](batch, device)
    model.train()
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
