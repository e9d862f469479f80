"""The public names of the package."""

import riverrun


def order(name: str) -> tuple[int, str]:
    """Constants, then classes, then the rest: the order that the linter keeps in every module."""
    return (0 if name.isupper() else 1 if name[0].isupper() else 2, name)


def public_names() -> list[str]:
    return list(getattr(riverrun, "__all__", []))


def test_the_public_names_are_sorted_and_listed_once() -> None:
    names = public_names()

    assert names == sorted(set(names), key=order)


def test_every_public_name_is_there() -> None:
    assert [name for name in public_names() if not hasattr(riverrun, name)] == []


def test_every_public_name_has_a_docstring_of_its_own() -> None:
    values = {name: getattr(riverrun, name) for name in public_names()}

    silent = [
        name
        for name, value in values.items()
        if isinstance(value, type) and not value.__dict__.get("__doc__")
    ]

    assert silent == []
