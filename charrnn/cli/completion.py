"""What the shell is told when somebody presses Tab.

Typer writes the scripts. Its own for zsh defines a function when it is called for the first time,
and leaves it at that: the first Tab completes nothing. Ours answers as well.
"""

from __future__ import annotations

import glob

from charrnn.corpus.bundled import NAMES

ZSH = """
#compdef %(prog_name)s

_%(prog_name)s() {
  eval "$(env _TYPER_COMPLETE_ARGS="${words[1,$CURRENT]}" \
%(autocomplete_var)s=complete_zsh "${words[1]}" 2> /dev/null)"
}

if [[ "${funcstack[1]}" == "_%(prog_name)s" ]]; then
  _%(prog_name)s "$@"
else
  (( ${+functions[compdef]} )) || { autoload -Uz compinit && compinit }
  compdef _%(prog_name)s %(prog_name)s
fi
"""


def mend() -> None:
    """Have Typer write our script for zsh; a Typer that keeps it elsewhere is left alone."""
    try:
        from typer import _completion_shared
    except ImportError:
        return
    scripts = getattr(_completion_shared, "_completion_scripts", None)
    if isinstance(scripts, dict) and "zsh" in scripts:
        scripts["zsh"] = ZSH


def tried(incomplete: str) -> list[str]:
    """The settings that a sweep can try."""
    from charrnn.settings.sweeping import words_to_try

    return [f"{word}=" for word in words_to_try() if word.startswith(incomplete)]


def corpora(incomplete: str) -> list[str]:
    """The corpora that come with the program, and files; the shell knows files alone better."""
    names = [name for name in NAMES if name.startswith(incomplete)]
    files = sorted(glob.glob(glob.escape(incomplete) + "*"))
    return [*names, *(file for file in files if file not in names)] if names else []
