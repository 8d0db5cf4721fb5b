"""Releases: answers, guarantee, ledger reference and post-processing.  Never a true answer.

In reading order: `ledger_reference`, `answer_names`, `answer_tables`, `guarantee`, `deployment`, `release_base`,
`answers_text`, `map_cells`, `cell_edges`, `place_coordinates`, `geojson`, `release`, `answer_structure`,
`processed_answers`, `table_agreement`, `post_processing`.
"""

from dxprivacy.releases.release import Release, Row, from_json

__all__ = ["Release", "Row", "from_json"]
