"""YAML as data, within limits that are checked before anything is built.

Aliases and merge keys let 1.6 KB stand for gigabytes, and a file of brackets overflows the stack of the C parser's
composer. A pass over the parser's events, which are cheap and flat, measures depth and the number of nodes after all
aliases are followed; only then is the document constructed.

Other frameworks dump Python objects as YAML with tags such as `!!python/tuple`. Where a caller asks for it, tags are read
as data: the list, the mapping or the text below the tag. No tag ever makes an object or calls anything.
"""

import re
import sys
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from surefoot.errors import SurefootError, shown
from surefoot.files.reading import read_text
from surefoot.text import flat, for_comment

MOST_BYTES = 50_000_000  # the network of a fit, the largest thing that we write as YAML, takes kilobytes
MOST_DEPTH = 50
MOST_NODES = 1_000_000  # with every alias followed; a long text counts as several
TEXT_PER_NODE = 50  # characters
LONGEST_NUMBER = 400  # characters: YAML 1.1 knows numbers to base 60, which take the square of their length to read


@cache
def _loader(tags_as_data: bool = False) -> Any:
    """A safe loader that refuses a key given twice (plain YAML keeps the last one in silence), in C where
    there is one. With `tags_as_data`, it looks through tags that it does not know instead of refusing them.
    """
    import yaml

    class UniqueKeyLoader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc]
        pass

    def refuse(why: str, node: Any) -> Exception:
        return yaml.constructor.ConstructorError(None, None, why, node.start_mark)

    def unique_mapping(loader: Any, node: Any) -> dict[Any, Any]:
        loader.flatten_mapping(node)
        mapping: dict[Any, Any] = {}
        for key_node, value_node in node.value:
            key = loader.construct_object(key_node, deep=True)
            try:
                repeated = key in mapping
            except TypeError:
                raise refuse("a key must be a plain word", key_node) from None
            if repeated:
                raise refuse(f"the key {shown(key)} is given twice", key_node)
            mapping[key] = loader.construct_object(value_node, deep=True)
        return mapping

    def bounded_float(loader: Any, node: Any) -> float:
        if len(node.value) > LONGEST_NUMBER:  # with a tag such as !!float it is not seen before
            raise refuse("a number is too long", node)
        return float(loader.construct_yaml_float(node))

    def bounded_int(loader: Any, node: Any) -> int:
        if len(node.value) > LONGEST_NUMBER:
            raise refuse("a number is too long", node)
        value: int = loader.construct_yaml_int(node)
        if abs(value) > sys.float_info.max:
            raise refuse("a number is too large", node)
        return value

    # YAML 1.1 reads '1e-3' as text, because it has no dot; everybody else reads a number.
    number = re.compile(r"^[-+]?[0-9][0-9_]*[eE][-+]?[0-9]+$")
    UniqueKeyLoader.add_implicit_resolver("tag:yaml.org,2002:float", number, list("-+0123456789"))
    UniqueKeyLoader.add_constructor(yaml.resolver.BaseResolver.DEFAULT_MAPPING_TAG, unique_mapping)
    UniqueKeyLoader.add_constructor("tag:yaml.org,2002:int", bounded_int)
    UniqueKeyLoader.add_constructor("tag:yaml.org,2002:float", bounded_float)
    if tags_as_data:
        _add_tags(UniqueKeyLoader)
    return UniqueKeyLoader


