"""`lockstep` of the wheel: the program that came with it."""
import os
import sys

from lockstep import _program


def main():
    program = _program()
    os.execv(program, [program, *sys.argv[1:]])


if __name__ == "__main__":
    main()
