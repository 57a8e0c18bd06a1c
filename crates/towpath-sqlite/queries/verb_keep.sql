-- Ends a verb, done or undone.
release verb
