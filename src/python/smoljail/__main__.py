"""`python -m smoljail ...` is the command `smoljail ...`, for those who installed a wheel.

Runs as: the command line's caller
Trusts: nothing
Never: comes back
"""
import os
import sys

from ._errors import NotFound
from ._locate import find

try:
    program = find()
except NotFound as e:
    sys.exit("smoljail: %s" % e)
os.execv(program, ["smoljail", *sys.argv[1:]])
