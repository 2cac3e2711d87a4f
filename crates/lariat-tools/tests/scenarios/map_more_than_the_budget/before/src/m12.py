from core import open_store


def part_12():
    return open_store(12)
