/**
 * The client: one object with every operation of the service by its name (spec §4.3; contract §6).
 *
 * It holds no connection and no state, so that it needs no closing and may be shared. Every
 * operation resolves to the answer's data and rejects with `PostriderError`.
 */
import type {
  AddDomainAnswer,
  AddDomainBody,
  CancelScheduledEmailAnswer,
  ConfigureImapAnswer,
  ConfigureImapBody,
  ConfigureInboundRoutingAnswer,
  ConfigureInboundRoutingBody,
  ConfigureRelayAnswer,
  ConfigureSmtpAnswer,
  ConfigureSmtpBody,
  CreateInboundUsernameAnswer,
  CreateOAuthAppAnswer,
  CreateOAuthAppBody,
  DeleteDomainAnswer,
  DeleteImapConfigAnswer,
  DeleteInboundDomainAnswer,
  DeleteInboundUsernameAnswer,
  DeleteOAuthAppAnswer,
  DeleteRelayAnswer,
  DeleteSmtpConfigAnswer,
  DeleteSuppressionAnswer,
  DeleteWebhookAnswer,
  DeleteWebhookBody,
  Domain,
  EmailLog,
  GetDomainAnswer,
  GetEmailAnswer,
  GetEmailLogsAnswer,
  GetEmailQuery,
  GetImapConfigAnswer,
  GetInboundDomainAnswer,
  GetInboundMessageAnswer,
  GetInboundUsernameAnswer,
  GetPhishingSettingsAnswer,
  GetRelayAnswer,
  GetSmtpConfigAnswer,
  GetStatisticsAnswer,
  GetWebhookDeliveryAnswer,
  InboundDomain,
  InboundMessage,
  InboundUsername,
  ListDomainsAnswer,
  ListDomainsQuery,
  ListedMailer,
  ListInboundDomainsAnswer,
  ListInboundDomainsQuery,
  ListInboundMessagesAnswer,
  ListInboundMessagesQuery,
  ListInboundUsernamesAnswer,
  ListInboundUsernamesQuery,
  ListMailersAnswer,
  ListMailersQuery,
  ListOAuthAppsAnswer,
  ListSuppressionsAnswer,
  ListSuppressionsQuery,
  ListWebhookDeliveriesAnswer,
  ListWebhooksAnswer,
  OAuthLoginAnswer,
  OAuthLoginBody,
  RedeliverAnswer,
  RegisterWebhookAnswer,
  RegisterWebhookBody,
  RelayKind,
  ReplayWebhookEventsAnswer,
  RescueEmailsAnswer,
  RotateDomainKeyAnswer,
  SendEmailAnswer,
  SetOAuthActiveAnswer,
  SubscribeEmailAnswer,
  Suppression,
  UnsubscribeEmailAnswer,
  UpdateImapAnswer,
  UpdateInboundDomainAnswer,
  UpdateInboundDomainBody,
  UpdateInboundUsernameAnswer,
  UpdateInboundUsernameBody,
  UpdateOAuthAppAnswer,
  UpdatePhishingSettingsAnswer,
  UpdatePhishingSettingsBody,
  UpdateSmtpAnswer,
  UpdateWebhookAnswer,
  VerifyDomainAnswer,
  WebhookDelivery,
} from '@postrider/contract'
import type { PagedList } from './core/pages.ts'
import {
  checkTimeout,
  createOpen,
  createSend,
  type Open,
  type RequestOptions,
  type Send,
  type SendDeps,
  waitUnlessAborted,
} from './core/request.ts'
import * as activity from './resources/activity.ts'
import * as domains from './resources/domains.ts'
import * as emails from './resources/emails.ts'
import * as imapMailers from './resources/imap-mailers.ts'
import * as inbound from './resources/inbound.ts'
import * as inboundMessages from './resources/inbound-messages.ts'
import * as mailers from './resources/mailers.ts'
import * as oauth from './resources/oauth.ts'
import * as phishing from './resources/phishing.ts'
import * as relays from './resources/relays.ts'
import * as suppressions from './resources/suppressions.ts'
import * as webhookDeliveries from './resources/webhook-deliveries.ts'
import * as webhooks from './resources/webhooks.ts'

