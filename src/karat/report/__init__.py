"""The report: one page about the scores of one system or the comparison of several."""

from karat.report.content import report_content
from karat.report.provenance import Provenance
from karat.report.subject import ReportSubject, compared

__all__ = ["Provenance", "ReportSubject", "compared", "report_content"]
