"""The key hash against what other clients compute."""

import pytest
from aiokafka.partitioner import DefaultPartitioner
from aiokafka.partitioner import murmur2 as murmur2_of_aiokafka
from hypothesis import given
from hypothesis import strategies as st

from bridge.core.murmur2 import murmur2, partition_of


@pytest.mark.parametrize(
    ("key", "signed"),
    [  # from the tests of Kafka's Java client
        (b"21", -973932308),
        (b"foobar", -790332482),
        (b"a-little-bit-long-string", -985981536),
        (b"a-little-bit-longer-string", -1486304829),
        (b"lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8", -58897971),
        (b"abc", 479470107),
    ],
)
def test_the_hash_is_the_one_of_the_java_client(key: bytes, signed: int) -> None:
    assert murmur2(key) == signed % 2**32


@given(key=st.binary(max_size=64))
def test_the_hash_agrees_with_aiokafka(key: bytes) -> None:
    assert murmur2(key) == murmur2_of_aiokafka(key) % 2**32


@pytest.mark.parametrize("length", [511, 512, 515, 516, 517, 4096])
def test_long_keys_agree_too(length: int) -> None:
    key = bytes(i * 7 % 256 for i in range(length))
    assert murmur2(key) == murmur2_of_aiokafka(key) % 2**32


@given(key=st.binary(min_size=1, max_size=40), partitions=st.integers(1, 300))
def test_the_partition_is_the_one_of_other_clients(key: bytes, partitions: int) -> None:
    everyone = list(range(partitions))
    assert partition_of(key, partitions) == DefaultPartitioner()(key, everyone, everyone)
