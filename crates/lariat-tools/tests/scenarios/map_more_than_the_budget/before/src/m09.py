from core import open_store


def part_09():
    return open_store(9)
