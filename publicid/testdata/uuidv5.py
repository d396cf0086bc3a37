"""Compares the keys of the kind uuidv5 in docs/vectors.json with Python's own."""

import hashlib
import json
import struct
import sys
import uuid


def key_of(namespace, name):
    digest = hashlib.sha1(uuid.UUID(namespace).bytes + name).digest()
    return uuid.UUID(bytes=digest[:16], version=5)


def name_of(types, values):
    name = b""
    for kind, value in zip(types, values):
        written = str(value).encode("utf-8")
        name += kind[:1].encode() + struct.pack(">I", len(written)) + written
    return name


def main():
    example = key_of(str(uuid.NAMESPACE_DNS), b"www.example.com")
    assert str(example) == "2ed6657d-e927-568b-95e1-2665a8aea6a2"  # RFC 9562, appendix A.4
    assert example == uuid.uuid5(uuid.NAMESPACE_DNS, "www.example.com")
    with open(sys.argv[1], encoding="utf-8") as file:
        vectors = json.load(file)["uuidv5"]
    for one in vectors:
        key = key_of(one["namespace"], name_of(one["types"], one["values"]))
        b = key.bytes
        want = {
            "binary": b.hex(),
            "swapped": (b[6:8] + b[4:6] + b[:4] + b[8:]).hex(),
        }.get(one["layout"], str(key))
        assert one["key"] == want, (one, want)
        assert one.get("stored", key.bytes_le.hex()) == key.bytes_le.hex(), one
    print(len(vectors), "keys are the same")


main()