export const defaultBasePath = 'http://127.0.0.1:8080'
export const defaultTimeoutMs = 30_000
export const defaultRetriesMax = 2

export interface PostriderOptions {
  readonly apiKey: string
  /** Base URL of the API; `http://127.0.0.1:8080` when left out. */
  readonly basePath?: string
  /** Milliseconds for each attempt; 30,000 when left out. */
  readonly timeout?: number
  /** Further attempts after the first; 2 when left out. */
  readonly maxRetries?: number
  /** In place of the global `fetch`. */
  readonly fetch?: typeof globalThis.fetch
}

export class Postrider {
  readonly #send: Send
  readonly #open: Open

  constructor(options: PostriderOptions) {
    const deps: SendDeps = {
      apiKey: checkApiKey(options.apiKey),
      basePath: checkBasePath(options.basePath ?? defaultBasePath),
      timeoutMs: checkTimeout(options.timeout ?? defaultTimeoutMs, typeError),
      retriesMax: checkRetries(options.maxRetries ?? defaultRetriesMax),
      fetch: options.fetch ?? ((input, init) => globalThis.fetch(input, init)),
      random: Math.random,
      nowMs: () => performance.now(),
      wait: waitUnlessAborted,
    }
    this.#send = createSend(deps)
    this.#open = createOpen(deps)
  }

