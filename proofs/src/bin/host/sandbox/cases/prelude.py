import ctypes, errno, os, socket, struct, sys, time
E = os.environ
W, OUT, HOME, ESC = E["W"], E["OUT"], E["HOME"], E["ESC"]
VICTIM, HARNESS = int(E["VICTIM"]), int(E["HARNESS"])
libc = ctypes.CDLL(None, use_errno=True)
def call(number, *arguments):
    """A system call: its result, or the error below zero."""
    libc.syscall.restype = ctypes.c_long
    result = libc.syscall(ctypes.c_long(number), *[a if not isinstance(a, int) else ctypes.c_long(a) for a in arguments])
    return -ctypes.get_errno() if result == -1 else result
def refused(result, what=""):
    """Reports an escape if a call was not refused."""
    print(what, result)
    if result >= 0: print("ESCAPED", what)
def show(path):
    """Prints a file, as far as it can be read."""
    try: print(open(path, "rb").read(100000).decode("latin1"))
    except OSError as error: print(path, error)
def leave(path, flags=os.O_WRONLY | os.O_CREAT):
    """Writes a file."""
    try: os.write(os.open(path, flags, 0o644), b"escaped\n")
    except OSError as error: print(path, error)
def say(family, kind, address, flags=0):
    """Sends a word to an address."""
    try:
        s = socket.socket(family, kind); s.settimeout(1)
        if kind == socket.SOCK_DGRAM: s.sendto(b"escaped", address)
        else: s.connect(address); s.send(b"escaped")
    except OSError as error: print(address, error)
