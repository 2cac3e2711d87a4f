from core import open_store


def part_06():
    return open_store(6)
