// The colours of states.
import { tag } from './parts/dom.js';

const tones = { active: 'good', ok: 'good', suspended: 'warn', disabled: 'warn', rotated: 'plain', revoked: 'bad', error: 'bad', expired: 'plain' };

export const state = (text) => tag(tones[text] ?? 'plain', text);
