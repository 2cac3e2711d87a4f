from core import open_store


def part_10():
    return open_store(10)
