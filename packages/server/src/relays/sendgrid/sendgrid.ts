/**
 * SendGrid, the interface's provider B (docs/reference/domains.md#relay-accounts). Written from its public
 * documents (https://www.twilio.com/docs/sendgrid/api-reference); nothing here has met a live account.
 */
import type { RelayProvider } from '../relay.ts'
import { callbacks } from './callbacks.ts'
import { domains } from './domains.ts'
import { readSent, refuseMail, sendRequest } from './send.ts'

export const sendgrid: RelayProvider = {
  kind: 'sendgrid',
  apiBaseDefault: 'https://api.sendgrid.com',
  refuse: refuseMail,
  send: sendRequest,
  readSent,
  domains,
  callbacks,
}
