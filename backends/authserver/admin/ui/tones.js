// States as badges.
import { badge } from './parts/dom.js';

const tones = { active: 'good', ok: 'good', suspended: 'warn', disabled: 'warn', rotated: 'plain', revoked: 'bad', error: 'bad', expired: 'plain' };

export const state = (text) => badge(tones[text] ?? 'plain', text);
