"""The calls that operators.py times: for each family pairs of what is called (columns of its table) and a function that prepares it."""
import torch
from torch import nn
from torch.nn import functional
from torch.nn.attention import SDPBackend, sdpa_kernel

from workloads import GPT2, language_model

TYPES = {"fp32": torch.float32, "tf32": torch.float32, "bf16": torch.bfloat16, "fp16": torch.float16}


def random(*shape, type_="fp32", grad=False):
    """Uniform in [-1, 1): zeros switch fewer transistors and run faster."""
    return (torch.rand(*shape, device="cuda") * 2 - 1).to(TYPES[type_]).requires_grad_(grad)


def tensor_cores(type_):
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = type_ == "tf32"


def both_passes(what, prepare):
    """Forward and backward of prepare() -> (function, its inputs that want gradients)."""
    def forward():
        call, _ = prepare()
        return call

    def backward():
        call, wanting = prepare()
        out = call()
        gradient = torch.rand_like(out)
        return lambda: torch.autograd.grad(out, wanting, gradient, retain_graph=True)

    yield {**what, "pass": "forward"}, forward
    yield {**what, "pass": "backward"}, backward


def product(type_, layout, m, n, k):
    """Of row-major operands, as lockstep-measure has them: nt forward, nn the input's gradient, tn the weight's."""
    def prepare():
        tensor_cores(type_)
        first = random(k, m, type_=type_).t() if layout[0] == "t" else random(m, k, type_=type_)
        second = random(n, k, type_=type_).t() if layout[1] == "t" else random(k, n, type_=type_)
        return lambda: torch.mm(first, second)
    return {"type": type_, "layout": layout, "m": m, "n": n, "k": k}, prepare


def products():
    for type_ in ("bf16", "fp16", "tf32"):
        for rows, hidden in ((16384, 768), (4096, 1600)):
            for vocabulary in (50257, 50258, 50260, 50264, 50304, 30522, 30528):
                yield product(type_, "nt", rows, vocabulary, hidden)
                yield product(type_, "nn", rows, hidden, vocabulary)
                yield product(type_, "tn", vocabulary, hidden, rows)
        for more in (0, 1, 2, 4):
            for layout in ("nt", "nn", "tn"):
                yield product(type_, layout, 8192, 4096 + more, 1024)
                yield product(type_, layout, 8192, 4096, 1024 + more)
                yield product(type_, layout, 8192 + more, 4096, 1024)
                yield product(type_, layout, 2048, 512 + more, 512)
                yield product(type_, layout, 2048, 512, 512 + more)
        for m, n, k in ((8192, 8192, 8192), (4096, 4096, 4096), (2048, 2048, 2048)):
            yield product(type_, "nt", m, n, k)


def scaled(m, n, k, by_row, fast):
    def prepare():
        first = random(m, k).to(torch.float8_e4m3fn)
        second = random(n, k).to(torch.float8_e4m3fn).t()
        scales = (random(m, 1).abs(), random(1, n).abs()) if by_row else (random(1).abs(), random(1).abs())
        return lambda: torch._scaled_mm(first, second, *scales, out_dtype=torch.bfloat16, use_fast_accum=fast)
    return {"operator": "scaled_mm", "scales": "row" if by_row else "tensor", "accumulators": "fast" if fast else "split",
            "m": m, "n": n, "k": k}, prepare


def float8():
    shapes = [(size, size, size) for size in (1024, 2048, 4096, 8192, 16384)]
    shapes += [(8192, 6144, 4096), (8192, 28672, 4096), (8192, 4096, 14336), (8192, 4096, 4096), (8192, 10240, 8192), (4096, 57344, 8192),
               (4096, 8192, 28672), (2048, 18432, 6144), (16384, 3072, 768), (14336, 4096, 8192), (4096, 14336, 8192)]
    for m, n, k in shapes:
        for by_row in (False, True):
            for fast in (True, False):
                yield scaled(m, n, k, by_row, fast)
        what, prepare = product("bf16", "nt", m, n, k)
        yield {"operator": "mm", "scales": "none", "accumulators": "bf16", "m": m, "n": n, "k": k}, prepare
    for m, k in ((8192, 4096), (16384, 8192)):
        for operator, call in (("amax", lambda x: x.abs().max()), ("cast", lambda x: x.to(torch.float8_e4m3fn)),
                               ("transpose", lambda x: x.t().contiguous())):
            yield {"operator": operator, "scales": "none", "accumulators": "none", "m": m, "n": 0, "k": k}, (
                lambda m=m, k=k, call=call: (lambda x=random(m, k, type_="bf16"): call(x)))


