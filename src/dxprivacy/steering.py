"""What could steer a screen: text from a file or a person stays text, in its line and in its direction."""

import re

# What breaks a line, steers a terminal or turns the direction of reading; names in some scripts rightly hold marks of
# direction, so this is for what is shown.  Halves of characters come from file names that are no text.
STEERING = re.compile("[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufff9-\ufffb\ud800-\udfff]")


def one_line(text: str) -> str:
    """Text from a file or a person that can neither break its line nor steer what is shown around it.

    >>> one_line("a\\nb \\u202ec")
    'a�b �c'
    """
    return STEERING.sub("\ufffd", text)
