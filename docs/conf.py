"""How the site is made: `make docs`.  Every notebook and shell command in it runs; what fails, fails the build."""

import os
import sys
from importlib.metadata import version as installed
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE / "_ext"))
os.environ["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"  # commands find our dxp

project = "dxprivacy"
author = "the dxprivacy developers"
version = release = installed("dxprivacy")
copyright = "2026, the dxprivacy developers; Apache-2.0"

extensions = [
    "myst_nb",
    "sphinx.ext.autodoc",
    "sphinx_copybutton",
    "sphinx_design",
    "shell",
    "public_names",
    "command_pages",
    "repository_links",
]
exclude_patterns = ["_build", "_ext"]
source_suffix = {".md": "myst-nb", ".rst": "restructuredtext"}
suppress_warnings = [
    "myst.header",  # some pages begin a list of small sections without a larger one above
    "mystnb.unknown_mime_type",  # of a picture: the image beside the specification is shown
]
needs_sphinx = "8.0"
nitpicky = False  # types of signatures are words here, not links
default_role = "code"  # in docstrings `x` is code

myst_enable_extensions = ["colon_fence", "deflist", "attrs_inline", "attrs_block"]
myst_heading_anchors = 3
myst_fence_as_directive = []

nb_execution_mode = "cache"
nb_execution_cache_path = str(HERE.parent / "build" / "notebooks")
nb_execution_in_temp = True
nb_execution_raise_on_error = True
nb_execution_timeout = 300
nb_merge_streams = True
nb_mime_priority_overrides = [("html", "image/png", 0), ("html", "text/html", 1)]

autodoc_typehints = "signature"
autodoc_member_order = "bysource"
autodoc_preserve_defaults = True
python_use_unqualified_type_names = True
add_module_names = False
python_maximum_signature_line_length = 88
toc_object_entries = False

html_theme = "furo"
html_title = "dxprivacy"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_show_sourcelink = False
html_theme_options = {"navigation_with_keys": True}
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True
