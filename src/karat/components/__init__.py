"""Components and pipelines with the interface of Haystack; the scores are computed by the rest of karat.

An evaluator consists of the name of a measure and a `match`. Its `run` method uses the path of every evaluation: lists
of documents become `Judged`, the measure computes a value per query, and `Scores` takes the mean.

`component` registers a class under its full name and reads its inputs from the signature of `run`. A `Pipeline` is an
acyclic graph. It checks names and types before it runs anything, runs components in order, and computes once what
several of them would compute from the same inputs. Loading a pipeline looks up registered components and never imports
a module named in the file. A file cannot name an environment variable that the caller did not allow, except for the
variables that the component declares as its own.
"""
