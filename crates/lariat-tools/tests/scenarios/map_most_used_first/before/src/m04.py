from core import open_store


def part_04():
    return open_store(4)
