-- +goose Up
-- Times are Unix microseconds, days, hours and minutes are counted from the same moment. Lists and objects are JSON.
-- A column named sealed holds text that is encrypted by the keyring. Costs are in millionths of a US dollar.

-- ---- Users and teams ----

CREATE TABLE gateway_users (
	id            TEXT NOT NULL PRIMARY KEY,
	email         TEXT, -- confirmed by the identity provider; NULL: not known
	name          TEXT, -- NULL: not known
	team_id       TEXT, -- the team for which requests count by default; NULL: none
	is_service    INTEGER NOT NULL DEFAULT 0, -- 1: owns the keys of the team that has its id
	waiting_since BIGINT, -- waits for an operator's approval; NULL: approved
	suspended_at  BIGINT, -- NULL: active
	created_at    BIGINT NOT NULL
);
CREATE INDEX gateway_users_email ON gateway_users (email) WHERE email IS NOT NULL;

-- The cost of a request counts for the team of its key, or else for the default team of its user.
CREATE TABLE gateway_teams (
	id         TEXT NOT NULL PRIMARY KEY,
	name       TEXT NOT NULL UNIQUE,
	created_at BIGINT NOT NULL
);

CREATE TABLE gateway_team_members (
	team_id  TEXT NOT NULL REFERENCES gateway_teams (id),
	user_id  TEXT NOT NULL REFERENCES gateway_users (id),
	added_at BIGINT NOT NULL,
	-- member, or admin, who may add and remove members.
	role     TEXT NOT NULL DEFAULT 'member',
	-- 1: a rule added the member, and removes it again.
	by_rule  INTEGER NOT NULL DEFAULT 0,
	PRIMARY KEY (team_id, user_id)
) {{without rowid}};
CREATE INDEX gateway_team_members_user ON gateway_team_members (user_id, added_at);

CREATE TABLE gateway_invitations (
	id          TEXT NOT NULL PRIMARY KEY,
	hash        TEXT NOT NULL UNIQUE, -- the SHA-256 of the token in the link
	email       TEXT NOT NULL,
	team_id     TEXT, -- NULL: the rules decide
	role        TEXT NOT NULL, -- in the team
	created_at  BIGINT NOT NULL,
	expires_at  BIGINT NOT NULL,
	accepted_at BIGINT, -- NULL: not yet
	accepted_by TEXT
);

-- What operators and administrators of teams have changed.
CREATE TABLE gateway_audit (
	id      {{id}},
	at      BIGINT NOT NULL,
	actor   TEXT NOT NULL, -- the id of a user, or "command"
	action  TEXT NOT NULL, -- such as user.suspended
	subject TEXT NOT NULL, -- the id of what was changed
	-- The team that the change concerns; NULL: none.
	team_id TEXT,
	details TEXT NOT NULL -- an object
);
CREATE INDEX gateway_audit_team ON gateway_audit (team_id, id) WHERE team_id IS NOT NULL;

-- ---- Keys of users, and limits on their use ----

CREATE TABLE gateway_keys (
	id                    TEXT NOT NULL PRIMARY KEY,
	user_id               TEXT NOT NULL REFERENCES gateway_users (id),
	team_id               TEXT, -- NULL: the user's default
	hash                  TEXT NOT NULL UNIQUE, -- the SHA-256 of the key in hex
	masked                TEXT NOT NULL,
	label                 TEXT NOT NULL,
	is_primary            SMALLINT NOT NULL,
	effort_mode           TEXT NOT NULL,
	-- Limits that the user has set; NULL: no limit.
	expires_at            BIGINT,
	allowed_models        TEXT, -- a list
	allowed_tools         TEXT, -- a list of tools that providers may run
	rate_limit_per_minute BIGINT,
	parallel_requests     BIGINT,
	tokens_per_minute     BIGINT,
	tokens_per_day        BIGINT,
	tokens_per_week       BIGINT,
	tokens_per_month      BIGINT,
	tokens_total          BIGINT,
	micro_usd_per_day     BIGINT,
	micro_usd_per_week    BIGINT,
	micro_usd_per_month   BIGINT,
	micro_usd_total       BIGINT,
	-- The key in gateway_limits whose limits this key shares; NULL: none.
	limited_by            TEXT,
	created_at            BIGINT NOT NULL,
	revoked_at            BIGINT,
	last_used_at          BIGINT
);
CREATE INDEX gateway_keys_user ON gateway_keys (user_id, created_at, id);
-- The number of keys of a user that are not revoked is limited.
CREATE INDEX gateway_keys_active ON gateway_keys (user_id, created_at, id) WHERE revoked_at IS NULL;
CREATE INDEX gateway_keys_limited ON gateway_keys (limited_by) WHERE limited_by IS NOT NULL;

