import { keysCard } from './provider-keys.js';
import { at, limitCard, operates } from './view.js';

export const title = 'Organisation';
export const about = 'Limits that everybody shares, and provider keys for everybody.';

export function show({ body, signal }) {
  body.append(limitCard('Limits on the organisation', 'All requests to this gateway share them.', at('organisation', 'limits'), signal),
    keysCard(at('organisation', 'provider-keys'), 'They are used for everybody, after the keys of users and teams. They are never shown again.', operates(), signal));
}
