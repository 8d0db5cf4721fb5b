"""Releases: answers, guarantee, ledger reference and post-processing.  Never a true answer.

In reading order: `guarantee`, `answer_tables`, `deployment`, `release_base`, `geojson`, `release`,
`answer_structure`, `processed_answers`, `table_agreement`, `post_processing`.
"""

from dxprivacy.releases.release import Release, Row, from_json

__all__ = ["Release", "Row", "from_json"]
