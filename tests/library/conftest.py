"""Makes the builders of GGUF bytes importable: `import ggufmake`."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
