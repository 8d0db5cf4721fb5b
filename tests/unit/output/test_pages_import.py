"""Pages and charts import each other; each module can be imported first."""

import subprocess
import sys

import pytest


@pytest.mark.parametrize("module", ["page", "document", "answers_part", "check_page", "ledger_page", "plan_page"])
def test_a_module_of_pages_can_be_imported_first(module):
    code = f"import dxprivacy.output.pages.{module}"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
