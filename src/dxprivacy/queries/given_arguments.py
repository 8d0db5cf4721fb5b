"""What people give to questions in Python, looked at before anything is made of it."""

from collections.abc import Mapping

from dxprivacy.errors import QuestionError, UsageError


def one_name(of: str) -> str:
    """The name of one attribute, or of a public fact."""
    if not isinstance(of, str) or not of.strip():
        raise UsageError("of which attribute? its name is a text", hints=['dx.mean_of("age")', 'dx.median_of("age")'])
    return of.strip()


def require_no_conditions(where: Mapping[str, object], ask: str) -> None:
    """Refuse keywords that could only be conditions, where there are none."""
    if "by" in where:
        raise QuestionError(f"{ask} cannot be grouped", hints=[('dx.table("sex", "age/10")', "for groups")])
    if where:
        named = ", ".join(str(name) for name in where)[:60]
        hints = [('dx.count(sex="F")', "for conditions"), ('dx.table("age/10", sex="F")', "")]
        raise QuestionError(f"{ask} take no condition, and nothing called “{named}”", hints=hints)
