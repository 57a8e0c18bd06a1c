-- Copies pages from the log to the file, as far as no reader or writer is in the way.
-- Returns one row: whether it was busy, pages in the log, pages copied.
pragma wal_checkpoint(passive)
