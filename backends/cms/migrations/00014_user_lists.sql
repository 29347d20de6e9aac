-- +goose Up
-- Lists of users by their state, in the order of their names or the newest first, and those of a role.
CREATE INDEX cms_users_status ON cms_users (status, name);
CREATE INDEX cms_users_status_id ON cms_users (status, id);
CREATE INDEX cms_user_roles_users ON cms_user_roles (role_id, user_id);
DROP INDEX cms_user_roles_role;

-- +goose Down
CREATE INDEX cms_user_roles_role ON cms_user_roles (role_id);
DROP INDEX cms_user_roles_users;
DROP INDEX cms_users_status_id;
DROP INDEX cms_users_status;
