/** SendGrid, the interface's provider B (contract §3.4). */
import type { RelayProvider } from '../relay.ts'
import { callbacks } from './callbacks.ts'
import { domains } from './domains.ts'
import { readSent, sendRequest } from './send.ts'

export const sendgrid: RelayProvider = {
  kind: 'sendgrid',
  apiBaseDefault: 'https://api.sendgrid.com',
  send: sendRequest,
  readSent,
  domains,
  callbacks,
}
