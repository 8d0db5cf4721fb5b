"""The bugs: file, change, and the tests that must fail with it.

Each is one that could have been written by mistake and that would break a promise without breaking anything a user
sees.  Two kinds of lines are worth adding: a mistake that was once made, and one that a review can imagine.
"""

from mutants.planting import Mutant

BLOCKS = "tests/unit/model/test_metric_blocks.py"
LOOSE = "tests/oracle/test_loose_bounds.py"
PLUMBING = "tests/privacy/test_noise_plumbing.py"
ROUNDING = "tests/unit/model/test_rounding_directions.py"
FORGED = "tests/ledger/test_forged_ledger.py"
RATIO = "tests/oracle/test_max_ratio.py"
CERTIFICATES = "tests/oracle/test_certificates.py"
CHOICE_LAW = "tests/privacy/test_choice_law.py"
METRICS = "tests/unit/model/test_derived_metrics.py"
LAPLACE = "tests/unit/mechanisms/test_discrete_laplace.py"
MWEM_LOSS = "tests/privacy/test_mwem_loss.py"
PAST = "tests/privacy/test_past_bugs.py"

METRIC_BUGS = (
    Mutant(
        "model/metrics/simple.py", "for a in range(0, last, block):", "for a in range(0, last, block + 1):", (BLOCKS,)
    ),
    Mutant(
        "model/metrics/simple.py",
        "first = np.arange(a, min(a + block, last), dtype=np.int64)",
        "first = np.arange(a, min(a + block - 1, last), dtype=np.int64)",
        (BLOCKS,),
    ),
    Mutant(
        "model/metrics/simple.py",
        "for a in range(0, len(self._order) - 1, block):",
        "for a in range(0, len(self._order) - 1, block + 1):",
        (BLOCKS,),
    ),
    Mutant("model/metrics/graph.py", "range(0, len(first), block)", "range(0, len(first), block + 1)", (METRICS,)),
    Mutant(
        "model/metrics/other.py",
        "for a in range(0, self.last, block):",
        "for a in range(0, self.last, block + 1):",
        (METRICS,),
    ),
    Mutant(
        "model/metrics/combine.py",
        "for a in range(0, len(i), block):",
        "for a in range(0, len(i), block + 1):",
        (METRICS,),
    ),
    Mutant(
        "model/metrics/base.py",
        "for a in range(0, len(i), 4 * block):",
        "for a in range(0, len(i), 5 * block):",
        (BLOCKS,),
    ),
    Mutant(
        "model/metrics/other.py",
        "return min(self.base.exact(i, j), 2 * self.radius)",
        "return self.base.exact(i, j)",
        (METRICS,),
    ),
    Mutant(
        "model/metrics/combine.py",
        "return min(self.base.exact(i, j), self.cap)",
        "return self.base.exact(i, j)",
        (METRICS,),
    ),
    Mutant(
        "model/metrics/product.py",
        "total = total + metric.exact(i // stride % n, j // stride % n)",
        "total = max(total, metric.exact(i // stride % n, j // stride % n))",
        (METRICS,),
    ),
    Mutant("model/metrics/matrix.py", "whole = {v: math.floor(f / tick)", "whole = {v: round(f / tick)", (ROUNDING,)),
    Mutant(
        "model/metrics/matrix.py", "whole = {v: math.floor(f / tick)", "whole = {v: math.ceil(f / tick)", (ROUNDING,)
    ),
    Mutant("model/metrics/matrix.py", "scaled = np.floor(np.ldexp(", "scaled = np.rint(np.ldexp(", (ROUNDING,)),
    Mutant("model/metrics/matrix.py", "scaled = np.floor(np.ldexp(", "scaled = np.ceil(np.ldexp(", (ROUNDING,)),
    Mutant(
        "model/metrics/matrix.py",
        "detour = d[:, k, None] + d[None, k, :]",
        "detour = d[:, k, None] + d[None, k, :] + 1",
        (METRICS,),
    ),
    Mutant("model/numbers.py", "    return math.nextafter(nearest, -math.inf)", "    return nearest", (ROUNDING,)),
    Mutant("model/numbers.py", "    return math.nextafter(nearest, math.inf)", "    return nearest", (ROUNDING,)),
    Mutant(
        "model/numbers.py",
        "Fraction(-((-value.numerator << _PRINTED_BITS) // value.denominator), 1 << _PRINTED_BITS)",
        "Fraction((value.numerator << _PRINTED_BITS) // value.denominator, 1 << _PRINTED_BITS)",
        (ROUNDING,),
    ),
    Mutant("mechanisms/declared.py", '(1 + Fraction(getattr(self.base, "slack", 0)))', "1", (ROUNDING,)),
    Mutant(
        "planning/smalldb.py",
        "[round_down(Fraction(scale) / w) for w",
        "[round_up(Fraction(scale) / w) for w",
        (ROUNDING,),
    ),
)

