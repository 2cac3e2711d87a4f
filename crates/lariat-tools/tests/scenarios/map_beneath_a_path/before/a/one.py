def one():
    pass
