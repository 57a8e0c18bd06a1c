-- Reads a number that changes when another connection commits.
-- Returns one row with that number.
pragma data_version
