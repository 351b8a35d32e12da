"""Runs the tests, or those that are named, and ends with a line of how many passed and failed."""

import logging
import sys
import unittest


class Result(unittest.TextTestResult):
    """Counts what passed, and says how long each test took."""

    def __init__(self, *arguments, **options):
        super().__init__(*arguments, **options)
        self.passed = 0
        self.broken = set()

    def addSuccess(self, test):
        super().addSuccess(test)
        self.passed += 1

    def addFailure(self, test, error):
        super().addFailure(test, error)
        self.broken.add(test.id())

    def addError(self, test, error):
        super().addError(test, error)
        self.broken.add(test.id())

    def addSubTest(self, test, subtest, error):
        super().addSubTest(test, subtest, error)
        if error is not None:
            self.broken.add(test.id())


logging.disable(logging.CRITICAL)
loader = unittest.TestLoader()
tests = loader.loadTestsFromNames(sys.argv[1:]) if sys.argv[1:] else loader.discover(".")
result = unittest.TextTestRunner(verbosity=2, resultclass=Result).run(tests)
print(f"python: {result.passed} passed, {len(result.broken)} failed", flush=True)
sys.exit(1 if result.broken else 0)
