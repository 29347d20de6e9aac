-- +goose Up
-- How many requests took how long, and how many failed: by minute and hour of all and of each model,
-- by day of each team, too. So percentiles and rates need not read single requests.
CREATE TABLE gateway_timings (
	unit     BIGINT NOT NULL, -- seconds of a slot: 60, 3600 or 86400
	kind     TEXT   NOT NULL, -- all, model or team
	slot     BIGINT NOT NULL, -- Unix time by the unit
	team_id  TEXT   NOT NULL, -- of kind team; empty: no team
	provider TEXT   NOT NULL, -- of kind model
	model    TEXT   NOT NULL,
	bucket   BIGINT NOT NULL, -- up to 2^(bucket/3) milliseconds; -1: it failed
	requests BIGINT NOT NULL,
	PRIMARY KEY (unit, kind, slot, team_id, provider, model, bucket)
) {{without rowid}};

-- What is over a threshold now. A row ends with the notice that it is over no more. Times are Unix
-- microseconds.
CREATE TABLE gateway_alert_episodes (
	kind    TEXT   NOT NULL, -- that of the alert it began with
	subject TEXT   NOT NULL,
	holder  TEXT   NOT NULL,
	began   BIGINT NOT NULL,
	seen_at BIGINT NOT NULL, -- when it was last seen to be over
	PRIMARY KEY (kind, subject, holder)
) {{without rowid}};

-- +goose Down
DROP TABLE gateway_alert_episodes;
DROP TABLE gateway_timings;
