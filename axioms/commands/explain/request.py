"""The command line of `axioms explain` as what a spec would say, read by the same rules."""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import yaml
from pydantic import BaseModel, ValidationError

from axioms.core.errors import InputError, did_you_mean
from axioms.core.registry import SUBJECTS
from axioms.core.source import Loader
from axioms.core.suite import suite_fixtures
from axioms.model.removals import KINDS, Removal
from axioms.spec import Run
from axioms.spec.added import registered_name
from axioms.spec.references import MethodRef, SubjectRef
from axioms.subjects.fixtures import FOLDER, find_descriptor
from axioms.subjects.models.hub import TASKS, declared_task

Read = TypeVar("Read", bound=BaseModel)


@dataclass(frozen=True)
class Request:
    """What is asked for, before anything is loaded."""

    model: SubjectRef
    methods: list[MethodRef]
    target: Any
    remove: Removal | None
    run: Run
    near: Path
    """What paths are relative to, and fixtures are looked for from: a file of the working directory."""


def read_request(options: argparse.Namespace) -> Request:
    """Read the options; everything that can be wrong with them is said before a model is loaded."""
    near = Path.cwd() / "explain"
    methods = _yaml(f"[{options.methods}]", "--methods")
    if not methods:
        raise InputError("name at least one method.")
    run = _valid(Run, {"dtype": options.dtype, "device": options.device}, "--dtype")
    remove = None if options.remove is None else _removal(options.remove)
    references = [_valid(MethodRef, _registered(method), "--methods") for method in methods]
    return Request(_model(options.model, options.task, near), references, _target(options.target), remove, run, near)


def _registered(method: Any) -> Any:
    """Return a method as a spec lists it, with the registered name of MODULE:NAME."""
    if isinstance(method, dict) and len(method) == 1:
        (name, given), *_ = method.items()
        return {registered_name(name) if isinstance(name, str) else name: given}
    return registered_name(method) if isinstance(method, str) else method


def _model(name: str, task: str | None, near: Path) -> SubjectRef:
    if task is not None and task not in TASKS:
        raise InputError(f"there is no task {task!r}.{did_you_mean(task, TASKS)}")
    if find_descriptor(name, near) is not None or name in SUBJECTS:
        if task is not None:
            raise InputError(f"--task is for models of the hub and in folders; what {name!r} is for is known.")
        return _valid(SubjectRef, name, "MODEL", near)
    if Path(name).is_dir():
        name = str(Path(name).resolve())
    elif "/" not in name:
        raise InputError(
            f"there is no model {name!r}: no {FOLDER}/{name}.yaml here or above, and no such folder; one of the hub is "
            f"OWNER/NAME.{did_you_mean(name, _fixtures(near))}"
        )
    task = task or declared_task(name)
    return _valid(SubjectRef, {name: {} if task is None else {"task": task}}, "MODEL", near)


def _fixtures(near: Path) -> list[str]:
    """Return the models that are described in `fixtures/` here or above, and those of the suite."""
    folders = [*(folder / FOLDER for folder in near.parents), suite_fixtures()]
    files = [file for folder in folders for file in folder.glob("*.yaml")]
    return [file.stem for file in files if _describes_model(file)]


def _describes_model(file: Path) -> bool:
    try:
        return "kind: model" in file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        return False


def _target(text: str) -> Any:
    """Return a number, a mapping, or a name: a name is never taken for anything else, `no` or `1e5` included."""
    if text.lstrip("-").isdigit():
        return int(text)
    return _yaml(text, "--target") if text.lstrip().startswith("{") else text


def _removal(text: str) -> Removal:
    if text.lstrip().startswith("{"):
        return _valid(Removal, _yaml(text, "--remove"), "--remove")
    if text not in KINDS:
        raise InputError(f"--remove: there is no way {text!r} to leave a token out.{did_you_mean(text, KINDS)}")
    return _valid(Removal, text, "--remove")


def _yaml(text: str, option: str) -> Any:
    try:
        return yaml.load(text, Loader=Loader)
    except yaml.YAMLError as error:
        raise InputError(f"{option} {text!r} is not YAML: {getattr(error, 'problem', None) or error}.") from None


def _valid(kind: type[Read], raw: Any, option: str, near: Path | None = None) -> Read:
    try:
        return kind.model_validate(raw, context={"file": near})
    except ValidationError as error:
        raise InputError(f"{option}: {' '.join(_sentence(detail['msg']) for detail in error.errors())}") from None


def _sentence(text: str) -> str:
    return text if text.endswith(".") else f"{text}."
