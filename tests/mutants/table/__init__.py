"""The bugs: file, change, and the test that must fail with it.  One file for each package.

Each is one that could have been written by mistake, and that would break a guarantee without breaking anything a user sees.
Two kinds of lines are worth adding: a mistake that was once made, and one that a review can imagine.
"""

from mutants.table.engines import ENGINES
from mutants.table.exact import EXACT
from mutants.table.histogram import HISTOGRAM
from mutants.table.ledger import LEDGER
from mutants.table.mechanisms import MECHANISMS
from mutants.table.metrics import METRICS
from mutants.table.paper import PAPER
from mutants.table.policy import POLICY
from mutants.table.privacy import PRIVACY
from mutants.table.queries import QUERIES
from mutants.table.session import SESSION
from mutants.table.trees import TREES
from mutants.table.universe import UNIVERSE
from mutants.table.verify import VERIFY

MUTANTS = (
    *SESSION,
    *VERIFY,
    *ENGINES,
    *MECHANISMS,
    *PAPER,
    *LEDGER,
    *HISTOGRAM,
    *PRIVACY,
    *POLICY,
    *QUERIES,
    *METRICS,
    *UNIVERSE,
    *TREES,
    *EXACT,
)