-- Limits that the operator imposes and users cannot change. Those of a key also bind all keys that were made with it,
-- which share them; those of a user, a team or the organisation bind all their keys. NULL: no limit.
CREATE TABLE gateway_limits (
	kind                  TEXT NOT NULL, -- key, user, team, organisation or provider_key
	holder                TEXT NOT NULL, -- the id of the key, user or team
	expires_at            BIGINT,
	allowed_models        TEXT, -- a list
	allowed_tools         TEXT, -- a list of tools that providers may run
	rate_limit_per_minute BIGINT,
	parallel_requests     BIGINT,
	tokens_per_minute     BIGINT,
	tokens_per_day        BIGINT,
	tokens_per_week       BIGINT,
	tokens_per_month      BIGINT,
	tokens_total          BIGINT,
	micro_usd_per_day     BIGINT,
	micro_usd_per_week    BIGINT,
	micro_usd_per_month   BIGINT,
	micro_usd_total       BIGINT,
	-- Limits that replace these until a time.
	raised                TEXT, -- an object of limits; NULL: none
	raised_until          BIGINT,
	PRIMARY KEY (kind, holder)
);

-- ---- Providers and models ----

-- Keys of providers. Their limits are in gateway_limits, with the kind provider_key.
CREATE TABLE gateway_provider_keys (
	id         TEXT NOT NULL PRIMARY KEY,
	owner_kind TEXT NOT NULL, -- user, team or organisation
	owner      TEXT NOT NULL, -- the id of the user or team, or "organisation"
	provider   TEXT NOT NULL,
	label      TEXT NOT NULL,
	sealed     TEXT NOT NULL,
	masked     TEXT NOT NULL,
	created_at BIGINT NOT NULL
);
CREATE INDEX gateway_provider_keys_owner ON gateway_provider_keys (owner_kind, owner, created_at, id);

-- Changes of a user to models of the catalog, and the user's own models.
CREATE TABLE gateway_models (
	id          TEXT NOT NULL PRIMARY KEY,
	user_id     TEXT NOT NULL REFERENCES gateway_users (id),
	model_entry TEXT NOT NULL, -- provider/model, as clients name it
	is_custom   SMALLINT NOT NULL, -- 1: the user's own
	enabled     SMALLINT NOT NULL,
	priority    BIGINT, -- lower is tried earlier; NULL: as in the catalog
	tier        TEXT, -- low, medium or high; this and the next three are NULL for models of the catalog
	base_url    TEXT,
	model       TEXT, -- the name at the provider
	sealed      TEXT, -- its key; NULL: it needs none
	created_at  BIGINT NOT NULL,
	found       SMALLINT NOT NULL DEFAULT 0, -- 1: found on a server, not added by the user
	wire        TEXT, -- chat, responses or messages; NULL: chat
	UNIQUE (user_id, model_entry)
);

-- Other names for models and tiers.
CREATE TABLE gateway_aliases (
	owner_kind TEXT NOT NULL, -- user, team or organisation
	owner      TEXT NOT NULL, -- the id of the user or team, or "organisation"
	name       TEXT NOT NULL, -- as clients send it
	target     TEXT NOT NULL, -- provider/model, the id of a model, or keychain-low, -medium or -high
	created_at BIGINT NOT NULL,
	PRIMARY KEY (owner_kind, owner, name)
) {{without rowid}};

CREATE TABLE gateway_preferences (
	user_id             TEXT NOT NULL PRIMARY KEY REFERENCES gateway_users (id),
	preferred_providers TEXT NOT NULL, -- lists, also the next two
	excluded_providers  TEXT NOT NULL,
	excluded_models     TEXT NOT NULL
);

