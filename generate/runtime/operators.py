"""PyTorch's operators for the kernels of an operation table."""
import math

import torch
import torch.nn.functional as F

TYPES = {"fp32": torch.float32, "tf32": torch.float32, "fp16": torch.float16, "bf16": torch.bfloat16,
         "int32": torch.int32, "int64": torch.int64, "uint8": torch.uint8, "bool": torch.bool, "fp8": torch.uint8}


class Tensors:
    """Operands: of equal ones so many that the level-2 cache does not hold them all, one after the other."""

    def __init__(self, device, seed):
        self.device, self.known = device, {}
        self.generator = torch.Generator(device).manual_seed(seed)
        self.apart = 2 * getattr(torch.cuda.get_device_properties(device), "L2_cache_size", 50 << 20)

    def new(self, shape, kind):
        dtype = TYPES[kind]
        if dtype.is_floating_point:
            return torch.rand(shape, generator=self.generator, device=self.device).mul_(2).sub_(1).to(dtype)
        return torch.randint(0, 2, shape, generator=self.generator, device=self.device).to(dtype)

    def of(self, kind, *shape):
        """Gives a function that takes the next one."""
        shape = tuple(max(int(x), 1) for x in shape)
        bytes_each = math.prod(shape) * TYPES[kind].itemsize
        copies = self.known.setdefault((kind, shape), [])
        while len(copies) < min(max(self.apart // bytes_each, 1), 16):
            copies.append(self.new(shape, kind))
        count = [0]

        def take():
            count[0] += 1
            return copies[count[0] % len(copies)]
        return take


def get(call, name, otherwise=0):
    return call.get(name, otherwise)


def product(tensors, call):
    batch, m, n, k = (int(get(call, name, 1)) for name in ("batch", "m", "n", "k"))
    a = tensors.of(call["type"], batch, *((k, m) if get(call, "transpose_a") else (m, k)))
    b = tensors.of(call["type"], batch, *((n, k) if get(call, "transpose_b") else (k, n)))
    out = torch.empty((batch, m, n), dtype=TYPES[call["type"]], device=tensors.device)

    def run():
        x = a().transpose(1, 2) if get(call, "transpose_a") else a()
        y = b().transpose(1, 2) if get(call, "transpose_b") else b()
        if batch == 1:
            torch.mm(x[0], y[0], out=out[0])
        else:
            torch.bmm(x, y, out=out)
    return run


def elementwise(tensors, call):
    elements = int(get(call, "elements", get(call, "parameters", 1)))
    reads = max(round(get(call, "reads", 1 if call["work"] != "optimizer" else 2)), 0)
    xs = [tensors.of(call["type"], elements) for _ in range(reads)]
    out = torch.empty(elements, dtype=TYPES[call["type"]], device=tensors.device)
    if call["work"] == "concat":
        return lambda: out.copy_(xs[0]())
    if reads == 0:
        return lambda: out.fill_(1)
    if reads == 1:
        one = torch.logical_not if out.dtype == torch.bool else torch.neg
        return lambda: one(xs[0](), out=out)
    if reads == 2 or not out.dtype.is_floating_point:
        two = torch.logical_or if out.dtype == torch.bool else torch.add
        return lambda: two(xs[0](), xs[1](), out=out)
    return lambda: torch.addcmul(xs[0](), xs[1](), xs[2](), out=out)


def rows(tensors, call):
    if call["work"] == "batch_norm":
        return batch_norm(tensors, call)
    shape = int(get(call, "rows", 1)), int(get(call, "columns", 1))
    x, dy = tensors.of(call["type"], *shape), tensors.of(call["type"], *shape)
    if call["work"] == "reduction":
        return lambda: torch.sum(x(), dim=0 if get(call, "across_rows") else 1)
    dtype = TYPES[call["type"]]
    if call["work"] == "softmax":
        name = "_log_softmax" if get(call, "logarithm") else "_softmax"
        if get(call, "direction"):
            backward = getattr(torch.ops.aten, name + "_backward_data")
            return lambda: backward(dy(), x(), 1, dtype)
        return lambda: getattr(torch, name)(x(), 1, False)
    weight = tensors.of(call["type"], shape[1])
    part = get(call, "part")
    if part == 0:
        return lambda: F.layer_norm(x(), shape[1:], weight(), weight())
    mean = torch.zeros(shape[0], 1, device=tensors.device)
    mask = [part == 1, part == 2, part == 2]
    return lambda: torch.ops.aten.native_layer_norm_backward(dy(), x(), shape[1:], mean, mean + 1, weight(),
                                                             weight(), mask)


def batch_norm(tensors, call):
    batch, channels, pixels = (int(get(call, name, 1)) for name in ("batch", "channels", "pixels"))
    x, dy = (tensors.of(call["type"], batch, channels, pixels, 1) for _ in range(2))
    weight = torch.ones(channels, device=tensors.device)
    if get(call, "direction"):
        return lambda: torch.ops.aten.native_batch_norm_backward(dy(), x(), weight, weight, weight, weight, weight,
                                                                 True, 1e-5, [True, True, True])
    return lambda: torch.native_batch_norm(x(), weight, weight, weight, weight, True, 0.1, 1e-5)


def convolution(tensors, call):
    n, c, k, h, w, r, s = (int(get(call, name, 1)) for name in ("batch", "in_channels", "out_channels", "height",
                                                                "width", "filter_height", "filter_width"))
    stride = int(get(call, "stride", 1))
    padding = [int(get(call, "padding_height")), int(get(call, "padding_width"))]
    out_h, out_w = (h + 2 * padding[0] - r) // stride + 1, (w + 2 * padding[1] - s) // stride + 1
    x, weight = tensors.of(call["type"], n, c, h, w), tensors.of(call["type"], k, c, r, s)
    dy = tensors.of(call["type"], n, k, out_h, out_w)
    order = torch.contiguous_format if get(call, "channels_first") else torch.channels_last
    if get(call, "pass") == 0:
        return lambda: F.conv2d(x().to(memory_format=order), weight(), None, stride, padding)
    mask = [get(call, "pass") == 1, get(call, "pass") == 2, False]
    return lambda: torch.ops.aten.convolution_backward(dy().to(memory_format=order), x(), weight(), None,
                                                       [stride, stride], padding, [1, 1], False, [0, 0], 1, mask)


def movement(tensors, call):
    batch, n = int(get(call, "batch", 1)), int(get(call, "n", 1))
    if call["work"] == "transpose":
        x = tensors.of(call["type"], batch, get(call, "rows"), get(call, "columns"))
        return lambda: x().transpose(1, 2).contiguous()
    if call["work"] == "triangular":
        x = tensors.of(call["type"], batch, n, n)
        row, column = torch.tril_indices(n, n, 0 if get(call, "diagonal") else -1, device=tensors.device)
        values = tensors.of(call["type"], batch, row.numel())
        if get(call, "direction"):
            return lambda: torch.zeros_like(x()).index_put_((slice(None), row, column), values())
        return lambda: x()[:, row, column]
    picks, columns = int(get(call, "picks", 1)), int(get(call, "columns", 1))
    table = tensors.of(call["type"], get(call, "table_rows", 1), columns)
    index = torch.randint(0, int(get(call, "table_rows", 1)), (picks,), device=tensors.device)
    if get(call, "direction"):
        gradient = tensors.of(call["type"], picks, columns)
        return lambda: table().index_add_(0, index, gradient())
    return lambda: torch.index_select(table(), 0, index)


def draw_rows(table, count, device):
    """By the popularity of the rows, as the CUDA program draws them."""
    many = max(int(get(table, "rows", 1)), 1)
    active = max(int(many * get(table, "active_rows", 1)), 1)
    zipf, skew, reuse = get(table, "zipf"), get(table, "index_skew") * math.log(2), get(table, "reuse_factor")
    uniform = torch.rand(count, dtype=torch.float64)
    if reuse > 0:
        rank = torch.arange(count) % max(int(count / reuse), 1)
    elif zipf > 0 and abs(1 - zipf) > 1e-9:
        low, high = 0.5 ** (1 - zipf), (active + 0.5) ** (1 - zipf)
        rank = ((low + uniform * (high - low)) ** (1 / (1 - zipf)) + 0.5).long() - 1
    elif zipf > 0:
        rank = (0.5 * ((active + 0.5) / 0.5) ** uniform + 0.5).long() - 1
    else:
        rank = (active * (torch.special.ndtr(torch.randn(count, dtype=torch.float64) + skew) if skew else uniform)).long()
    rank = rank.clamp(0, many - 1).repeat_interleave(max(round(get(table, "index_duplication", 1)), 1))[:count]
    return (rank * 0x9e3779b1 % many).to(device)


def look_up(tensors, call):
    batch = int(get(call, "batch", 1))
    parts = []
    for table in call["tables"]:
        pooling = max(round(get(table, "pooling_factor", 1)), 1)
        weight = tensors.new((int(get(table, "rows", 1)), int(get(table, "dimension", 1))), call["type"])
        index = draw_rows(table, batch * pooling, tensors.device)
        parts.append((weight, index, torch.arange(0, batch * pooling, pooling, device=tensors.device)))
    if get(call, "direction"):
        gradients = [tensors.new((index.numel(), weight.shape[1]), call["type"]) for weight, index, _ in parts]

        def backward():
            for (weight, index, _), gradient in zip(parts, gradients):
                weight.index_add_(0, index, gradient, alpha=-0.01)
        return backward
    return lambda: [F.embedding_bag(index, weight, offsets, mode="sum") for weight, index, offsets in parts]


def attention(tensors, call):
    shape = (get(call, "batch", 1), get(call, "heads", 1))
    q = tensors.of(call["type"], *shape, get(call, "queries"), get(call, "head_size"))
    k, v = (tensors.of(call["type"], *shape, get(call, "keys"), get(call, "head_size")) for _ in range(2))
    causal = bool(get(call, "causal", 1))
    if not get(call, "direction"):
        return lambda: F.scaled_dot_product_attention(q(), k(), v(), is_causal=causal)
    leaves = [x().clone().requires_grad_() for x in (q, k, v)]
    out = F.scaled_dot_product_attention(*leaves, is_causal=causal)
    gradient = torch.rand_like(out)
    return lambda: torch.autograd.grad(out, leaves, gradient, retain_graph=True)


def copy(tensors, call):
    size = max(int(get(call, "size", 1)), 1)
    there = torch.empty(size, dtype=torch.uint8, device=tensors.device)
    if call["work"] == "memset":
        return there.zero_
    path = get(call, "path", 2)
    if path == 2:
        other = torch.empty_like(there)
        return lambda: there.copy_(other)
    host = torch.empty(size, dtype=torch.uint8, pin_memory=bool(get(call, "pinned", 1)))
    return (lambda: there.copy_(host, non_blocking=True)) if path == 0 else (
        lambda: host.copy_(there, non_blocking=True))


MAKERS = {"gemm": product, "pointwise": elementwise, "optimizer": elementwise, "concat": elementwise,
          "reduction": rows, "softmax": rows, "layer_norm": rows, "batch_norm": rows, "convolution": convolution,
          "transpose": movement, "triangular": movement, "index_select": movement, "embedding": look_up,
          "attention": attention, "memcpy": copy, "memset": copy}


def make_kernel(tensors, kernel, clock_hz):
    if kernel["backend"] in ("part", "skipped"):
        return None
    if kernel["backend"] == "busy":
        cycles = int(max(kernel["seconds"] + kernel["delay"], 0) * clock_hz)
        return lambda: torch.cuda._sleep(cycles)
    torch.backends.cuda.matmul.allow_tf32 = any(call["type"] == "tf32" for call in kernel["calls"])
    runs = [MAKERS[call["work"]](tensors, call) for call in kernel["calls"]]
    if kernel["delay"] > 0:
        rest = int(kernel["delay"] * clock_hz)
        runs.append(lambda: torch.cuda._sleep(rest))
    return runs[0] if len(runs) == 1 else lambda: [run() for run in runs]


def cycles_per_second():
    """Of torch.cuda._sleep, measured."""
    begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    cycles = 100_000_000
    torch.cuda._sleep(1000)
    begin.record()
    torch.cuda._sleep(cycles)
    end.record()
    end.synchronize()
    return cycles / (1e-3 * begin.elapsed_time(end))
