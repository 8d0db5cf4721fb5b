"""The record for a registry of deployments: its fields, facts that follow from the release, and nothing made up."""

import json
import re
from dataclasses import replace

import numpy as np
import pytest

import dxprivacy as dx
from contracts.methods import standard_plan
from dxprivacy.formats.file_access import DEPLOYMENT
from dxprivacy.mechanisms.linear.release_answers import build_release
from dxprivacy.releases.deployment import FILL_IN, deployment_text
from dxprivacy.releases.guarantee import LedgerReference

# The names of github.com/opendp/deployments-registry-data, schemas/deployments-schema.yaml: it allows no others.
FIELDS = {
    "basic": "name data_curators description intended_use data_product_type data_product_region data_product_sector "
    "publication_date",
    "dp_variant": "variant_name data_domain unprotected_quantities",
    "privacy_loss": "privacy_unit privacy_unit_details number_of_privacy_units privacy_parameters "
    "privacy_parameters_details",
    "deployment_model": "model_name model_name_details trust_assumptions actors release_type release_type_details "
    "data_source_type data_source_type_details access_type access_type_details",
    "implementation": "preprocessing_and_hyperparameter_tuning mechanisms composition post_processing justification "
    "utility additional_information",
    "administrative": "evidence_sources status registry_authors tier",
}
VARIANTS = {"Pure DP", "Approximate DP", "Zero-concentrated DP", "Renyi DP", "Custom"}
SEX = '[attributes.sex]\nvalues = ["M", "F"]\nepsilon = 1\n'
AGE = "[attributes.age]\nintegers = [0, 99]\nepsilon = 1\nper = 10\n"
HEAD = 'title = "T | <b>$x$</b>"\ndataset = "t"\n'


def released(text, *queries, rows=300, title=""):
    policy = dx.Policy.parse(text)
    plan = replace(standard_plan(list(queries), policy.metric, n_records=rows), title=title or policy.title)
    noisy = np.arange(plan.workload.rows, dtype=np.int64)
    return build_release(plan, noisy, rows, LedgerReference("ledger.db", 2, "2026-01-31T10:00", "x", 1.5))


def entry(release):
    return release.deployment()["deployment"]


def test_every_field_is_one_of_the_registrys_and_every_required_one_is_there():
    record = released(HEAD + SEX + AGE, "count by sex").deployment()
    assert set(record) == {"url_slug", "deployment"}
    assert list(record["deployment"]) == list(FIELDS)
    for section, names in FIELDS.items():
        assert set(record["deployment"][section]) <= set(names.split()), section
    basic = record["deployment"]["basic"]
    assert set(basic) == set(FIELDS["basic"].split())
    assert set(basic["data_curators"][0]) == {"data_curator_name", "data_curator_type"}
    assert {"status", "registry_authors", "tier"} <= set(record["deployment"]["administrative"])
    assert record["deployment"]["administrative"]["status"] == "Draft"


def test_facts_are_those_of_the_release():
    release = released(HEAD + SEX + AGE, "count by sex", "mean age")
    made = entry(release)
    assert made["privacy_loss"]["privacy_parameters"] == {"epsilon": release.facts["worst_case_epsilon"]}
    assert made["privacy_loss"]["number_of_privacy_units"] == 300
    assert made["privacy_loss"]["privacy_unit"] == "One record"
    assert made["dp_variant"]["variant_name"] == "Custom"
    assert made["dp_variant"]["variant_name"] in VARIANTS
    assert "(300)" in made["dp_variant"]["unprotected_quantities"]
    assert "sex, age" in made["dp_variant"]["data_domain"]
    assert "entry 2" in made["implementation"]["composition"]
    assert "ε = 1.5" in made["implementation"]["composition"]
    assert "Discrete Laplace" in made["implementation"]["mechanisms"]
    assert made["basic"]["publication_date"].startswith(FILL_IN)
    assert "2026-01-31" in made["basic"]["publication_date"]


def test_one_epsilon_for_all_pairs_is_pure_dp():
    assert entry(released(HEAD + SEX, "count by sex"))["dp_variant"]["variant_name"] == "Pure DP"


def test_a_number_of_records_that_is_private_is_not_told():
    text = HEAD + 'neighbors = "add-remove"\nepsilon_presence = 1\nmax_records = 500\n' + SEX
    made = entry(released(text, "count by sex"))
    assert "number_of_privacy_units" not in made["privacy_loss"]
    assert made["dp_variant"]["unprotected_quantities"] == "None."
    assert "300" not in json.dumps(made)
    assert "added or removed" in made["privacy_loss"]["privacy_unit_details"]


def test_people_with_several_rows_are_the_unit():
    made = entry(released(HEAD + SEX + '[people]\nkey = "id"\nmax_rows = 3\n', "count by sex"))
    assert made["privacy_loss"]["privacy_unit"] == "One person with all their rows"
    assert made["privacy_loss"]["number_of_privacy_units"] == 100


def test_a_worst_case_without_end_is_said_and_has_no_number():
    release = released(HEAD + '[attributes.sex]\nvalues = ["M", "F"]\nepsilon = inf\n' + AGE, "count by sex")
    made = entry(release)
    assert made["privacy_loss"]["privacy_parameters"] == {}
    assert "No single ε" in made["privacy_loss"]["privacy_parameters_details"]
    assert "without noise" in made["dp_variant"]["unprotected_quantities"]


def test_no_placeholder_stands_where_the_release_knows_and_none_is_guessed_where_it_does_not():
    text = deployment_text(released(HEAD + SEX + AGE, "count by sex").deployment())
    left = [line.split(":")[0].strip(" -") for line in text.splitlines() if FILL_IN in line and ":" in line]
    assert {"intended_use", "data_curator_name", "actors", "access_type", "justification"} <= set(left)
    assert not {"epsilon", "privacy_unit", "composition", "utility", "model_name"} & set(left)


def test_names_are_text_in_markdown_and_in_yaml():
    release = released(HEAD + SEX + AGE, "count by sex", title='T\u202e\n- "a": | <b>$x$</b>')
    assert entry(release)["basic"]["name"] == 'T��- "a": \\| \\<b\\>\\$x\\$\\</b\\>'
    text = deployment_text(release.deployment())
    for line in text.splitlines()[2:]:
        assert re.fullmatch(r" *(- )?(\w+:)?( ?\".*\"| [\d.e-]+| \{\})?", line), line
        value = line.partition(": ")[2]
        if value:
            json.loads(value)
    assert "\u202e" not in text


def test_a_choice_has_a_record_too(tmp_path):
    (tmp_path / "people.csv").write_text("sex\nM\nF\nF\n")
    with dx.Session(
        dx.Policy.parse(HEAD + SEX), tmp_path / "people.csv", ledger=tmp_path / "l.db", new_ledger=True
    ) as session:
        made = entry(session.select(session.plan_selection("most common sex"), anyway=True))
    assert made["implementation"]["mechanisms"].startswith("Exponential mechanism among 2 candidates")


def test_a_record_is_recognized_as_ours(tmp_path):
    path = tmp_path / "release.yaml"
    path.write_text(deployment_text(released(HEAD + SEX, "count by sex").deployment()))
    with path.open("rb") as file:
        assert DEPLOYMENT.ours(file)


@pytest.mark.parametrize("format", ["dxprivacy-release/1", "dxprivacy-release/2"])
def test_releases_of_earlier_versions_have_a_record_as_far_as_they_know(format):
    release = replace(released(HEAD + SEX, "count by sex"), facts={}, format=format)
    assert entry(release)["basic"]["name"] == FILL_IN
