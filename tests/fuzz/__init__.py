"""Random statements and rows: an answer or a SashError in little time, never anything else."""
