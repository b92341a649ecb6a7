/** Real peers on 127.0.0.1 for tests, benchmarks and the demo; none of it needs an npm package. */
export { createClock, type TestClock } from './clock.ts'
export { findFreePort } from './free-port.ts'
export { type NdjsonLog, openNdjsonLog, readNdjson } from './ndjson.ts'
export { REFUSALS, type TokenReply } from './oauth-refusals.ts'
export {
  createOAuthServer,
  type OAuthServer,
  type OAuthServerOptions,
  type TokenRequest,
  type TokenScript,
} from './oauth-server.ts'
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
  type WebhookAnswer,
  type WebhookQueue,
  type WebhookReceiver,
  type WebhookReceiverOptions,
  type WebhookRequest,
  type WebhookScript,
} from './webhook-receiver.ts'
