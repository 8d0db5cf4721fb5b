"""Bugs of `session`."""

from mutants.planting import Mutant

SESSION = (
    Mutant(
        "session/session.py",
        "            self._require_informative(planned, planned.uninformative(self.n_records), request)\n",
        "            pass\n",
        "tests/unit/cli/test_cli_worth.py",
        "test_a_session_refuses_a_useless_plan_and_names_the_argument",
    ),
    Mutant(
        "session/session.py",
        "        planned.certificate.require(at_most=planned.granted)\n",
        "",
        "tests/contracts/test_new_mechanism.py",
        "test_a_mechanism_that_does_not_ask_for_its_proof_is_asked_by_the_session",
    ),
    Mutant(
        "session/recorded_steps.py",
        "        entry = self.ledger.reserve(cost, queries, asked=asked, request=request)\n        if not isinstance(entry, Entry):\n            return entry\n",
        "        early = act(LedgerReference(self.ledger.path.name, 1, '', request, 0.0))\n        entry = self.ledger.reserve(cost, queries, asked=asked, request=request)\n        if not isinstance(entry, Entry):\n            return entry\n        act = lambda _: early\n",
        "tests/unit/session/test_recorded_steps.py",
        "test_the_same_run_again_returns_what_was_kept_and_spends_nothing",
    ),
)
