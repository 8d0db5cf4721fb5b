"""The frame of every page: one style, no script, no external resources, enforced by a Content Security Policy.

Callers escape all text from files and people.  Should that ever fail, the Content Security Policy still keeps the
browser from running scripts, loading or sending anything, and applying other styles.
"""

import base64
import hashlib
import html

from dxprivacy.errors import one_line

_FRAME = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="generator" content="dxprivacy">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="referrer" content="no-referrer">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<style>{style}</style>
</head>
<body>
{body}
</body>
</html>
"""


def document(title: str, style: str, body: str) -> str:
    """Return a whole page; the title is escaped here, style and body must be safe already.

    >>> "default-src 'none'" in document("a < b", "p { margin: 0 }", "<p>…</p>")
    True
    """
    return _FRAME.format(policy=security_policy(style), title=html.escape(one_line(title)), style=style, body=body)


def security_policy(style: str) -> str:
    """Return a Content Security Policy that allows exactly this style sheet and nothing else.

    >>> security_policy("")
    "default-src 'none'; style-src 'sha256-47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU='; base-uri 'none'; \
form-action 'none'"
    """
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode("ascii")
    return f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"
