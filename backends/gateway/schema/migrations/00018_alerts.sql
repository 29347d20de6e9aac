-- +goose Up
-- What somebody was told of: a budget of which a part is spent, a key that a provider does not
-- take. The unique key has one of several nodes tell it, once. Times are Unix microseconds.
CREATE TABLE gateway_alerts (
	id         {{id}},
	event      TEXT   NOT NULL, -- the id that receivers know it by
	kind       TEXT   NOT NULL, -- budget.threshold, provider_key.failing or test
	subject    TEXT   NOT NULL, -- organisation, team, user, key or provider
	holder     TEXT   NOT NULL, -- the id of it
	name       TEXT   NOT NULL, -- of the holder at that time; empty: none
	budget     TEXT   NOT NULL, -- such as usd_per_month; of a key its state
	begins     BIGINT NOT NULL, -- of the time that the budget is for; 0: in total
	ends       BIGINT NOT NULL, -- 0: never
	threshold  BIGINT NOT NULL, -- percent
	amount     BIGINT NOT NULL, -- tokens, or millionths of a US dollar
	spent      BIGINT NOT NULL,
	created_at BIGINT NOT NULL,
	UNIQUE (kind, subject, holder, budget, begins, amount, threshold)
);
CREATE INDEX gateway_alerts_age ON gateway_alerts (created_at);

-- Who is told, written with the alert.
CREATE TABLE gateway_alert_messages (
	id           {{id}},
	alert_id     BIGINT NOT NULL REFERENCES gateway_alerts (id),
	channel      TEXT   NOT NULL,            -- mail or webhook
	target       TEXT   NOT NULL,            -- the address, or what names the webhook
	state        TEXT   NOT NULL,            -- pending, sent or failed
	attempts     BIGINT NOT NULL,
	next_at      BIGINT,                     -- NULL: no more attempts
	leased_until BIGINT NOT NULL,            -- a node is at it
	answer       TEXT   NOT NULL,            -- how the last attempt ended
	tried_at     BIGINT,
	UNIQUE (alert_id, channel, target)
);
CREATE INDEX gateway_alert_messages_due ON gateway_alert_messages (channel, next_at) WHERE next_at IS NOT NULL;

-- +goose Down
DROP TABLE gateway_alert_messages;
DROP TABLE gateway_alerts;
