"""Explain it: one self-contained page of a session, or of several side by side.

Enters: a session's record as plain values and its series. Leaves: HTML (opens offline, prints, both themes), CSV. Pure:
whoever asks writes the file. Keys, user names and prompt texts are left out.
"""

from paddock.report.model import SessionData
from paddock.report.page import page
from paddock.report.tables import requests_csv, requests_jsonl, series_csv

__all__ = ["SessionData", "page", "requests_csv", "requests_jsonl", "series_csv"]
