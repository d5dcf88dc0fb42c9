"""The content of results.json: typed, versioned, written by a run and read by every report, gate and command.

It is strict JSON: a number that is not finite is spelled "NaN", "Infinity" or "-Infinity", and null stands for an
example for which a metric is not defined. Nothing here computes anything.
"""

from axioms.record.check import CheckRecord, ErrorCheck, Setting, SkippedCheck
from axioms.record.claim import ClaimNumber, ClaimRecord, ClaimStatus, ClaimVerdict, PrintedNumber, ScorecardRow
from axioms.record.parts import (
    Comparison,
    Curve,
    Decision,
    Interval,
    Metric,
    Numbers,
    Place,
    Quantity,
    TablePlace,
    Tolerance,
    VerdictName,
)
from axioms.record.run import (
    RESULTS,
    SCHEMA_VERSION,
    ClusterRecord,
    Drift,
    Environment,
    LossRecord,
    MethodRecord,
    RuleRecord,
    RunInfo,
    RunRecord,
    Status,
    WorkerRecord,
    read_record,
)
from axioms.record.shown import Account, AccountRow, Example, ImageExample, SentenceExample, TextExample

__all__ = [
    "RESULTS",
    "SCHEMA_VERSION",
    "Account",
    "AccountRow",
    "CheckRecord",
    "ClaimNumber",
    "ClaimRecord",
    "ClaimStatus",
    "ClaimVerdict",
    "ClusterRecord",
    "Comparison",
    "Curve",
    "Decision",
    "Drift",
    "Environment",
    "ErrorCheck",
    "Example",
    "ImageExample",
    "Interval",
    "LossRecord",
    "MethodRecord",
    "Metric",
    "Numbers",
    "Place",
    "PrintedNumber",
    "Quantity",
    "RuleRecord",
    "RunInfo",
    "RunRecord",
    "ScorecardRow",
    "SentenceExample",
    "Setting",
    "SkippedCheck",
    "Status",
    "TablePlace",
    "TextExample",
    "Tolerance",
    "VerdictName",
    "WorkerRecord",
    "read_record",
]
