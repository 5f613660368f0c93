"""karat under the interfaces of other tools, which compute nothing themselves.

measures      trec_eval's measures by its own names, in its own order → measures of karat
judgments     the formats of ground truth that trec_eval reads, and a run that is ranked against it
trec_eval     trec_eval's output for ground truth and a run
pytrec_eval   the functions and the class of pytrec_eval; `pytrec_eval_names` reads its names of measures, and `judging`
              its dictionaries
"""
