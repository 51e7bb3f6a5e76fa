"""The description of a release: the README without its pictures and links to files."""

import re
from pathlib import Path
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface

LINK = re.compile(r"\[([^]]*)\]\((?!https://)[^)]*\)")
PICTURE = re.compile(rf"^!{LINK.pattern}\n\n", re.MULTILINE)


class Description(MetadataHookInterface):
    def update(self, metadata: dict[str, Any]) -> None:
        readme = (Path(self.root) / "README.md").read_text("utf-8")
        text = LINK.sub(r"\1", PICTURE.sub("", readme))
        metadata["readme"] = {"text": text, "content-type": "text/markdown"}
