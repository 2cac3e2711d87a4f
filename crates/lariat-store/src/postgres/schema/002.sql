-- Summaries of the first `seq` events of a session, one every few hundred events. A fork in the middle starts from them.
CREATE TABLE lariat.folds (
    session bigint NOT NULL,
    seq bigint NOT NULL,
    summary json NOT NULL,
    PRIMARY KEY (session, seq)
);
