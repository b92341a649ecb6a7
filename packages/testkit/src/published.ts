/**
 * What users get as `@postrider/testkit`: servers on loopback that play the mail server, the relay provider, the
 * mailbox and the webhook receiver, and a Postrider to test with. What only this repository's tests need is
 * left out.
 */

import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { programsOf } from './programs.ts'
import { type RunningService, type StartServiceOptions, startService } from './start-service.ts'

export {
  createDnsServer,
  type DnsAnswer,
  type DnsQuestion,
  type DnsScript,
  type DnsServer,
} from './dns/dns-server.ts'
export type { DnsRecord, DnsRecordType } from './dns/dns-wire.ts'
export type { PublishedRecord } from './dns/dns-zones.ts'
export { findFreePort } from './free-port.ts'
export type { HttpAnswer } from './http-answer.ts'
export type { DeliverOptions, ImapAccount, ImapFolder, ImapMessage } from './imap/imap-account.ts'
export type { ImapAction, ImapContext, ImapScript } from './imap/imap-script.ts'
export { createImapServer, type ImapServer, type ImapServerOptions } from './imap/imap-server.ts'
export {
  createOAuthServer,
  type OAuthServer,
  type OAuthServerOptions,
  type TokenRequest,
  type TokenScript,
} from './oauth-server.ts'
export {
  createSendGridServer,
  type SendGridServer,
  type SendGridServerOptions,
} from './relays/sendgrid-server.ts'
export {
  createSparkPostServer,
  type SparkPostServer,
  type SparkPostServerOptions,
} from './relays/sparkpost-server.ts'
export type { SmtpConnectionRecord, SmtpFact, SmtpTransaction } from './smtp-facts.ts'
export type { SmtpAction, SmtpContext, SmtpPhase, SmtpScript } from './smtp-script.ts'
export { createSmtpServer, type SmtpServer, type SmtpServerOptions } from './smtp-server.ts'
export type { ProcessEnd, RunningProcess } from './start-process.ts'
export type { RunningService, StartServiceOptions } from './start-service.ts'
export {
  createWebhookReceiver,
  type WebhookQueue,
  type WebhookReceiver,
  type WebhookReceiverOptions,
  type WebhookRequest,
  type WebhookScript,
} from './webhook-receiver.ts'

/** Starts the package `postrider` that is installed beside this one, unless `program` names another. */
export async function startPostrider(o: StartServiceOptions): Promise<RunningService> {
  return await startService({ ...o, program: o.program ?? installedProgram() })
}

function installedProgram(): string {
  const search = createRequire(join(process.cwd(), 'package.json'))
  return programsOf(dirname(search.resolve('postrider/package.json'))).service
}
