"""Old and new versions of a policy, with what was spent under the old one: the cases that tests adopt or refuse."""

import itertools
from fractions import Fraction as F

import pytest

import dxprivacy as dx
from contracts.methods import standard_plan
from dxprivacy.errors import BudgetExceeded, LedgerError
from dxprivacy.ledger import Entry, Ledger
from ledger.upgrade_oracle import Carried, preimages, worst

REGION = 'values = ["A", "B"]\nepsilon = 1'
AGE = "integers = [0, 4]\nepsilon = 0.5\nper = 1"
SEX = 'values = ["M", "F"]\nepsilon = 2'
PLACES = "id,x,y,zone\n1,0,0,n\n2,3,4,n\n3,6,8,s\n"


def policy(folder, *, combine="sum", version="", before="", dataset="people", **attributes):
    recodes = any("was" in body for body in attributes.values())
    version = version or ("2" if recodes else "1")
    text = f'title = "People"\ndataset = "{dataset}"\nversion = "{version}"\n'
    text += f'was_version = "{before or int(version) - 1}"\n' if recodes else ""
    text += "".join(f"[attributes.{name}]\n{body}\n" for name, body in attributes.items())
    return dx.Policy.parse(text + f'[combine]\nhow = "{combine}"\n', folder=folder)


def spend(path, version, *queries, budget="25%"):
    """Reserve each query under its own name; what was reserved, as the planner gave it."""
    costs = []
    with Ledger.open(path, version, new_ledger=True) as ledger:
        for k, query in enumerate(queries):
            plan = standard_plan(query, version.metric, n_records=50, budget=budget)
            name = f"{version.version}/{k}"
            assert isinstance(ledger.reserve(plan.cost, plan.queries, request=name), Entry)
            ledger.finish(name, f'{{"release": "{name}"}}')
            costs.append(plan.cost)
    return costs


class Case:
    """An old policy with some queries answered, and a new one to be adopted."""

    def __init__(self, folder, old, new, *queries, budget="25%"):
        self.path, self.old, self.new = folder / "ledger.db", old, new
        self.costs = spend(self.path, old, *queries, budget=budget)
        found = preimages(old.universe, new.universe, new.recoded)
        self.truth = [Carried(cost, found) for cost in self.costs]

    def carries(self):
        """Adopt it, and compare every cost with brute force over all pairs and all preimages."""
        assert not any(t.separated() for t in self.truth)
        with Ledger.open(self.path, self.old, new_ledger=True) as ledger:
            dry = ledger.adopt(self.new, dry_run=True, looser=True)
            assert dry.written is None
            assert ledger.universe == self.old.universe
            adoption = ledger.adopt(self.new, looser=True)
            assert adoption.written is not None
            assert (dry.used, dry.worst_after) == (adoption.used, adoption.worst_after)
            self._compare(ledger, adoption)
        with Ledger.open(self.path, self.new, new_ledger=True) as ledger:
            self._compare(ledger, adoption)
            ledger.verify()
        assert Ledger.adopting(self.path, self.new, looser=True).written is None  # again: nothing to do
        return adoption

    def _compare(self, ledger, adoption):
        entries, metric = ledger.entries(), self.new.metric
        assert [e.number for e in entries] == list(range(1, len(self.costs) + 1))
        for entry, truth in zip(entries, self.truth, strict=True):
            for i, j in itertools.combinations(range(metric.universe.size), 2):
                assert entry.cost.exact(i, j) == truth.exact(i, j)
            budget = worst([truth], metric)
            assert budget <= entry.budget <= budget * (1 + metric.slack) + F(1, 1 << 59)
        used = worst(self.truth, metric)
        assert used <= adoption.used <= used * (1 + metric.slack)

    def refused(self, error, *words):
        """It is refused for good reason, says so, and leaves the ledger as it was."""
        with Ledger.open(self.path, self.old, new_ledger=True) as ledger:
            rows = ledger.verify()
            for dry_run in (True, False):
                with pytest.raises(error) as caught:
                    ledger.adopt(self.new, dry_run=dry_run, looser=True)
                for word in words:
                    assert word in str(caught.value), str(caught.value)
                assert caught.value.hints
            assert ledger.verify() == rows
            assert len(ledger.versions) == 1

    def told_apart(self, *words):
        assert any(t.separated() for t in self.truth)
        self.refused(LedgerError, "were separated", "nothing was changed", *words)

    def overspent(self, *words):
        assert not any(t.separated() for t in self.truth)
        assert worst(self.truth, self.new.metric) > 1
        self.refused(BudgetExceeded, "allows less than was spent", "nothing was changed", *words)


def plain(folder, **more):
    return policy(folder, **{"region": REGION, "age": AGE, **more})
