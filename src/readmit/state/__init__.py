"""The one state that a reader, a writer or a return is judged against, loaded from the log and proven."""
