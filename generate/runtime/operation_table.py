"""Reads operations.txt, which says what a program does."""
from pathlib import Path


def numbers(text):
    return [] if text == "-" else [float(x) for x in text.split(",")]


def fields(words):
    return {name: float(value) for name, value in (word.split("=") for word in words)}


def read_table(path):
    """The table as dictionaries and lists; its words are told in the file itself."""
    table = {"programs": [], "groups": [], "ranks": [], "steps": 20, "seed": 1, "host": "recorded"}
    for line in Path(path).read_text().splitlines():
        word, *rest = line.split()
        if word.startswith("#") or word == "lockstep-benchmark":
            continue
        if word in ("seed", "steps"):
            table[word] = int(rest[0])
        elif word == "host_time":
            table["host"] = rest[0]
        elif word == "group":
            table["groups"].append([int(x) for x in numbers(rest[0])])
        elif word == "rank":
            table["ranks"].append({"program": int(rest[0]), "groups": [int(x) for x in numbers(rest[1])],
                                   "kernels": [int(x) for x in numbers(rest[2])],
                                   "collectives": [int(x) for x in numbers(rest[3])]})
        elif word == "program":
            table["programs"].append({"streams": 0, "kernels": [], "collectives": [], "threads": [], "flags": 0,
                                      "events": 0})
        elif table["programs"]:
            read_line(table["programs"][-1], word, rest)
    return table


def read_line(program, word, rest):
    if word == "stream":
        program["streams"] += 1
    elif word in ("events", "flags"):
        program[word] = int(rest[0])
    elif word == "kernel":
        program["kernels"].append({"backend": rest[0], "seconds": float(rest[2]), "delay": float(rest[5]),
                                   "family": rest[7], "calls": []})
    elif word == "call":
        program["kernels"][-1]["calls"].append({"work": rest[0], "type": rest[1], "tables": [], **fields(rest[2:])})
    elif word == "table":
        program["kernels"][-1]["calls"][-1]["tables"].append(fields(rest))
    elif word == "communication":
        program["collectives"].append({"kind": rest[0], "type": rest[1], "group": int(rest[2]),
                                       "bytes": float(rest[3]), "peer": int(rest[4]), "batched": rest[5] == "1",
                                       "delay": float(rest[8]), "sent": numbers(rest[9])})
    elif word == "thread":
        program["threads"].append([])
    elif word not in ("uses", "name", "memory", "view", "operands"):
        program["threads"][-1].append((word.rstrip("*"), word.endswith("*"), int(rest[0]), int(rest[1]),
                                       float(rest[2]), float(rest[3])))
