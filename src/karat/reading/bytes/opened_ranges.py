"""Ranges of files, while they are read: a file that is written meanwhile, and the lines in errors."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from karat.errors import KaratError, Place
from karat.reading.bytes.file_ranges import FileRange
from karat.reading.bytes.input_file import InputFile


@contextmanager
def opened_range(at: FileRange) -> Iterator[InputFile]:
    """A range as a file with lines from 1; its errors name lines of the whole file, or that this was changed."""
    file = InputFile(at.path, at.bounds)
    at.check_version(file.name)
    try:
        yield file
    except KaratError as error:
        at.check_version(file.name)
        raise in_whole_file(error, file) from None
    at.check_version(file.name)


def in_whole_file(error: KaratError, file: InputFile) -> KaratError:
    """An error about a range of a file, with the line in the whole file."""
    return error.with_places(places_in_whole_file(file))


def place_in_whole_file(at: FileRange, place: Place) -> Place:
    """A place in a range, with its line in the whole file. It reads the file up to there."""
    return places_in_whole_file(InputFile(at.path, at.bounds))(place)


def places_in_whole_file(file: InputFile) -> Callable[[Place], Place]:
    """A function that says where a place in a range of a file is in the whole file, which may be read for that."""
    before: list[int] = []

    def in_whole(place: Place) -> Place:
        if file.bounds is None or place.source != file.name or place.line is None:
            return place
        if not before:
            before.append(file.whole.lines_before(file.first_offset()))
        if isinstance(place.line, tuple):
            return place._replace(line=tuple(line + before[0] for line in place.line))
        return place._replace(line=place.line + before[0])

    return in_whole
