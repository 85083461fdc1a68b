"""Communication of an operation table by torch.distributed."""
import torch
import torch.distributed as dist

from operators import TYPES


def received_bytes(table, rank, group, ordinal):
    """What the members of a group send to this rank in its so-manieth uneven all-to-all."""
    me = table["groups"][group].index(rank)
    found = []
    for member in table["groups"][group]:
        calls = [call for call, of in collectives_of(table, member) if of == group and call["sent"]]
        found.append(calls[ordinal]["sent"][me])
    return found


def collectives_of(table, rank):
    own = table["ranks"][rank]
    program = table["programs"][own["program"]]
    for code in program["threads"]:
        for op, per_rank, _, operand, _, _ in code:
            if op == "collective":
                call = program["collectives"][own["collectives"][operand] if per_rank else operand]
                yield call, own["groups"][call["group"]]


def make_collectives(table, rank, tensors, groups, clock_hz):
    """Each puts its communication, and what missing members would have taken, on the current stream."""
    made = []
    for start, call in started_collectives(table, rank, tensors, groups):
        def run(start=start, cycles=int(call["delay"] * clock_hz)):
            if start is not None:
                start().wait()
            if cycles > 0:
                torch.cuda._sleep(cycles)
        made.append(run)
    return made


def started_collectives(table, rank, tensors, groups):
    uneven, made = {}, []
    for call, number in collectives_of(table, rank):
        members = table["groups"][number]
        if len(members) == 1:
            made.append((None, call))
            continue
        kind = "uint8" if call["kind"] in ("send", "receive", "all_to_all", "barrier") else call["type"]
        count = max(int(call["bytes"]) // TYPES[kind].itemsize, 1)
        part = max(count // len(members), 1)
        whole, piece, group = tensors.new((part * len(members),), kind), tensors.new((part,), kind), groups[number]
        buffer = tensors.new((count,), kind)
        peer = members[call["peer"]]
        if call["sent"]:
            ordinal = uneven.get(number, 0)
            uneven[number] = ordinal + 1
            sent = [int(x) for x in call["sent"]]
            received = [int(x) for x in received_bytes(table, rank, number, ordinal)]
            out, source = tensors.new((sum(received),), kind), tensors.new((sum(sent),), kind)
            made.append((lambda o=out, x=source, r=received, s=sent, g=group: dist.all_to_all_single(
                o, x, r, s, group=g, async_op=True), call))
            continue
        made.append(({
            "all_reduce": lambda x=buffer, g=group: dist.all_reduce(x, group=g, async_op=True),
            "barrier": lambda x=buffer, g=group: dist.all_reduce(x, group=g, async_op=True),
            "all_gather": lambda o=whole, x=piece, g=group: dist.all_gather_into_tensor(o, x, group=g, async_op=True),
            "reduce_scatter": lambda o=piece, x=whole, g=group: dist.reduce_scatter_tensor(o, x, group=g,
                                                                                           async_op=True),
            "all_to_all": lambda o=whole, x=whole.clone(), g=group: dist.all_to_all_single(o, x, group=g,
                                                                                           async_op=True),
            "broadcast": lambda x=buffer, p=peer, g=group: dist.broadcast(x, p, group=g, async_op=True),
            "reduce": lambda x=buffer, p=peer, g=group: dist.reduce(x, p, group=g, async_op=True),
            "send": lambda x=buffer, p=peer, g=group: dist.isend(x, p, group=g),
            "receive": lambda x=buffer, p=peer, g=group: dist.irecv(x, p, group=g),
        }[call["kind"]], call))
    return made
