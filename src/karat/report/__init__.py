"""The report: one page about the scores of one system or the comparison of several."""

from karat.report.content import report_content
from karat.report.provenance import Provenance
from karat.report.rendering import check_report, write_report
from karat.report.subject import ReportSubject, subject_of_systems, subject_with_comparison

__all__ = [
    "Provenance",
    "ReportSubject",
    "check_report",
    "report_content",
    "subject_of_systems",
    "subject_with_comparison",
    "write_report",
]
