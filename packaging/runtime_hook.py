"""Before anything else in the frozen program: let PoCL find the linker that came along, after the system's own."""

import os
import shutil
import sys

linker = os.path.join(sys._MEIPASS, "linker")
if os.path.isdir(linker) and not (shutil.which("ld") and shutil.which("gcc")):
    os.environ["PATH"] = linker + os.pathsep + os.environ.get("PATH", "")
    os.environ["LIBRARY_PATH"] = os.path.join(linker, "empty")
