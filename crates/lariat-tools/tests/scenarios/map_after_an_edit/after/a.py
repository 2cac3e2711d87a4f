def two():
    pass
