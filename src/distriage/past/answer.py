"""What is said of a past issue that is likely the same. Pure; light, since every verdict has a place for it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pydantic import BaseModel, ConfigDict, Field

from distriage.past.same import is_spoken_of

if TYPE_CHECKING:
    from distriage.past.index import Known, PastIndex


class LikelyDuplicate(BaseModel):
    """A past issue that is likely the same as the report."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    id: str = Field(description="`owner/repo#12`, or `#12` where the repository is not known.")
    title: str
    url: str = Field(description="Empty where unknown.")
    state: str = Field(description="When it was indexed: `open` or `closed`; empty where unknown.")
    closed_by: str = Field(description="What closed it, or GitHub's reason; empty where nothing did or it is unknown.")
    probability: float = Field(ge=0, le=1, description="Of being the same issue.")


def likely_duplicates(index: PastIndex, known: Known) -> list[LikelyDuplicate]:
    """The past issue that may be called a likely duplicate of a report, if there is one; see `same.py`.

    Args:
        index: Made with the model that read the report.
    """
    found = []
    for match in index.find(known, 1):
        issue, same = match.issue, match.same
        # The report itself is in an index that was made before the repository got its name.
        if same is None or not is_spoken_of(same) or issue.id.rpartition("#")[1:] == known.id.rpartition("#")[1:]:
            continue
        title, url, closed_by = (
            text.encode("utf-8", "replace").decode() for text in (issue.title, issue.url, issue.closed_by)
        )
        found.append(
            LikelyDuplicate(
                id=issue.id, title=title, url=url, state=issue.state, closed_by=closed_by, probability=round(same, 4)
            )
        )
    return found