def _add_tags(loader_class: Any) -> None:
    """Let a loader read what is below a tag that it does not know."""
    import yaml

    def below(loader: Any, node: Any) -> Any:
        if isinstance(node, yaml.SequenceNode):
            return [loader.construct_object(item, deep=True) for item in node.value]
        if isinstance(node, yaml.MappingNode):
            plain = yaml.MappingNode("tag:yaml.org,2002:map", node.value, node.start_mark, node.end_mark)
            return loader.construct_object(plain, deep=True)
        _, found, name = node.tag.partition("python/name:")  # a function: its name is the tag, and the value is empty
        return unquote(name) if found else node.value

    def scalar(kind: str) -> Any:
        def construct(loader: Any, node: Any) -> Any:
            if not isinstance(node, yaml.ScalarNode):
                return below(loader, node)
            plain = yaml.ScalarNode(f"tag:yaml.org,2002:{kind}", node.value, node.start_mark, node.end_mark)
            return loader.construct_object(plain)

        return construct

    loader_class.add_constructor(None, below)
    for name, kind in (("int", "int"), ("long", "int"), ("float", "float"), ("bool", "bool"), ("none", "null")):
        loader_class.add_constructor(f"tag:yaml.org,2002:python/{name}", scalar(kind))


def read_yaml(path: Path, error: type[SurefootError], tags_as_data: bool = False) -> dict[str, Any]:
    """The mapping in a YAML file; every way in which it can be wrong raises `error` with one sentence.

    A tag such as `!!python/tuple` is refused, or read as the plain data below it with `tags_as_data`.
    """
    return parse_yaml(read_text(path, error, what="a YAML file", most_bytes=MOST_BYTES), path, error, tags_as_data)


def parse_yaml(text: str, path: str | Path, error: type[SurefootError], tags_as_data: bool = False) -> dict[str, Any]:
    """The mapping in a YAML text; `path` names it in errors."""
    import yaml  # here, since not every verb reads YAML

    try:
        _refuse_expansion(text, path, error)
        content = yaml.load(text, Loader=_loader(tags_as_data))
    except yaml.YAMLError as reason:
        raise error(f"{path} is not valid YAML: {flat(reason)}") from None
    except SurefootError:
        raise
    except Exception as reason:  # whatever Python says about a value such as '!!bool x' or 2026-99-99
        raise error(f"{path} is not valid YAML: a value cannot be read ({flat(reason)})") from None
    if not isinstance(content, dict):
        given = {"NoneType": "nothing", "list": "a list"}.get(type(content).__name__, shown(content))
        raise error(f"{path} must hold 'key: value' lines, found {given}")
    return content


def yaml_comment(text: object) -> str:
    """A comment line of a generated YAML file, whatever the text holds."""
    return f"# {for_comment(text)}"


def _refuse_expansion(text: str, path: str | Path, error: type[SurefootError]) -> None:
    """Measure the document without building it: depth, and nodes with all aliases followed."""
    import yaml

    sizes: dict[str, int] = {}  # of each anchored node
    open_nodes: list[tuple[str | None, int]] = []  # anchor of each open collection, and the count before it
    nodes = 0
    for event in yaml.parse(text, Loader=_loader()):
        if isinstance(event, yaml.AliasEvent):
            nodes += sizes.get(
                str(event.anchor), 1
            )  # 1 inside itself: the constructor refuses a node that holds itself
        elif isinstance(event, yaml.ScalarEvent):
            if len(event.value) > LONGEST_NUMBER and event.implicit[0] and event.value[0] in "0123456789+-.":
                raise error(f"{path} holds a number of {len(event.value):,} characters; quote it if it is a name")
            size = 1 + len(event.value) // TEXT_PER_NODE
            nodes += size
            if event.anchor is not None:
                sizes[event.anchor] = size
        elif isinstance(event, yaml.CollectionStartEvent):
            open_nodes.append((event.anchor, nodes))
            nodes += 1
            if len(open_nodes) > MOST_DEPTH:
                raise error(f"{path} is nested more than {MOST_DEPTH} levels deep; no such file needs that")
        elif isinstance(event, yaml.CollectionEndEvent):
            anchor, before = open_nodes.pop()
            if anchor is not None:
                sizes[anchor] = nodes - before
        if nodes > MOST_NODES:
            raise error(
                f"{path} expands to more than {MOST_NODES:,} values once its aliases are followed; no such file needs"
                " that"
            )
