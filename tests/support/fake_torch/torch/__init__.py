"""A torch that computes nothing: it notes which operators a program calls on which stream, with the shapes of their
tensors. Each line of the file FAKE_TORCH_LOG is `THREAD STREAM OPERATOR SHAPE SHAPE ...`.
"""
import contextlib
import math
import os
import sys
import threading
import types

_streams = threading.local()
_log_lock = threading.Lock()


class dtype:
    def __init__(self, name, itemsize, is_floating_point):
        self.name, self.itemsize, self.is_floating_point = name, itemsize, is_floating_point


float32, float16, bfloat16, float64 = (dtype(*x) for x in (("float32", 4, True), ("float16", 2, True),
                                                           ("bfloat16", 2, True), ("float64", 8, True)))
int32, int64, uint8 = (dtype(*x) for x in (("int32", 4, False), ("int64", 8, False), ("uint8", 1, False)))
bool = dtype("bool", 1, False)
contiguous_format, channels_last = "contiguous", "channels_last"


def note(operator, *arguments):
    """Outside of streams is what a program prepares or measures alone."""
    stream = getattr(_streams, "current", None)
    if stream is None or "FAKE_TORCH_LOG" not in os.environ:
        return
    shapes = ["x".join(map(str, argument.shape)) for argument in arguments if isinstance(argument, Tensor)]
    with _log_lock, open(os.environ["FAKE_TORCH_LOG"], "a") as log:
        print(threading.current_thread().name.split(" ")[0], stream.number, operator, *shapes, file=log)


class Tensor:
    def __init__(self, shape, of=float32):
        self.shape, self.dtype = tuple(int(x) for x in shape), of

    def numel(self):
        return math.prod(self.shape)

    def transpose(self, a, b):
        shape = list(self.shape)
        shape[a], shape[b] = shape[b], shape[a]
        return Tensor(shape, self.dtype)

    def to(self, to=None, memory_format=None):
        return Tensor(self.shape, to) if isinstance(to, dtype) else self

    def __getitem__(self, key):
        if isinstance(key, tuple):
            note("getitem", self)
            return Tensor((self.shape[0], key[1].numel()), self.dtype)
        return Tensor(self.shape[1:], self.dtype)

    def same(self, *_, **__):
        return self
    mul_ = sub_ = clone = requires_grad_ = long = clamp = same
    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __mod__ = __pow__ = __rpow__ = __truediv__ = same

    def repeat_interleave(self, times):
        return Tensor((self.numel() * times,), self.dtype)


def _noted_method(name):
    def method(self, *arguments, **_):
        note(name, self, *arguments)
        return self
    return method


for _name in ("contiguous", "copy_", "fill_", "zero_", "index_add_", "index_put_"):
    setattr(Tensor, _name, _noted_method(_name))


def _noted(name):
    def operator(*arguments, out=None, **_):
        note(name, *arguments)
        tensors = [argument for argument in arguments if isinstance(argument, Tensor)]
        return out if out is not None else tensors[0] if tensors else None
    return operator


for _name in ("bmm", "neg", "logical_not", "add", "logical_or", "addcmul", "sum", "_softmax", "_log_softmax",
              "native_batch_norm", "index_select", "zeros_like"):
    globals()[_name] = _noted(_name)


def mm(a, b, out):
    if a.shape[1] != b.shape[0] or out.shape != (a.shape[0], b.shape[1]):
        raise ValueError(f"mm of {a.shape} and {b.shape} into {out.shape}")
    note("mm", a, b)
    return out


def _made(*shape, dtype=float32, **_):
    shape = shape[0] if shape and isinstance(shape[0], (tuple, list)) else shape
    return Tensor(shape, dtype)


empty = rand = zeros = ones = randn = _made


def randint(low, high, shape, **_):
    return Tensor(shape, int64)


def arange(*bounds, **_):
    return Tensor((len(range(*map(int, bounds))),), int64)


def tril_indices(rows, columns, offset=0, **_):
    count = len([1 for row in range(rows) for column in range(columns) if column - row <= offset])
    return Tensor((count,), int64), Tensor((count,), int64)


def empty_like(tensor, **_):
    return Tensor(tensor.shape, tensor.dtype)


rand_like = empty_like


class Generator:
    def __init__(self, device):
        pass

    def manual_seed(self, seed):
        return self


def device(kind, number=0):
    return f"{kind}:{number}"


class _Any:
    """torch.ops.aten and torch.special: any operator."""
    def __getattr__(self, name):
        return _noted(name)


ops = types.SimpleNamespace(aten=_Any())
special = _Any()
autograd = types.SimpleNamespace(grad=_noted("grad"))
backends = types.SimpleNamespace(cuda=types.SimpleNamespace(matmul=types.SimpleNamespace(allow_tf32=False)))


class Event:
    def __init__(self, enable_timing=False):
        pass

    def record(self, stream=None):
        pass

    def synchronize(self):
        pass

    def elapsed_time(self, other):
        return 1.0


class Stream:
    count = 0

    def __init__(self):
        self.number, Stream.count, self.device = Stream.count, Stream.count + 1, 0

    def wait_event(self, event):
        pass

    def synchronize(self):
        pass


@contextlib.contextmanager
def _on_stream(stream):
    before, _streams.current = getattr(_streams, "current", None), stream
    try:
        yield
    finally:
        _streams.current = before


cuda = types.SimpleNamespace(
    Event=Event, Stream=Stream, stream=_on_stream, _sleep=lambda cycles: note("_sleep"), synchronize=lambda: None,
    set_device=lambda number: None, current_device=lambda: 0, get_device_name=lambda: "none",
    max_memory_allocated=lambda: 0,
    get_device_properties=lambda number: types.SimpleNamespace(L2_cache_size=1 << 20))
sys.modules["torch.cuda"] = cuda
