# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Reads JSON and YAML of others: whatever is wrong with it raises ValueError.

PyYAML raises KeyError for `!!bool x`, IndexError for `!!int ""`, TypeError for keys that are lists, and
RecursionError for deep ones.
"""

import dataclasses
import functools
import json
import math
import os
import types
import typing
from typing import Any

import yaml

from vfriendly import regular

# Maximum size in bytes of a file with settings, of which people write some kilobytes.
LARGEST_SETTINGS = 1 << 20
# libyaml's loader is 10 times as fast; PyYAML may have been built without it.
LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
WRONG = (yaml.YAMLError, LookupError, TypeError, AttributeError, ArithmeticError, RecursionError, ValueError)


def json_of(path: str | os.PathLike[str], most: int = regular.LARGEST) -> Any:
    """Raises OSError and ValueError."""
    try:
        return json.loads(regular.read(path, most))
    except RecursionError as error:
        raise ValueError("it is nested too deeply") from error


# Maximum depth of settings. libyaml's loader recurses in C, and ends the process at some 10,000.
_DEEPEST = 100


def _check_depth(text: str) -> None:
    depth = 0
    for event in yaml.parse(text, LOADER):
        depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
        if depth > _DEEPEST:
            raise ValueError("it is nested too deeply")


def yaml_of(text: str) -> Any:
    """Raises ValueError."""
    try:
        _check_depth(text)
        return yaml.load(text, LOADER)
    except WRONG as error:
        raise ValueError((str(error).splitlines() or [type(error).__name__])[0]) from error


def settings(path: str) -> dict[str, Any]:
    """Returns the mapping in a file of settings in YAML. Raises OSError and ValueError."""
    data = yaml_of(regular.read(path, LARGEST_SETTINGS).decode("utf-8"))
    if data is None:
        return {}
    if not isinstance(data, dict):
        raise ValueError("it is no mapping")
    return data


# Maximum of a number: more would be years in nanoseconds, and sums of such numbers have no end.
_MOST = 1e20


@functools.cache
def _fields(kind: type) -> dict[str, Any]:
    hints = typing.get_type_hints(kind)
    return {field.name: hints[field.name] for field in dataclasses.fields(kind)}


def _check(kind: Any, value: Any) -> None:
    origin, inner = typing.get_origin(kind), typing.get_args(kind)
    if kind is Any:
        return
    if origin in (typing.Union, types.UnionType):
        if value is None and type(None) in inner:
            return
        kind = next(one for one in inner if one is not type(None))
        return _check(kind, value)
    if kind is float or kind is int:
        allowed = (int, float) if kind is float else (int,)
        good = type(value) in allowed and math.isfinite(value) and abs(value) < _MOST
    elif origin in (list, tuple):
        good = isinstance(value, origin)
        for each in value if good else ():
            _check(inner[0], each)
    elif origin is dict:
        good = isinstance(value, dict)
        for name, each in value.items() if good else ():
            _check(inner[0], name)
            _check(inner[1], each)
    elif isinstance(kind, type) and dataclasses.is_dataclass(kind):
        good = isinstance(value, kind)
    else:
        good = type(value) is kind
    if not good:
        raise ValueError(f"{str(value)[:40]!r} is no {getattr(kind, '__name__', kind)}")


def typed(kind: Any, values: Any) -> Any:
    """Returns a data class of these values. Raises ValueError unless each has the field's type; numbers are finite."""
    if not isinstance(values, dict):
        raise ValueError("it is no mapping")
    known = _fields(kind)
    for name, value in values.items():
        if name not in known:
            raise ValueError(f"{name} is not known")
        try:
            _check(known[name], value)
        except OverflowError as error:
            raise ValueError(f"{name} is too large") from error
    try:
        return kind(**values)
    except TypeError as error:
        raise ValueError(str(error)) from error
