def greet(name):
    print("hello " + name)


def main(who):
    greet(who)


main()
