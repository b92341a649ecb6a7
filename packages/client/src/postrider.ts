/**
 * The client: one object with every operation of the service by its name
 * (docs/reference/client.md#operations).
 *
 * It holds no connection and no state, so that it needs no closing and may be shared. Every
 * operation resolves to the answer's data and rejects with `PostriderError`; lists are also gone
 * through with `for await`. What an operation does is said by the schema, from which the build
 * writes the comments of the declarations; here stands what only the client adds to it.
 */
import type {
  AcceptInvitationAnswer,
  AcceptInvitationBody,
  AddDomainAnswer,
  AddDomainBody,
  AddSuppressionAnswer,
  ApiKey,
  AuditEntry,
  CancelEmailsAnswer,
  CancelScheduledEmailAnswer,
  ConfigureImapAnswer,
  ConfigureInboundRoutingAnswer,
  ConfigureInboundRoutingBody,
  ConfigureRelayAnswer,
  ConfigureSmtpAnswer,
  CreateApiKeyAnswer,
  CreateInboundUsernameAnswer,
  CreateKeyAnswer,
  CreateMemberAnswer,
  CreateMemberBody,
  CreateOAuthAppAnswer,
  CreateOAuthAppBody,
  CreateSessionAnswer,
  CreateSessionBody,
  CreateTemplateAnswer,
  CreateTemplateBody,
  CreateTenantAnswer,
  CreateTenantBody,
  CreateUserAnswer,
  CreateUserBody,
  DeleteAlertsAnswer,
  DeleteDomainAnswer,
  DeleteImapConfigAnswer,
  DeleteInboundDomainAnswer,
  DeleteInboundUsernameAnswer,
  DeleteMemberAnswer,
  DeleteOAuthAppAnswer,
  DeleteOperatorAlertsAnswer,
  DeleteRelayAnswer,
  DeleteSessionAnswer,
  DeleteSmtpConfigAnswer,
  DeleteSuppressionAnswer,
  DeleteTemplateAnswer,
  DeleteTemplateQuery,
  DeleteTenantAnswer,
  DeleteTenantQuery,
  DeleteUserAnswer,
  DeleteWebhookAnswer,
  DeleteWebhookBody,
  Domain,
  EmailLog,
  GetAlertsAnswer,
  GetDomainAnswer,
  GetEmailAnswer,
  GetEmailContentAnswer,
  GetEmailContentQuery,
  GetEmailLogsAnswer,
  GetEmailQuery,
  GetHealthAnswer,
  GetImapConfigAnswer,
  GetInboundDomainAnswer,
  GetInboundMessageAnswer,
  GetInboundUsernameAnswer,
  GetMailerActivityAnswer,
  GetOperatorAlertsAnswer,
  GetOverviewAnswer,
  GetPhishingSettingsAnswer,
  GetQueuesAnswer,
  GetQueuesQuery,
  GetRawEmailQuery,
  GetRelayAnswer,
  GetSessionAnswer,
  GetSmtpConfigAnswer,
  GetStatisticsAnswer,
  GetSuppressionAnswer,
  GetSystemAnswer,
  GetTemplateAnswer,
  GetTemplateQuery,
  GetTenantAnswer,
  GetUsageAnswer,
  GetUserAnswer,
  GetWebhookDeliveryAnswer,
  GetWebhookStatusAnswer,
  ImportSuppressionsAnswer,
  ImportSuppressionsQuery,
  InboundDomain,
  InboundMessage,
  InboundUsername,
  InviteMemberAnswer,
  InviteUserAnswer,
  ListApiKeysAnswer,
  ListApiKeysQuery,
  ListAuditAnswer,
  ListAuditOfAllTenantsAnswer,
  ListDomainsAnswer,
  ListDomainsQuery,
  ListEventsAnswer,
  ListedDomainMailer,
  ListedEvent,
  ListedMailer,
  ListedTemplate,
  ListInboundDomainsAnswer,
  ListInboundDomainsQuery,
  ListInboundMessagesAnswer,
  ListInboundMessagesQuery,
  ListInboundUsernamesAnswer,
  ListInboundUsernamesQuery,
  ListKeysAnswer,
  ListKeysQuery,
  ListMailersAnswer,
  ListMailersQuery,
  ListMembersAnswer,
  ListMembersQuery,
  ListOAuthAppsAnswer,
  ListSessionsAnswer,
  ListSuppressionsAnswer,
  ListSuppressionsQuery,
  ListTemplatesAnswer,
  ListTemplatesQuery,
  ListTenantsAnswer,
  ListTenantsQuery,
  ListUsersAnswer,
  ListUsersQuery,
  ListWebhookDeliveriesAnswer,
  ListWebhooksAnswer,
  Member,
  OAuthApp,
  OAuthLoginAnswer,
  OAuthLoginBody,
  OperatedQueue,
  PauseWebhookAnswer,
  PreviewTemplateAnswer,
  PreviewTemplateDraftAnswer,
  PreviewTemplateDraftBody,
  RedeliverAnswer,
  RegisterWebhookAnswer,
  RegisterWebhookBody,
  RelayKind,
  ReplayWebhookEventsAnswer,
  RescueEmailsAnswer,
  ResumeWebhookAnswer,
  RetryEmailsAnswer,
  RevokeApiKeyAnswer,
  RevokeKeyAnswer,
  RevokeSessionAnswer,
  RotateDomainKeyAnswer,
  RotateSigningSecretAnswer,
  SearchAnswer,
  SearchQuery,
  SendBatchAnswer,
  SendEmailAnswer,
  SendTestEventAnswer,
  SetAlertsAnswer,
  SetAlertsBody,
  SetMailerActiveAnswer,
  SetOAuthActiveAnswer,
  SetOperatorAlertsAnswer,
  SimulateEventAnswer,
  SimulateEventBody,
  StreamEventsQuery,
  SubscribeEmailAnswer,
  Suppression,
  Tenant,
  TenantAuditEntry,
  TestMailerAnswer,
  UnsubscribeEmailAnswer,
  UpdateDomainAnswer,
  UpdateDomainBody,
  UpdateImapAnswer,
  UpdateInboundDomainAnswer,
  UpdateInboundDomainBody,
  UpdateInboundUsernameAnswer,
  UpdateInboundUsernameBody,
  UpdateMemberAnswer,
  UpdateOAuthAppAnswer,
  UpdatePhishingSettingsAnswer,
  UpdatePhishingSettingsBody,
  UpdateSmtpAnswer,
  UpdateTemplateAnswer,
  UpdateTenantAnswer,
  UpdateTenantBody,
  UpdateUserAnswer,
  UpdateWebhookAnswer,
  User,
  VerifyDomainAnswer,
  Webhook,
  WebhookDelivery,
} from '@postrider/contract'
import type { AnswerPromise } from './core/answer-promise.ts'
import { type StreamedEvent, streamEvents } from './core/event-stream.ts'
import type { ByteStream } from './core/open-stream.ts'
import { type PostriderOptions, type RequestOptions, readClientOptions } from './core/options.ts'
import { type PagedList, pagedList } from './core/pages.ts'
import { createOpen, createSend, type Open, type Send, waitUnlessAborted } from './core/request.ts'
import { userAgent } from './core/user-agent.ts'
import type * as inputs from './inputs.ts'

