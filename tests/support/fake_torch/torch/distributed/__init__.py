"""Collectives of torch.distributed, noted; nobody is met."""
import torch

_state = {"is_initialized": False}


class Work:
    def wait(self):
        pass


def init_process_group(backend):
    _state["is_initialized"] = True


def destroy_process_group():
    _state["is_initialized"] = False


def is_initialized():
    return _state["is_initialized"]


def new_group(ranks):
    return tuple(ranks)


def _noted(name):
    def collective(*arguments, **_):
        torch.note(name, *arguments[:2])
        return Work()
    return collective


for _name in ("all_reduce", "all_gather_into_tensor", "reduce_scatter_tensor", "all_to_all_single", "broadcast", "reduce",
              "isend", "irecv"):
    globals()[_name] = _noted(_name)
