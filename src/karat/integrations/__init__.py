"""karat inside other frameworks. Each module imports its framework; no other module of karat imports one."""