BOUND_BUGS = (
    Mutant(
        "bounds/covering.py",
        "        for part in term.parts:\n            alone = contexts_of([Term((part,))], part.block.axes",
        "        for part in term.parts[:1]:\n            alone = contexts_of([Term((part,))], part.block.axes",
        (LOOSE,),
    ),
    Mutant(
        "bounds/covering.py",
        "replace(part, uniform=False)",
        "replace(part, uniform=True)",
        ("tests/privacy/test_add_remove.py",),
    ),
    Mutant(
        "bounds/covering.py",
        "for b in range(0, len(i), 4 * block):",
        "for b in range(0, len(i), 5 * block):",
        ("tests/oracle/test_choice_costs.py", RATIO),
    ),
    Mutant(
        "bounds/covering.py",
        "near = np.flatnonzero(d <= best[code] * tolerance)",
        "near = np.flatnonzero(d < best[code])",
        (RATIO,),
    ),
    Mutant(
        "bounds/covering.py",
        "return sorted({x for t in terms for x in t.axes} - {axis})",
        "return sorted({x for t in terms for x in t.axes} - {axis})[:1]",
        (RATIO,),
    ),
    Mutant(
        "bounds/covering.py",
        "offsets = np.append(offsets, universe.absent)",
        "pass",
        ("tests/privacy/test_add_remove.py",),
    ),
    Mutant("bounds/ratio.py", "        total += largest\n", "        total = np.maximum(total, largest)\n", (RATIO,)),
    Mutant(
        "bounds/ratio.py", "upper = highest(upper, ceiling)\n        search", "upper = upper\n        search", (RATIO,)
    ),
    Mutant(
        "bounds/ratio.py",
        "upper = highest(upper, _absences(plan, loss, metric))",
        "_absences(plan, loss, metric)",
        (LOOSE,),
    ),
    Mutant(
        "bounds/ratio.py",
        "near = np.flatnonzero((r >= self._least) & (r > 0))",
        "near = np.array([int(r.argmax())])",
        (CERTIFICATES,),
    ),
    Mutant(
        "bounds/ratio.py",
        "asks = np.isfinite(bottom) & (top > 0)",
        "asks = np.isfinite(bottom) & (top > 0) & (bottom > 0)",
        (RATIO,),
    ),
    Mutant(
        "bounds/transport.py",
        "change[universe.absent] -= missing",
        "change[universe.absent] -= max(missing, 0)\n        demand_of_none = missing",
        ("tests/unit/bounds/test_group_loss.py",),
    ),
    Mutant(
        "planning/certificate.py",
        "if not self.ratio <= at_most:",
        "if not self.ratio <= at_most * (1 + Fraction(1, 10**6)):",
        (CERTIFICATES,),
    ),
    Mutant(
        "planning/certificate.py",
        "return Certificate(bound.upper, bound",
        "return Certificate(bound.lower, bound",
        (LOOSE, RATIO),
    ),
    Mutant(
        "planning/task.py",
        "if missing <= 1:\n",
        "if missing <= 1 + Fraction(1, 10**9):\n",
        ("tests/unit/planning/test_planner.py",),
    ),
    Mutant(
        "model/costs.py",
        "if not np.isfinite(self.scales).all() or np.signbit(self.scales).any():",
        "if not np.isfinite(self.scales).all() or (self.scales < 0).any():",
        (PAST,),
    ),
    Mutant(
        "model/costs.py",
        "amounts[scale] = amounts.get(scale, 0) + a",
        "amounts[scale] = max(amounts.get(scale, 0), a)",
        (RATIO,),
    ),
    Mutant(
        "model/costs.py",
        "out = np.maximum(out, part.pairwise(i, j))",
        "out = part.pairwise(i, j)",
        ("tests/oracle/test_choice_costs.py",),
    ),
    Mutant(
        "model/costs.py",
        "return sum((n * c.exact(i, j) for c, n in self._distinct), Fraction(0))",
        "return sum((c.exact(i, j) for c, n in self._distinct), Fraction(0))",
        ("tests/oracle/test_choice_costs.py",),
    ),
)

