#!/usr/bin/env python3
"""Fuzz the Python codec of docs/protocol.md, "Values": decode() takes any JSON, and answers ValuesError or a value.

usage: values.py SECONDS [SEED]

Encodings are made by chance from the codec's own words, and by changing true ones. Of what is accepted, encoding
and decoding again must make the same. What fails is printed with its seed, and that seed alone makes it again.
"""
import json
import os
import random
import sys
import time

sys.dont_write_bytecode = True
TREE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(TREE, "src/python/smoljail"))
import _values as values  # noqa: E402

FRAME_DEPTH = 64
TAGS = ("tuple", "set", "frozenset", "bytes", "bytearray", "complex", "int", "float", "Decimal", "Fraction", "datetime", "date",
        "time", "timedelta", "Path", "PurePath", "UUID", "range", "dict", "Enum", "dataclass", "namedtuple", "opaque", "ndarray",
        "PIL.Image", "str", "deque", "object", "", "no such")
KEYS = ("__type__", "data", "type", "repr", "value", "items", "dtype", "shape", "base64", "real", "imag", "name", "fields", "start",
        "stop", "step", "numerator", "denominator", "days", "tz", "fold", "__class__", "__reduce__", "")
TEXTS = ("", "0", "-1", "nan", "inf", "-inf", "1e999", "9" * 400, "AAAA", "A===", "\ud800", "\0", "2020-01-01", "25:61:61", "/etc", "..",
         "builtins", "os.system", "i8", "O", "V8", "<M8[s]", "é" * 20, "1/0", "sNaN")
NUMBERS = (0, -0.0, 1, -1, 255, 256, 2 ** 53, 2 ** 63, 10 ** 30, 1e308, 1e-320, 0.1, True, None)


def anything(r, depth):
    kind = r.randrange(8)
    if depth <= 0 or kind < 3:
        return r.choice((r.choice(TEXTS), r.choice(NUMBERS), r.choice(KEYS), r.choice(TAGS)))
    if kind < 5:
        return [anything(r, depth - 1) for _ in range(r.randrange(5))]
    made = {r.choice(KEYS): anything(r, depth - 1) for _ in range(r.randrange(5))}
    if kind < 7:
        made["__type__"] = r.choice(TAGS)
    return made


def truth(r):
    """What the codec itself writes."""
    value = r.choice((
        (1, "a", None), {1, 2}, frozenset("ab"), b"\0\xff", bytearray(b"x"), 1j, 2 ** 80, float("nan"), {1: 2, (3,): [4]}, range(3),
        {"a": [{"b": (1, {2})}]}, [[[]]], "\ud800", ValueError("x"), object, {"__type__": "tuple"}))
    return values.encode_value(value)[0]


def change(r, data):
    """One place of it becomes something else."""
    if isinstance(data, list) and data and r.random() < 0.8:
        data = list(data)
        at = r.randrange(len(data))
        data[at] = change(r, data[at])
        return data
    if isinstance(data, dict) and data and r.random() < 0.8:
        data = dict(data)
        key = r.choice(sorted(data))
        if r.random() < 0.2:
            data[r.choice(KEYS)] = data.pop(key)
        else:
            data[key] = change(r, data[key])
        return data
    return anything(r, 3)


def depth(data):
    if isinstance(data, (list, dict)):
        return 1 + max(map(depth, data.values() if isinstance(data, dict) else data), default=0)
    return 0


def in_order(data):
    """Sets have no order of their own."""
    if isinstance(data, list):
        return [in_order(item) for item in data]
    if isinstance(data, dict):
        data = {key: in_order(value) for key, value in data.items()}
        if data.get("__type__") in ("set", "frozenset"):
            data["data"] = sorted(data["data"], key=json.dumps)
    return data


def check(data):
    try:
        value = values.decode(data)
    except values.ValuesError:
        return
    text, _ = values.encode_value(value)
    wire = json.dumps(text, allow_nan=False)
    assert depth(text) < FRAME_DEPTH
    again = values.encode_value(values.decode(json.loads(wire)))[0]
    assert in_order(again) == in_order(text), (wire, json.dumps(again))


def one(seed):
    r = random.Random(seed)
    data = truth(r) if r.random() < 0.5 else anything(r, r.randrange(8))
    for _ in range(r.randrange(4)):
        data = change(r, data)
    check(data)


def main():
    until = time.monotonic() + float(sys.argv[1])
    seed = int(sys.argv[2]) if len(sys.argv) > 2 else random.SystemRandom().randrange(1 << 48)
    print("first seed %d" % seed, flush=True)
    count = 0
    while count == 0 or time.monotonic() < until:
        try:
            one(seed + count)
        except Exception:
            print("failed; again: tests/fuzz/values.py 0 %d" % (seed + count), flush=True)
            raise
        count += 1
    print("number_of_executed_units: %d" % count)


main()
