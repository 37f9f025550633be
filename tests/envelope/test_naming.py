"""Tag → topic name: legal, readable back, never internal, never shared."""

import re

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from bridge.envelope.naming import TopicNames, broker_form, escape_tag

_LEGAL = re.compile(r"[A-Za-z0-9._-]{1,249}")
_PIECES = st.sampled_from(
    ["-", "--", "--2d", "--x", ".", "..", "_", "a", "ж", "2d", " ", "🙂", "\n"]
)
_TAGS = st.one_of(
    st.text(max_size=20),
    st.lists(_PIECES, max_size=8).map("".join),
    st.text(alphabet="-ab2d", max_size=300),
    st.characters(codec=None).map(lambda c: c * 100),
)
_TEMPLATES = st.sampled_from(
    ["{app}.{tag}", "{tag}", "{app}-{journal}-{tag}", "{app}.{journal}.{tag}-v1", "{tag}-cursors"]
)


def _names(template: str, **more: object) -> TopicNames:
    settings = {"include": ("*",), "exclude": (), "mapping": None, "everything": None, **more}
    return TopicNames(app="shop", journal="orders", template=template, **settings)  # type: ignore[arg-type]


def _unescape(form: str) -> str:
    """Reads an escaped tag back, as a consumer would; written apart from the code under test."""
    if form in ("--", "--2e", "--2e2e"):
        return "." * (len(form) // 2 - 1)
    raw = re.sub(
        rb"--([0-9a-f]{2})", lambda found: bytes.fromhex(found[1].decode()), form.encode("ascii")
    )
    return raw.decode("utf-8", "surrogatepass")


@given(tag=_TAGS)
@example(tag="")
@example(tag=".")
@example(tag="..")
@example(tag="--2e")
@example(tag="a--2eb")
@example(tag="-")
@example(tag="---")
def test_an_escaped_tag_reads_back(tag: str) -> None:
    assert _unescape(escape_tag(tag)) == tag


@given(one=_TAGS, other=_TAGS, template=_TEMPLATES)
@example(one="a" * 300, other="a" * 301, template="{tag}")
@example(one="a b", other="a--20b", template="{tag}")
@example(one="-", other="--2d", template="{app}.{tag}")
def test_different_tags_have_different_topics(one: str, other: str, template: str) -> None:
    names = _names(template)
    assert (names.of_tag(one) == names.of_tag(other)) == (one == other)


@given(tag=_TAGS, template=_TEMPLATES)
@example(tag="ж" * 300, template="{app}-{journal}-{tag}")
@example(tag="a" * 249, template="{tag}")
@example(tag="a" * 250, template="{tag}")
@example(tag="..", template="{tag}")
def test_a_topic_name_is_always_legal_and_recognised(tag: str, template: str) -> None:
    names = _names(template)
    name = names.of_tag(tag)
    assert name is not None
    assert _LEGAL.fullmatch(name)
    assert name not in (".", "..")
    assert names.may_be_tag_topic(name)


@given(tag=_TAGS, template=_TEMPLATES)
@example(tag="shop--orders--cursors", template="{tag}")
@example(tag="--orders--cursors", template="{app}-{journal}-{tag}")
@example(tag="shop--orders-", template="{tag}-cursors")
def test_no_tag_gives_the_name_of_an_internal_topic(tag: str, template: str) -> None:
    name = _names(template).of_tag(tag)
    assert name is not None
    word = "[a-z0-9]+(-[a-z0-9]+)*"
    assert not re.fullmatch(rf"{word}--{word}--(cursors|heads|dlq|parked)", name)


@given(one=_TAGS, other=_TAGS)
@example(one="a.b", other="a_b")
def test_only_names_that_differ_in_dots_and_underscores_collide(one: str, other: str) -> None:
    a, b = escape_tag(one), escape_tag(other)
    assume(a != b)
    collide = len(a) == len(b) and all(
        x == y or {x, y} == {".", "_"} for x, y in zip(a, b, strict=True)
    )
    assert (broker_form(a) == broker_form(b)) == collide


@pytest.mark.parametrize(
    ("tag", "name"),
    [
        ("orders", "shop.orders"),
        ("Dont care", "shop.Dont--20care"),
        ("a/b", "shop.a--2fb"),
        ("заказы", "shop.--d0--b7--d0--b0--d0--ba--d0--b0--d0--b7--d1--8b"),
        ("\u0443\u0441", "shop.--d1--83--d1--81"),
        ("yc", "shop.yc"),
        (".", "shop.--2e"),
        ("..", "shop.--2e2e"),
        ("🙂", "shop.--f0--9f--99--82"),
        ("line\n", "shop.line--0a"),
        ("User", "shop.User"),
        ("UserEmail", "shop.UserEmail"),
        ("User,Email", "shop.User--2cEmail"),
        ("%", "shop.--25"),
        ("_", "shop._"),
        ("a_b", "shop.a_b"),
        ("a-b", "shop.a-b"),
        ("a--b", "shop.a--2d--2db"),
        ("-a", "shop.--2da"),
    ],
)
def test_ugly_tags_get_the_documented_names(tag: str, name: str) -> None:
    assert _names("{app}.{tag}").of_tag(tag) == name


def test_a_row_goes_to_each_of_its_topics_once_the_complete_topic_last() -> None:
    names = _names("{app}.{tag}", mapping={"c": "shop.a"}, everything="shop.all")
    assert names.of_tags(("b", "a", "c")) == ("shop.b", "shop.a", "shop.all")
    assert names.of_tags(()) == ("shop.all",)
    assert _names("{tag}").of_tags(()) == ()


def test_a_tag_that_looks_like_a_pattern_is_not_one() -> None:
    names = _names("{tag}", include=("User", "a[[]b]", "x*"), exclude=("x%",))
    tags = ("User", "UserEmail", "a[b]", "x_", "x%", "%")
    assert names.of_tags(tags) == ("User", "a--5bb--5d", "x_")


def test_excluding_is_stronger_than_including_and_mapping() -> None:
    names = _names("{tag}", include=("a*",), exclude=("ab",), mapping={"ab": "t", "ac": "u"})
    assert [names.of_tag(tag) for tag in ("aa", "ab", "ac", "b")] == ["aa", None, "u", None]


@pytest.mark.parametrize(
    ("name", "may"),
    [
        ("shop.a-v1", True),
        ("shop.-v1", True),
        ("mapped", True),
        ("everything", True),
        ("shop.a", False),
        ("other.a-v1", False),
        ("shop.v1", False),
    ],
)
def test_a_topic_is_recognised_by_template_map_and_complete_topic(name: str, may: bool) -> None:
    names = _names("{app}.{tag}-v1", mapping={"x": "mapped"}, everything="everything")
    assert names.may_be_tag_topic(name) is may


def test_many_different_tags_are_all_named() -> None:
    names = _names("{tag}")
    assert all(names.of_tags((f"t{i}",)) == (f"t{i}",) for i in range(20_001))