-- Prices that replace list prices, from a file that the operator declares. All nodes use them.
CREATE TABLE gateway_prices (
	name  TEXT NOT NULL PRIMARY KEY, -- provider/model, or the beginning of such names and a star
	price TEXT NOT NULL -- an object as in a file of prices
) {{without rowid}};

-- ---- The usage log ----

-- One row a request, in the order of arrival. A row costs time by the number of its values, so all that is only read
-- as a whole is one value, a list. The view names its elements: code is empty for a success, provider is empty if
-- none answered, cached_tokens and written_tokens are part of input_tokens, reasoning_tokens of output_tokens,
-- usage_source is exact or estimated, cost_micro_usd is NULL if the price is not known, and first_token_us is 0 if no
-- token came.
CREATE TABLE gateway_usage_records (
	-- SQLite's ON CONFLICT FAIL keeps a statement of many rows from journaling each page that it touches. The
	-- transaction is rolled back anyway if the statement fails.
{{sqlite}}	id      INTEGER PRIMARY KEY,
{{sqlite}}	at      BIGINT NOT NULL ON CONFLICT FAIL, -- the start of the request
{{sqlite}}	user_id TEXT NOT NULL ON CONFLICT FAIL,
{{sqlite}}	record  TEXT NOT NULL ON CONFLICT FAIL
{{postgres}}	id      BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
{{postgres}}	at      BIGINT NOT NULL, -- the start of the request
{{postgres}}	user_id TEXT NOT NULL,
{{postgres}}	record  TEXT NOT NULL
);
CREATE INDEX gateway_usage_records_user ON gateway_usage_records (user_id{{, id}});
CREATE VIEW gateway_usage AS SELECT id, at, user_id,
{{sqlite}}	record->>0 AS request_id, record->>1 AS key_id, record->>2 AS surface, record->>3 AS asked_model,
{{sqlite}}	record->>4 AS tier, record->>5 AS provider, record->>6 AS model, record->>7 AS stream,
{{sqlite}}	record->>8 AS status, record->>9 AS code, record->>10 AS attempts, record->>11 AS failed_attempts,
{{sqlite}}	record->>12 AS input_tokens, record->>13 AS cached_tokens, record->>14 AS output_tokens,
{{sqlite}}	record->>15 AS reasoning_tokens, record->>16 AS usage_source, record->>17 AS cost_micro_usd,
{{sqlite}}	record->>18 AS latency_us, record->>19 AS first_token_us, record->>20 AS provider_key,
{{sqlite}}	record->>21 AS served_as, record->>22 AS server_tools, record->>23 AS team_id,
{{sqlite}}	record->>24 AS written_tokens, record->>25 AS tags, record->>26 AS end_user
{{postgres}}	record::json->>0 AS request_id, record::json->>1 AS key_id, record::json->>2 AS surface,
{{postgres}}	record::json->>3 AS asked_model, record::json->>4 AS tier, record::json->>5 AS provider,
{{postgres}}	record::json->>6 AS model, (record::json->>7)::BIGINT AS stream, (record::json->>8)::BIGINT AS status,
{{postgres}}	record::json->>9 AS code, (record::json->>10)::BIGINT AS attempts, record::json->>11 AS failed_attempts,
{{postgres}}	(record::json->>12)::BIGINT AS input_tokens, (record::json->>13)::BIGINT AS cached_tokens,
{{postgres}}	(record::json->>14)::BIGINT AS output_tokens, (record::json->>15)::BIGINT AS reasoning_tokens,
{{postgres}}	record::json->>16 AS usage_source, (record::json->>17)::BIGINT AS cost_micro_usd,
{{postgres}}	(record::json->>18)::BIGINT AS latency_us, (record::json->>19)::BIGINT AS first_token_us,
{{postgres}}	record::json->>20 AS provider_key, record::json->>21 AS served_as, record::json->>22 AS server_tools,
{{postgres}}	record::json->>23 AS team_id, (record::json->>24)::BIGINT AS written_tokens, record::json->>25 AS tags,
{{postgres}}	record::json->>26 AS end_user
FROM gateway_usage_records;

-- How far each writer has come, so that a reader of the sums knows which of its own records they contain.
CREATE TABLE gateway_usage_writers (
	writer  TEXT NOT NULL PRIMARY KEY,
	records BIGINT NOT NULL, -- that it has written
	at      BIGINT NOT NULL
);

