"""Describe a release in the fields of OpenDP's registry of deployments of differential privacy.

The fields are those of `schemas/deployments-schema.yaml` and of the template for entries in
github.com/opendp/deployments-registry-data, as of its commit 057e5d8.  Everything here follows from the release; facts
that only the curator knows are marked `FILL IN`.  The registry's lists of allowed words do not contain `FILL IN`, so
that its own check refuses an incomplete entry.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from dxprivacy.releases.guarantee import without_key
from dxprivacy.tabular.markdown import escaped
from dxprivacy.wording import digits, json_text

BEGINNING = "# made by dxprivacy: an entry for the registry of deployments (OpenDP)."
_ABOUT = "What only the curator knows says FILL IN; all texts are Markdown."
FILL_IN = "FILL IN"
_EXACT = (
    "noise is drawn in exact arithmetic from the operating system's entropy: no float touches data or noise. Each row "
    "is counted independently of all others; an invalid entry counts as other."
)


@dataclass(frozen=True)
class DeploymentFacts:
    """The mechanism and utility of a product, its parts without noise, and its post-processing."""

    mechanism: str
    utility: str
    unprotected: tuple[str, ...] = ()
    post_processing: str = "None besides what the release states."


def deployment_of(
    made: DeploymentFacts, facts: Mapping[str, Any], guarantee: Sequence[str], records: int | None
) -> dict[str, Any]:
    """Return the registry's record of a release.

    >>> guarantee = ["If any one record …", "Added …", "In plain …"]
    >>> deployment_of(DeploymentFacts("noise", "good"), {}, guarantee, 5)["url_slug"]
    'FILL IN: letters, digits and -, for the address of the entry'
    """
    policy, ledger = facts.get("policy") or {}, facts.get("ledger") or {}
    neighbors = str(policy.get("neighbors", ""))
    units = facts.get("people") if neighbors.startswith("people") else records
    return {
        "url_slug": f"{FILL_IN}: letters, digits and -, for the address of the entry",
        "deployment": {
            "basic": {
                "name": escaped(str(policy.get("title") or "")) or FILL_IN,
                "data_curators": [
                    {"data_curator_name": FILL_IN, "data_curator_type": f"{FILL_IN}: Government, Industry or Nonprofit"}
                ],
                "description": FILL_IN,
                "intended_use": FILL_IN,
                "data_product_type": "Summary statistics",
                "data_product_region": FILL_IN,
                "data_product_sector": FILL_IN,
                "publication_date": f"{FILL_IN}: YYYY-MM-DD; made on {str(ledger.get('at', ''))[:10] or '?'}",
            },
            "dp_variant": {
                "variant_name": "Pure DP" if _one_epsilon(policy) else "Custom",
                "data_domain": _domain(facts),
                "unprotected_quantities": _sentences([*_public(neighbors, units, facts), *made.unprotected]) or "None.",
            },
            "privacy_loss": _loss(neighbors, units, facts, guarantee),
            "deployment_model": {
                "model_name": "Central",
                "trust_assumptions": f"{FILL_IN}: who holds the data, the policy and the ledger (docs/trust.md)",
                "actors": FILL_IN,
                "release_type": f"{FILL_IN}: One release or Many releases",
                "release_type_details": _many(ledger),
                "data_source_type": f"{FILL_IN}: Static or Dynamic",
                "access_type": f"{FILL_IN}: Interactive or Non-interactive",
            },
            "implementation": _implementation(made, facts, ledger),
            "administrative": {"status": "Draft", "registry_authors": [FILL_IN], "tier": 3},
        },
    }


def _loss(neighbors: str, units: int | None, facts: Mapping[str, Any], guarantee: Sequence[str]) -> dict[str, Any]:
    people = neighbors.startswith("people")
    worst = facts.get("worst_case_epsilon")
    number = {} if units is None else {"number_of_privacy_units": units}
    details = list(guarantee[1:])
    if worst is None:
        details.append("No single ε covers all pairs: some are public, or without limit.")
    return {
        "privacy_unit": "One person with all their rows" if people else "One record",
        "privacy_unit_details": escaped(guarantee[0]) if guarantee else FILL_IN,
        **number,
        "privacy_parameters": {} if worst is None else {"epsilon": worst},
        "privacy_parameters_details": escaped(_sentences(details)),
    }


def _implementation(made: DeploymentFacts, facts: Mapping[str, Any], ledger: Mapping[str, Any]) -> dict[str, str]:
    so_far, budget = ledger.get("worst_case_epsilon"), facts.get("budget")
    added = "" if so_far is None else f" All entries so far together are ε = {digits(so_far)} in standard-DP terms."
    rule = (facts.get("certificate") or {}).get("rule")
    proof = f" Certified for every pair of possible records (rule: {rule})." if rule else ""
    return {
        "preprocessing_and_hyperparameter_tuning": (
            "The noise was planned from the policy and public numbers, before any record was read. Sources used to "
            f"write the policy: {FILL_IN}"
        ),
        "mechanisms": escaped(f"{made.mechanism}; {_EXACT}{proof} {facts.get('software', '')}.")
        + f" Timing, platform, access control: {FILL_IN}",
        "composition": escaped(
            "Losses are added for each pair of possible records, in a ledger that refuses what would exceed the policy "
            f"on any pair (sequential composition). This release may use {budget or 'a part'} of every pair's ε; it is "
            f"entry {ledger.get('entry', '?')}.{added}"
        ),
        "post_processing": escaped(made.post_processing),
        "justification": FILL_IN,
        "utility": escaped(made.utility),
        "additional_information": escaped(
            "d_X-privacy (metric differential privacy): a policy limits the privacy loss of every two records. "
            f"Policy {str(_metric(facts).get('digest', ''))[:16]}, plan {str(facts.get('request', ''))[:16]}; anyone "
            "can check the release with dxp verify."
        ),
    }


def _metric(facts: Mapping[str, Any]) -> Mapping[str, Any]:
    return (facts.get("policy") or {}).get("metric") or {}


def _one_epsilon(policy: Mapping[str, Any]) -> bool:
    """Whether the policy gives one ε to all pairs, which is pure DP."""
    return ((policy.get("metric") or {}).get("spec") or {}).get("kind") == "constant"


def _domain(facts: Mapping[str, Any]) -> str:
    attributes = (facts.get("universe") or {}).get("attributes") or []
    names = ", ".join(str(a.get("name", "")) for a in attributes if isinstance(a, Mapping))
    tables = f"Tables of records with the attributes {names}. " if names else "Tables of records. "
    return escaped(f"{tables}All possible tables; entries outside of the policy count as other.")


def _public(neighbors: str, units: int | None, facts: Mapping[str, Any]) -> list[str]:
    if units is None:
        return []
    what = "people" if neighbors.startswith("people") else "records"
    return [f"The number of {what} ({units:,}{without_key(facts)}) is treated as public."]


def _many(ledger: Mapping[str, Any]) -> str:
    entry = escaped(f"Entry {ledger.get('entry', '?')} of the ledger of this dataset.")
    return f"{entry} The budget never resets: the ledger counts all releases ever. Plans for more: {FILL_IN}"


def _sentences(parts: Sequence[str]) -> str:
    return " ".join(parts)


def deployment_text(record: Mapping[str, Any]) -> str:
    """Write the record as YAML; all texts are quoted."""
    return "\n".join([BEGINNING, f"# {_ABOUT}", *_lines(record)]) + "\n"


def _lines(value: Any, before: str = "") -> list[str]:
    out: list[str] = []
    for name, part in value.items():
        if isinstance(part, Mapping) and part:
            out += [f"{before}{name}:", *_lines(part, f"{before}  ")]
        elif isinstance(part, list):
            out.append(f"{before}{name}:")
            for item in part:
                inner = _lines(item, f"{before}    ") if isinstance(item, Mapping) else [f"{before}    {_scalar(item)}"]
                out += [f"{before}  - {inner[0].lstrip()}", *inner[1:]]
        else:
            out.append(f"{before}{name}: {_scalar(part)}")
    return out


def _scalar(value: Any) -> str:
    return json_text(value, indent=None)  # JSON is YAML, and has no terminal control characters
