from core import open_store


def part_01():
    return open_store(1)
