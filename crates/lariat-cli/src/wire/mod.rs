//! What programs read: JSON, one document or one line per event.
