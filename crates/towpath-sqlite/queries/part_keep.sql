-- Ends a part, done or undone.
release part
