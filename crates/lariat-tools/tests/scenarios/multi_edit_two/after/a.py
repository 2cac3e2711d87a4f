def greet(name):
    print("bye " + name)


def main():
    greet("moon")


main()