-- ---- Sums of the usage log ----

-- The sums are written in the transaction of their records. A request counts for the model that answered it, and each
-- failed attempt for the model that failed. The numbers of a record are bounded, so that no sum can overflow. All
-- tables have the same sums: cancelled counts requests whose client left, unpriced answers whose price is not known,
-- and first_tokens the requests in first_token_us. The provider is empty if none answered, the team if there is none.

-- By user and key, in hours, which are deleted from the oldest on.
CREATE TABLE gateway_usage_hours (
	user_id  TEXT NOT NULL,
	hour     BIGINT NOT NULL,
	key_id   TEXT NOT NULL,
	provider TEXT NOT NULL, -- empty: none answered
	model    TEXT NOT NULL,
	tier     TEXT NOT NULL,
	requests BIGINT NOT NULL, succeeded BIGINT NOT NULL, failed BIGINT NOT NULL, cancelled BIGINT NOT NULL,
	failed_attempts BIGINT NOT NULL, input_tokens BIGINT NOT NULL, cached_tokens BIGINT NOT NULL,
	output_tokens BIGINT NOT NULL, reasoning_tokens BIGINT NOT NULL, cost_micro_usd BIGINT NOT NULL,
	unpriced BIGINT NOT NULL, latency_us BIGINT NOT NULL, first_token_us BIGINT NOT NULL,
	first_tokens BIGINT NOT NULL, written_tokens BIGINT NOT NULL DEFAULT 0,
	PRIMARY KEY (user_id, hour, key_id, provider, model, tier)
) {{without rowid}};
CREATE INDEX gateway_usage_hours_hour ON gateway_usage_hours (hour);

-- The same in days.
CREATE TABLE gateway_usage_days (
	user_id  TEXT NOT NULL,
	day      BIGINT NOT NULL,
	key_id   TEXT NOT NULL,
	provider TEXT NOT NULL,
	model    TEXT NOT NULL,
	tier     TEXT NOT NULL,
	requests BIGINT NOT NULL, succeeded BIGINT NOT NULL, failed BIGINT NOT NULL, cancelled BIGINT NOT NULL,
	failed_attempts BIGINT NOT NULL, input_tokens BIGINT NOT NULL, cached_tokens BIGINT NOT NULL,
	output_tokens BIGINT NOT NULL, reasoning_tokens BIGINT NOT NULL, cost_micro_usd BIGINT NOT NULL,
	unpriced BIGINT NOT NULL, latency_us BIGINT NOT NULL, first_token_us BIGINT NOT NULL,
	first_tokens BIGINT NOT NULL, written_tokens BIGINT NOT NULL DEFAULT 0,
	PRIMARY KEY (user_id, day, key_id, provider, model, tier)
) {{without rowid}};
CREATE INDEX gateway_usage_days_key ON gateway_usage_days (key_id, day);

-- By team.
CREATE TABLE gateway_team_hours (
	hour     BIGINT NOT NULL,
	team_id  TEXT NOT NULL,
	provider TEXT NOT NULL,
	model    TEXT NOT NULL,
	requests BIGINT NOT NULL, succeeded BIGINT NOT NULL, failed BIGINT NOT NULL, cancelled BIGINT NOT NULL,
	failed_attempts BIGINT NOT NULL, input_tokens BIGINT NOT NULL, cached_tokens BIGINT NOT NULL,
	output_tokens BIGINT NOT NULL, reasoning_tokens BIGINT NOT NULL, cost_micro_usd BIGINT NOT NULL,
	unpriced BIGINT NOT NULL, latency_us BIGINT NOT NULL, first_token_us BIGINT NOT NULL,
	first_tokens BIGINT NOT NULL, written_tokens BIGINT NOT NULL,
	PRIMARY KEY (hour, team_id, provider, model)
) {{without rowid}};

