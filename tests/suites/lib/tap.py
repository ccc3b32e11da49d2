"""unittest cases as a TAP stream, which tools/run-tests reads; and what the Python suites share."""
import atexit
import os
import pathlib
import shutil
import subprocess
import sys
import traceback
import unittest

TREE = pathlib.Path(__file__).resolve().parents[3]
BUILD = pathlib.Path(os.environ.get("BUILD", TREE / "build"))
SMOLJAIL = os.environ.get("SMOLJAIL", str(BUILD / "smoljail"))
PYTHON = os.environ.get("PYTHON", sys.executable)
CLIENT = TREE / "src" / "python"


class _Tap(unittest.TestResult):
    def __init__(self, stream=None, descriptions=None, verbosity=None):
        super().__init__(stream, descriptions, verbosity)
        self.count = 0
        self.broken = False

    def line(self, word, test, note=""):
        self.count += 1
        name = test.id().split(".", 1)[-1].replace("#", "")
        print("%s %d - %s%s" % (word, self.count, name, note), flush=True)

    def addSuccess(self, test):
        self.line("ok", test)

    def addSkip(self, test, reason):
        self.line("ok", test, " # SKIP " + reason)

    def addFailure(self, test, err):
        self.broken = True
        self.line("not ok", test)
        for line in "".join(traceback.format_exception(*err)).splitlines():
            print("# " + line, flush=True)

    addError = addFailure

    def addSubTest(self, test, subtest, err):
        if err is not None:
            self.addFailure(subtest, err)


def main(name="__main__"):
    """Run the cases of a module, print TAP, exit with 1 when one failed. Arguments: parts of names to run."""
    tests = unittest.defaultTestLoader.loadTestsFromModule(sys.modules[name])
    if len(sys.argv) > 1:
        tests = unittest.TestSuite(t for t in _flat(tests) if any(word in t.id() for word in sys.argv[1:]))
    result = _Tap()
    tests.run(result)
    print("1..%d" % result.count)
    sys.exit(1 if result.broken else 0)


def _flat(suite):
    for test in suite:
        if isinstance(test, unittest.TestSuite):
            yield from _flat(test)
        else:
            yield test


def skip_all(reason):
    print("1..0 # SKIP " + reason)
    sys.exit(0)


def need_serve():
    """End the suite with the reason where this build cannot serve."""
    done = subprocess.run([SMOLJAIL, "serve", "--help"], capture_output=True, check=False)
    if done.returncode != 0:
        skip_all("this build of smoljail has no `serve`")


def use_client():
    """Make `import smoljail` find this tree's client, and the client this build."""
    sys.path.insert(0, str(CLIENT))
    os.environ["SMOLJAIL"] = SMOLJAIL
    sys.dont_write_bytecode = True


def packages(label, requirements):
    """A folder with packages from the registry, made once for each build; ends the suite where that cannot be had.

    In the build folder where this user may write there, else in TMPDIR. The interpreter is that of this suite.
    """
    for base in (BUILD, pathlib.Path(os.environ.get("TMPDIR", "/tmp"))):
        folder = base / "test-python" / ("%s-%d.%d" % (label, *sys.version_info[:2]))
        if (folder / ".complete").exists():
            return folder
        if os.access(base, os.W_OK):
            break
    if base != BUILD:
        atexit.register(shutil.rmtree, folder.parent, ignore_errors=True)
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-compile",
               "--no-cache-dir", "--upgrade", "--target", str(folder), *requirements]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        skip_all("%s cannot be installed here: %s" % (" ".join(requirements), " ".join(done.stderr.split())[-200:]))
    (folder / ".complete").write_text("")
    return folder
