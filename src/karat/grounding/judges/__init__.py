"""Language-model judges: a source of labels for verdict files.

A judge is a plan per question: a generator that yields requests and receives their outcomes. One thread runs the
plans: it finds out what is known, gives the rest to a pool of `concurrency` workers, and appends replies to the
verdict file before it gives them to the plan. A worker gets one request at a time, and does nothing but get its reply:
it books the attempt against the limits, sends it, waits as long as the server asks for, and tries again. A request
whose key is in the file is not sent; neither is one whose key is under way. An attempt has a thread of its own, so
that one that hangs is given up on; it counts as under way until it ends, so that there are never more than
`concurrency`. No thread has to end before the program does: Ctrl-C ends everything at once.

Within a plan, requests that depend on each other are steps: windows of passages from which nuggets are extracted, or
the parts of a text that is too long for the model. What a reply says that is not final yet is a draft, which only the
next step reads. Records are written with the call that completes them, so that the file never has a part of a list, and
a run that goes on from the file takes the same steps, with the replies that are there.

Labels by people can be examples in a prompt. They are found before anything is asked, by the rules that decide which
labels are about which texts, and the messages that show them are those that would ask for them. Each call records the
queries that they were chosen from.

The options of a judge are declared once. One function opens the model and the verdict file for judges and for the
evaluators that ask a model. Results are in memory, and where each record of the file begins: 100,000 questions with
their labels take about 300 MB. What a server answers is classified in one place: wait, try again, ask
about parts, fail, or stop everything; and in one place, keys are removed from whatever a server says.
"""
