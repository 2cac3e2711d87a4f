from core import open_store


def part_05():
    return open_store(5)
