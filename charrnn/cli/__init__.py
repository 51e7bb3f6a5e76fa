"""The terminal: the only room with Typer, Rich, tqdm, stdout, signals and exit statuses."""