  /** Accepts an email for delivery; repeated safely under one `Idempotency-Key`. */
  sendEmail(payload: emails.SendEmailInput, options?: RequestOptions): Promise<SendEmailAnswer> {
    return emails.sendEmail(this.#send, payload, options)
  }

  /** Takes back what has not been attempted; `cancelled` says for how many recipients. */
  cancelScheduledEmail(
    refId: string,
    options?: RequestOptions,
  ): Promise<CancelScheduledEmailAnswer> {
    return emails.cancelScheduledEmail(this.#send, refId, options)
  }

  /**
   * Queues failed recipients again; never repeated by itself. A call rescues a bounded number: while
   * it answers a `nextPageToken`, repeat it with that as `pageToken`.
   */
  rescueEmails(
    payload: emails.RescueEmailsInput,
    options?: RequestOptions,
  ): Promise<RescueEmailsAnswer> {
    return emails.rescueEmails(this.#send, payload, options)
  }

  /** One page, newest first, when it is awaited; all of them, page after page, in `for await`. */
  getEmailLogs(
    filter?: activity.GetEmailLogsInput,
    options?: RequestOptions,
  ): PagedList<GetEmailLogsAnswer, EmailLog> {
    return activity.getEmailLogs(this.#send, filter, options)
  }

  /**
   * All logs that fit, as CSV or NDJSON, to be read as they come. The stream fails when the export
   * breaks off; `timeout` is that of its beginning.
   */
  exportEmailLogs(
    filter: activity.ExportEmailLogsInput,
    options?: RequestOptions,
  ): Promise<ReadableStream<Uint8Array>> {
    return activity.exportEmailLogs(this.#open, filter, options)
  }

  /** The trace of an email: recipients, attempts, events and webhook deliveries. */
  getEmail(
    refId: string,
    filter?: GetEmailQuery,
    options?: RequestOptions,
  ): Promise<GetEmailAnswer> {
    return activity.getEmail(this.#send, refId, filter, options)
  }

  /** Received messages, newest first. Awaited: one page; in `for await`: all of them. */
  listInboundMessages(
    page?: ListInboundMessagesQuery,
    options?: RequestOptions,
  ): PagedList<ListInboundMessagesAnswer, InboundMessage> {
    return inboundMessages.listInboundMessages(this.#send, page, options)
  }

  getInboundMessage(inboundId: string, options?: RequestOptions): Promise<GetInboundMessageAnswer> {
    return inboundMessages.getInboundMessage(this.#send, inboundId, options)
  }

  /** A received message as it was received, to be read as it comes. */
  getRawInboundMessage(
    inboundId: string,
    options?: RequestOptions,
  ): Promise<ReadableStream<Uint8Array>> {
    return inboundMessages.getRawInboundMessage(this.#open, inboundId, options)
  }

  /** @param n its place among `attachments` of the event, from 0 */
  getInboundAttachment(
    inboundId: string,
    n: number,
    options?: RequestOptions,
  ): Promise<ReadableStream<Uint8Array>> {
    return inboundMessages.getInboundAttachment(this.#open, inboundId, n, options)
  }

  /** Counts of what happened, by hour or day and mailer. */
  getStatistics(
    filter?: activity.GetStatisticsInput,
    options?: RequestOptions,
  ): Promise<GetStatisticsAnswer> {
    return activity.getStatistics(this.#send, filter, options)
  }

  /** Lets an address be sent to again, whatever it was suppressed for. */
  subscribeEmail(email: string, options?: RequestOptions): Promise<SubscribeEmailAnswer> {
    return suppressions.subscribeEmail(this.#send, email, options)
  }

  /** Nothing is sent to the address any more. */
  unsubscribeEmail(email: string, options?: RequestOptions): Promise<UnsubscribeEmailAnswer> {
    return suppressions.unsubscribeEmail(this.#send, email, options)
  }

  /** One page, newest first. */
  listSuppressions(
    filter?: ListSuppressionsQuery,
    options?: RequestOptions,
  ): Promise<ListSuppressionsAnswer> {
    return suppressions.listSuppressions(this.#send, filter, options)
  }

  /** All of them, for `for await`; each page is asked for when it is wanted. */
  eachSuppression(
    filter?: ListSuppressionsQuery,
    options?: RequestOptions,
  ): AsyncGenerator<Suppression, void, undefined> {
    return suppressions.eachSuppression(this.#send, filter, options)
  }

  /** Like subscribeEmail, but an address that is not suppressed is a 404. */
  getPhishingSettings(options?: RequestOptions): Promise<GetPhishingSettingsAnswer> {
    return phishing.getPhishingSettings(this.#send, options)
  }

  /** What is left out stays as it is; `blocked_domains` is replaced as a whole. */
  updatePhishingSettings(
    settings: UpdatePhishingSettingsBody,
    options?: RequestOptions,
  ): Promise<UpdatePhishingSettingsAnswer> {
    return phishing.updatePhishingSettings(this.#send, settings, options)
  }

  deleteSuppression(email: string, options?: RequestOptions): Promise<DeleteSuppressionAnswer> {
    return suppressions.deleteSuppression(this.#send, email, options)
  }

  registerWebhook(
    payload: RegisterWebhookBody,
    options?: RequestOptions,
  ): Promise<RegisterWebhookAnswer> {
    return webhooks.registerWebhook(this.#send, payload, options)
  }

  /** `headers` and `webhook_options` replace what was there. */
  updateWebhook(
    payload: webhooks.UpdateWebhookInput,
    options?: RequestOptions,
  ): Promise<UpdateWebhookAnswer> {
    return webhooks.updateWebhook(this.#send, payload, options)
  }

  deleteWebhook(
    payload: DeleteWebhookBody,
    options?: RequestOptions,
  ): Promise<DeleteWebhookAnswer> {
    return webhooks.deleteWebhook(this.#send, payload, options)
  }

  /** Names of custom headers are shown, never their values. */
  listWebhooks(options?: RequestOptions): Promise<ListWebhooksAnswer> {
    return webhooks.listWebhooks(this.#send, options)
  }

  /** One page, newest first. A page may be short or empty while there is a `nextPageToken`. */
  listWebhookDeliveries(
    filter?: webhookDeliveries.ListWebhookDeliveriesInput,
    options?: RequestOptions,
  ): Promise<ListWebhookDeliveriesAnswer> {
    return webhookDeliveries.listWebhookDeliveries(this.#send, filter, options)
  }

  /** All of them, for `for await`; each page is asked for when it is wanted. */
  eachWebhookDelivery(
    filter?: webhookDeliveries.ListWebhookDeliveriesInput,
    options?: RequestOptions,
  ): AsyncGenerator<WebhookDelivery, void, undefined> {
    return webhookDeliveries.eachWebhookDelivery(this.#send, filter, options)
  }

  /** With what was sent. */
  getWebhookDelivery(
    deliveryId: string,
    options?: RequestOptions,
  ): Promise<GetWebhookDeliveryAnswer> {
    return webhookDeliveries.getWebhookDelivery(this.#send, deliveryId, options)
  }

  /** Sends the events of a delivery again; never repeated by itself. */
  redeliver(deliveryId: string, options?: RequestOptions): Promise<RedeliverAnswer> {
    return webhookDeliveries.redeliver(this.#send, deliveryId, options)
  }

  /** Sends recorded events again, by time or email; never repeated by itself. */
  replayWebhookEvents(
    payload: webhookDeliveries.ReplayWebhookEventsInput,
    options?: RequestOptions,
  ): Promise<ReplayWebhookEventsAnswer> {
    return webhookDeliveries.replayWebhookEvents(this.#send, payload, options)
  }

  /** Logs in at the server before it answers, unless `verify` is false. */
  configureSMTP(
    payload: ConfigureSmtpBody,
    options?: RequestOptions,
  ): Promise<ConfigureSmtpAnswer> {
    return mailers.configureSMTP(this.#send, payload, options)
  }

  updateSMTP(
    payload: mailers.UpdateSmtpInput,
    options?: RequestOptions,
  ): Promise<UpdateSmtpAnswer> {
    return mailers.updateSMTP(this.#send, payload, options)
  }

  getSMTPConfig(mailerId: string, options?: RequestOptions): Promise<GetSmtpConfigAnswer> {
    return mailers.getSMTPConfig(this.#send, mailerId, options)
  }

  deleteSMTPConfig(mailerId: string, options?: RequestOptions): Promise<DeleteSmtpConfigAnswer> {
    return mailers.deleteSMTPConfig(this.#send, mailerId, options)
  }

  /** Logs in at the server before it answers, unless `verify` is false. */
  configureIMAP(
    payload: ConfigureImapBody,
    options?: RequestOptions,
  ): Promise<ConfigureImapAnswer> {
    return imapMailers.configureIMAP(this.#send, payload, options)
  }

  updateIMAP(
    payload: imapMailers.UpdateImapInput,
    options?: RequestOptions,
  ): Promise<UpdateImapAnswer> {
    return imapMailers.updateIMAP(this.#send, payload, options)
  }

  getIMAPConfig(mailerId: string, options?: RequestOptions): Promise<GetImapConfigAnswer> {
    return imapMailers.getIMAPConfig(this.#send, mailerId, options)
  }

  deleteIMAPConfig(mailerId: string, options?: RequestOptions): Promise<DeleteImapConfigAnswer> {
    return imapMailers.deleteIMAPConfig(this.#send, mailerId, options)
  }

  /** Of every type; one page, newest first. */
  listMailers(filter?: ListMailersQuery, options?: RequestOptions): Promise<ListMailersAnswer> {
    return mailers.listMailers(this.#send, filter, options)
  }

  /** All of them, for `for await`; each page is asked for when it is wanted. */
  eachMailer(
    filter?: ListMailersQuery,
    options?: RequestOptions,
  ): AsyncGenerator<ListedMailer, void, undefined> {
    return mailers.eachMailer(this.#send, filter, options)
  }

  /** Register the answer's `callback_url` at the provider. */
  createOAuthApp(
    payload: CreateOAuthAppBody,
    options?: RequestOptions,
  ): Promise<CreateOAuthAppAnswer> {
    return oauth.createOAuthApp(this.#send, payload, options)
  }

  listOAuthApps(options?: RequestOptions): Promise<ListOAuthAppsAnswer> {
    return oauth.listOAuthApps(this.#send, options)
  }

  /** For a new client secret, other scopes, other ways back. */
  updateOAuthApp(
    payload: oauth.UpdateOAuthAppInput,
    options?: RequestOptions,
  ): Promise<UpdateOAuthAppAnswer> {
    return oauth.updateOAuthApp(this.#send, payload, options)
  }

  deleteOAuthApp(appId: string, options?: RequestOptions): Promise<DeleteOAuthAppAnswer> {
    return oauth.deleteOAuthApp(this.#send, appId, options)
  }

  /** `authorization_url` for a browser; with a refresh token in `token`, the mailer. */
  oauthLogin(payload: OAuthLoginBody, options?: RequestOptions): Promise<OAuthLoginAnswer> {
    return oauth.oauthLogin(this.#send, payload, options)
  }

  /** `active` is true when it is left out. */
  setOAuthActive(
    payload: oauth.SetOAuthActiveInput,
    options?: RequestOptions,
  ): Promise<SetOAuthActiveAnswer> {
    return oauth.setOAuthActive(this.#send, payload, options)
  }

  /** Register the answer's `callback_url` at the provider. What is left out stays as it is. */
  configureRelay(
    payload: relays.ConfigureRelayInput,
    options?: RequestOptions,
  ): Promise<ConfigureRelayAnswer> {
    return relays.configureRelay(this.#send, payload, options)
  }

  getRelay(kind: RelayKind, options?: RequestOptions): Promise<GetRelayAnswer> {
    return relays.getRelay(this.#send, kind, options)
  }

  deleteRelay(kind: RelayKind, options?: RequestOptions): Promise<DeleteRelayAnswer> {
    return relays.deleteRelay(this.#send, kind, options)
  }

  /**
   * Routes the mail of a domain to a webhook. Publish one of the answer's records, then call
   * getInboundDomain until it is `verified`.
   */
  configureInboundRouting(
    payload: ConfigureInboundRoutingBody,
    options?: RequestOptions,
  ): Promise<ConfigureInboundRoutingAnswer> {
    return inbound.configureInboundRouting(this.#send, payload, options)
  }

  /** `headers` replace what was there. */
  updateInboundDomain(
    domain: string,
    update: UpdateInboundDomainBody,
    options?: RequestOptions,
  ): Promise<UpdateInboundDomainAnswer> {
    return inbound.updateInboundDomain(this.#send, domain, update, options)
  }

  /** Looks its records up while it is not verified. */
  getInboundDomain(domain: string, options?: RequestOptions): Promise<GetInboundDomainAnswer> {
    return inbound.getInboundDomain(this.#send, domain, options)
  }

  /** With its usernames. */
  deleteInboundDomain(
    domain: string,
    options?: RequestOptions,
  ): Promise<DeleteInboundDomainAnswer> {
    return inbound.deleteInboundDomain(this.#send, domain, options)
  }

  /** One page, newest first. */
  listInboundDomains(
    page?: ListInboundDomainsQuery,
    options?: RequestOptions,
  ): Promise<ListInboundDomainsAnswer> {
    return inbound.listInboundDomains(this.#send, page, options)
  }

  /** All of them, for `for await`; each page is asked for when it is wanted. */
  eachInboundDomain(
    page?: ListInboundDomainsQuery,
    options?: RequestOptions,
  ): AsyncGenerator<InboundDomain, void, undefined> {
    return inbound.eachInboundDomain(this.#send, page, options)
  }

  /** A route for one local part; a domain that has some takes no others. */
  createInboundUsername(
    payload: inbound.CreateInboundUsernameInput,
    options?: RequestOptions,
  ): Promise<CreateInboundUsernameAnswer> {
    return inbound.createInboundUsername(this.#send, payload, options)
  }

  /** `headers` replace what was there; a `url` of null is the domain's again. */
  updateInboundUsername(
    domain: string,
    username: string,
    update: UpdateInboundUsernameBody,
    options?: RequestOptions,
  ): Promise<UpdateInboundUsernameAnswer> {
    return inbound.updateInboundUsername(this.#send, domain, username, update, options)
  }

  getInboundUsername(
    domain: string,
    username: string,
    options?: RequestOptions,
  ): Promise<GetInboundUsernameAnswer> {
    return inbound.getInboundUsername(this.#send, domain, username, options)
  }

  deleteInboundUsername(
    domain: string,
    username: string,
    options?: RequestOptions,
  ): Promise<DeleteInboundUsernameAnswer> {
    return inbound.deleteInboundUsername(this.#send, domain, username, options)
  }

  /** One page, newest first. */
  listInboundUsernames(
    domain: string,
    page?: ListInboundUsernamesQuery,
    options?: RequestOptions,
  ): Promise<ListInboundUsernamesAnswer> {
    return inbound.listInboundUsernames(this.#send, domain, page, options)
  }

  /** All of them, for `for await`; each page is asked for when it is wanted. */
  eachInboundUsername(
    domain: string,
    page?: ListInboundUsernamesQuery,
    options?: RequestOptions,
  ): AsyncGenerator<InboundUsername, void, undefined> {
    return inbound.eachInboundUsername(this.#send, domain, page, options)
  }

  /** Answers the records to publish; needs an account at a relay provider. */
  addDomain(payload: AddDomainBody, options?: RequestOptions): Promise<AddDomainAnswer> {
    return domains.addDomain(this.#send, payload, options)
  }

  getDomain(domain: string, options?: RequestOptions): Promise<GetDomainAnswer> {
    return domains.getDomain(this.#send, domain, options)
  }

  /** One page, newest first. */
  listDomains(filter?: ListDomainsQuery, options?: RequestOptions): Promise<ListDomainsAnswer> {
    return domains.listDomains(this.#send, filter, options)
  }

  /** All of them, for `for await`; each page is asked for when it is wanted. */
  eachDomain(
    filter?: ListDomainsQuery,
    options?: RequestOptions,
  ): AsyncGenerator<Domain, void, undefined> {
    return domains.eachDomain(this.#send, filter, options)
  }

  /** Checks now; the result is also told by `DOMAIN_VERIFICATION`. */
  verifyDomain(domain: string, options?: RequestOptions): Promise<VerifyDomainAnswer> {
    return domains.verifyDomain(this.#send, domain, options)
  }

  /** The new key is used once its record is published. */
  rotateDomainKey(domain: string, options?: RequestOptions): Promise<RotateDomainKeyAnswer> {
    return domains.rotateDomainKey(this.#send, domain, options)
  }

  deleteDomain(domain: string, options?: RequestOptions): Promise<DeleteDomainAnswer> {
    return domains.deleteDomain(this.#send, domain, options)
  }
}

function typeError(message: string): TypeError {
  return new TypeError(message)
}

/** What HTTP would refuse is refused here, where the message does not show the key. */
function checkApiKey(apiKey: unknown): string {
  if (typeof apiKey === 'string' && /^[\x21-\x7e]+$/.test(apiKey)) return apiKey
  throw typeError('apiKey must be a non-empty string of visible ASCII characters')
}

function checkBasePath(basePath: unknown): string {
  const url = typeof basePath === 'string' && URL.canParse(basePath) ? new URL(basePath) : undefined
  const isHttp = url?.protocol === 'https:' || url?.protocol === 'http:'
  if (!url || !isHttp || url.username || url.password || url.search || url.hash) {
    throw typeError('basePath must be an http or https URL without credentials, query and fragment')
  }
  return (url.origin + url.pathname).replace(/\/+$/, '')
}

function checkRetries(retries: unknown): number {
  if (Number.isInteger(retries) && Number(retries) >= 0 && Number(retries) <= 10) {
    return Number(retries)
  }
  throw typeError('maxRetries must be an integer from 0 to 10')
}