CREATE TABLE gateway_team_days (
	day      BIGINT NOT NULL,
	team_id  TEXT NOT NULL,
	provider TEXT NOT NULL,
	model    TEXT NOT NULL,
	requests BIGINT NOT NULL, succeeded BIGINT NOT NULL, failed BIGINT NOT NULL, cancelled BIGINT NOT NULL,
	failed_attempts BIGINT NOT NULL, input_tokens BIGINT NOT NULL, cached_tokens BIGINT NOT NULL,
	output_tokens BIGINT NOT NULL, reasoning_tokens BIGINT NOT NULL, cost_micro_usd BIGINT NOT NULL,
	unpriced BIGINT NOT NULL, latency_us BIGINT NOT NULL, first_token_us BIGINT NOT NULL,
	first_tokens BIGINT NOT NULL, written_tokens BIGINT NOT NULL DEFAULT 0,
	PRIMARY KEY (day, team_id, provider, model)
) {{without rowid}};
CREATE INDEX gateway_team_days_team ON gateway_team_days (team_id, day);

-- By team and member, for administrators of teams.
CREATE TABLE gateway_member_days (
	team_id TEXT NOT NULL,
	day     BIGINT NOT NULL,
	user_id TEXT NOT NULL,
	requests BIGINT NOT NULL, succeeded BIGINT NOT NULL, failed BIGINT NOT NULL, cancelled BIGINT NOT NULL,
	failed_attempts BIGINT NOT NULL, input_tokens BIGINT NOT NULL, cached_tokens BIGINT NOT NULL,
	output_tokens BIGINT NOT NULL, reasoning_tokens BIGINT NOT NULL, cost_micro_usd BIGINT NOT NULL,
	unpriced BIGINT NOT NULL, latency_us BIGINT NOT NULL, first_token_us BIGINT NOT NULL,
	first_tokens BIGINT NOT NULL, written_tokens BIGINT NOT NULL,
	PRIMARY KEY (team_id, day, user_id)
) {{without rowid}};

-- By model, for reports that are not about teams.
CREATE TABLE gateway_model_hours (
	hour     BIGINT NOT NULL,
	provider TEXT NOT NULL,
	model    TEXT NOT NULL,
	requests BIGINT NOT NULL, succeeded BIGINT NOT NULL, failed BIGINT NOT NULL, cancelled BIGINT NOT NULL,
	failed_attempts BIGINT NOT NULL, input_tokens BIGINT NOT NULL, cached_tokens BIGINT NOT NULL,
	output_tokens BIGINT NOT NULL, reasoning_tokens BIGINT NOT NULL, cost_micro_usd BIGINT NOT NULL,
	unpriced BIGINT NOT NULL, latency_us BIGINT NOT NULL, first_token_us BIGINT NOT NULL,
	first_tokens BIGINT NOT NULL, written_tokens BIGINT NOT NULL,
	PRIMARY KEY (hour, provider, model)
) {{without rowid}};

CREATE TABLE gateway_model_days (
	day      BIGINT NOT NULL,
	provider TEXT NOT NULL,
	model    TEXT NOT NULL,
	requests BIGINT NOT NULL, succeeded BIGINT NOT NULL, failed BIGINT NOT NULL, cancelled BIGINT NOT NULL,
	failed_attempts BIGINT NOT NULL, input_tokens BIGINT NOT NULL, cached_tokens BIGINT NOT NULL,
	output_tokens BIGINT NOT NULL, reasoning_tokens BIGINT NOT NULL, cost_micro_usd BIGINT NOT NULL,
	unpriced BIGINT NOT NULL, latency_us BIGINT NOT NULL, first_token_us BIGINT NOT NULL,
	first_tokens BIGINT NOT NULL, written_tokens BIGINT NOT NULL,
	PRIMARY KEY (day, provider, model)
) {{without rowid}};

-- By the tags and end users that clients name.
CREATE TABLE gateway_label_days (
	day      BIGINT NOT NULL,
	kind     TEXT NOT NULL, -- tag or end_user
	name     TEXT NOT NULL,
	team_id  TEXT NOT NULL,
	provider TEXT NOT NULL,
	model    TEXT NOT NULL,
	requests BIGINT NOT NULL, succeeded BIGINT NOT NULL, failed BIGINT NOT NULL, cancelled BIGINT NOT NULL,
	failed_attempts BIGINT NOT NULL, input_tokens BIGINT NOT NULL, cached_tokens BIGINT NOT NULL,
	output_tokens BIGINT NOT NULL, reasoning_tokens BIGINT NOT NULL, cost_micro_usd BIGINT NOT NULL,
	unpriced BIGINT NOT NULL, latency_us BIGINT NOT NULL, first_token_us BIGINT NOT NULL,
	first_tokens BIGINT NOT NULL, written_tokens BIGINT NOT NULL,
	PRIMARY KEY (day, kind, name, team_id, provider, model)
) {{without rowid}};

