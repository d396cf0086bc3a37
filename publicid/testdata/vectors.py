"""Prints the vectors of publicid.Mask and publicid.Number as JSON.

A second implementation, written from the documentation of the Go package alone and with
nothing but Python's standard library. TestVectorsOfPython compares its output with
vectors.json beside it:

    python3 vectors.py > vectors.json
"""

import hashlib
import hmac
import json

BASE58 = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"
WORD = (1 << 64) - 1


def siphash24(key, message):
    def rotate(x, n):
        return (x << n | x >> (64 - n)) & WORD

    k0 = int.from_bytes(key[:8], "little")
    k1 = int.from_bytes(key[8:], "little")
    v = [k0 ^ 0x736F6D6570736575, k1 ^ 0x646F72616E646F6D, k0 ^ 0x6C7967656E657261, k1 ^ 0x7465646279746573]

    def rounds(n):
        for _ in range(n):
            v[0] = (v[0] + v[1]) & WORD
            v[1] = rotate(v[1], 13) ^ v[0]
            v[0] = rotate(v[0], 32)
            v[2] = (v[2] + v[3]) & WORD
            v[3] = rotate(v[3], 16) ^ v[2]
            v[0] = (v[0] + v[3]) & WORD
            v[3] = rotate(v[3], 21) ^ v[0]
            v[2] = (v[2] + v[1]) & WORD
            v[1] = rotate(v[1], 17) ^ v[2]
            v[2] = rotate(v[2], 32)

    padded = message + bytes((-len(message) - 1) % 8) + bytes([len(message) % 256])
    for i in range(0, len(padded), 8):
        block = int.from_bytes(padded[i : i + 8], "little")
        v[3] ^= block
        rounds(2)
        v[0] ^= block
    v[2] ^= 0xFF
    rounds(4)
    return v[0] ^ v[1] ^ v[2] ^ v[3]


def hkdf_sha256(secret, info, length):
    extracted = hmac.new(bytes(32), secret, hashlib.sha256).digest()
    out, block, counter = b"", b"", 1
    while len(out) < length:
        block = hmac.new(extracted, block + info + bytes([counter]), hashlib.sha256).digest()
        out += block
        counter += 1
    return out[:length]


def keys_of(kind, purpose, secret):
    info = f"keyfill publicid {kind} 1:{purpose}".encode()
    schedule = hkdf_sha256(secret, info, 128)
    return [schedule[16 * i : 16 * i + 16] for i in range(8)]


def permute(keys, half, value):
    left, right = value >> half, value & ((1 << half) - 1)
    for key in keys:
        hashed = siphash24(key, right.to_bytes(8, "little")) & ((1 << half) - 1)
        left, right = right, left ^ hashed
    return left << half | right


def free_bits(uuid):
    return uuid >> 80 << 74 | (uuid >> 64 & 0xFFF) << 62 | uuid & ((1 << 62) - 1)


def uuid_of(version, free):
    return free >> 74 << 80 | version << 76 | (free >> 62 & 0xFFF) << 64 | 0b10 << 62 | free & ((1 << 62) - 1)


def text_of(uuid):
    digits = f"{uuid:032x}"
    return "-".join([digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:]])


def hide(purpose, secret, uuid):
    return uuid_of(4, permute(keys_of("mask", purpose, secret), 61, free_bits(uuid)))


def number_text(purpose, secret, number):
    rest = permute(keys_of("number", purpose, secret), 32, number)
    digits = []
    for _ in range(11):
        rest, digit = divmod(rest, 58)
        digits.insert(0, digit)
    p = 58
    for digit in digits:
        p = 2 * ((p + digit) % 58 or 58) % 59
    digits.append((1 - p) % 58)
    return "".join(BASE58[digit] for digit in digits)


def main():
    assert siphash24(bytes(range(16)), bytes(range(15))) == 0xA129CA6149BE45E5  # appendix A of the paper
    secrets = [bytes(range(32)), bytes(16), b"\xff" * 64]
    purposes = ["", "customers", "größe"]
    uuids = [
        0x00000000000070008000000000000000,
        0x00000000000070008000000000000001,
        0xFFFFFFFFFFFF7FFFBFFFFFFFFFFFFFFF,
        0x01890A5DAC96774BBCCEB302099A8057,
        0x017F22E279B07CC398C4DC0C0C07398F,
        0x017F22E279B07CC3B8C4DC0C0C07398F,
    ]
    numbers = [0, 1, 2, 3, 57, 58, 2**31 - 1, 2**32, 2**53 - 1, 2**62, 2**63 - 1]
    masks = [
        {"secret": s.hex(), "purpose": p, "uuid": text_of(u), "masked": text_of(hide(p, s, u))}
        for s in secrets
        for p in purposes
        for u in uuids
    ]
    texts = [
        {"secret": s.hex(), "purpose": p, "number": n, "text": number_text(p, s, n)}
        for s in secrets
        for p in purposes
        for n in numbers
    ]
    print("{")
    for name, all_of, end in [("masks", masks, ","), ("numbers", texts, "")]:
        print(f' "{name}": [')
        print(",\n".join("  " + json.dumps(one, ensure_ascii=False) for one in all_of))
        print(f" ]{end}")
    print("}")


main()