KERNELS = {"flash": SDPBackend.FLASH_ATTENTION, "cudnn": SDPBackend.CUDNN_ATTENTION, "efficient": SDPBackend.EFFICIENT_ATTENTION}


def attention():
    shapes = ((16, 12, 1024, 64), (4, 12, 1024, 64), (32, 12, 512, 64), (4, 12, 512, 64), (8, 16, 2048, 64), (16, 16, 128, 64), (2, 32, 2048, 128),
              (1, 32, 8192, 128), (4, 32, 4096, 128), (1, 16, 16384, 128), (1, 8, 512, 128))
    for kernels, type_ in (("flash", "bf16"), ("cudnn", "bf16"), ("efficient", "bf16"), ("efficient", "tf32"), ("efficient", "fp32")):
        for batch, heads, sequence, head_size in shapes:
            for causal in (False, True):
                for dropout in (0.0, 0.1) if batch * sequence >= 2048 and head_size == 64 else (0.0,):
                    what = {"kernel": kernels, "type": type_, "causal": causal, "dropout": dropout, "batch": batch, "heads": heads,
                            "sequence": sequence, "head_size": head_size}

                    def prepare(kernels=kernels, type_=type_, causal=causal, dropout=dropout, shape=(batch, sequence, heads, head_size)):
                        tensor_cores(type_)
                        inputs = [random(*shape, type_=type_, grad=True) for _ in range(3)]

                        def call():
                            with sdpa_kernel(KERNELS[kernels]):
                                return functional.scaled_dot_product_attention(*(x.transpose(1, 2) for x in inputs), dropout_p=dropout, is_causal=causal)
                        return call, inputs
                    yield from both_passes(what, prepare)


def normalisation():
    norms = ((16384, 768), (4096, 768), (512, 768), (8192, 1024), (8192, 1600), (8192, 4096), (2048, 4096), (4096, 8192), (2048, 12288),
             (65536, 512), (2048, 1024))
    for type_ in ("fp32", "bf16"):
        for rows, columns in norms:
            for operator in ("layer_norm", "rms_norm"):
                def prepare(operator=operator, type_=type_, rows=rows, columns=columns):
                    x, weight, bias = (random(*shape, type_=type_, grad=True) for shape in ((rows, columns), (columns,), (columns,)))
                    if operator == "rms_norm":
                        return lambda: functional.rms_norm(x, (columns,), weight), (x, weight)
                    return lambda: functional.layer_norm(x, (columns,), weight, bias), (x, weight, bias)
                yield from both_passes({"operator": operator, "type": type_, "rows": rows, "columns": columns}, prepare)
        softmaxes = ((196608, 1024), (49152, 512), (12288, 512), (24576, 128), (65536, 2048), (16384, 4096), (16384, 30522), (16384, 50257),
                     (4096, 50257), (4096, 128256), (8192, 32000))
        for rows, columns in softmaxes:
            for operator in ("softmax", "log_softmax"):
                def prepare(operator=operator, type_=type_, rows=rows, columns=columns):
                    x = random(rows, columns, type_=type_, grad=True)
                    return lambda: getattr(functional, operator)(x, dim=-1), (x,)
                yield from both_passes({"operator": operator, "type": type_, "rows": rows, "columns": columns}, prepare)