-- Running totals: what each user, each key, and each team with each model had spent before a day began. The
-- difference of two of them is what was spent between the days, however long that is. The totals of day 2147483647
-- are those of all days and change with the log; a job adds those of days that are over.
CREATE TABLE gateway_user_totals (
	day     BIGINT NOT NULL, -- the totals are those of the days before it
	user_id TEXT NOT NULL,
	requests BIGINT NOT NULL, succeeded BIGINT NOT NULL, failed BIGINT NOT NULL, cancelled BIGINT NOT NULL,
	failed_attempts BIGINT NOT NULL, input_tokens BIGINT NOT NULL, cached_tokens BIGINT NOT NULL,
	output_tokens BIGINT NOT NULL, reasoning_tokens BIGINT NOT NULL, cost_micro_usd BIGINT NOT NULL,
	unpriced BIGINT NOT NULL, latency_us BIGINT NOT NULL, first_token_us BIGINT NOT NULL,
	first_tokens BIGINT NOT NULL, written_tokens BIGINT NOT NULL,
	PRIMARY KEY (day, user_id)
) {{without rowid}};

CREATE TABLE gateway_key_totals (
	day    BIGINT NOT NULL,
	key_id TEXT NOT NULL,
	requests BIGINT NOT NULL, succeeded BIGINT NOT NULL, failed BIGINT NOT NULL, cancelled BIGINT NOT NULL,
	failed_attempts BIGINT NOT NULL, input_tokens BIGINT NOT NULL, cached_tokens BIGINT NOT NULL,
	output_tokens BIGINT NOT NULL, reasoning_tokens BIGINT NOT NULL, cost_micro_usd BIGINT NOT NULL,
	unpriced BIGINT NOT NULL, latency_us BIGINT NOT NULL, first_token_us BIGINT NOT NULL,
	first_tokens BIGINT NOT NULL, written_tokens BIGINT NOT NULL,
	PRIMARY KEY (day, key_id)
) {{without rowid}};

CREATE TABLE gateway_team_totals (
	day      BIGINT NOT NULL,
	team_id  TEXT NOT NULL,
	provider TEXT NOT NULL,
	model    TEXT NOT NULL,
	requests BIGINT NOT NULL, succeeded BIGINT NOT NULL, failed BIGINT NOT NULL, cancelled BIGINT NOT NULL,
	failed_attempts BIGINT NOT NULL, input_tokens BIGINT NOT NULL, cached_tokens BIGINT NOT NULL,
	output_tokens BIGINT NOT NULL, reasoning_tokens BIGINT NOT NULL, cost_micro_usd BIGINT NOT NULL,
	unpriced BIGINT NOT NULL, latency_us BIGINT NOT NULL, first_token_us BIGINT NOT NULL,
	first_tokens BIGINT NOT NULL, written_tokens BIGINT NOT NULL,
	PRIMARY KEY (day, team_id, provider, model)
) {{without rowid}};

-- What was spent with each key of a provider.
CREATE TABLE gateway_provider_key_days (
	provider_key   TEXT NOT NULL,
	day            BIGINT NOT NULL,
	input_tokens   BIGINT NOT NULL,
	output_tokens  BIGINT NOT NULL,
	cost_micro_usd BIGINT NOT NULL,
	PRIMARY KEY (provider_key, day)
) {{without rowid}};

-- How many requests took how long, and how many failed, so that percentiles and rates need not read single requests:
-- of all requests and of each model by minute and hour, and also by day of all, of each model and of each team.
CREATE TABLE gateway_timings (
	unit     BIGINT NOT NULL, -- the seconds of a slot: 60, 3600 or 86400
	kind     TEXT NOT NULL, -- all, model or team
	slot     BIGINT NOT NULL, -- the Unix time divided by the unit
	team_id  TEXT NOT NULL, -- for the kind team; empty: no team
	provider TEXT NOT NULL, -- this and the next for the kind model
	model    TEXT NOT NULL,
	bucket   BIGINT NOT NULL, -- up to 2^(bucket/3) milliseconds; -1: failed
	requests BIGINT NOT NULL,
	PRIMARY KEY (unit, kind, slot, team_id, provider, model, bucket)
) {{without rowid}};

