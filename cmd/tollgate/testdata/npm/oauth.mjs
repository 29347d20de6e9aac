// The cases of a strict OAuth client that others have written: tokens bound to a key
// (DPoP) from the authorization server, at a service behind the edge, and in the hands of
// a resource server that verifies them itself.
import assert from 'node:assert/strict';
import { webcrypto } from 'node:crypto';
import { test } from 'node:test';

globalThis.crypto ??= webcrypto; // it is no global of Node.js 18
const oauth = await import('oauth4webapi');

function env(name) {
  assert.ok(process.env[name], `${name} is not set: this file is run by go test -run TestStrictClient`);
  return process.env[name];
}

const issuer = new URL(env('ISSUER'));
const service = new URL(env('SERVICE')); // whose address is the audience
const refusing = new URL(env('OTHER')); // a server that wants nonces
const insecure = { [oauth.allowInsecureRequests]: true };
const client = { client_id: env('CLIENT') };
const secret = oauth.ClientSecretPost(env('SECRET'));
const exchange = 'urn:ietf:params:oauth:grant-type:token-exchange';
const accessToken = 'urn:ietf:params:oauth:token-type:access_token';

const discover = async (at) =>
  oauth.processDiscoveryResponse(at, await oauth.discoveryRequest(at, { algorithm: 'oauth2', ...insecure }));
const prover = async (algorithm = 'ES256') => {
  const keys = await oauth.generateKeyPair(algorithm, { extractable: true });
  return oauth.DPoP(client, keys);
};
const server = await discover(issuer);
const parameters = () => new URLSearchParams({ scope: 'notes:read', resource: service.href });

async function machine(proofs, more = {}, as = server, by = client, auth = secret) {
  const answer = await oauth.clientCredentialsGrantRequest(as, by, auth, parameters(), { DPoP: proofs, ...insecure, ...more });
  return oauth.processClientCredentialsResponse(as, by, answer);
}

const call = (token, more) => oauth.protectedResourceRequest(token, 'GET', service, undefined, undefined, { ...insecure, ...more });

// refusal is the error of a challenge (RFC 9110 section 11.6.1).
async function refusal(promise, scheme) {
  try {
    await promise;
  } catch (err) {
    assert.equal(err.code, oauth.WWW_AUTHENTICATE_CHALLENGE, err);
    const challenge = err.cause.find((c) => c.scheme === scheme);
    assert.ok(challenge, JSON.stringify(err.cause));
    return challenge.parameters;
  }
  assert.fail('it is let through');
}

test('the metadata tells of proofs and exchanges', () => {
  assert.deepEqual(server.dpop_signing_alg_values_supported, ['ES256', 'RS256', 'PS256']);
  assert.ok(server.grant_types_supported.includes(exchange));
});

for (const algorithm of ['ES256', 'RS256', 'PS256']) {
  test(`a token is bound to a key of ${algorithm}, here and at the edge`, async () => {
    const proofs = await prover(algorithm);
    const token = await machine(proofs);
    assert.equal(token.token_type, 'dpop');
    const answer = await call(token.access_token, { DPoP: proofs });
    assert.equal(answer.status, 200);
    assert.equal(await answer.text(), `for ${client.client_id} by ${client.client_id}`);

    const told = await oauth.processIntrospectionResponse(server, client, await oauth.introspectionRequest(server, client, secret, token.access_token, insecure));
    assert.equal(told.active, true);
    assert.equal(told.cnf.jkt, await proofs.calculateThumbprint());

    assert.equal((await refusal(call(token.access_token), 'bearer')).error, 'invalid_token');
    assert.equal((await refusal(call(token.access_token, { DPoP: await prover(algorithm) }), 'dpop')).error, 'invalid_dpop_proof');
  });
}

test('a proof is good once at the edge', async () => {
  const proofs = await prover();
  const token = await machine(proofs);
  let sent;
  const once = await call(token.access_token, {
    DPoP: proofs,
    [oauth.customFetch]: (url, options) => {
      sent = options.headers;
      return fetch(url, options);
    },
  });
  assert.equal(once.status, 200);
  const again = await fetch(service, { headers: sent });
  assert.equal(again.status, 401);
  assert.match(again.headers.get('www-authenticate'), /^DPoP .*error="invalid_dpop_proof"/);
});

test('a resource server verifies token and proof by itself', async () => {
  const proofs = await prover();
  const token = await machine(proofs);
  let request;
  await call(token.access_token, {
    DPoP: proofs,
    [oauth.customFetch]: (url, options) => {
      request = new Request(url, options);
      return Promise.resolve(new Response('{}'));
    },
  });
  const claims = await oauth.validateJwtAccessToken(server, request, service.href, { requireDPoP: true, ...insecure });
  assert.equal(claims.sub, client.client_id);
  assert.equal(claims.scope, 'notes:read');
  const stolen = new Request(request, { headers: { authorization: request.headers.get('authorization') } });
  await assert.rejects(oauth.validateJwtAccessToken(server, stolen, service.href, { requireDPoP: true, ...insecure }));
});

test('an exchanged token is bound to the key of the request', async () => {
  const proofs = await prover();
  const subject = await machine(proofs);
  const trade = async (by) =>
    oauth.processGenericTokenEndpointResponse(
      server,
      client,
      await oauth.genericTokenEndpointRequest(
        server,
        client,
        secret,
        exchange,
        new URLSearchParams({ subject_token: subject.access_token, subject_token_type: accessToken, resource: service.href }),
        { DPoP: by, ...insecure },
      ),
    );
  const token = await trade(proofs);
  assert.equal(token.token_type, 'dpop');
  assert.equal(token.issued_token_type, accessToken);
  assert.equal((await call(token.access_token, { DPoP: proofs })).status, 200);
  await assert.rejects(trade(await prover()), (err) => err.error === 'invalid_dpop_proof');

  // What ends the one that came ends it, too.
  await oauth.processRevocationResponse(await oauth.revocationRequest(server, client, secret, subject.access_token, insecure));
  assert.equal((await refusal(call(token.access_token, { DPoP: proofs }), 'dpop')).error, 'invalid_token');
});

test('where nonces are wanted, the second request has one', async () => {
  const as = await discover(refusing);
  const by = { client_id: env('OTHER_CLIENT') };
  const auth = oauth.ClientSecretPost(env('OTHER_SECRET'));
  const proofs = await prover();
  const ask = () => machine(proofs, {}, as, by, auth);
  await assert.rejects(ask(), (err) => oauth.isDPoPNonceError(err));
  assert.equal((await ask()).token_type, 'dpop');
  assert.equal((await ask()).token_type, 'dpop'); // the next one came with the answer
});
