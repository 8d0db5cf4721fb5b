"""Time zones by their names, as Python's `zoneinfo` knows them."""

from datetime import UTC, tzinfo

from dxprivacy.errors import PolicyError


def zone_of(timezone: str) -> tzinfo:
    """The zone in which instants are read."""
    if not timezone:
        return UTC
    from zoneinfo import ZoneInfo

    return ZoneInfo(timezone)


def require_zone(name: str, zone: str) -> None:
    """Refuse an attribute whose time zone is not known."""
    import zoneinfo

    try:
        zoneinfo.ZoneInfo(zone)
    except (zoneinfo.ZoneInfoNotFoundError, ValueError, OSError):
        known = sorted(zoneinfo.available_timezones())
        close = [z for z in known if z.lower().endswith(zone.lower())][:3]
        raise PolicyError(
            f"{name}: no time zone “{zone[:40]}”", hints=close or ['timezone = "Europe/Berlin"']
        ) from None
