"""Every kind of file that Sash writes is damaged; the job goes on exactly, or says in one clear error why it does not.

    job.py        small jobs, and what is done with them before and after the damage
    damages.py    what can happen to a file
    trials.py     copies of a job's folders, one damage each, in processes of their own
    damage.py     many of them; the command
"""
