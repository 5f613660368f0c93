"""Call functions, and compute the items of an iterator, in threads."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Generator, Iterator
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from concurrent.futures import Future

Result = TypeVar("Result")
_limit: list[int] = []


def limit_threads(most: int) -> None:
    """Use at most so many threads in this process from now on: an executor of a cluster has one of its cores."""
    _limit[:] = [most]


def in_threads(calls: Iterator[Callable[[], Result]], most: int | None = None) -> Iterator[Result]:
    """Call functions in threads, at most so many and a few at a time to limit memory; yield their results in order."""
    workers = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    workers = min(workers, most or workers, *_limit)
    waiting: deque[Future[Result]] = deque()
    first, second = next(calls, None), next(calls, None)
    if first is None or second is None:
        # A single call needs no thread.
        yield from (call() for call in (first,) if call)
        return
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(workers) as pool:
        try:
            for call in (first, second):
                waiting.append(pool.submit(call))
            for call in calls:
                waiting.append(pool.submit(call))
                if len(waiting) > 2 * workers:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:
            for future in waiting:
                future.cancel()


def ahead(items: Generator[Result], most: int) -> Generator[Result]:
    """Compute items in a thread before they are needed, but not more than so many, and yield them in order.

    An exception is raised in its turn, after the items before it. The thread ends before the generator does.
    """
    from queue import SimpleQueue
    from threading import Semaphore, Thread

    ready: SimpleQueue[tuple[Result] | BaseException | None] = SimpleQueue()
    room = Semaphore(most)
    closed = False

    def compute() -> None:
        end: BaseException | None = None
        try:
            while room.acquire() and not closed:
                ready.put((next(items),))
        except StopIteration:
            pass
        except BaseException as error:  # it is raised where the items are used
            end = error
        items.close()
        ready.put(end)

    thread = Thread(target=compute, daemon=True)
    thread.start()
    try:
        while isinstance(item := ready.get(), tuple):
            room.release()
            yield item[0]
        if item:
            raise item
    finally:
        closed = True
        room.release()
        thread.join()
