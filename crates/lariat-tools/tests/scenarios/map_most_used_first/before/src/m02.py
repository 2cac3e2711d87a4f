from core import open_store


def part_02():
    return open_store(2)