POINTWISE = {
    "add": (2, lambda x, y: x + y),
    "mul": (2, lambda x, y: x * y),
    "scale": (1, lambda x: x * 0.5),
    "relu": (1, torch.relu),
    "gelu": (1, functional.gelu),
    "gelu_tanh": (1, lambda x: functional.gelu(x, approximate="tanh")),
    "silu": (1, functional.silu),
    "tanh": (1, torch.tanh),
    "sigmoid": (1, torch.sigmoid),
    "exp": (1, torch.exp),
    "dropout": (1, lambda x: functional.dropout(x, 0.1)),
    "copy": (1, torch.clone),
    "to_fp32": (1, lambda x: x.float()),
    "to_bf16": (1, lambda x: x.bfloat16()),
    "add_fp32": (2, lambda x, y: x.float() + y),
    "fill": (1, torch.zero_),
    "transpose": (1, lambda x: x.view(-1, 64, 4, 64).transpose(1, 2).contiguous()),
    "split": (1, lambda x: torch.cat(x.view(-1, 1024).chunk(2, dim=1), dim=1)),
    "mask": (1, lambda x: x.masked_fill_(x > 2, 0.0)),
    "add_inplace": (2, lambda x, y: x.add_(y)),
    "where": (2, lambda x, y: torch.where(x > 0, x, y)),
}
BACKWARD = ("relu", "gelu", "gelu_tanh", "silu", "tanh", "sigmoid", "dropout")


def pointwise():
    for type_ in ("fp32", "bf16"):
        for power in (14, 17, 20, 22, 24, 26):
            for name, (inputs, function) in POINTWISE.items():
                what = {"operator": name, "type": type_, "elements": 2**power}
                yield {**what, "pass": "forward"}, (lambda inputs=inputs, function=function, type_=type_, power=power: (
                    lambda x=[random(2**power, type_=type_) for _ in range(inputs)]: function(*x)))
                if name in BACKWARD:
                    def backward(function=function, type_=type_, power=power):
                        x = random(2**power, type_=type_, grad=True)
                        out = function(x)
                        gradient = torch.rand_like(out)
                        return lambda: torch.autograd.grad(out, x, gradient, retain_graph=True)
                    yield {**what, "pass": "backward"}, backward
            what = {"operator": "mixed_add", "type": type_, "elements": 2**power, "pass": "forward"}  # a sum that reads both types as they are
            yield what, (lambda type_=type_, power=power: (
                lambda x=random(2**power, type_=type_), y=random(2**power, type_="bf16" if type_ == "fp32" else "fp32"): x + y))


def reduction():
    for type_ in ("fp32", "bf16"):
        for rows, columns in ((16384, 768), (16384, 2304), (16384, 3072), (4096, 768), (4096, 3072), (1024, 768), (8192, 4096), (8192, 16384),
                              (2048, 1024), (65536, 256), (512, 1024), (2048, 12288)):
            for operator, call in (("rows", lambda x: x.sum(0)), ("columns", lambda x: x.sum(1)), ("all", lambda x: x.sum()),
                                   ("norm", lambda x: x.norm())):
                yield {"operator": operator, "type": type_, "rows": rows, "columns": columns}, (
                    lambda call=call, type_=type_, rows=rows, columns=columns: (lambda x=random(rows, columns, type_=type_): call(x)))


def embedding():
    for rows, dim, lookups in ((50257, 768, 16384), (50257, 768, 1024), (30522, 768, 16384), (128256, 4096, 8192), (32000, 4096, 4096),
                               (1024, 768, 1024)):
        def words(rows=rows, dim=dim, lookups=lookups):
            weight, index = random(rows, dim, grad=True), torch.randint(0, rows, (lookups,), device="cuda")
            return lambda: functional.embedding(index, weight), (weight,)
        yield from both_passes({"operator": "embedding", "gradient": "dense", "rows": rows, "dim": dim, "batch": lookups, "pooling": 1}, words)
    for rows, dim, batch, pooling in ((1_000_000, 64, 2048, 1), (1_000_000, 64, 8192, 1), (1_000_000, 64, 2048, 20), (1_000_000, 128, 4096, 30),
                                      (4_000_000, 32, 4096, 10), (10_000, 128, 8192, 20)):
        for gradient in ("sparse", "dense") if rows * dim <= 64_000_000 else ("sparse",):
            def bags(rows=rows, dim=dim, batch=batch, pooling=pooling, gradient=gradient):
                weight, index = random(rows, dim, grad=True), torch.randint(0, rows, (batch, pooling), device="cuda")
                return lambda: functional.embedding_bag(index, weight, mode="sum", sparse=gradient == "sparse"), (weight,)
            called = {"operator": "embedding_bag", "gradient": gradient, "rows": rows, "dim": dim, "batch": batch, "pooling": pooling}
            for what, prepare in both_passes(called, bags):
                if what["pass"] == "backward" and gradient == "sparse":
                    prepare = sparse_backward(rows, dim, batch, pooling)
                yield what, prepare