-- ---- Alerts ----

-- Alerts about a budget of which a part is spent, or a key that its provider rejects. The unique key makes only one
-- of several nodes send an alert, and only once.
CREATE TABLE gateway_alerts (
	id         {{id}},
	event      TEXT NOT NULL, -- the id that receivers see
	kind       TEXT NOT NULL, -- budget.threshold, provider_key.failing or test
	subject    TEXT NOT NULL, -- organisation, team, user, key or provider
	holder     TEXT NOT NULL, -- the id of the subject
	name       TEXT NOT NULL, -- that of the holder at that time; empty: none
	budget     TEXT NOT NULL, -- such as usd_per_month; for a key its state
	begins     BIGINT NOT NULL, -- when the period of the budget begins; 0: it is a total
	ends       BIGINT NOT NULL, -- when the period ends; 0: never
	threshold  BIGINT NOT NULL, -- in percent
	amount     BIGINT NOT NULL, -- tokens, or millionths of a US dollar
	spent      BIGINT NOT NULL,
	created_at BIGINT NOT NULL,
	UNIQUE (kind, subject, holder, budget, begins, amount, threshold)
);
CREATE INDEX gateway_alerts_age ON gateway_alerts (created_at);

-- The messages of an alert, written in the same transaction.
CREATE TABLE gateway_alert_messages (
	id           {{id}},
	alert_id     BIGINT NOT NULL REFERENCES gateway_alerts (id),
	channel      TEXT NOT NULL, -- mail or webhook
	target       TEXT NOT NULL, -- the address, or the name of the webhook
	state        TEXT NOT NULL, -- pending, sent or failed
	attempts     BIGINT NOT NULL,
	next_at      BIGINT, -- NULL: no more attempts
	leased_until BIGINT NOT NULL, -- a node is sending it
	answer       TEXT NOT NULL, -- the result of the last attempt
	tried_at     BIGINT,
	UNIQUE (alert_id, channel, target)
);
CREATE INDEX gateway_alert_messages_due ON gateway_alert_messages (channel, next_at) WHERE next_at IS NOT NULL;

-- What is over a threshold at present. The row is deleted with the notice that it no longer is.
CREATE TABLE gateway_alert_episodes (
	kind    TEXT NOT NULL, -- the kind of the first alert
	subject TEXT NOT NULL,
	holder  TEXT NOT NULL,
	began   BIGINT NOT NULL,
	seen_at BIGINT NOT NULL, -- when it was last found over the threshold
	PRIMARY KEY (kind, subject, holder)
) {{without rowid}};

-- ---- What is stored for clients ----

-- Files and batches that providers store for users.
CREATE TABLE gateway_objects (
	user_id      TEXT NOT NULL,
	team_id      TEXT NOT NULL, -- empty: none
	kind         TEXT NOT NULL, -- file or batch
	id           TEXT NOT NULL, -- the id at the provider
	key_id       TEXT NOT NULL, -- the gateway key that made it
	provider     TEXT NOT NULL,
	provider_key TEXT NOT NULL, -- the id of the only key that can access the object
	created_at   BIGINT NOT NULL,
	charged      INTEGER NOT NULL, -- 0: a batch whose cost is not known yet
	polled_at    BIGINT NOT NULL, -- when the cost was last asked for
	-- The batch whose results are in the file, which is not deleted before the batch is charged because the cost may
	-- have to be read from it.
	batch        TEXT NOT NULL DEFAULT '', -- empty: none
	PRIMARY KEY (user_id, team_id, kind, id)
) {{without rowid}};
CREATE INDEX gateway_objects_newest ON gateway_objects (user_id, team_id, kind, created_at, id);
CREATE INDEX gateway_objects_uncharged ON gateway_objects (polled_at, id) WHERE charged = 0;

