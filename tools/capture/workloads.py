"""Models by name as a function that trains one step. Inputs are random, made once, on the device."""
import contextlib

import torch
from torch import nn

from dlrm import Dlrm
from hugging_face import HUGGING_FACE
from resnet import resnet50
from transformer import Transformer

GPT2 = {"vocabulary": 50257, "positions": 1024, "hidden": 768, "layers": 12, "heads": 12, "causal": True}
GPT2_MEDIUM = {**GPT2, "hidden": 1024, "layers": 24, "heads": 16}
GPT_2048 = {"vocabulary": 32000, "positions": 2048, "hidden": 2048, "layers": 12, "heads": 16, "causal": True}
BERT = {"vocabulary": 30522, "positions": 512, "hidden": 768, "layers": 12, "heads": 12, "causal": False}
CRITEO = {"tables": 26, "rows": 1_000_000, "dim": 128, "bottom": [13, 512, 256, 128], "top": [1024, 1024, 512, 256, 1]}
BAGS = {"tables": 12, "rows": 1_000_000, "dim": 64, "pooling": 30}
DENSE_GRADIENTS = {"tables": 8, "rows": 100_000, "dim": 64, "sparse": False}


def recommender(batch, tables=8, rows=1_000_000, dim=64, pooling=1, **shape):
    model = Dlrm(tables, rows, dim, **shape)
    dense = torch.rand(batch, model.dense_features)
    indices = torch.randint(0, rows, (tables, batch) if pooling == 1 else (tables, batch, pooling))
    clicked = torch.randint(0, 2, (batch, 1)).float()
    loss = nn.BCEWithLogitsLoss()
    return model, lambda: loss(model(dense, indices).float(), clicked)


def language_model(shape, batch, checkpointed):
    model = Transformer(**shape, checkpointed=checkpointed)
    words = torch.randint(0, shape["vocabulary"], (batch, shape["positions"]))
    wanted = torch.randint(0, shape["vocabulary"], (batch * shape["positions"],))
    loss = nn.CrossEntropyLoss()
    return model, lambda: loss(model(words).flatten(0, 1).float(), wanted)


def images(make, batch, order=torch.contiguous_format, pixels=224):
    model = make().to(memory_format=order)
    pictures = torch.rand(batch, 3, pixels, pixels).to(memory_format=order)
    wanted = torch.randint(0, 1000, (batch,))
    loss = nn.CrossEntropyLoss()
    return model, lambda: loss(model(pictures).float(), wanted)


def torchvision(name):
    """A network of torchvision, without weights; Inception without its second head."""
    def make():
        from torchvision import models  # pylint: disable=import-outside-toplevel
        return getattr(models, name)(**({"aux_logits": False, "init_weights": False} if name == "inception_v3" else {}))
    return make


def hugging_face(make, batch, precision, checkpointed):
    """make(transformers): a model whose own loss is taken, and what it is given."""
    import transformers  # pylint: disable=import-outside-toplevel
    model, given = make(transformers, batch)
    if precision == "bf16_pure":
        model.to(torch.bfloat16)
    if checkpointed:
        model.gradient_checkpointing_enable(gradient_checkpointing_kwargs={"use_reentrant": False})
    return model, lambda: model(**given).loss


def built(name, batch, precision, checkpointed):
    """A model on the default device and a function that gives its loss."""
    plain = {"gpt2": GPT2, "gpt2_medium": GPT2_MEDIUM, "gpt_2048": GPT_2048, "bert": BERT}
    recommenders = {"dlrm": {}, "dlrm_criteo": CRITEO, "dlrm_bags": BAGS, "dlrm_dense": DENSE_GRADIENTS}
    if name in plain:
        return language_model(plain[name], batch, checkpointed)
    if name in HUGGING_FACE:
        return hugging_face(HUGGING_FACE[name], batch, precision, checkpointed)
    if checkpointed:
        raise ValueError(f"{name} has no layers that could be checkpointed")
    if name in recommenders:
        return recommender(batch, **recommenders[name])
    network = name.removesuffix("_nhwc")
    order = torch.channels_last if name.endswith("_nhwc") else torch.contiguous_format
    return images(resnet50 if network == "resnet50" else torchvision(network), batch, order, 299 if network == "inception_v3" else 224)


def optimizer_of(name, mode, model):
    trained = [parameter for parameter in model.parameters() if parameter.requires_grad]
    if name.startswith("dlrm"):
        return torch.optim.SGD(trained, lr=0.1)
    if mode == "sgd" or name.startswith(("resnet", "inception")):
        return torch.optim.SGD(trained, lr=0.01, momentum=0.9)
    return torch.optim.AdamW(trained, lr=1e-4, **({"fused": True} if mode == "fused" else {}))


def training_step(name, batch, precision, device, mode):
    """A function without arguments: forward, backward, optimizer, as `mode` (capture.py, MODES) has them."""
    torch.manual_seed(1)
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = precision != "fp32"
    torch.backends.cudnn.benchmark = mode == "benchmark"
    micro_batches = 2 if mode == "accumulated" else 1
    with torch.device(device):
        model, loss_of = built(name, batch // micro_batches, precision, mode == "checkpointed")
    model.to(device)  # torch.FloatTensor, as XLNet's parameters are made, is the host's whatever the default
    optimizer = optimizer_of(name, mode, model)
    model.train()
    if mode == "compiled":
        model.compile()
    cast_to = {"bf16": torch.bfloat16, "fp16": torch.float16}.get(precision)
    # Loss scaling is for CUDA, and cannot unscale the sparse gradients of embeddings in FP16's range any better.
    scaler = torch.amp.GradScaler(device) if precision == "fp16" and not name.startswith("dlrm") else None

    def step():
        optimizer.zero_grad(set_to_none=True)
        for _ in range(micro_batches):
            with torch.autocast(device, dtype=cast_to) if cast_to else contextlib.nullcontext():
                loss = loss_of() / micro_batches if micro_batches > 1 else loss_of()
            (loss if scaler is None else scaler.scale(loss)).backward()
        if mode == "clipped":
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        if scaler is None:
            optimizer.step()
        else:
            scaler.step(optimizer)
            scaler.update()

    return step
