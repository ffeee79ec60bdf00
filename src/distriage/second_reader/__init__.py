"""A second reader for doubtful reports: a chat model behind an OpenAI-compatible endpoint of the user's own.

Off by default. One request asks about all axes whose verdict is *perhaps* or *not sure*. The reader chooses a code from
a closed list, so the worst result is a wrong label. If anything fails, the first verdict stands.

request.py      verdict + report -> request (pure)
masking.py      secrets and e-mail addresses out (pure)
answer.py       answer -> a share for each label, or nothing (pure)
calibration.py  shares -> calibrated probabilities and thresholds, from validation reports (pure)
completion.py   first verdict + shares -> completed verdict (pure)
endpoint.py     one HTTP request: time limit, budget
batch.py        the OpenAI batch format, for reports by the thousand (pure)
bulk.py         files of reports and answers -> requests, verdicts
deadline.py     a time limit for a whole HTTP request
reader.py       one report read: request, answer, completed verdict; for command line, server and Action
"""

from __future__ import annotations

from typing import Final

AXES: Final = ("kind", "stage", "symptom", "cause", "fix")  # that a second reader may be asked about