-- Items of answers to which later requests refer.
CREATE TABLE gateway_answer_items (
	id         TEXT NOT NULL PRIMARY KEY, -- owner, a slash and the id that the client sees
	owner      TEXT NOT NULL, -- the gateway key
	sealed     TEXT NOT NULL,
	size       BIGINT NOT NULL, -- in bytes
	expires_at BIGINT NOT NULL
);
-- Only the newest of an owner are kept.
CREATE INDEX gateway_answer_items_owner ON gateway_answer_items (owner, expires_at, id, size);
CREATE INDEX gateway_answer_items_expires ON gateway_answer_items (expires_at);

-- Stored answers of the Responses API.
CREATE TABLE gateway_responses (
	id           TEXT NOT NULL PRIMARY KEY,
	owner        TEXT NOT NULL, -- a team or user
	previous     TEXT, -- the response that it continues
	depth        BIGINT NOT NULL, -- 1, or one more than the depth of previous
	status       TEXT NOT NULL,
	background   BIGINT NOT NULL,
	events       BIGINT NOT NULL, -- 1: the events are stored, too
	runner       TEXT NOT NULL, -- the process that makes it in the background; empty: none
	leased_until BIGINT NOT NULL, -- renewed by the runner; afterwards it counts as gone
	sealed       TEXT NOT NULL,
	size         BIGINT NOT NULL, -- that of sealed, in bytes
	created_at   BIGINT NOT NULL,
	expires_at   BIGINT NOT NULL
);
CREATE INDEX gateway_responses_expires ON gateway_responses (expires_at);
CREATE INDEX gateway_responses_running ON gateway_responses (leased_until, id) WHERE runner <> '';
CREATE INDEX gateway_responses_owner ON gateway_responses (owner, size);

-- The stored answers that contain an item.
CREATE TABLE gateway_response_items (
	id       TEXT NOT NULL PRIMARY KEY, -- owner, a slash and the id that the client sees
	response TEXT NOT NULL REFERENCES gateway_responses (id) ON DELETE CASCADE
);
CREATE INDEX gateway_response_items_response ON gateway_response_items (response);

-- Events of answers that are made in the background, for clients that reconnect to a stream.
CREATE TABLE gateway_response_events (
	id         TEXT NOT NULL PRIMARY KEY, -- response, a slash and the number of the first event
	response   TEXT NOT NULL REFERENCES gateway_responses (id) ON DELETE CASCADE,
	last       BIGINT NOT NULL, -- the number of the last event in sealed
	sealed     TEXT NOT NULL,
	expires_at BIGINT NOT NULL,
	owner      TEXT NOT NULL DEFAULT '', -- empty: not counted for a quota
	size       BIGINT NOT NULL DEFAULT 0 -- that of sealed, in bytes
);
CREATE INDEX gateway_response_events_response ON gateway_response_events (response, last);
CREATE INDEX gateway_response_events_expires ON gateway_response_events (expires_at);
CREATE INDEX gateway_response_events_owner ON gateway_response_events (owner, size);

CREATE TABLE gateway_conversations (
	id         TEXT NOT NULL PRIMARY KEY,
	owner      TEXT NOT NULL, -- a team or user
	sealed     TEXT NOT NULL, -- the metadata
	places     BIGINT NOT NULL, -- the place of the last item
	created_at BIGINT NOT NULL,
	expires_at BIGINT NOT NULL
);
CREATE INDEX gateway_conversations_owner ON gateway_conversations (owner);
CREATE INDEX gateway_conversations_expires ON gateway_conversations (expires_at);

CREATE TABLE gateway_conversation_items (
	id           TEXT NOT NULL PRIMARY KEY, -- conversation, a slash and the id that the client sees
	conversation TEXT NOT NULL REFERENCES gateway_conversations (id) ON DELETE CASCADE,
	place        BIGINT NOT NULL,
	sealed       TEXT NOT NULL,
	size         BIGINT NOT NULL -- in bytes
);
CREATE UNIQUE INDEX gateway_conversation_items_place ON gateway_conversation_items (conversation, place);
CREATE INDEX gateway_conversation_items_size ON gateway_conversation_items (conversation, size);

-- ---- Background jobs ----

-- The process that deletes what is old, or did so last. Other processes leave it to that one until the lease ends.
CREATE TABLE gateway_sweeps (
	name   TEXT NOT NULL PRIMARY KEY,
	holder TEXT NOT NULL,
	until  BIGINT NOT NULL
);
