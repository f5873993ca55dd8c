"""Long work in another process: the page stays live, shows how far it is, and may end it.

How pages use it (`jobs` is one object for the whole server):

    job = jobs.start("tune", "shoal.web.work:tune", {"targets": [...]}, depends_on="columns", keep_as="frontier")
    job.state           # "running", "done", "failed" or "cancelled"
    job.stage, job.done # words and a share from 0 to 1
    job.seconds, job.seconds_left   # so far; None while nobody can tell
    job.partials        # what the work has handed over so far (for example points of the frontier), as plain dicts
    job.notes           # sentences of warnings
    job.result          # the dict that the work returned, when done
    job.error           # a sentence for the steward, when failed; never a traceback, never a value of the table
    job.cancel()        # ends the process; partials are kept
    jobs.latest("tune") # the running or last job of a kind in this server's life, or None

There is one job of a kind at a time: while one runs, `start` hands back that one, so that two tabs show the same; with
`replace=True` the running one is cancelled first. Pages ask a job's attributes with a `ui.timer`; all of them may be
read from any thread.

What runs in the other process (web/work.py) is a function

    def tune(project: Project, tell: Tell, **arguments: Any) -> dict[str, Any]: ...

`project` is a snapshot of the folder, opened in that process; it is not to be saved there, but runs may be written into
`project.new_run()`. `arguments` and what is returned are plain values (dicts, lists, texts, numbers).

    tell(stage, done)       # a shoal.progress.Progress, so it can be handed to the library as `progress=`
    tell.partial({...})     # hand over something found so far

With `keep_as`, what is returned is saved as the project's result of that name (with the fingerprint of the choices that
the snapshot held), also when no page is open any more. A job that is cancelled with partials saves, where `keep_as` is
given, `{"partials": [...], "is_cancelled": True}`, unless a fresh result of that name is there already.
"""
