"""What pages of the documentation show."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parent.parent


def shown_on_page(page: str, beginning: str) -> str:
    """The only block of SQL on a page that begins so."""
    blocks = re.findall(r"^```sql\n(.*?)^```$", (ROOT / page).read_text(), re.DOTALL | re.MULTILINE)
    (found,) = [block for block in blocks if block.startswith(beginning)]
    return found
