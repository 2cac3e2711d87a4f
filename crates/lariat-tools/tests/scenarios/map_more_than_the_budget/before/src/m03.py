from core import open_store


def part_03():
    return open_store(3)
