"""OpenCL: the only room that imports pyopencl."""

import os
import sys
from pathlib import Path

_INTEL_RUNTIME = Path(sys.prefix) / "Library" / "bin" / "intelocl64.dll"

# On Windows the CPU driver comes as a Python package that does not register itself with the loader,
# which must know of it before pyopencl is imported.
if sys.platform == "win32" and _INTEL_RUNTIME.is_file():
    os.environ.setdefault("OCL_ICD_FILENAMES", str(_INTEL_RUNTIME))
