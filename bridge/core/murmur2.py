"""Kafka's key hash, so that the partition of an entity is computed here and passed explicitly.

Left to the client, a key moves without an error when the number of partitions changes. The function
is the one of Kafka's Java client (``Utils.murmur2``), which other clients share.
"""

from struct import Struct

__all__ = ["murmur2", "partition_of"]

_MASK = 0xFFFFFFFF
_M = 0x5BD1E995
_SEED = 0x9747B28C
_WORDS = tuple(Struct(f"<{n}I") for n in range(129))  # unpackers for keys up to 512 bytes


def murmur2(data: bytes) -> int:
    """Unsigned 32-bit murmur2 of `data` with Kafka's seed."""
    length = len(data)
    words = length >> 2
    unpacker = _WORDS[words] if words < len(_WORDS) else Struct(f"<{words}I")
    h = _SEED ^ length
    for word in unpacker.unpack_from(data):
        k = (word * _M) & _MASK
        h = ((h * _M) & _MASK) ^ (((k ^ (k >> 24)) * _M) & _MASK)
    tail = data[words << 2 :]
    if tail:
        h = ((h ^ int.from_bytes(tail, "little")) * _M) & _MASK
    h = ((h ^ (h >> 13)) * _M) & _MASK
    return h ^ (h >> 15)


def partition_of(key: bytes, partitions: int) -> int:
    """Partition that Kafka's default partitioner gives a record with `key`."""
    return (murmur2(key) & 0x7FFFFFFF) % partitions