def sparse_backward(rows, dim, batch, pooling):
    """autograd.grad() cannot hand out a bag's sparse gradient twice; backward() can."""
    def prepare():
        weight, index = random(rows, dim, grad=True), torch.randint(0, rows, (batch, pooling), device="cuda")
        out = functional.embedding_bag(index, weight, mode="sum", sparse=True)
        gradient = torch.rand_like(out)

        def call():
            weight.grad = None
            out.backward(gradient, retain_graph=True)
        return call
    return prepare


# ResNet-50's convolutions: in, out, filter, stride, size of the input; He et al., arXiv 1512.03385
CONVOLUTIONS = ((3, 64, 7, 2, 224), (64, 64, 1, 1, 56), (64, 64, 3, 1, 56), (64, 256, 1, 1, 56), (256, 64, 1, 1, 56), (256, 128, 1, 1, 56),
                (128, 128, 3, 2, 56), (256, 512, 1, 2, 56),
                (128, 512, 1, 1, 28), (512, 128, 1, 1, 28), (128, 128, 3, 1, 28), (512, 256, 1, 1, 28), (256, 256, 3, 2, 28), (512, 1024, 1, 2, 28),
                (256, 1024, 1, 1, 14),
                (1024, 256, 1, 1, 14), (256, 256, 3, 1, 14), (1024, 512, 1, 1, 14), (512, 512, 3, 2, 14), (1024, 2048, 1, 2, 14),
                (512, 2048, 1, 1, 7), (2048, 512, 1, 1, 7), (512, 512, 3, 1, 7))


def picture(batch, channels, size, type_, order):
    x = random(batch, channels, size, size, type_=type_)
    return (x.to(memory_format=torch.channels_last) if order == "nhwc" else x).requires_grad_(True)


def gradient_of(call, inputs, place):
    out = call()
    gradient = torch.rand_like(out)
    return lambda: torch.autograd.grad(out, inputs[place], gradient, retain_graph=True)


