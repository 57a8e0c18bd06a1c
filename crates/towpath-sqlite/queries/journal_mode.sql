-- Turns the write-ahead log on; it stays on in the file.
-- Returns one row: the mode there is now.
pragma journal_mode = wal