NOISE_BUGS = (
    Mutant(
        "mechanisms/laplace.py",
        "return exact + noise.laplace(cost.scales)",
        "return exact + noise.laplace(cost.scales * 0.99)",
        (PLUMBING,),
    ),
    Mutant(
        "mechanisms/laplace.py",
        "    plan.certificate.require(at_most=plan.share)  # Thm 1",
        "    # Thm 1",
        (CERTIFICATES,),
    ),
    Mutant(
        "mechanisms/discrete_laplace.py",
        "entropy: Entropy = os.urandom)",
        "entropy: Entropy = np.random.default_rng(7).bytes)",
        (PLUMBING,),
    ),
    Mutant("mechanisms/discrete_laplace.py", "accepted & (nonzero | ~minus)", "accepted", (LAPLACE,)),
    Mutant(
        "mechanisms/discrete_laplace.py",
        "whole & _decay(U, t, first, entropy)",
        "_decay(U, t, first, entropy)",
        (LAPLACE,),
    ),
    Mutant(
        "mechanisms/discrete_laplace.py",
        "again = np.flatnonzero(w - r > ((1 << 64) - 1) - (n - 1))",
        "again = np.zeros(0, dtype=np.intp)",
        (LAPLACE,),
    ),
    Mutant(
        "mechanisms/discrete_laplace.py",
        'w = w << 64 | int.from_bytes(entropy(8), "little")',
        "w = w << 64",
        (LAPLACE,),
    ),
    Mutant(
        "mechanisms/noise.py",
        "return permute_and_flip(scores, scales) if flip",
        "return permute_and_flip(scores, scales / 2) if flip",
        (PLUMBING,),
    ),
    Mutant(
        "mechanisms/noise.py",
        "out[noisy] = discrete_laplace(scales[noisy])",
        "out[noisy] = discrete_laplace(scales[noisy] * 0.99)",
        (PLUMBING,),
    ),
    Mutant("mechanisms/noise.py", "noisy = scales > 0", "noisy = scales > 0.5", (PLUMBING,)),
    Mutant("mechanisms/exact_choice.py", "if offset < low[k] or is_below(", "if True or is_below(", (CHOICE_LAW,)),
    Mutant(
        "mechanisms/exact_choice.py",
        "heads[k] = gap == 0 or is_below(int(coins[k]), 53, gap, entropy)",
        "heads[k] = True",
        (CHOICE_LAW,),
    ),
    Mutant(
        "mechanisms/exact_choice.py",
        "return Fraction(int(scores[k])) / (2 * Fraction(float(scales[k])))",
        "return Fraction(int(scores[k])) / Fraction(float(scales[k]))",
        (CHOICE_LAW,),
    ),
    Mutant(
        "mechanisms/exact_choice.py",
        "limit = (1 << 8 * size) // n * n",
        "limit = 1 << 8 * size",
        ("tests/unit/mechanisms/test_exponential.py",),
    ),
    Mutant(
        "mechanisms/selection.py",
        "np.full(len(scores), scale), flip=flip)",
        "np.full(len(scores), scale * 0.99), flip=flip)",
        (PLUMBING,),
    ),
    Mutant(
        "mechanisms/selection.py",
        "    choice.certificate.require(at_most=choice.share)  # Thm 3",
        "    # Thm 3",
        ("tests/unit/planning/test_choice.py",),
    ),
    Mutant(
        "synthesis/mwem.py",
        "int(noise.laplace(cost.scales)[0])",
        "int(noise.laplace(cost.scales * 0.99)[0])",
        (PLUMBING,),
    ),
    Mutant(
        "synthesis/mwem.py",
        "noise.choose(scores, plan.choice_scales[rows])",
        "noise.choose(scores, plan.choice_scales[rows] * 0.99)",
        (PLUMBING,),
    ),
    Mutant(
        "synthesis/mwem_plan.py",
        "Fraction(int(share * _SHARE_GRID / (2 * rounds)), _SHARE_GRID)",
        "Fraction(int(share * _SHARE_GRID / rounds), _SHARE_GRID)",
        (MWEM_LOSS,),
    ),
    Mutant(
        "synthesis/mwem.py",
        '        return "hidden"',
        "        return repr(self.answers)",
        ("tests/unit/synthesis/test_mwem.py",),
    ),
)

