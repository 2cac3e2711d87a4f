-- The key of the agent of the newest loop. Without an index: a listing by agent reads the sessions newest first.
ALTER TABLE lariat.sessions ADD COLUMN agent bytea;
