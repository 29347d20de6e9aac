// The pages of operators and auditors, by their paths.
import * as alerts from './alerts.js';
import * as allKeys from './all-keys.js';
import * as audit from './audit.js';
import * as gateway from './gateway.js';
import * as invitations from './invitations.js';
import * as limits from './limits.js';
import * as offer from './offer.js';
import * as organisation from './organisation.js';
import * as people from './people.js';
import * as sharedKeys from './shared-keys.js';
import * as spending from './spending.js';
import * as teams from './teams.js';

export const pages = { gateway, spending, people, invitations, teams, organisation, 'all-keys': allKeys, 'shared-keys': sharedKeys, limits, offer, alerts, audit };