def images():
    def case(operator, type_, order, batch, channels, out, kernel, stride, size):
        return {"operator": operator, "type": type_, "order": order, "batch": batch, "in": channels, "out": out, "filter": kernel,
                "stride": stride, "size": size}

    for order in ("nhwc", "nchw"):
        for type_, batch in (("bf16", 64), ("bf16", 256), ("tf32", 64)):
            for channels, out, kernel, stride, size in CONVOLUTIONS:
                def convolve(type_=type_, order=order, batch=batch, channels=channels, out=out, kernel=kernel, stride=stride, size=size):
                    tensor_cores(type_)
                    x = picture(batch, channels, size, type_, order)
                    weight = picture(out, channels, kernel, type_, order)
                    return lambda: functional.conv2d(x, weight, stride=stride, padding=kernel // 2), (x, weight)
                what = case("conv", type_, order, batch, channels, out, kernel, stride, size)
                yield {**what, "pass": "forward"}, lambda convolve=convolve: convolve()[0]
                for place, gradient in enumerate(("input_gradient", "weight_gradient")):
                    yield {**what, "pass": gradient}, lambda convolve=convolve, place=place: gradient_of(*convolve(), place)
            for channels, size in ((64, 112), (64, 56), (256, 56), (128, 28), (512, 28), (256, 14), (1024, 14), (512, 7), (2048, 7)):
                def normalise(type_=type_, order=order, batch=batch, channels=channels, size=size):
                    x, norm = picture(batch, channels, size, type_, order), nn.BatchNorm2d(channels).cuda()
                    return lambda: norm(x), (x, norm.weight, norm.bias)
                yield from both_passes(case("batch_norm", type_, order, batch, channels, channels, 1, 1, size), normalise)
            for operator, channels, size, call in (("max_pool", 64, 112, nn.MaxPool2d(3, 2, 1)), ("avg_pool", 2048, 7, nn.AdaptiveAvgPool2d(1))):
                def pool(type_=type_, order=order, batch=batch, channels=channels, size=size, call=call):
                    x = picture(batch, channels, size, type_, order)
                    return lambda: call(x), (x,)
                yield from both_passes(case(operator, type_, order, batch, channels, channels, 3, 2, size), pool)


def optimizer():
    kinds = {"per_tensor": {"foreach": False}, "multi_tensor": {"foreach": True}, "fused": {"fused": True}}
    for name, make in (("adamw", torch.optim.AdamW), ("sgd", lambda parameters, **kind: torch.optim.SGD(parameters, lr=0.1, momentum=0.9, **kind))):
        for kind, setting in kinds.items():
            def prepare(make=make, setting=setting):
                model, _, _ = language_model(GPT2, 1, "cuda")
                parameters = list(model.parameters())
                for parameter in parameters:
                    parameter.grad = torch.rand_like(parameter)
                return make(parameters, **setting).step
            yield {"operator": name, "kind": kind, "parameters": 124_439_808}, prepare
    for operator in ("clip", "zero_grad"):
        def clip(operator=operator):
            model, _, _ = language_model(GPT2, 1, "cuda")
            for parameter in model.parameters():
                parameter.grad = torch.rand_like(parameter)
            if operator == "zero_grad":
                return lambda: model.zero_grad(set_to_none=False)
            return lambda: nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        yield {"operator": operator, "kind": "multi_tensor", "parameters": 124_439_808}, clip


def experts():
    for count_, tokens, hidden, wide in ((8, 16384, 4096, 14336), (8, 4096, 4096, 14336), (128, 65536, 2048, 768), (128, 16384, 2048, 768),
                                         (64, 32768, 2048, 1408), (16, 16384, 2048, 8192)):
        what = {"count": count_, "tokens": tokens, "hidden": hidden, "feed_forward": wide}

        def grouped(count_=count_, tokens=tokens, hidden=hidden, wide=wide):
            x, weight = random(tokens, hidden, type_="bf16"), random(count_, hidden, wide, type_="bf16")
            ends = torch.arange(1, count_ + 1, device="cuda", dtype=torch.int32) * (tokens // count_)
            return lambda: torch._grouped_mm(x, weight, offs=ends)

        def one_by_one(count_=count_, tokens=tokens, hidden=hidden, wide=wide):
            x, weight = random(tokens // count_, hidden, type_="bf16"), random(hidden, wide, type_="bf16")
            return lambda: torch.mm(x, weight)

        def gather(tokens=tokens, hidden=hidden, **_):
            x, order = random(tokens, hidden, type_="bf16"), torch.randperm(tokens, device="cuda")
            return lambda: x.index_select(0, order)

        def scatter(tokens=tokens, hidden=hidden):
            x, order, out = random(tokens, hidden, type_="bf16"), torch.randperm(tokens, device="cuda"), random(tokens, hidden, type_="bf16")
            return lambda: out.index_add_(0, order, x)

        def choose(count_=count_, tokens=tokens):
            x = random(tokens, count_)
            return lambda: torch.topk(x, min(8, count_), dim=1)

        def sort(tokens=tokens, count_=count_):
            x = torch.randint(0, count_, (tokens,), device="cuda")
            return lambda: torch.argsort(x, stable=True)

        for operator, prepare in (("grouped_mm", grouped), ("one_expert", one_by_one), ("index_select", gather), ("index_add", scatter),
                                  ("topk", choose), ("argsort", sort)):
            yield {"operator": operator, **what}, prepare
