"""Whoever waits is told why: where somebody listens there, otherwise on stderr, and never both."""

import logging

from dxprivacy.engines.source import notice


def test_where_nobody_listens_it_is_told_on_stderr(capsys, monkeypatch):
    monkeypatch.setattr(logging.getLogger("dxprivacy"), "propagate", False)  # pytest itself listens above
    notice("waiting for\na table")
    assert capsys.readouterr().err == "waiting for\ufffda table\n"


def test_where_somebody_listens_it_is_told_there(capsys, caplog):
    notice("waiting for a table")
    assert [record.getMessage() for record in caplog.records] == ["waiting for a table"]
    assert capsys.readouterr().err == ""
