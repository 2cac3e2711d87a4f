-- Summaries of the first `seq` events of a session, one for every few hundred: what a fork in the middle begins with.
CREATE TABLE lariat.folds (
    session bigint NOT NULL,
    seq bigint NOT NULL,
    summary json NOT NULL,
    PRIMARY KEY (session, seq)
);
