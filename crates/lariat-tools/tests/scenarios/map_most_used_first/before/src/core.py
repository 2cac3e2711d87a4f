def unused_thing():
    pass


def open_store(number):
    return number
