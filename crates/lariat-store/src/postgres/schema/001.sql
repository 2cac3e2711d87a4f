-- Text columns cannot contain NUL, and index entries have at most 2.7 KB; user text has no such limits. So ids are bytes,
-- and listings filter by sixteen-byte keys (BLAKE3); the summary has the readable text.

CREATE TABLE lariat.sessions (
    no bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    tenant text NOT NULL DEFAULT '',
    id bytea NOT NULL UNIQUE,
    -- The writer's epoch, the number of events, and the chain over them.
    epoch bigint NOT NULL,
    head bigint NOT NULL,
    chain bytea NOT NULL,
    -- The events before fork_seq belong to fork_of, which owns them (and is not a fork that only shares them).
    fork_of bigint REFERENCES lariat.sessions (no),
    fork_seq bigint NOT NULL DEFAULT 0,
    -- The chain before the session's own first event.
    base bytea NOT NULL,
    -- Deleted: invisible. Purged: its events are removed, too. The row stays, so that the id is never used again.
    deleted boolean NOT NULL DEFAULT false,
    purged boolean NOT NULL DEFAULT false,
    -- What listings show and filter by. Indexed by minute, so that an append seldom touches an index (a HOT update).
    summary json NOT NULL,
    last_active bigint NOT NULL DEFAULT 0,
    minute bigint GENERATED ALWAYS AS (last_active / 60000) STORED,
    cwd bytea,
    parent bytea,
    tags bytea[] NOT NULL DEFAULT '{}',
    -- The first `searched` events are in lariat.search; `stale` means that more events must be indexed.
    searched bigint NOT NULL DEFAULT 0,
    stale boolean NOT NULL DEFAULT false
) WITH (fillfactor = 70);

CREATE INDEX sessions_by_activity ON lariat.sessions (minute DESC) WHERE NOT deleted;
CREATE INDEX sessions_by_cwd ON lariat.sessions (cwd, minute DESC) WHERE NOT deleted AND cwd IS NOT NULL;
CREATE INDEX sessions_by_parent ON lariat.sessions (parent, minute DESC) WHERE NOT deleted AND parent IS NOT NULL;
CREATE INDEX sessions_by_tag ON lariat.sessions USING gin (tags) WHERE NOT deleted AND tags <> '{}';
CREATE INDEX sessions_stale ON lariat.sessions (no) WHERE stale AND NOT deleted;
CREATE INDEX sessions_forks ON lariat.sessions (fork_of) WHERE fork_of IS NOT NULL;
CREATE INDEX sessions_deleted ON lariat.sessions (no) WHERE deleted AND NOT purged;

CREATE TABLE lariat.events (
    session bigint NOT NULL,
    seq bigint NOT NULL,
    crc integer NOT NULL,
    chain bytea NOT NULL,
    body bytea NOT NULL,
    PRIMARY KEY (session, seq)
) PARTITION BY HASH (session);

-- Damaged records, as found.
CREATE TABLE lariat.quarantine (
    no bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    session bigint NOT NULL,
    seq bigint NOT NULL,
    crc integer NOT NULL,
    chain bytea NOT NULL,
    body bytea NOT NULL,
    found_at timestamptz NOT NULL DEFAULT now()
);

CREATE TABLE lariat.blobs (
    hash bytea PRIMARY KEY,
    bytes bytea NOT NULL,
    touched timestamptz NOT NULL
);

CREATE TABLE lariat.blob_refs (
    session bigint NOT NULL,
    hash bytea NOT NULL,
    PRIMARY KEY (hash, session)
);
CREATE INDEX blob_refs_by_session ON lariat.blob_refs (session);

CREATE TABLE lariat.snapshots (
    session bigint NOT NULL,
    seq bigint NOT NULL,
    state bytea NOT NULL,
    PRIMARY KEY (session, seq)
);

-- Words of the indexed events, several rows per session.
CREATE TABLE lariat.search (
    session bigint NOT NULL,
    part bigint GENERATED ALWAYS AS IDENTITY,
    words tsvector NOT NULL,
    PRIMARY KEY (session, part)
);
CREATE INDEX search_by_word ON lariat.search USING gin (words);

-- Projections: each row belongs to one event, so the tables can be rebuilt from the journals at any time.

CREATE TABLE lariat.checkpoints (
    session bigint NOT NULL,
    seq bigint NOT NULL,
    at timestamptz NOT NULL,
    label text NOT NULL,
    message_id text,
    PRIMARY KEY (session, seq)
);

CREATE TABLE lariat.learnings (
    session bigint NOT NULL,
    seq bigint NOT NULL,
    at timestamptz NOT NULL,
    learning_id text NOT NULL,
    text text,
    evidence text,
    tags text[] NOT NULL DEFAULT '{}',
    forgotten boolean NOT NULL,
    PRIMARY KEY (session, seq)
);

CREATE TABLE lariat.goals (
    session bigint NOT NULL,
    seq bigint NOT NULL,
    at timestamptz NOT NULL,
    goal_id text NOT NULL,
    text text NOT NULL,
    status text NOT NULL,
    PRIMARY KEY (session, seq)
);

CREATE VIEW lariat.current_learnings AS
    SELECT * FROM (
        SELECT DISTINCT ON (learning_id) l.*
        FROM lariat.learnings l JOIN lariat.sessions s ON s.no = l.session AND NOT s.deleted
        ORDER BY learning_id, at DESC, session DESC, seq DESC
    ) newest WHERE NOT forgotten;

CREATE VIEW lariat.current_goals AS
    SELECT DISTINCT ON (goal_id) g.*
    FROM lariat.goals g JOIN lariat.sessions s ON s.no = g.session AND NOT s.deleted
    ORDER BY goal_id, at DESC, session DESC, seq DESC;
