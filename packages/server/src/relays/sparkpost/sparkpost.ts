/**
 * SparkPost, the interface's provider A. Written from its public documents and from what it was seen
 * to send (https://developers.sparkpost.com/api); nothing here has met a live account.
 */
import type { RelayProvider } from '../relay.ts'
import { isAuthentic } from './authenticate-callback.ts'
import { buildRequest } from './build-request.ts'
import { buildTransmission } from './build-transmission.ts'
import { domains } from './domains.ts'
import { readCallback } from './read-callback.ts'
import { readSent } from './read-sent.ts'
import { refuseMail } from './refuse-mail.ts'

export const sparkpost: RelayProvider = {
  kind: 'sparkpost',
  apiBaseDefault: 'https://api.sparkpost.com/api',
  refuse: refuseMail,
  send: (account, mail) => buildRequest(account, 'POST', '/transmissions', buildTransmission(mail)),
  readSent,
  domains,
  callbacks: { isAuthentic, read: readCallback },
}
