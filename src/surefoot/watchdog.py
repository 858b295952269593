"""A limit of time and memory for calls into libraries that cannot be interrupted.

A network with an endless loop, or a model of a million bodies, keeps a native library busy for ever, and Ctrl-C waits
with it. `watched` lets a thread look on: when the call takes longer or grows larger than `surefoot.limits` allows, or
when it outlasts a Ctrl-C, the process ends with one sentence. Nothing is lost by that: outputs are written whole, and
long jobs continue from their journals. A watched call costs less than a microsecond.

Time is CPU time of the calling thread (of the main one), so that a busy machine stops nothing that a quiet one would
finish. A call that waits without computing has `WAITING` times as long.
"""

import os
import signal
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

from surefoot.limits import MEMORY_GB, TIME_LIMIT_S, limits
from surefoot.text import one_line

LOOK_EVERY_S = 0.05  # memory fills at a few GB a second
AFTER_INTERRUPT_S = 2.0  # that a call may still take after Ctrl-C
WAITING = 5.0  # times the limit, of wall-clock
EXIT_CODE, INTERRUPTED = 2, 130


class _Watch:
    """One call that is watched."""

    __slots__ = ("allowed_bytes", "allowed_s", "began", "start_bytes", "start_cpu_s", "thread", "what")

    def __init__(self, what: str, allowed_s: float, allowed_bytes: int, began: float) -> None:
        self.what, self.allowed_s, self.allowed_bytes, self.began = what, allowed_s, allowed_bytes, began
        self.start_bytes = -1  # measured when the thread first looks, if not before
        self.start_cpu_s = -1.0  # likewise
        self.thread = threading.get_ident()


class _Watchdog:
    """The thread that looks on; it starts with the first watched call and sleeps while there is none."""

    def __init__(self) -> None:
        self.active: dict[int, _Watch] = {}
        self.clock_s = 0.0  # counts only while this process runs: a laptop may sleep, and Ctrl-Z may stop it
        self.interrupted_s: float | None = None
        self._woken = threading.Event()
        self._started = False
        if hasattr(os, "register_at_fork"):  # a fork has no threads but its own
            os.register_at_fork(after_in_child=self._forked)

    def begin(self, watch: _Watch) -> None:
        self.active[id(watch)] = watch
        if not self._started:
            self._started = True
            threading.Thread(target=self._run, name="surefoot watchdog", daemon=True).start()
        if not self._woken.is_set():
            self._woken.set()

    def end(self, watch: _Watch) -> None:
        self.active.pop(id(watch), None)

    def _forked(self) -> None:
        self._started, self.active = False, {}

    def _run(self) -> None:
        idle = 0
        while True:
            if not self.active:
                idle += 1
                if idle > 5:
                    self._woken.clear()
                    if not self.active:
                        self._woken.wait()
                    idle = 0
            else:
                idle = 0
            time.sleep(LOOK_EVERY_S)
            self.clock_s += LOOK_EVERY_S
            for watch in list(self.active.values()):
                self._look(watch)

    def _look(self, watch: _Watch) -> None:
        if self.interrupted_s is not None and watch.began <= self.interrupted_s < self.clock_s - AFTER_INTERRUPT_S:
            _leave("interrupted", INTERRUPTED)
        waited_s, spent_s = self.clock_s - watch.began, _cpu_s(watch.thread)
        if watch.start_cpu_s < 0:
            watch.start_cpu_s = spent_s - min(waited_s, LOOK_EVERY_S)
        if spent_s - watch.start_cpu_s > watch.allowed_s or waited_s > WAITING * watch.allowed_s:
            _leave(
                f"{watch.what} did not finish within {watch.allowed_s:g} s and was stopped; if it needs longer, raise"
                f" the limit with the environment variable {TIME_LIMIT_S}",
                EXIT_CODE,
            )
        held = _resident_bytes()
        if watch.start_bytes < 0:
            watch.start_bytes = held
        elif held - watch.start_bytes > watch.allowed_bytes:
            _leave(
                f"{watch.what} took more than {watch.allowed_bytes / 1e9:g} GB of memory and was stopped; if it needs"
                f" that much, raise the limit with the environment variable {MEMORY_GB}",
                EXIT_CODE,
            )


_watchdog = _Watchdog()


@contextmanager
def watched(what: str, seconds: float | None = None) -> Iterator[None]:
    """Watch one call of a library; `what` begins the sentence that ends the process ("loading walk.onnx")."""
    allowed = limits()
    watch = _Watch(what, allowed.seconds if seconds is None else seconds, allowed.bytes, _watchdog.clock_s)
    watch.start_bytes = _resident_bytes()
    _watchdog.begin(watch)
    try:
        yield
    finally:
        _watchdog.end(watch)


class WatchedCalls:
    """The same for calls that come by the thousand: `begin` and `end` around each.

    `added_s` is given on top of the limit, to calls whose work is known; `any_memory` leaves memory alone.
    """

    def __init__(self, what: str, added_s: float = 0.0, any_memory: bool = False) -> None:
        allowed = limits()
        self._watch = _Watch(what, allowed.seconds + added_s, sys.maxsize if any_memory else allowed.bytes, 0.0)

    def begin(self) -> None:
        """A call begins."""
        self._watch.began = _watchdog.clock_s
        self._watch.start_bytes, self._watch.start_cpu_s = -1, -1.0
        self._watch.thread = threading.get_ident()
        _watchdog.begin(self._watch)

    def end(self) -> None:
        """It is over."""
        _watchdog.end(self._watch)


def notice_interrupts() -> None:
    """Let Ctrl-C end a watched call too. Python itself looks at a signal only after the call has returned.

    For the command line, from the main thread, once.
    """
    if not hasattr(signal, "set_wakeup_fd") or os.name != "posix":
        return
    receive, send = os.pipe()
    os.set_blocking(send, False)
    signal.set_wakeup_fd(send, warn_on_full_buffer=False)

    def listen() -> None:
        while number := os.read(receive, 1):
            if number[0] == signal.SIGINT:
                _watchdog.interrupted_s = _watchdog.clock_s

    threading.Thread(target=listen, name="surefoot interrupts", daemon=True).start()


def _cpu_s(thread: int) -> float:
    """CPU time of the main thread. Of another, which may be gone when it is asked for, and where the system does not
    tell: wall-clock.
    """
    if thread != threading.main_thread().ident:
        return time.monotonic()
    try:
        return time.clock_gettime(time.pthread_getcpuclockid(thread))
    except (OSError, AttributeError):
        return time.monotonic()


def _resident_bytes() -> int:
    """Memory that this process holds; 0 where the system does not tell."""
    try:
        with open("/proc/self/statm", "rb") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError, IndexError):
        return 0


def _leave(sentence: str, code: int) -> None:
    shown = "\r\x1b[?25h" if os.isatty(2) else ""  # a progress bar may have hidden the cursor
    try:
        os.write(2, f"{shown}surefoot: {one_line(sentence)}\n".encode("utf-8", "backslashreplace"))
    finally:  # nobody may read any more
        os._exit(code)
