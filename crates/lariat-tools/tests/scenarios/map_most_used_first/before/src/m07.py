from core import open_store


def part_07():
    return open_store(7)
