package config

var signingKeys = []Key{
	{
		Name: "signing.algorithm", Default: "ES256", check: oneOf("ES256", "RS256"),
		Rule: "`ES256` or `RS256`",
	},
	{
		Name: "signing.key_path", Default: "data/keys", check: required(keysInFiles),
		Rule: "key-file directory; required when key_store is `keyfile`",
	},
	{
		Name: "signing.key_store", Default: "keyfile", check: all(oneOf(KeyFile, KMSTransit, PostgresKey), keyStore),
		Rule: "`keyfile`, `kms_transit` or `postgres_key`",
	},
	{
		Name: "signing.postgres_key.encryption_key_env", Env: "AUTHSERVER_SIGNING_PG_ENCRYPTION_KEY_ENV",
		check: masterKey,
		Rule:  "name of the env var holding the key-encryption key; relevant only when data_encryption.driver is `aes_master`",
	},
	{
		Name: "signing.kms_transit.address", Env: "AUTHSERVER_KMS_ADDR", check: required(keysInKMS, address),
		Rule: "key-management server address; required when key_store is `kms_transit`",
	},
	{
		Name: "signing.kms_transit.approle.mount", Default: "approle", Env: "AUTHSERVER_KMS_APPROLE_MOUNT",
		check: required(keysInKMS),
		Rule:  "auth mount",
	},
	{
		Name: "signing.kms_transit.approle.role_id", Env: "AUTHSERVER_KMS_APPROLE_ROLE_ID",
		Rule: "role to log in as; mutually exclusive with token",
	},
	{
		Name: "signing.kms_transit.approle.secret_id", Env: "AUTHSERVER_KMS_APPROLE_SECRET_ID", Secret: true,
		check: required(appRole),
		Rule:  "required when role_id is set",
	},
	{
		Name: "signing.kms_transit.key_name", Default: "authserver-signing", Env: "AUTHSERVER_KMS_TRANSIT_KEY_NAME",
		check: required(keysInKMS),
		Rule:  "name of the signing key",
	},
	{
		Name: "signing.kms_transit.mount", Default: "transit", Env: "AUTHSERVER_KMS_TRANSIT_MOUNT",
		check: required(keysInKMS),
		Rule:  "transit engine mount path",
	},
	{
		Name: "signing.kms_transit.timeout", Default: "10s", Env: "AUTHSERVER_KMS_TIMEOUT", check: positive,
		Rule: "HTTP request timeout",
	},
	{
		Name: "signing.kms_transit.token", Env: "AUTHSERVER_KMS_TOKEN", Secret: true, check: kmsToken,
		Rule: "static token; mutually exclusive with approle",
	},
}

var dataEncryptionKeys = []Key{
	{
		Name: "data_encryption.aes_master.key_env", Env: "AUTHSERVER_DATA_ENCRYPTION_KEY_ENV",
		check: required(aesMasterDriver, masterKey),
		Rule:  "name of the env var holding a 64-hex-character (32-byte) master key",
	},
	{
		Name: "data_encryption.aes_master.old_key_env", Env: none, check: all(oldKey, masterKey),
		Rule: "env var name of the previous master key, decrypt-only, for rotation: set both, run re-encrypt, then remove the old one",
	},
	{
		Name: "data_encryption.driver", check: oneOf("", AESMaster, KMSTransitEncrypt),
		Rule: "`aes_master` or `kms_transit_encrypt`",
	},
	{
		Name: "data_encryption.kms_transit_encrypt.address", Env: "AUTHSERVER_DATA_ENCRYPTION_KMS_ADDRESS",
		check: required(kmsDriver, address),
		Rule:  "required when driver is `kms_transit_encrypt`",
	},
	{
		Name: "data_encryption.kms_transit_encrypt.approle.role_id_env", Env: "AUTHSERVER_DATA_ENCRYPTION_KMS_ROLE_ID_ENV",
		check: required(kmsByAppRole),
		Rule:  "required when auth_method is `approle`",
	},
	{
		Name: "data_encryption.kms_transit_encrypt.approle.secret_id_env", Env: "AUTHSERVER_DATA_ENCRYPTION_KMS_SECRET_ID_ENV",
		check: required(kmsByAppRole),
		Rule:  "required when auth_method is `approle`",
	},
	{
		Name: "data_encryption.kms_transit_encrypt.auth_method", Env: "AUTHSERVER_DATA_ENCRYPTION_KMS_AUTH_METHOD",
		check: required(kmsUsed, oneOf("", "token", "approle")),
		Rule:  "`token` or `approle`",
	},
	{
		Name: "data_encryption.kms_transit_encrypt.key_name", Env: "AUTHSERVER_DATA_ENCRYPTION_KMS_KEY_NAME",
		check: required(kmsUsed),
		Rule:  "required when driver is `kms_transit_encrypt`",
	},
	{
		Name: "data_encryption.kms_transit_encrypt.mount_path", Default: "transit", Env: "AUTHSERVER_DATA_ENCRYPTION_KMS_MOUNT_PATH",
		check: required(kmsUsed),
		Rule:  "transit engine mount path",
	},
	{
		Name: "data_encryption.kms_transit_encrypt.token_env", Env: "AUTHSERVER_DATA_ENCRYPTION_KMS_TOKEN_ENV",
		check: required(kmsByToken),
		Rule:  "env var holding the token",
	},
}

var clientSecretPepperKeys = []Key{
	{
		Name: "client_secret_pepper", Secret: true,
		Rule: "when non-empty, client secrets are hashed and verified with HMAC-SHA256 using it; when empty a slow password hash is used; user passwords are not affected",
	},
}