export class Postrider {
  readonly #send: Send
  readonly #open: Open
  readonly #random: () => number

  /** Throws `TypeError` for options that cannot work. */
  constructor(options: PostriderOptions) {
    const deps = {
      ...readClientOptions(options),
      userAgent: userAgent(),
      random: Math.random,
      nowMs: () => performance.now(),
      wait: waitUnlessAborted,
    }
    this.#send = createSend(deps)
    this.#open = createOpen(deps)
    this.#random = deps.random
  }

  #list<Answer extends object, Name extends keyof Answer>(
    name: Name,
    call: { readonly path: string; readonly parameters?: Readonly<Record<string, string>> },
    { pageToken: first, ...filter }: { readonly pageToken?: string | undefined },
    options: RequestOptions | undefined,
  ) {
    return pagedList<Answer, Name>({
      name,
      pageToken: first,
      pageAt: (pageToken) =>
        this.#send({ ...call, method: 'GET', query: { ...filter, pageToken } }, options),
      signal: options?.signal,
    })
  }

  /**
   * Always under one `Idempotency-Key`, the caller's or a fresh one: an answer that got lost does
   * not mean that the email was not accepted, and a repetition must not send it twice.
   */
  sendEmail(
    payload: inputs.SendEmailInput,
    options?: RequestOptions,
  ): AnswerPromise<SendEmailAnswer> {
    return this.#send(
      { method: 'POST', path: '/v1/email/send', body: payload, honoursIdempotencyKey: true },
      { ...options, idempotencyKey: options?.idempotencyKey ?? randomKey() },
    )
  }

  /**
   * Each message always has an `idempotency_key`, the caller's or a fresh one: an answer that got lost does
   * not mean that nothing was accepted, and a repetition must not send a message twice. Look at each result:
   * one with `code` was not accepted.
   */
  sendBatch(
    payload: inputs.SendBatchInput,
    options?: Omit<RequestOptions, 'idempotencyKey'>,
  ): AnswerPromise<SendBatchAnswer> {
    const messages = payload.messages.map((message) => ({
      ...message,
      idempotency_key: message.idempotency_key ?? randomKey(),
    }))
    return this.#send(
      {
        method: 'POST',
        path: '/v1/email/batch',
        body: { ...payload, messages },
        isIdempotent: true,
      },
      options,
    )
  }

  /** Of test mail alone. Not repeated after a lost answer: it would happen twice. */
  simulateEvent(
    refId: string,
    simulated: SimulateEventBody,
    options?: RequestOptions,
  ): AnswerPromise<SimulateEventAnswer> {
    const path = '/v1/email/{ref_id}/simulate'
    return this.#send(
      { method: 'POST', path, parameters: { ref_id: refId }, body: simulated },
      options,
    )
  }

  /** Repeated safely: what was taken back stays so. */
  cancelScheduledEmail(
    refId: string,
    options?: RequestOptions,
  ): AnswerPromise<CancelScheduledEmailAnswer> {
    return this.#send(
      { method: 'DELETE', path: '/v1/email/{ref_id}/schedule', parameters: { ref_id: refId } },
      options,
    )
  }

  /**
   * Not repeated after a lost answer: what failed again meanwhile would be rescued twice. A call
   * rescues a bounded number: while it answers a `nextPageToken`, repeat it with that as
   * `pageToken`.
   */
  rescueEmails(
    payload: inputs.RescueEmailsInput,
    options?: RequestOptions,
  ): AnswerPromise<RescueEmailsAnswer> {
    return this.#send({ method: 'POST', path: '/v1/email/rescue', body: payload }, options)
  }

  /** Bounded as rescueEmails is. Repeated, it changes nothing more. */
  retryEmails(
    payload: inputs.RetryEmailsInput,
    options?: RequestOptions,
  ): AnswerPromise<RetryEmailsAnswer> {
    return this.#send(
      { method: 'POST', path: '/v1/email/retry', body: payload, isIdempotent: true },
      options,
    )
  }

  /** Bounded as rescueEmails is. Repeated, it changes nothing more. */
  cancelEmails(
    payload: inputs.CancelEmailsInput,
    options?: RequestOptions,
  ): AnswerPromise<CancelEmailsAnswer> {
    return this.#send(
      { method: 'POST', path: '/v1/email/cancel', body: payload, isIdempotent: true },
      options,
    )
  }

  getEmailLogs(
    filter: inputs.GetEmailLogsInput = {},
    options?: RequestOptions,
  ): PagedList<GetEmailLogsAnswer, EmailLog> {
    return this.#list<GetEmailLogsAnswer, 'logs'>(
      'logs',
      { path: '/v1/email/logs' },
      filter,
      options,
    )
  }

  /** The stream fails when the export breaks off. */
  exportEmailLogs(
    filter: inputs.ExportEmailLogsInput,
    options?: RequestOptions,
  ): AnswerPromise<ByteStream> {
    return this.#open(
      { method: 'GET', path: '/v1/email/logs/export', query: { ...filter } },
      options,
    )
  }

  getEmail(
    refId: string,
    filter: GetEmailQuery = {},
    options?: RequestOptions,
  ): AnswerPromise<GetEmailAnswer> {
    return this.#send(
      {
        method: 'GET',
        path: '/v1/email/{ref_id}',
        parameters: { ref_id: refId },
        query: { ...filter },
      },
      options,
    )
  }

  listInboundMessages(
    filter: ListInboundMessagesQuery = {},
    options?: RequestOptions,
  ): PagedList<ListInboundMessagesAnswer, InboundMessage> {
    return this.#list<ListInboundMessagesAnswer, 'inbound_messages'>(
      'inbound_messages',
      { path: '/v1/inbound/messages' },
      filter,
      options,
    )
  }

  getInboundMessage(
    inboundId: string,
    options?: RequestOptions,
  ): AnswerPromise<GetInboundMessageAnswer> {
    return this.#send(
      {
        method: 'GET',
        path: '/v1/inbound/messages/{inbound_id}',
        parameters: { inbound_id: inboundId },
      },
      options,
    )
  }

  getEmailContent(
    refId: string,
    query: GetEmailContentQuery = {},
    options?: RequestOptions,
  ): AnswerPromise<GetEmailContentAnswer> {
    return this.#send(
      { method: 'GET', path: '/v1/email/{ref_id}/content', parameters: { ref_id: refId }, query },
      options,
    )
  }

  getRawEmail(
    refId: string,
    query: GetRawEmailQuery = {},
    options?: RequestOptions,
  ): AnswerPromise<ByteStream> {
    return this.#open(
      { method: 'GET', path: '/v1/email/{ref_id}/raw', parameters: { ref_id: refId }, query },
      options,
    )
  }

  getRawInboundMessage(inboundId: string, options?: RequestOptions): AnswerPromise<ByteStream> {
    return this.#open(
      {
        method: 'GET',
        path: '/v1/inbound/messages/{inbound_id}/raw',
        parameters: { inbound_id: inboundId },
      },
      options,
    )
  }

  /** @param n its place among `attachments` of the event, from 0 */
  getInboundAttachment(
    inboundId: string,
    n: number,
    options?: RequestOptions,
  ): AnswerPromise<ByteStream> {
    return this.#open(
      {
        method: 'GET',
        path: '/v1/inbound/messages/{inbound_id}/attachments/{n}',
        parameters: { inbound_id: inboundId, n: String(n) },
      },
      options,
    )
  }

  getOverview(
    filter: inputs.GetOverviewInput = {},
    options?: RequestOptions,
  ): AnswerPromise<GetOverviewAnswer> {
    return this.#send({ method: 'GET', path: '/v1/overview', query: { ...filter } }, options)
  }

  /** The quotas that the operator has set for you, and how much of them is used. */
  getUsage(options?: RequestOptions): AnswerPromise<GetUsageAnswer> {
    return this.#send({ method: 'GET', path: '/v1/usage' }, options)
  }

  getStatistics(
    filter: inputs.GetStatisticsInput = {},
    options?: RequestOptions,
  ): AnswerPromise<GetStatisticsAnswer> {
    return this.#send({ method: 'GET', path: '/v1/statistics', query: { ...filter } }, options)
  }

  subscribeEmail(email: string, options?: RequestOptions): AnswerPromise<SubscribeEmailAnswer> {
    return this.#send(
      { method: 'POST', path: '/v1/email/subscribe', body: { email }, isIdempotent: true },
      options,
    )
  }

  unsubscribeEmail(email: string, options?: RequestOptions): AnswerPromise<UnsubscribeEmailAnswer> {
    return this.#send(
      { method: 'POST', path: '/v1/email/unsubscribe', body: { email }, isIdempotent: true },
      options,
    )
  }

  listSuppressions(
    filter: ListSuppressionsQuery = {},
    options?: RequestOptions,
  ): PagedList<ListSuppressionsAnswer, Suppression> {
    return this.#list<ListSuppressionsAnswer, 'suppressions'>(
      'suppressions',
      { path: '/v1/suppressions' },
      filter,
      options,
    )
  }

  /** Repeated safely: the second time changes nothing. */
  addSuppression(
    suppression: inputs.AddSuppressionInput,
    options?: RequestOptions,
  ): AnswerPromise<AddSuppressionAnswer> {
    return this.#send(
      { method: 'POST', path: '/v1/suppressions', body: suppression, isIdempotent: true },
      options,
    )
  }

  /**
   * The file is CSV. Repeated safely: what is there counts as known. A large file takes longer than the
   * usual `timeout`.
   */
  importSuppressions(
    file: inputs.UploadInput,
    query: ImportSuppressionsQuery = {},
    options?: RequestOptions,
  ): AnswerPromise<ImportSuppressionsAnswer> {
    return this.#send(
      {
        method: 'POST',
        path: '/v1/suppressions/import',
        query: { ...query },
        upload: { type: 'text/csv', file },
        isIdempotent: true,
      },
      options,
    )
  }

  /** The stream fails when the export breaks off. */
  exportSuppressions(options?: RequestOptions): AnswerPromise<ByteStream> {
    return this.#open({ method: 'GET', path: '/v1/suppressions/export' }, options)
  }

  /** With what it was suppressed by; an address that is not suppressed is a 404. */
  getSuppression(email: string, options?: RequestOptions): AnswerPromise<GetSuppressionAnswer> {
    return this.#send(
      { method: 'GET', path: '/v1/suppressions/{email}', parameters: { email } },
      options,
    )
  }

  /** Like subscribeEmail, but an address that is not suppressed is a 404. */
  deleteSuppression(
    email: string,
    options?: RequestOptions,
  ): AnswerPromise<DeleteSuppressionAnswer> {
    return this.#send(
      { method: 'DELETE', path: '/v1/suppressions/{email}', parameters: { email } },
      options,
    )
  }

  listKeys(query: ListKeysQuery = {}, options?: RequestOptions): PagedList<ListKeysAnswer, ApiKey> {
    return this.#list<ListKeysAnswer, 'keys'>('keys', { path: '/v1/keys' }, query, options)
  }

  /** The key is in the answer, once. */
  createKey(key: inputs.CreateKeyInput, options?: RequestOptions): AnswerPromise<CreateKeyAnswer> {
    return this.#send({ method: 'POST', path: '/v1/keys', body: key }, options)
  }

  revokeKey(keyId: string, options?: RequestOptions): AnswerPromise<RevokeKeyAnswer> {
    return this.#send(
      { method: 'DELETE', path: '/v1/keys/{key_id}', parameters: { key_id: keyId } },
      options,
    )
  }

  listMembers(
    query: ListMembersQuery = {},
    options?: RequestOptions,
  ): PagedList<ListMembersAnswer, Member> {
    return this.#list<ListMembersAnswer, 'members'>(
      'members',
      { path: '/v1/members' },
      query,
      options,
    )
  }

  createMember(
    member: CreateMemberBody,
    options?: RequestOptions,
  ): AnswerPromise<CreateMemberAnswer> {
    return this.#send({ method: 'POST', path: '/v1/members', body: member }, options)
  }

  updateMember(
    payload: inputs.UpdateMemberInput,
    options?: RequestOptions,
  ): AnswerPromise<UpdateMemberAnswer> {
    return this.#send({ method: 'PUT', path: '/v1/members/{user_id}', input: payload }, options)
  }

  inviteMember(userId: string, options?: RequestOptions): AnswerPromise<InviteMemberAnswer> {
    const parameters = { user_id: userId }
    return this.#send(
      { method: 'POST', path: '/v1/members/{user_id}/invitation', parameters },
      options,
    )
  }

  deleteMember(userId: string, options?: RequestOptions): AnswerPromise<DeleteMemberAnswer> {
    return this.#send(
      { method: 'DELETE', path: '/v1/members/{user_id}', parameters: { user_id: userId } },
      options,
    )
  }

  /** With the operator's token as `apiKey`. */
  createUser(user: CreateUserBody, options?: RequestOptions): AnswerPromise<CreateUserAnswer> {
    return this.#send({ method: 'POST', path: '/admin/v1/users', body: user }, options)
  }

  /** With the operator's token as `apiKey`. */
  inviteUser(userId: string, options?: RequestOptions): AnswerPromise<InviteUserAnswer> {
    const parameters = { user_id: userId }
    return this.#send(
      { method: 'POST', path: '/admin/v1/users/{user_id}/invitation', parameters },
      options,
    )
  }

  /** With the operator's token as `apiKey`. */
  listUsers(
    query: ListUsersQuery = {},
    options?: RequestOptions,
  ): PagedList<ListUsersAnswer, User> {
    return this.#list<ListUsersAnswer, 'users'>(
      'users',
      { path: '/admin/v1/users' },
      query,
      options,
    )
  }

  /** With the operator's token as `apiKey`. */
  getUser(userId: string, options?: RequestOptions): AnswerPromise<GetUserAnswer> {
    return this.#send(
      { method: 'GET', path: '/admin/v1/users/{user_id}', parameters: { user_id: userId } },
      options,
    )
  }

  /** With the operator's token as `apiKey`. */
  updateUser(
    payload: inputs.UpdateUserInput,
    options?: RequestOptions,
  ): AnswerPromise<UpdateUserAnswer> {
    return this.#send({ method: 'PUT', path: '/admin/v1/users/{user_id}', input: payload }, options)
  }

  /** With the operator's token as `apiKey`. */
  deleteUser(userId: string, options?: RequestOptions): AnswerPromise<DeleteUserAnswer> {
    return this.#send(
      { method: 'DELETE', path: '/admin/v1/users/{user_id}', parameters: { user_id: userId } },
      options,
    )
  }

  /** Sets the password by the token of an invitation, or makes the first user by that of a set-up link. */
  acceptInvitation(
    invitation: AcceptInvitationBody,
    options?: RequestOptions,
  ): AnswerPromise<AcceptInvitationAnswer> {
    return this.#send({ method: 'POST', path: '/ui/invitation', body: invitation }, options)
  }

  /** With `session`: the browser keeps the cookie of the answer. */
  createSession(
    login: CreateSessionBody,
    options?: RequestOptions,
  ): AnswerPromise<CreateSessionAnswer> {
    return this.#send({ method: 'POST', path: '/ui/session', body: login }, options)
  }

  /** With `session`. */
  getSession(options?: RequestOptions): AnswerPromise<GetSessionAnswer> {
    return this.#send({ method: 'GET', path: '/ui/session' }, options)
  }

  /** With `session`: logs out. */
  deleteSession(options?: RequestOptions): AnswerPromise<DeleteSessionAnswer> {
    return this.#send({ method: 'DELETE', path: '/ui/session' }, options)
  }

  /** With `session`. */
  listSessions(options?: RequestOptions): AnswerPromise<ListSessionsAnswer> {
    return this.#send({ method: 'GET', path: '/ui/sessions' }, options)
  }

  /** With `session`: ends another session of the user. */
  revokeSession(sessionId: string, options?: RequestOptions): AnswerPromise<RevokeSessionAnswer> {
    return this.#send(
      {
        method: 'DELETE',
        path: '/ui/sessions/{session_id}',
        parameters: { session_id: sessionId },
      },
      options,
    )
  }

  listAudit(
    filter: inputs.ListAuditInput = {},
    options?: RequestOptions,
  ): PagedList<ListAuditAnswer, AuditEntry> {
    return this.#list<ListAuditAnswer, 'entries'>('entries', { path: '/v1/audit' }, filter, options)
  }

  /** With the operator's token as `apiKey`, as everything down to `search`. The key is in the answer, once. */
  createTenant(
    tenant: CreateTenantBody,
    options?: RequestOptions,
  ): AnswerPromise<CreateTenantAnswer> {
    return this.#send({ method: 'POST', path: '/admin/v1/tenants', body: tenant }, options)
  }

  listTenants(
    query: ListTenantsQuery = {},
    options?: RequestOptions,
  ): PagedList<ListTenantsAnswer, Tenant> {
    return this.#list<ListTenantsAnswer, 'tenants'>(
      'tenants',
      { path: '/admin/v1/tenants' },
      query,
      options,
    )
  }

  getTenant(tenantId: string, options?: RequestOptions): AnswerPromise<GetTenantAnswer> {
    return this.#send(
      { method: 'GET', path: '/admin/v1/tenants/{tenant_id}', parameters: { tenant_id: tenantId } },
      options,
    )
  }

  /** What is left out stays as it is; null removes a quota. */
  updateTenant(
    tenantId: string,
    update: UpdateTenantBody,
    options?: RequestOptions,
  ): AnswerPromise<UpdateTenantAnswer> {
    return this.#send(
      {
        method: 'PUT',
        path: '/admin/v1/tenants/{tenant_id}',
        parameters: { tenant_id: tenantId },
        body: update,
      },
      options,
    )
  }

  /** `confirm` is the tenant's name. It cannot be undone. */
  deleteTenant(
    tenantId: string,
    query: DeleteTenantQuery,
    options?: RequestOptions,
  ): AnswerPromise<DeleteTenantAnswer> {
    return this.#send(
      {
        method: 'DELETE',
        path: '/admin/v1/tenants/{tenant_id}',
        parameters: { tenant_id: tenantId },
        query,
      },
      options,
    )
  }

  /** The key is in the answer, once. */
  createApiKey(
    tenantId: string,
    key: inputs.CreateApiKeyInput = {},
    options?: RequestOptions,
  ): AnswerPromise<CreateApiKeyAnswer> {
    return this.#send(
      {
        method: 'POST',
        path: '/admin/v1/tenants/{tenant_id}/keys',
        parameters: { tenant_id: tenantId },
        body: key,
      },
      options,
    )
  }

  listApiKeys(
    tenantId: string,
    query: ListApiKeysQuery = {},
    options?: RequestOptions,
  ): PagedList<ListApiKeysAnswer, ApiKey> {
    return this.#list<ListApiKeysAnswer, 'keys'>(
      'keys',
      { path: '/admin/v1/tenants/{tenant_id}/keys', parameters: { tenant_id: tenantId } },
      query,
      options,
    )
  }

  revokeApiKey(keyId: string, options?: RequestOptions): AnswerPromise<RevokeApiKeyAnswer> {
    return this.#send(
      { method: 'DELETE', path: '/admin/v1/keys/{key_id}', parameters: { key_id: keyId } },
      options,
    )
  }

  listAuditOfAllTenants(
    filter: inputs.ListAuditInput = {},
    options?: RequestOptions,
  ): PagedList<ListAuditOfAllTenantsAnswer, TenantAuditEntry> {
    return this.#list<ListAuditOfAllTenantsAnswer, 'entries'>(
      'entries',
      { path: '/admin/v1/audit' },
      filter,
      options,
    )
  }

  getHealth(options?: RequestOptions): AnswerPromise<GetHealthAnswer> {
    return this.#send({ method: 'GET', path: '/admin/v1/health' }, options)
  }

  setOperatorAlerts(
    payload: SetAlertsBody,
    options?: RequestOptions,
  ): AnswerPromise<SetOperatorAlertsAnswer> {
    return this.#send({ method: 'PUT', path: '/admin/v1/alerts', body: payload }, options)
  }

  getOperatorAlerts(options?: RequestOptions): AnswerPromise<GetOperatorAlertsAnswer> {
    return this.#send({ method: 'GET', path: '/admin/v1/alerts' }, options)
  }

  deleteOperatorAlerts(options?: RequestOptions): AnswerPromise<DeleteOperatorAlertsAnswer> {
    return this.#send({ method: 'DELETE', path: '/admin/v1/alerts' }, options)
  }

  getQueues(
    query: GetQueuesQuery = {},
    options?: RequestOptions,
  ): PagedList<GetQueuesAnswer, OperatedQueue> {
    return this.#list<GetQueuesAnswer, 'queues'>(
      'queues',
      { path: '/admin/v1/queues' },
      query,
      options,
    )
  }

  getSystem(options?: RequestOptions): AnswerPromise<GetSystemAnswer> {
    return this.#send({ method: 'GET', path: '/admin/v1/system' }, options)
  }

  search(query: SearchQuery, options?: RequestOptions): AnswerPromise<SearchAnswer> {
    return this.#send({ method: 'GET', path: '/admin/v1/search', query: { ...query } }, options)
  }

  getPhishingSettings(options?: RequestOptions): AnswerPromise<GetPhishingSettingsAnswer> {
    return this.#send({ method: 'GET', path: '/v1/phishing' }, options)
  }

  /** What is left out stays as it is; `blocked_domains` is replaced as a whole. */
  updatePhishingSettings(
    settings: UpdatePhishingSettingsBody,
    options?: RequestOptions,
  ): AnswerPromise<UpdatePhishingSettingsAnswer> {
    return this.#send({ method: 'PUT', path: '/v1/phishing', body: settings }, options)
  }

  setAlerts(payload: SetAlertsBody, options?: RequestOptions): AnswerPromise<SetAlertsAnswer> {
    return this.#send({ method: 'PUT', path: '/v1/alerts', body: payload }, options)
  }

  getAlerts(options?: RequestOptions): AnswerPromise<GetAlertsAnswer> {
    return this.#send({ method: 'GET', path: '/v1/alerts' }, options)
  }

  deleteAlerts(options?: RequestOptions): AnswerPromise<DeleteAlertsAnswer> {
    return this.#send({ method: 'DELETE', path: '/v1/alerts' }, options)
  }

  registerWebhook(
    payload: RegisterWebhookBody,
    options?: RequestOptions,
  ): AnswerPromise<RegisterWebhookAnswer> {
    return this.#send({ method: 'POST', path: '/v1/webhook/register', body: payload }, options)
  }

  /** `headers` and `webhook_options` replace what was there. */
  updateWebhook(
    payload: inputs.UpdateWebhookInput,
    options?: RequestOptions,
  ): AnswerPromise<UpdateWebhookAnswer> {
    return this.#send({ method: 'PUT', path: '/v1/webhook/update', body: payload }, options)
  }

  deleteWebhook(
    payload: DeleteWebhookBody,
    options?: RequestOptions,
  ): AnswerPromise<DeleteWebhookAnswer> {
    return this.#send({ method: 'DELETE', path: '/v1/webhook/delete', body: payload }, options)
  }

  /** Always one page. Names of custom headers are shown, never their values. */
  listWebhooks(options?: RequestOptions): PagedList<ListWebhooksAnswer, Webhook> {
    return this.#list<ListWebhooksAnswer, 'webhooks'>(
      'webhooks',
      { path: '/v1/webhook' },
      {},
      options,
    )
  }

  /** A page may be short or empty while there is a `nextPageToken`. */
  getWebhookStatus(
    webhookId: string,
    options?: RequestOptions,
  ): AnswerPromise<GetWebhookStatusAnswer> {
    return this.#send(
      {
        method: 'GET',
        path: '/v1/webhook/{webhook_id}/status',
        parameters: { webhook_id: webhookId },
      },
      options,
    )
  }

  /** Never repeated: each call makes another secret, and the one before signs on for 24 hours. */
  rotateSigningSecret(
    webhookId: string,
    options?: RequestOptions,
  ): AnswerPromise<RotateSigningSecretAnswer> {
    return this.#send(
      {
        method: 'POST',
        path: '/v1/webhook/{webhook_id}/secret',
        parameters: { webhook_id: webhookId },
      },
      options,
    )
  }

  /** Repeated safely. */
  pauseWebhook(webhookId: string, options?: RequestOptions): AnswerPromise<PauseWebhookAnswer> {
    return this.#send(
      {
        method: 'POST',
        path: '/v1/webhook/{webhook_id}/pause',
        parameters: { webhook_id: webhookId },
        isIdempotent: true,
      },
      options,
    )
  }

  /** Repeated safely. */
  resumeWebhook(webhookId: string, options?: RequestOptions): AnswerPromise<ResumeWebhookAnswer> {
    return this.#send(
      {
        method: 'POST',
        path: '/v1/webhook/{webhook_id}/resume',
        parameters: { webhook_id: webhookId },
        isIdempotent: true,
      },
      options,
    )
  }

  /** What the receiver answers is in `test`; a refusal by it rejects nothing. */
  sendTestEvent(
    test: inputs.SendTestEventInput,
    options?: RequestOptions,
  ): AnswerPromise<SendTestEventAnswer> {
    return this.#send(
      { method: 'POST', path: '/v1/webhook/{webhook_id}/test', input: test },
      options,
    )
  }

  listWebhookDeliveries(
    filter: inputs.ListWebhookDeliveriesInput = {},
    options?: RequestOptions,
  ): PagedList<ListWebhookDeliveriesAnswer, WebhookDelivery> {
    return this.#list<ListWebhookDeliveriesAnswer, 'deliveries'>(
      'deliveries',
      { path: '/v1/webhook/deliveries' },
      filter,
      options,
    )
  }

  listEvents(
    filter: inputs.ListEventsInput = {},
    options?: RequestOptions,
  ): PagedList<ListEventsAnswer, ListedEvent> {
    return this.#list<ListEventsAnswer, 'events'>('events', { path: '/v1/events' }, filter, options)
  }

  /**
   * Never ends by itself: it comes back after a lost connection, from the last event that it gave. A `gap`
   * among the events tells what was left out. Its error is one that does not pass, such as a revoked key.
   */
  streamEvents(
    filter: StreamEventsQuery = {},
    { lastEventId, ...options }: inputs.StreamEventsOptions = {},
  ): AsyncGenerator<StreamedEvent, void, undefined> {
    return streamEvents(
      {
        open: (last) =>
          this.#open(
            { method: 'GET', path: '/v1/events/stream', query: { ...filter } },
            last === undefined
              ? options
              : { ...options, headers: { ...options.headers, 'last-event-id': last } },
          ),
        wait: (ms) => waitUnlessAborted(ms, options.signal),
        random: this.#random,
      },
      lastEventId,
    )
  }

  getWebhookDelivery(
    deliveryId: string,
    options?: RequestOptions,
  ): AnswerPromise<GetWebhookDeliveryAnswer> {
    return this.#send(
      {
        method: 'GET',
        path: '/v1/webhook/deliveries/{delivery_id}',
        parameters: { delivery_id: deliveryId },
      },
      options,
    )
  }

  /** Not repeated after a lost answer, as replayWebhookEvents is not. */
  redeliver(deliveryId: string, options?: RequestOptions): AnswerPromise<RedeliverAnswer> {
    return this.#send(
      {
        method: 'POST',
        path: '/v1/webhook/deliveries/{delivery_id}/redeliver',
        parameters: { delivery_id: deliveryId },
      },
      options,
    )
  }

  /**
   * Not repeated after a lost answer: what arrived meanwhile would be sent once more. To be
   * certain, repeat with `undelivered: true`, which leaves out what has arrived.
   */
  replayWebhookEvents(
    payload: inputs.ReplayWebhookEventsInput,
    options?: RequestOptions,
  ): AnswerPromise<ReplayWebhookEventsAnswer> {
    return this.#send({ method: 'POST', path: '/v1/webhook/replay', body: payload }, options)
  }

  /** Logs in at the server before it answers, unless `verify` is false. */
  configureSMTP(
    payload: inputs.ConfigureSmtpInput,
    options?: RequestOptions,
  ): AnswerPromise<ConfigureSmtpAnswer> {
    return this.#send({ method: 'POST', path: '/v1/smtp', body: payload }, options)
  }

  updateSMTP(
    payload: inputs.UpdateSmtpInput,
    options?: RequestOptions,
  ): AnswerPromise<UpdateSmtpAnswer> {
    return this.#send({ method: 'PUT', path: '/v1/smtp/{mailer_id}', input: payload }, options)
  }

  getSMTPConfig(mailerId: string, options?: RequestOptions): AnswerPromise<GetSmtpConfigAnswer> {
    return this.#send(
      { method: 'GET', path: '/v1/smtp/{mailer_id}', parameters: { mailer_id: mailerId } },
      options,
    )
  }

  deleteSMTPConfig(
    mailerId: string,
    options?: RequestOptions,
  ): AnswerPromise<DeleteSmtpConfigAnswer> {
    return this.#send(
      { method: 'DELETE', path: '/v1/smtp/{mailer_id}', parameters: { mailer_id: mailerId } },
      options,
    )
  }

  /** Logs in at the server before it answers, unless `verify` is false. */
  configureIMAP(
    payload: inputs.ConfigureImapInput,
    options?: RequestOptions,
  ): AnswerPromise<ConfigureImapAnswer> {
    return this.#send({ method: 'POST', path: '/v1/imap', body: payload }, options)
  }

  updateIMAP(
    payload: inputs.UpdateImapInput,
    options?: RequestOptions,
  ): AnswerPromise<UpdateImapAnswer> {
    return this.#send({ method: 'PUT', path: '/v1/imap/{mailer_id}', input: payload }, options)
  }

  getIMAPConfig(mailerId: string, options?: RequestOptions): AnswerPromise<GetImapConfigAnswer> {
    return this.#send(
      { method: 'GET', path: '/v1/imap/{mailer_id}', parameters: { mailer_id: mailerId } },
      options,
    )
  }

  deleteIMAPConfig(
    mailerId: string,
    options?: RequestOptions,
  ): AnswerPromise<DeleteImapConfigAnswer> {
    return this.#send(
      { method: 'DELETE', path: '/v1/imap/{mailer_id}', parameters: { mailer_id: mailerId } },
      options,
    )
  }

  listMailers(
    filter: ListMailersQuery = {},
    options?: RequestOptions,
  ): PagedList<ListMailersAnswer, ListedMailer | ListedDomainMailer> {
    return this.#list<ListMailersAnswer, 'mailers'>(
      'mailers',
      { path: '/v1/mailers' },
      filter,
      options,
    )
  }

  createTemplate(
    payload: CreateTemplateBody,
    options?: RequestOptions,
  ): AnswerPromise<CreateTemplateAnswer> {
    return this.#send({ method: 'POST', path: '/v1/templates', body: payload }, options)
  }

  /** Without content: getTemplate has it. */
  listTemplates(
    filter: ListTemplatesQuery = {},
    options?: RequestOptions,
  ): PagedList<ListTemplatesAnswer, ListedTemplate> {
    return this.#list<ListTemplatesAnswer, 'templates'>(
      'templates',
      { path: '/v1/templates' },
      filter,
      options,
    )
  }

  /** The newest version, or `version`. */
  getTemplate(
    templateId: string,
    query: GetTemplateQuery = {},
    options?: RequestOptions,
  ): AnswerPromise<GetTemplateAnswer> {
    return this.#send(
      {
        method: 'GET',
        path: '/v1/templates/{template_id}',
        parameters: { template_id: templateId },
        query: { ...query },
      },
      options,
    )
  }

  /** Makes the next version. What is left out stays as it is. */
  updateTemplate(
    payload: inputs.UpdateTemplateInput,
    options?: RequestOptions,
  ): AnswerPromise<UpdateTemplateAnswer> {
    return this.#send(
      { method: 'PUT', path: '/v1/templates/{template_id}', input: payload },
      options,
    )
  }

  /** With all versions, or only `version`. */
  deleteTemplate(
    templateId: string,
    query: DeleteTemplateQuery = {},
    options?: RequestOptions,
  ): AnswerPromise<DeleteTemplateAnswer> {
    return this.#send(
      {
        method: 'DELETE',
        path: '/v1/templates/{template_id}',
        parameters: { template_id: templateId },
        query: { ...query },
      },
      options,
    )
  }

  /** `html` of the answer belongs into a sandbox. */
  previewTemplate(
    payload: inputs.PreviewTemplateInput,
    options?: RequestOptions,
  ): AnswerPromise<PreviewTemplateAnswer> {
    return this.#send(
      { method: 'POST', path: '/v1/templates/{template_id}/preview', input: payload },
      options,
    )
  }

  /** Of a template that is not stored. */
  previewTemplateDraft(
    payload: PreviewTemplateDraftBody,
    options?: RequestOptions,
  ): AnswerPromise<PreviewTemplateDraftAnswer> {
    return this.#send({ method: 'POST', path: '/v1/templates/preview', body: payload }, options)
  }

  /** Register the answer's `callback_url` at the provider. */
  createOAuthApp(
    payload: CreateOAuthAppBody,
    options?: RequestOptions,
  ): AnswerPromise<CreateOAuthAppAnswer> {
    return this.#send({ method: 'POST', path: '/v1/oauth/apps', body: payload }, options)
  }

  /** Always one page. */
  listOAuthApps(options?: RequestOptions): PagedList<ListOAuthAppsAnswer, OAuthApp> {
    return this.#list<ListOAuthAppsAnswer, 'apps'>('apps', { path: '/v1/oauth/apps' }, {}, options)
  }

  updateOAuthApp(
    payload: inputs.UpdateOAuthAppInput,
    options?: RequestOptions,
  ): AnswerPromise<UpdateOAuthAppAnswer> {
    return this.#send({ method: 'PUT', path: '/v1/oauth/apps/{app_id}', input: payload }, options)
  }

  deleteOAuthApp(appId: string, options?: RequestOptions): AnswerPromise<DeleteOAuthAppAnswer> {
    return this.#send(
      { method: 'DELETE', path: '/v1/oauth/apps/{app_id}', parameters: { app_id: appId } },
      options,
    )
  }

  /** `authorization_url` for a browser; with a refresh token in `token`, the mailer. */
  oauthLogin(payload: OAuthLoginBody, options?: RequestOptions): AnswerPromise<OAuthLoginAnswer> {
    return this.#send({ method: 'POST', path: '/v1/oauth/login', body: payload }, options)
  }

  getMailerActivity(
    mailerId: string,
    options?: RequestOptions,
  ): AnswerPromise<GetMailerActivityAnswer> {
    return this.#send(
      {
        method: 'GET',
        path: '/v1/mailers/{mailer_id}/activity',
        parameters: { mailer_id: mailerId },
      },
      options,
    )
  }

  /** Of any kind: SMTP, IMAP, OAuth, a sending domain. */
  /** Not repeated after a lost answer: a test mail may have been sent. */
  testMailer(
    input: inputs.TestMailerInput,
    options?: RequestOptions,
  ): AnswerPromise<TestMailerAnswer> {
    return this.#send({ method: 'POST', path: '/v1/mailers/{mailer_id}/test', input }, options)
  }

  setMailerActive(
    payload: inputs.SetMailerActiveInput,
    options?: RequestOptions,
  ): AnswerPromise<SetMailerActiveAnswer> {
    return this.#send(
      { method: 'PUT', path: '/v1/mailers/{mailer_id}/active', input: payload },
      options,
    )
  }

  /** `active` is true when it is left out. */
  setOAuthActive(
    payload: inputs.SetOAuthActiveInput,
    options?: RequestOptions,
  ): AnswerPromise<SetOAuthActiveAnswer> {
    return this.#send(
      { method: 'PUT', path: '/v1/oauth/{mailer_id}/active', input: payload },
      options,
    )
  }

  /** Register the answer's `callback_url` at the provider. What is left out stays as it is. */
  configureRelay(
    payload: inputs.ConfigureRelayInput,
    options?: RequestOptions,
  ): AnswerPromise<ConfigureRelayAnswer> {
    return this.#send({ method: 'PUT', path: '/v1/relay/{kind}', input: payload }, options)
  }

  getRelay(kind: RelayKind, options?: RequestOptions): AnswerPromise<GetRelayAnswer> {
    return this.#send({ method: 'GET', path: '/v1/relay/{kind}', parameters: { kind } }, options)
  }

  deleteRelay(kind: RelayKind, options?: RequestOptions): AnswerPromise<DeleteRelayAnswer> {
    return this.#send({ method: 'DELETE', path: '/v1/relay/{kind}', parameters: { kind } }, options)
  }

  /** Publish one of the answer's records, then call getInboundDomain until it is `verified`. */
  configureInboundRouting(
    payload: ConfigureInboundRoutingBody,
    options?: RequestOptions,
  ): AnswerPromise<ConfigureInboundRoutingAnswer> {
    return this.#send({ method: 'POST', path: '/v1/inbound/domain', body: payload }, options)
  }

  /** `headers` replace what was there. */
  updateInboundDomain(
    domain: string,
    update: UpdateInboundDomainBody,
    options?: RequestOptions,
  ): AnswerPromise<UpdateInboundDomainAnswer> {
    return this.#send(
      { method: 'PUT', path: '/v1/inbound/domain/{domain}', parameters: { domain }, body: update },
      options,
    )
  }

  getInboundDomain(
    domain: string,
    options?: RequestOptions,
  ): AnswerPromise<GetInboundDomainAnswer> {
    return this.#send(
      { method: 'GET', path: '/v1/inbound/domain/{domain}', parameters: { domain } },
      options,
    )
  }

  /** With its usernames. */
  deleteInboundDomain(
    domain: string,
    options?: RequestOptions,
  ): AnswerPromise<DeleteInboundDomainAnswer> {
    return this.#send(
      { method: 'DELETE', path: '/v1/inbound/domain/{domain}', parameters: { domain } },
      options,
    )
  }

  listInboundDomains(
    filter: ListInboundDomainsQuery = {},
    options?: RequestOptions,
  ): PagedList<ListInboundDomainsAnswer, InboundDomain> {
    return this.#list<ListInboundDomainsAnswer, 'inbound_domains'>(
      'inbound_domains',
      { path: '/v1/inbound/domain' },
      filter,
      options,
    )
  }

  /** A domain that has some takes mail for no others. */
  createInboundUsername(
    payload: inputs.CreateInboundUsernameInput,
    options?: RequestOptions,
  ): AnswerPromise<CreateInboundUsernameAnswer> {
    return this.#send(
      { method: 'POST', path: '/v1/inbound/domain/{domain}/username', input: payload },
      options,
    )
  }

  /** `headers` replace what was there; a `url` of null is the domain's again. */
  updateInboundUsername(
    domain: string,
    username: string,
    update: UpdateInboundUsernameBody,
    options?: RequestOptions,
  ): AnswerPromise<UpdateInboundUsernameAnswer> {
    return this.#send(
      {
        method: 'PUT',
        path: '/v1/inbound/domain/{domain}/username/{username}',
        parameters: { domain, username },
        body: update,
      },
      options,
    )
  }

  getInboundUsername(
    domain: string,
    username: string,
    options?: RequestOptions,
  ): AnswerPromise<GetInboundUsernameAnswer> {
    return this.#send(
      {
        method: 'GET',
        path: '/v1/inbound/domain/{domain}/username/{username}',
        parameters: { domain, username },
      },
      options,
    )
  }

  deleteInboundUsername(
    domain: string,
    username: string,
    options?: RequestOptions,
  ): AnswerPromise<DeleteInboundUsernameAnswer> {
    return this.#send(
      {
        method: 'DELETE',
        path: '/v1/inbound/domain/{domain}/username/{username}',
        parameters: { domain, username },
      },
      options,
    )
  }

  listInboundUsernames(
    domain: string,
    filter: ListInboundUsernamesQuery = {},
    options?: RequestOptions,
  ): PagedList<ListInboundUsernamesAnswer, InboundUsername> {
    return this.#list<ListInboundUsernamesAnswer, 'inbound_usernames'>(
      'inbound_usernames',
      { path: '/v1/inbound/domain/{domain}/username', parameters: { domain } },
      filter,
      options,
    )
  }

  /** Answers the records to publish; needs an account at a relay provider. */
  addDomain(payload: AddDomainBody, options?: RequestOptions): AnswerPromise<AddDomainAnswer> {
    return this.#send({ method: 'POST', path: '/v1/domain', body: payload }, options)
  }

  getDomain(domain: string, options?: RequestOptions): AnswerPromise<GetDomainAnswer> {
    return this.#send(
      { method: 'GET', path: '/v1/domain/{domain}', parameters: { domain } },
      options,
    )
  }

  listDomains(
    filter: ListDomainsQuery = {},
    options?: RequestOptions,
  ): PagedList<ListDomainsAnswer, Domain> {
    return this.#list<ListDomainsAnswer, 'domains'>(
      'domains',
      { path: '/v1/domain' },
      filter,
      options,
    )
  }

  /** Not repeated after a lost answer: each call is an event, `DOMAIN_VERIFICATION`. */
  verifyDomain(domain: string, options?: RequestOptions): AnswerPromise<VerifyDomainAnswer> {
    return this.#send(
      { method: 'POST', path: '/v1/domain/{domain}/verify', parameters: { domain } },
      options,
    )
  }

  /** The new key is used once its record is published. */
  updateDomain(
    domain: string,
    update: UpdateDomainBody,
    options?: RequestOptions,
  ): AnswerPromise<UpdateDomainAnswer> {
    return this.#send(
      { method: 'PUT', path: '/v1/domain/{domain}', parameters: { domain }, body: update },
      options,
    )
  }

  rotateDomainKey(domain: string, options?: RequestOptions): AnswerPromise<RotateDomainKeyAnswer> {
    return this.#send(
      { method: 'POST', path: '/v1/domain/{domain}/rotate', parameters: { domain } },
      options,
    )
  }

  deleteDomain(domain: string, options?: RequestOptions): AnswerPromise<DeleteDomainAnswer> {
    return this.#send(
      { method: 'DELETE', path: '/v1/domain/{domain}', parameters: { domain } },
      options,
    )
  }
}

/** 128 random bits. Not `randomUUID`, which browsers have on https pages only. */
function randomKey(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16))
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('')
}
