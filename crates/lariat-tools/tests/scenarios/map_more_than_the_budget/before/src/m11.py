from core import open_store


def part_11():
    return open_store(11)
