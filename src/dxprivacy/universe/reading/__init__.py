"""How entries are read: codecs, spellings, text formats, calendars and time zones.

In reading order: `text_formats`, `calendar`, `spelling`, `codecs`.
"""
