"""Taking in what sessions left behind: spool files, transcripts, and for how long what came of them is kept."""
