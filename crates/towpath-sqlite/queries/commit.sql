-- Ends a transaction.
commit
