"""``charrnn sample``: new text from a model file."""

from __future__ import annotations

from charrnn.cli import options, threads
from charrnn.cli import sample_options as own
from charrnn.cli.console import Talk
from charrnn.cli.options import MODEL, given

EXAMPLES = """
# ten new names, bolder than usual
charrnn sample -n 10 -t 1.2

# go on from here, the same way each time
charrnn sample -p "Ty" --seed 1
echo "It was a dark and stormy night" | charrnn sample --prime-file -

# a thousand that nobody has had before, no two alike
charrnn sample -n 1000 --novel dinosaurs --unique

# what surprised the model itself
charrnn sample --surprise

# for another program
charrnn sample -n 100 --json | jq -r 'select(.ended == "end") | .text'
charrnn sample -n 100 -0 | xargs -0 -n 1 echo
"""


def sample(
    count: own.Count = None,
    temp: own.Temp = None,
    top_k: own.TopK = None,
    top_p: own.TopP = None,
    max_chars: own.MaxChars = None,
    seed: own.Seed = None,
    prime: own.Prime = None,
    prime_file: own.PrimeFile = None,
    hide_prime: own.HidePrime = False,
    encoding: own.Encoding = None,
    novel: own.Novel = None,
    unique: own.Unique = False,
    model: options.Model = MODEL,
    null: own.Null = False,
    surprise: own.Surprise = False,
    raw: own.Raw = False,
    as_json: options.Json = False,
    quiet: options.Quiet = False,
    workers: options.Threads = None,
) -> None:
    """Draw new text from a model.

    It draws character after character until the end of the text is drawn, and shows it meanwhile.
    Each sample ends in a newline; where samples have newlines of their own, a blank line stands
    between two.

    With --json there is a line for each sample. Its characters and nats are those of its text, the
    prime included unless that is hidden. Nats are what the model itself would say of the text,
    whatever the temperature and the filters, and cover the end of the text where it was drawn: they
    are those of charrnn eval.
    """
    useful = threads.prepare(workers)

    from charrnn.cli.sampling import run  # numpy comes with it, and must find the threads set

    run.draw(
        run.Asked(
            model=model,
            count=1 if count is None else count,
            config=given(
                temperature=temp, top_k=top_k, top_p=top_p, max_characters=max_chars, seed=seed
            ),
            prime=prime,
            prime_file=prime_file,
            hide_prime=hide_prime,
            reading=given(encoding=encoding),
            novel=tuple(novel or ()),
            unique=unique,
            null=null,
            surprise=surprise,
            raw=raw,
            as_json=as_json,
        ),
        useful,
        Talk(quiet),
    )
