"""Characters that steer whatever shows them: a terminal, a page, the direction of writing."""

# C0 but tab and newline, DEL and C1; marks that turn the writing direction around; the two
# separators that some programs take for a new line; lone surrogates, which is how Python hands
# over bytes that are not UTF-8. To stand between brackets in a regular expression.
STEERING = (
    "\x00-\x08\x0b-\x1f\x7f-\x9f"
    "\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"
    "\u2028\u2029"
    "\ud800-\udfff"
)