LEDGER_BUGS = (
    Mutant(
        "ledger/budget.py",
        "    if bound.upper <= 1:\n        return\n    before",
        "    if bound.lower <= 1:\n        return\n    before",
        (LOOSE,),
    ),
    Mutant(
        "ledger/budget.py",
        "return round_share(Fraction(bound.upper))",
        "return round_share(Fraction(bound.lower))",
        (LOOSE,),
    ),
    Mutant("ledger/budget.py", "math.ceil(share * SHARE_GRID)", "math.floor(share * SHARE_GRID)", (ROUNDING,)),
    Mutant(
        "ledger/budget.py",
        "total = SumCost(metric.universe, [*spent, new])",
        "total = SumCost(metric.universe, [*spent[1:], new])",
        ("tests/ledger/test_ledger_budget.py",),
    ),
    Mutant("ledger/adoption.py", "    if bound.upper <= 1:", "    if bound.lower <= 1:", (LOOSE,)),
    Mutant("ledger/adoption.py", "max_ratio(cost, metric).upper))", "max_ratio(cost, metric).lower))", (LOOSE,)),
    Mutant(
        "ledger/adoption.py", "if made[0].looser and not looser:", "if False:", ("tests/trust/test_who_decides.py",)
    ),
    Mutant(
        "ledger/witness.py",
        '                raise OSError(errno.ENOSPC, "short write")  # the next writer finds a torn line and mends it\n            _flush(file)',
        '                raise OSError(errno.ENOSPC, "short write")',
        (FORGED,),
    ),
    Mutant(
        "ledger/ledger.py",
        "max_ratio(self.spent, self.metric).upper > 1:",
        "max_ratio(self.spent, self.metric).upper > 2:",
        (FORGED,),
    ),
    Mutant("ledger/ledger.py", ".digest != cost.workload.digest:", ".rows != cost.workload.rows:", (PAST,)),
    Mutant(
        "ledger/ledger.py",
        "            self._require_current()\n            before",
        "            before",
        ("tests/ledger/test_policy_history.py",),
    ),
    Mutant("ledger/journal.py", "if not row.digest() == row.hash == known:", "if False:", (FORGED,)),
    Mutant("ledger/journal.py", "if row.digest() != row.hash:", "if False:", ("tests/ledger/test_journal_tamper.py",)),
    Mutant("ledger/journal.py", "if row.previous != tip.hash:", "if False:", ("tests/ledger/test_journal_tamper.py",)),
    Mutant("ledger/journal.py", "if self._deciding == seen:", "if True:", ("tests/ledger/test_journal_record.py",)),
    Mutant(
        "ledger/journal.py",
        'self._sql("PRAGMA synchronous=FULL")',
        'self._sql("PRAGMA synchronous=OFF")',
        ("tests/ledger/test_journal_record.py",),
    ),
    Mutant(
        "ledger/history.py",
        "if body_of(cost, data) != row.body:",
        "if False:",
        ("tests/ledger/test_policy_history.py",),
    ),
    Mutant(
        "session/session.py",
        "        plan.certificate.require(at_most=plan.share)\n",
        "",
        ("tests/unit/session/test_session.py",),
    ),
    Mutant(
        "session/recorded.py",
        "        entry = self.ledger.reserve(cost, questions, request=request)\n        if not isinstance(entry, Entry):\n            return entry\n        with self._pacing():\n            text = act()",
        "        with self._pacing():\n            text = act()\n        entry = self.ledger.reserve(cost, questions, request=request)\n        if not isinstance(entry, Entry):\n            return entry",
        ("tests/unit/session/test_recorded_steps.py",),
    ),
)

OTHER_BUGS = (
    Mutant("verify/directions.py", "MARGIN = 2.0**-17", "MARGIN = 0.0", ("tests/verify/test_verify_margin.py",)),
    Mutant(
        "verify/directions.py",
        "elif d <= known.about * (1 + MARGIN):",
        "elif d < known.about:",
        ("tests/verify/test_verify_margin.py",),
    ),
    Mutant(
        "histogram.py",
        '{self.universe.size:,} cells, counts hidden)"',
        '{self.universe.size:,} cells, {self.counts})"',
        ("tests/engines/test_engine_histogram.py",),
    ),
    Mutant(
        "engines/duck_cells.py",
        'return f"CASE WHEN isfinite({name}) AND {name} BETWEEN',
        'return f"CASE WHEN {name} BETWEEN',
        ("tests/engines/test_engine_ordered.py",),
    ),
    Mutant(
        "model/grid.py", "if largest * max(records, 1) >= 1 << 61:", "if largest * max(records, 1) >= 1 << 65:", (PAST,)
    ),
)

HARMLESS = (
    Mutant(
        "ledger/history.py",
        "if step.apart(entry.number, entry.cost):",
        "if False:",
        harmless="adoption refuses such a version, and the chain shows a row that was changed since; kept as a second look",
    ),
)

MUTANTS = (*METRIC_BUGS, *BOUND_BUGS, *NOISE_BUGS, *LEDGER_BUGS, *OTHER_BUGS, *HARMLESS)
