from core import open_store


def part_08():
    return open_store(8)
