/** Real peers on 127.0.0.1 for tests, benchmarks and the demo; none of it needs an npm package. */

export type { Bomb } from './bombs/bomb.ts'
export { createDnsBombs, type DnsBomb } from './bombs/dns-answer.ts'
export {
  type ImapLine,
  makeImapLine,
  makeImapLines,
  type RandomSource,
} from './bombs/imap-lines.ts'
export { type BombKind, bombKinds, bombsOf } from './bombs/index.ts'
export { firstLineBombs, imapBombs, type KnownBomb, signatureBombs } from './bombs/known.ts'
export { casesOf } from './cases.ts'
export { createClock, type TestClock } from './clock.ts'
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
export { type NdjsonLog, openNdjsonLog, readNdjson } from './ndjson.ts'
export { REFUSALS, type TokenReply } from './oauth-refusals.ts'
export {
  createOAuthServer,
  type OAuthServer,
  type OAuthServerOptions,
  type TokenRequest,
  type TokenScript,
} from './oauth-server.ts'
export { copyPreparedData } from './prepared-data.ts'
export { programs, unbundled } from './programs.ts'
export { createRandom, type Random } from './random.ts'
export { createRawClient, type RawClient, toRawClient } from './raw-client.ts'
export type { CallbackAttempt, CallbackBatch, CallbackShape } from './relays/callbacks.ts'
export type { PeerReply, PeerRequest, PeerScript, ScriptedAnswer } from './relays/http-peer.ts'
export { headerOf, type RelayedAttachment, type RelayedMail } from './relays/relayed-mail.ts'
export type { SendGridDomain, SendGridVerification } from './relays/sendgrid-domains.ts'
export { SENDGRID } from './relays/sendgrid-errors.ts'
export type { SendGridStep } from './relays/sendgrid-events.ts'
export type { SendGridMail } from './relays/sendgrid-mail.ts'
export {
  createSendGridServer,
  type SendGridFate,
  type SendGridServer,
  type SendGridServerOptions,
} from './relays/sendgrid-server.ts'
export type { SendGridCallbackShape } from './relays/sendgrid-webhooks.ts'
export { SPARKPOST } from './relays/sparkpost-errors.ts'
export type { SparkPostStep } from './relays/sparkpost-events.ts'
export type { SparkPostDomain, SparkPostVerification } from './relays/sparkpost-records.ts'
export {
  createSparkPostServer,
  type SparkPostFate,
  type SparkPostServer,
  type SparkPostServerOptions,
} from './relays/sparkpost-server.ts'
export type { SparkPostMail } from './relays/sparkpost-transmission.ts'
export type { SparkPostWebhook } from './relays/sparkpost-webhooks.ts'
export { createSignal, type Signal } from './signal.ts'
export type { SmtpConnectionRecord, SmtpFact, SmtpTransaction } from './smtp-facts.ts'
export {
  firstScript,
  parseAction,
  type SmtpAction,
  type SmtpContext,
  type SmtpPhase,
  type SmtpScript,
  type SmtpScriptTable,
  tableScript,
} from './smtp-script.ts'
export { createSmtpServer, type SmtpServer, type SmtpServerOptions } from './smtp-server.ts'
export {
  type ProcessEnd,
  type RunningProcess,
  type StartProcessOptions,
  startProcess,
} from './start-process.ts'
export { type RunningService, type StartServiceOptions, startService } from './start-service.ts'
export {
  createWebhookReceiver,
  type WebhookQueue,
  type WebhookReceiver,
  type WebhookReceiverOptions,
  type WebhookRequest,
  type WebhookScript,
} from './webhook-receiver.ts'
