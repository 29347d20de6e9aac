-- +goose Up
-- Prices that the operator has in place of list prices, set by a declared file, for all nodes.
CREATE TABLE gateway_prices (
	name  TEXT NOT NULL PRIMARY KEY, -- provider/model, or a beginning of such names with a star behind
	price TEXT NOT NULL              -- JSON as an entry of a file of prices has it
) {{without rowid}};

-- +goose Down
DROP TABLE gateway_prices;
