import { keysCard } from './provider-keys.js';
import { at, limitCard, operates } from './view.js';

export const title = 'Organisation';
export const about = 'Limits that everybody shares, and the provider keys of all.';

export function show({ body, signal }) {
  body.append(limitCard('Limits on the organisation', 'All requests to this gateway share them.', at('organisation', 'limits'), signal),
    keysCard(at('organisation', 'provider-keys'), 'They serve everybody, behind the keys of users and teams. Their text is never shown again.', operates(), signal));
}
