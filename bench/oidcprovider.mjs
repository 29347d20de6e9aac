// This script runs an authorization server of another project for a comparison: the npm package oidc-provider with its
// adapter in memory. Its arguments are a folder that has the package in node_modules, a port, and the redirect URI of
// the client. The server has one client and one resource. Tokens for the resource are JWTs signed with ES256. Anybody
// who asks is signed in as the same user, who has allowed the client everything.
import { generateKeyPairSync } from 'node:crypto';
import { pathToFileURL } from 'node:url';

const [folder, port, redirect] = process.argv.slice(2);
const { default: Provider } = await import(pathToFileURL(`${folder}/node_modules/oidc-provider/lib/index.js`));

const resource = 'https://notes.example/mcp';
const user = 'bench';
const key = generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey.export({ format: 'jwk' });

const provider = new Provider(`http://127.0.0.1:${port}`, {
  clients: [{
    client_id: 'bench', client_secret: 'a secret of this benchmark', redirect_uris: [redirect],
    grant_types: ['authorization_code', 'refresh_token'], id_token_signed_response_alg: 'ES256',
  }],
  jwks: { keys: [{ ...key, kid: 'one', use: 'sig', alg: 'ES256' }] },
  cookies: { keys: ['a cookie key of this benchmark'] },
  pkce: { required: () => true },
  rotateRefreshToken: true,
  issueRefreshToken: () => true,
  ttl: { AccessToken: 900, AuthorizationCode: 60, Grant: 86400, Interaction: 600, RefreshToken: 86400, Session: 86400 },
  interactions: { url: (ctx, interaction) => `/sign-in/${interaction.uid}` },
  features: {
    devInteractions: { enabled: false },
    resourceIndicators: {
      enabled: true,
      defaultResource: () => resource,
      useGrantedResource: () => true,
      getResourceServerInfo: () => ({ scope: 'notes:read', audience: resource, accessTokenFormat: 'jwt', jwt: { sign: { alg: 'ES256' } } }),
    },
  },
  findAccount: (ctx, id) => ({ accountId: id, claims: () => ({ sub: id }) }),
  async loadExistingGrant({ oidc }) {
    const known = oidc.session.grantIdFor(oidc.client.clientId);
    if (known) return provider.Grant.find(known);
    const grant = new provider.Grant({ clientId: oidc.client.clientId, accountId: oidc.session.accountId });
    grant.addResourceScope(resource, 'notes:read');
    await grant.save();
    return grant;
  },
});
provider.on('server_error', (ctx, err) => console.error(err));
provider.use((ctx, next) => {
  if (!ctx.path.startsWith('/sign-in/')) return next();
  ctx.respond = false;
  return provider.interactionFinished(ctx.req, ctx.res, { login: { accountId: user } });
});
provider.listen(Number(port), '127.0.0.1');
